//! The trials that share time slices: those of one repeat that differ only in their contender.

use trueput_record::{Conditions, TrialSpec};

/// Returns the key that the trials of a group have in common; `None` for a trial without time
/// slices. The contenders of a search run side by side, each at its own rate.
pub(crate) fn derive_group_key(spec: &TrialSpec) -> Option<String> {
    spec.conditions.time_slice_s?;
    let TrialSpec {
        repeat,
        workload,
        settings,
        durability,
        workers,
        ..
    } = spec;
    let repeat = spec.role.map_or(Some(repeat), |_| None);
    let mut conditions = spec.conditions.clone();
    // A contender with a server may have longer slices than the others.
    conditions.time_slice_s = None;
    if spec.role.is_some() {
        conditions.rate = None;
        conditions.duration_s = None;
    }
    let conditions = Conditions::named(&conditions);
    Some(format!(
        "{repeat:?} {workload} {settings:?} {durability} {workers} {conditions:?}"
    ))
}

/// Groups the trials, each group at the position of its first trial; a trial without time slices is
/// a group of its own.
pub(crate) fn group_trials<'a>(trials: &[&'a TrialSpec]) -> Vec<Vec<&'a TrialSpec>> {
    let mut groups: Vec<(Option<String>, Vec<&TrialSpec>)> = Vec::new();
    for &spec in trials {
        let key = derive_group_key(spec);
        let known = groups
            .iter_mut()
            .find(|(of, _)| key.is_some() && *of == key);
        match known {
            Some((_, group)) => group.push(spec),
            None => groups.push((key, vec![spec])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_record::{Durability, VerifyLevel, WorkerKind};

    fn spec(engine: &str, repeat: u32, workers: u32, time_slice_s: Option<f64>) -> TrialSpec {
        TrialSpec {
            id: format!("{engine}-{workers}-{repeat}"),
            cell: 0,
            repeat,
            workload: "micro".to_owned(),
            settings: trueput_record::value::Settings::new(),
            engine: engine.to_owned(),
            build: None,
            durability: Durability::Process,
            knobs: trueput_record::value::Settings::new(),
            workers,
            worker_kind: WorkerKind::Processes,
            verify: VerifyLevel::Full,
            seed: 1,
            conditions: Conditions {
                time_slice_s,
                ..Conditions::default()
            },
            note: None,
            step: None,
            role: None,
        }
    }

    fn ids(trials: &[TrialSpec]) -> Vec<Vec<&str>> {
        let all: Vec<&TrialSpec> = trials.iter().collect();
        let groups = group_trials(&all).into_iter();
        groups
            .map(|group| group.iter().map(|spec| spec.id.as_str()).collect())
            .collect()
    }

    #[test]
    fn contenders_of_one_repeat_and_one_number_of_workers_share_time_slices() {
        let slice = Some(0.01);
        let mut trials = Vec::new();
        for repeat in [1, 2] {
            for engine in ["a", "b"] {
                trials.extend([1, 4].map(|workers| spec(engine, repeat, workers, slice)));
            }
        }
        let expected = [
            ["a-1-1", "b-1-1"],
            ["a-4-1", "b-4-1"],
            ["a-1-2", "b-1-2"],
            ["a-4-2", "b-4-2"],
        ];
        assert_eq!(ids(&trials), expected);
    }

    #[test]
    fn contenders_whose_slices_differ_in_length_share_them() {
        let trials = [spec("a", 1, 1, Some(0.05)), spec("b", 1, 1, Some(0.5))];
        assert_eq!(ids(&trials), [["a-1-1", "b-1-1"]]);
    }

    #[test]
    fn contenders_on_two_storage_models_share_no_time_slices() {
        let on = |engine, model: Option<&str>| {
            let mut spec = spec(engine, 1, 1, Some(0.05));
            spec.conditions.storage_model = model.map(str::to_owned);
            spec
        };
        let mut trials = [
            on("a", Some("hdd-7200")),
            on("b", Some("nvme-consumer")),
            on("c", None),
        ];
        assert_eq!(ids(&trials), [["a-1-1"], ["b-1-1"], ["c-1-1"]]);
        // The control: those on one model share them.
        trials[1].conditions.storage_model = Some("hdd-7200".to_owned());
        let expected = [vec!["a-1-1", "b-1-1"], vec!["c-1-1"]];
        assert_eq!(ids(&trials), expected);
        // A log elsewhere is other storage, too.
        trials[0].conditions.log_storage_model = Some("nvme-consumer".to_owned());
        assert_eq!(ids(&trials), [["a-1-1"], ["b-1-1"], ["c-1-1"]]);
    }

    #[test]
    fn without_time_slices_each_trial_runs_by_itself() {
        let trials = [spec("a", 1, 1, None), spec("b", 1, 1, None)];
        assert_eq!(ids(&trials), [["a-1-1"], ["b-1-1"]]);
    }
}
