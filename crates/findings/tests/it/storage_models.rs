//! Trials on storage models: another model is other work.

use crate::support::{contenders, rank, run_of, texts};
use trueput_findings::Run;
use trueput_findings::ablation::ablations;
use trueput_findings::answer::Answer;
use trueput_findings::compare::{LimitProbe, Selector, Side, compare_sides};
use trueput_findings::rankings::{Ranking, are_comparable};
use trueput_findings::scaling::series;
use trueput_findings::trial_names::TrialNames;
use trueput_record::ablation::BASE;
use trueput_record::testing::ablation::step_trials;
use trueput_record::testing::comparison::limit_flushes;
use trueput_record::testing::{spec, valid};
use trueput_record::{Conditions, Durability, TrialRecord};

/// A trial on a storage model, or on this machine's own storage.
fn on(cell: u32, engine: &str, model: Option<&str>, per_s: f64) -> TrialRecord {
    let mut spec = spec(cell, engine, Durability::Sync, 1);
    spec.conditions.storage_model = model.map(str::to_owned);
    valid(spec, per_s)
}

/// Two engines on this machine's storage and on two models. The disk is in front in the plan.
fn all() -> Vec<TrialRecord> {
    let (disk, flash) = (Some("hdd-7200"), Some("nvme-consumer"));
    vec![
        on(0, "lmdb", disk, 60.0),
        on(1, "redb", disk, 110.0),
        on(2, "lmdb", flash, 1_100.0),
        on(3, "redb", flash, 900.0),
        on(4, "lmdb", None, 9_000.0),
        on(5, "redb", None, 8_000.0),
    ]
}

fn places(rankings: &[Ranking]) -> Vec<String> {
    let models = rankings.iter().filter_map(|it| it.storage_models.as_ref());
    models.map(ToString::to_string).collect()
}

#[test]
fn storage_models_never_share_a_ranking_and_each_says_its_own() {
    let rankings = rank(&all());
    let expected = [
        "on model hdd-7200",
        "on model nvme-consumer",
        "on this machine's storage",
    ];
    assert_eq!(places(&rankings), expected);
    assert_eq!(contenders(&rankings[0]), ["redb", "lmdb"]);
    assert_eq!(contenders(&rankings[1]), ["lmdb", "redb"]);
    // The control: on one model both are in one ranking, and without any, none is named.
    let mut together = all();
    for trial in &mut together {
        trial.spec.conditions.storage_model = Some("hdd-7200".to_owned());
    }
    let rankings = rank(&together);
    assert_eq!(places(&rankings), ["on model hdd-7200"]);
    for trial in &mut together {
        trial.spec.conditions.storage_model = None;
    }
    let rankings = rank(&together);
    assert_eq!((rankings.len(), places(&rankings).len()), (1, 0));
}

#[test]
fn a_model_in_its_folder_form_has_a_ranking_of_its_own() {
    let trials = ["hdd-7200", "folder:hdd-7200"].into_iter().zip([0, 2]);
    let trials = trials.flat_map(|(model, cell)| {
        let engines = [("lmdb", cell), ("redb", cell + 1)];
        engines.map(|(engine, cell)| on(cell, engine, Some(model), 60.0))
    });
    let mut found = places(&rank(&trials.collect::<Vec<_>>()));
    found.sort();
    assert_eq!(found, ["on model folder:hdd-7200", "on model hdd-7200"]);
}

#[test]
fn a_log_on_another_model_and_another_text_of_one_file_make_rankings_of_their_own() {
    let own = Some("/a/my.toml@00000001");
    let change = |change: &dyn Fn(&mut Conditions)| {
        let [one, mut other] = [0, 1].map(|cell| on(cell, "lmdb", own, 1.0));
        change(&mut other.spec.conditions);
        are_comparable(&one.spec, &other.spec)
    };
    assert!(change(&|_| {}));
    let model = |text: &str| Some(text.to_owned());
    // The same text in another folder is the same model.
    assert!(change(&|it| it.storage_model = model("/b/my.toml@00000001")));
    assert!(!change(
        &|it| it.storage_model = model("/a/my.toml@00000002")
    ));
    assert!(!change(&|it| it.log_storage_model = model("nvme-consumer")));
    assert!(!change(&|it| it.log_file_system = "ext4".parse().ok()));
}

#[test]
fn the_answer_of_a_run_names_the_model_of_each_ranking_once() {
    let run = run_of(all());
    let answer = Answer::of(&run);
    let of = |index: usize| answer.rankings[index].subject.storage_models.as_ref();
    let named: Vec<_> = (0..3).filter_map(of).map(ToString::to_string).collect();
    assert_eq!(named[0], "on model hdd-7200");
    assert_eq!(named.len(), 3);
    let is_model = |(name, _): &(String, String)| name == "storage_model";
    let one_model = run_of(all().drain(..2).collect());
    assert!(!Answer::of(&one_model).common.iter().any(is_model));
}

#[test]
fn trials_and_series_of_several_models_are_told_apart_by_their_names() {
    let run = run_of(all());
    let names = TrialNames::of(&run);
    let name = |index: usize| names.cell(&run.trials[index]);
    assert_eq!(name(0), "lmdb, sync, 4 workers, on model hdd-7200");
    assert_eq!(name(4), "lmdb, sync, 4 workers, on this machine's storage");
    let only = run_of(all().drain(..2).collect());
    assert_eq!(
        TrialNames::of(&only).cell(&only.trials[0]),
        "lmdb, sync, 4 workers"
    );
    let mut scaled = Vec::new();
    for (cell, workers) in (0..).zip([1, 2]) {
        for (offset, model) in [(0, "hdd-7200"), (2, "nvme-consumer")] {
            let mut trial = on(cell + offset, "lmdb", Some(model), 100.0);
            trial.spec.workers = workers;
            scaled.push(trial);
        }
    }
    let found = series(&rank(&scaled)).into_iter();
    let found: Vec<_> = found.map(|one| one.name).collect();
    let expected = [
        "lmdb sync update on model hdd-7200",
        "lmdb sync update on model nvme-consumer",
    ];
    assert_eq!(found, expected);
}

#[test]
fn runs_on_two_models_are_not_compared_unless_a_selector_names_them() {
    let side = |label: &str, words: &str, run: Run| {
        let mut run = run;
        run.shown_as = label.into();
        Side::new(label, run, Selector::parse(words).unwrap()).unwrap()
    };
    let run = |model: &str| run_of(vec![on(0, "lmdb", Some(model), 100.0)]);
    let compared = |words: [&str; 2], models: [&str; 2]| {
        let first = side("a", words[0], run(models[0]));
        let second = side("b", words[1], run(models[1]));
        compare_sides(&first, &[second]).map_err(|error| error.to_string())
    };
    let none = ["lmdb", "lmdb"];
    assert!(compared(none, ["hdd-7200", "hdd-7200"]).is_ok());
    let refused = compared(none, ["hdd-7200", "nvme-consumer"]).unwrap_err();
    assert!(refused.contains("storage_model"), "{refused}");
    let named = ["storage_model=hdd-7200", "storage_model=nvme-consumer"];
    assert!(compared(named, ["hdd-7200", "nvme-consumer"]).is_ok());
}

#[test]
fn hardware_limits_are_compared_on_the_model_that_both_runs_have() {
    let side = |label: &str, models: &[Option<&str>]| {
        let trials = (0..).zip(models).map(|(cell, model)| {
            let mut trial = on(cell, "lmdb", *model, 100.0);
            let per_s = if model.is_some() { 60.0 } else { 9_000.0 };
            limit_flushes(std::slice::from_mut(&mut trial), per_s);
            trial
        });
        let mut run = run_of(trials.collect());
        run.shown_as = label.into();
        Side::new(label, run, Selector::default()).unwrap()
    };
    let disk = Some("hdd-7200");
    let found = compare_sides(&side("a", &[disk, None]), &[side("b", &[disk])]).unwrap();
    let mut limits = found[0].limits.iter();
    let flush = limits.find(|limit| limit.probe == LimitProbe::Flush);
    let flush = flush.map(|limit| (limit.first_per_s, limit.second_per_s));
    assert_eq!(flush, Some((60.0, 60.0)));
}

#[test]
fn a_step_to_another_device_costs_that_device() {
    let mut trials = step_trials(0, BASE, Durability::Sync, 100.0);
    let mut faster = step_trials(1, "flash", Durability::Sync, 1_000.0);
    for trial in &mut faster {
        trial.spec.conditions.storage_model = Some("nvme-consumer".to_owned());
    }
    trials.extend(faster);
    let all = ablations(&run_of(trials));
    let costs = texts(&all[0].rows[1].costs);
    let cost = "another device: on this machine's storage before, on model nvme-consumer with the \
                step; its price is not stated";
    assert_eq!(costs, [cost]);
}
