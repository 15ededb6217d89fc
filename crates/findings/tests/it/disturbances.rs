//! The disturbances of a run, on the processors that its trials could use.

use crate::support::run_of;
use trueput_findings::answer::Answer;
use trueput_findings::statistics::Disturbance;
use trueput_record::accounting::OtherPrograms;
use trueput_record::placement::Placement;
use trueput_record::testing::{spec, valid};
use trueput_record::{Durability, TrialRecord};

/// One trial on a machine of two processors, of which neighbors used these shares of one.
fn beside(others: f64, steal: f64, kernel: Option<f64>, cpus: &str) -> TrialRecord {
    let mut trial = valid(spec(0, "lmdb", Durability::Sync, 1), 2_000.0);
    let measured = trial.measurement.as_mut().unwrap();
    let elapsed_s = measured.elapsed_s;
    measured.neighbors = Some(OtherPrograms {
        cpu_s: others * elapsed_s,
        kernel_s: kernel,
        steal_s: steal * elapsed_s,
    });
    measured.placement = Some(Placement {
        cpus: cpus.to_owned(),
        ..Placement::default()
    });
    trial
}

fn found(trial: TrialRecord) -> Vec<Disturbance> {
    Answer::of(&run_of(vec![trial])).disturbances
}

fn other_programs(share: f64, with_kernel: bool) -> [Disturbance; 1] {
    [Disturbance::OtherPrograms { share, with_kernel }]
}

#[test]
fn what_the_hypervisor_withheld_is_told_of_a_single_repeat() {
    let stolen = found(beside(0.0, 1.0, Some(0.0), "0-1"));
    assert_eq!(stolen, [Disturbance::Hypervisor { share: 0.5 }]);
    assert_eq!(found(beside(0.01, 0.01, Some(0.0), "0-1")), []);
}

#[test]
fn a_trial_shorter_than_the_kernel_counts_says_nothing_and_nothing_exceeds_the_whole() {
    let mut short = beside(9.0, 0.0, Some(0.0), "0-1");
    short.measurement.as_mut().unwrap().elapsed_s = 0.03;
    assert_eq!(found(short), []);
    let more = found(beside(2.3, 0.0, Some(0.0), "0-1"));
    assert_eq!(more, other_programs(1.0, false));
}

#[test]
fn shares_are_of_the_processors_that_the_trial_could_use() {
    let pinned = found(beside(0.5, 0.0, Some(0.0), "1"));
    assert_eq!(pinned, other_programs(0.5, false));
    let free = found(beside(0.5, 0.0, Some(0.0), "0-1"));
    assert_eq!(free, other_programs(0.25, false));
}

#[test]
fn the_kernel_is_named_where_the_record_does_not_tell_it_apart() {
    let together = found(beside(0.5, 0.0, None, "0-1"));
    assert_eq!(together, other_programs(0.25, true));
}
