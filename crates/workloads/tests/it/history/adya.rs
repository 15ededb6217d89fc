//! The checks agree with the crate `adya`, an independent checker after Elle, on random histories
//! of lists that are too large to try every order.

use super::simulation::{Simulation, without_times};
use adya::{Opts, Valid, Workload};
use std::collections::HashMap;
use std::fmt::Write as _;
use trueput_record::{Isolation, Survival};
use trueput_workloads::history::check::{AnomalyKind, check};
use trueput_workloads::history::transactions::{History, OperationKind};
use trueput_workloads::history::version::Version;

const CASES: u64 = 3_000;

/// The history in the form that Elle reads, all transactions concurrent.
fn as_json(history: &History) -> String {
    let mut lists: HashMap<Version, Vec<u64>> = HashMap::new();
    let (mut begins, mut ends) = (String::new(), String::new());
    // A version is made after those that it was made of.
    let mut made: Vec<(Version, Version)> = Vec::new();
    for transaction in history.transactions() {
        let mut current = HashMap::new();
        for operation in history.operations(transaction) {
            let before = current.insert(operation.key, operation.version);
            if operation.kind == OperationKind::Write {
                made.push((operation.version, before.unwrap()));
            }
        }
    }
    made.sort_unstable();
    for (version, before) in made {
        let mut list = lists.get(&before).cloned().unwrap_or_default();
        list.push(version.to_bits());
        lists.insert(version, list);
    }
    for (process, transaction) in history.transactions().iter().enumerate() {
        let steps = history.operations(transaction).iter().map(|step| {
            let (key, bits) = (step.key, step.version.to_bits());
            let list = lists.get(&step.version).cloned().unwrap_or_default();
            match step.kind {
                OperationKind::Write => format!("[\"append\",{key},{bits}]"),
                OperationKind::Read => format!("[\"r\",{key},{list:?}]"),
            }
        });
        let steps = steps.collect::<Vec<_>>().join(",");
        for (kind, lines) in [("invoke", &mut begins), ("ok", &mut ends)] {
            writeln!(
                lines,
                "{{\"type\":\"{kind}\",\"process\":{process},\"value\":[{steps}]}}"
            )
            .unwrap();
        }
    }
    begins + &ends
}

#[test]
fn both_checkers_accept_and_refute_the_same_histories() {
    let simulation = Simulation {
        transactions: 12,
        keys: 6,
        reads_first: true,
    };
    for (level, model) in [
        (Isolation::Serializable, "serializable"),
        (Isolation::Snapshot, "snapshot-isolation"),
        (Isolation::ReadCommitted, "read-committed"),
    ] {
        let options = Opts {
            models: vec![model.to_owned()],
            ..Opts::default()
        };
        let (mut accepted, mut compared) = (0, 0);
        for seed in 0..CASES {
            let history = without_times(&simulation.history(seed));
            let report = check(&history, Survival::EveryCommit);
            let loses_updates = report.anomalies.iter().any(|anomaly| {
                use trueput_record::Phenomenon::{LostUpdate, Phantom};
                [LostUpdate, Phantom]
                    .map(AnomalyKind::Phenomenon)
                    .contains(&anomaly.kind)
            });
            if level == Isolation::ReadCommitted && loses_updates {
                // An append that reads first can ignore another one, which read-committed permits.
                // To adya, appends cannot.
                continue;
            }
            let fits = report.violation(level).is_none();
            let text = as_json(&history);
            let other = adya::check(
                &adya::History::from_json(&text).unwrap(),
                Workload::ListAppend,
                &options,
            );
            let other_fits = other.valid != Valid::False;
            assert_eq!(
                fits, other_fits,
                "{model} {seed}\n{text}\n{report:?}\n{other:?}"
            );
            compared += 1;
            accepted += u64::from(fits);
        }
        println!("{model}: {accepted} of {compared} accepted");
        assert!(accepted > 10 && accepted + 10 < compared, "{model}");
    }
}
