//! The checks agree with checkers that try every order, on thousands of small random histories.

use super::simulation::{Simulation, without_times};
use std::collections::{BTreeMap, HashSet};
use trueput_record::{Isolation, Survival};
use trueput_workloads::generate::random::Random;
use trueput_workloads::history::check::check;
use trueput_workloads::history::transactions::{
    History, Operation, OperationKind, Outcome, Transaction,
};
use trueput_workloads::history::version::{Key, Version};

const CASES: u64 = 20_000;

type State = BTreeMap<Key, Version>;

/// Calls `judge` with each order of the numbers below `count` until it accepts one.
fn some_order(count: usize, judge: &mut dyn FnMut(&[usize]) -> bool) -> bool {
    fn extend(
        order: &mut Vec<usize>,
        count: usize,
        judge: &mut dyn FnMut(&[usize]) -> bool,
    ) -> bool {
        if order.len() == count {
            return judge(order);
        }
        (0..count).any(|next| {
            if order.contains(&next) {
                return false;
            }
            order.push(next);
            let accepted = extend(order, count, judge);
            order.pop();
            accepted
        })
    }
    extend(&mut Vec::new(), count, judge)
}

/// The state after a transaction that began in another one; `None` if it cannot have read there
/// what it read.
fn execute(state: &State, operations: &[Operation]) -> Option<State> {
    let mut state = state.clone();
    for operation in operations {
        match operation.kind {
            OperationKind::Write => {
                state.insert(operation.key, operation.version);
            }
            OperationKind::Read => {
                let found = state.get(&operation.key).copied();
                if found.unwrap_or(Version::ABSENT) != operation.version {
                    return None;
                }
            }
        }
    }
    Some(state)
}

/// Whether the transactions can have run one after another, in an order that keeps their times if
/// `in_time`.
fn is_serializable(history: &History, in_time: bool) -> bool {
    let all = history.transactions();
    some_order(all.len(), &mut |order| {
        let is_in_time = |before: &Transaction, after: &Transaction| {
            after.completed_ns >= before.invoked_ns || !in_time
        };
        let ordered = |(at, one): (usize, &usize)| {
            let mut later = order[at + 1..].iter();
            later.all(|other| is_in_time(&all[*one], &all[*other]))
        };
        if !order.iter().enumerate().all(ordered) {
            return false;
        }
        let end = order.iter().try_fold(State::new(), |state, one| {
            execute(&state, history.operations(&all[*one]))
        });
        end.is_some()
    })
}

fn writes(operations: &[Operation]) -> impl Iterator<Item = &Operation> {
    let writes = operations.iter();
    writes.filter(|operation| operation.kind == OperationKind::Write)
}

/// Whether each transaction can have read one of the states before it, of which no writer of its
/// own keys is later.
fn is_snapshot_isolated(history: &History) -> bool {
    let all = history.transactions();
    some_order(all.len(), &mut |order| {
        let mut states = vec![State::new()];
        for (at, one) in order.iter().enumerate() {
            let operations = history.operations(&all[*one]);
            let own: HashSet<Key> = writes(operations).map(|write| write.key).collect();
            let fits = (0..=at).rev().any(|begin| {
                let mut others = order[begin..at].iter();
                let conflicts = others.any(|other| {
                    writes(history.operations(&all[*other])).any(|write| own.contains(&write.key))
                });
                !conflicts && execute(&states[begin], operations).is_some()
            });
            if !fits {
                return false;
            }
            let mut state = states[at].clone();
            state.extend(writes(operations).map(|write| (write.key, write.version)));
            states.push(state);
        }
        true
    })
}

/// Asserts that both outcomes were seen often enough for the agreement to mean something.
fn assert_both(accepted: u64) {
    println!("{accepted} of {CASES} were accepted");
    assert!(
        (CASES / 20..CASES * 19 / 20).contains(&accepted),
        "{accepted}"
    );
}

const LISTS: Simulation = Simulation {
    transactions: 5,
    keys: 3,
    reads_first: true,
};

#[test]
fn a_history_of_lists_fits_serializable_exactly_if_some_order_explains_it() {
    let mut accepted = 0;
    for seed in 0..CASES {
        let history = without_times(&LISTS.history(seed));
        let report = check(&history, Survival::EveryCommit);
        let fits = report.violation(Isolation::Serializable).is_none();
        assert_eq!(
            fits,
            is_serializable(&history, false),
            "{seed} {history:?} {report:?}"
        );
        accepted += u64::from(fits);
    }
    assert_both(accepted);
}

#[test]
fn a_history_of_lists_fits_snapshot_exactly_if_some_order_and_states_explain_it() {
    let mut accepted = 0;
    for seed in 0..CASES {
        let history = without_times(&LISTS.history(seed));
        let report = check(&history, Survival::EveryCommit);
        let fits = report.violation(Isolation::Snapshot).is_none();
        assert_eq!(
            fits,
            is_snapshot_isolated(&history),
            "{seed} {history:?} {report:?}"
        );
        accepted += u64::from(fits);
    }
    assert_both(accepted);
}

/// Where writes are blind, the order of the versions is known in part, so that the check may find
/// nothing wrong with what is; it must never find wrong what is not.
#[test]
fn nothing_is_wrong_with_registers_that_some_order_in_time_explains() {
    let registers = Simulation {
        reads_first: false,
        ..LISTS
    };
    let (mut explained, mut refuted) = (0, 0);
    for seed in 0..CASES {
        let history = registers.history(seed);
        let report = check(&history, Survival::EveryCommit);
        let is_refuted = report.violation(Isolation::Serializable).is_some();
        refuted += u64::from(is_refuted);
        if is_serializable(&history, true) {
            explained += 1;
            assert!(
                !is_refuted && report.stale.is_none(),
                "{seed} {history:?} {report:?}"
            );
        }
    }
    assert_both(explained);
    assert!(refuted > CASES / 20, "{refuted}");
}

/// One access to one key.
#[derive(Debug, Clone, Copy)]
struct Access {
    begin_ns: u64,
    end_ns: u64,
    operation: Operation,
    outcome: Outcome,
}

/// Random accesses to one key: values come from a register with random times of effect, some are
/// replaced by others.
fn accesses(seed: u64) -> Vec<Access> {
    let mut random = Random::new(seed);
    let count = 3 + random.below(5);
    let writes = 1 + random.below(count - 1);
    let is_wild = random.below(2) == 0;
    let mut times: Vec<(u64, u64, u64)> = (0..count)
        .map(|_| {
            let effect = 10 + random.below(40);
            (effect, effect - random.below(8), effect + random.below(8))
        })
        .collect();
    times.sort_unstable();
    let mut value = 0;
    let kinds = (0..count).map(|_| random.below(2) == 0).collect::<Vec<_>>();
    let mut all = Vec::new();
    for (number, ((_, begin_ns, end_ns), is_write)) in (1..).zip(times.into_iter().zip(kinds)) {
        let is_unknown = is_write && random.below(5) == 0;
        let takes_effect = is_write && !(is_unknown && random.below(2) == 0);
        let shown = if is_wild && random.below(4) == 0 {
            random.below(writes + 1)
        } else {
            value
        };
        if takes_effect {
            value = number;
        }
        let number = if is_write { number } else { shown };
        all.push(Access {
            begin_ns,
            end_ns,
            operation: Operation {
                kind: if is_write {
                    OperationKind::Write
                } else {
                    OperationKind::Read
                },
                key: 0,
                version: if number == 0 {
                    Version::ABSENT
                } else {
                    Version::new(0, number)
                },
                digest: 0,
            },
            outcome: if is_unknown {
                Outcome::Unknown
            } else {
                Outcome::Committed
            },
        });
    }
    // A value that nobody wrote is another check's subject.
    let written = |version: Version| {
        version == Version::ABSENT
            || all.iter().any(|one| {
                one.operation.kind == OperationKind::Write && one.operation.version == version
            })
    };
    let valid: Vec<bool> = all
        .iter()
        .map(|one| written(one.operation.version))
        .collect();
    let kept = all.iter().zip(valid).filter(|(_, is_valid)| *is_valid);
    kept.map(|(one, _)| *one).collect()
}

/// J. Wing and C. Gong, "Testing and Verifying Concurrent Objects", 1993: tries each access that
/// none of the others must precede; with G. Lowe's memory of what was tried, 2017.
fn is_linearizable(accesses: &[Access]) -> bool {
    fn search(
        accesses: &[Access],
        done: u32,
        value: Version,
        tried: &mut HashSet<(u32, Version)>,
    ) -> bool {
        if !tried.insert((done, value)) {
            return false;
        }
        let is_left = |at: &usize| done & (1 << at) == 0;
        let left: Vec<usize> = (0..accesses.len()).filter(is_left).collect();
        let end = |one: &Access| match one.outcome {
            Outcome::Unknown => u64::MAX,
            _ => one.end_ns,
        };
        if left
            .iter()
            .all(|at| accesses[*at].outcome == Outcome::Unknown)
        {
            return true;
        }
        let first_end = left.iter().map(|at| end(&accesses[*at])).min();
        left.iter().any(|at| {
            let one = &accesses[*at];
            let may_be_next = Some(one.begin_ns) <= first_end;
            let is_write = one.operation.kind == OperationKind::Write;
            let explains = is_write || one.operation.version == value;
            let done = done | 1 << at;
            may_be_next && explains && search(accesses, done, one.operation.version, tried)
        })
    }
    search(accesses, 0, Version::ABSENT, &mut HashSet::new())
}

#[test]
fn a_key_is_a_register_exactly_if_some_order_of_its_accesses_explains_it() {
    let mut accepted = 0;
    for seed in 0..CASES {
        let accesses = accesses(seed);
        let mut history = History::default();
        for (worker, one) in (0..).zip(&accesses) {
            history.begin(worker, one.begin_ns);
            history.add(one.operation);
            history.end(one.outcome, one.end_ns);
        }
        let report = check(&history, Survival::EveryCommit);
        let is_register = report.stale.is_none();
        assert_eq!(
            is_register,
            is_linearizable(&accesses),
            "{seed} {accesses:?} {report:?}"
        );
        accepted += u64::from(is_register);
    }
    assert_both(accepted);
}
