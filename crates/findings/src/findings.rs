//! Rankings, answer, names and measured trials of a run, computed once for every format.

use crate::answer::Answer;
use crate::rankings::{Ranking, rankings};
use crate::trial_names::TrialNames;
use crate::{Run, disturbance};
use std::collections::BTreeSet;
use trueput_record::measurement::Measurement;
use trueput_record::{Outcome, TrialRecord};

/// The findings of a run, which need not have ended.
pub struct Findings<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its rankings.
    pub rankings: Vec<Ranking>,
    /// Its answer, from the same rankings.
    pub answer: Answer,
    /// Names of its trials and contenders.
    pub names: TrialNames,
    /// The trials that were measured to their end. An interrupted one says nothing of the rest of
    /// its work.
    pub measured: Vec<(&'a TrialRecord, &'a Measurement)>,
}

impl<'a> Findings<'a> {
    /// Computes the findings of a run.
    #[must_use]
    pub fn of(run: &'a Run) -> Self {
        if run.manifest.is_ranked() {
            Self::with_rankings(run, rankings(&run.manifest, &run.trials))
        } else {
            Self::without_rankings(run)
        }
    }

    /// As [`Findings::of`], for a report that shows no ranking.
    #[must_use]
    pub fn without_rankings(run: &'a Run) -> Self {
        Self::with_rankings(run, Vec::new())
    }

    fn with_rankings(run: &'a Run, rankings: Vec<Ranking>) -> Self {
        let noise = disturbance::of_run(run);
        let ended = run.trials.iter();
        let ended = ended.filter(|trial| trial.outcome != Outcome::Interrupted);
        Self {
            run,
            answer: Answer::from_rankings(run, &rankings, noise.as_ref()),
            rankings,
            names: TrialNames::of(run),
            measured: ended
                .filter_map(|trial| Some((trial, trial.measurement.as_ref()?)))
                .collect(),
        }
    }

    /// The first measured trial of each cell. Its repeats would say the same again.
    #[must_use]
    pub fn first_of_each_cell(&self) -> Vec<(&'a TrialRecord, &'a Measurement)> {
        let mut seen = BTreeSet::new();
        let measured = self.measured.iter();
        let first = measured.filter(|(trial, _)| seen.insert(trial.spec.cell));
        first.copied().collect()
    }
}
