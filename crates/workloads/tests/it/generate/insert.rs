//! Items that may be chosen while others are inserted.

use std::collections::VecDeque;
use trueput_workloads::generate::insert::{InsertSequence, InsertWindowError, ItemCount, WINDOW};
use trueput_workloads::generate::random::Random;

#[test]
fn an_item_can_be_chosen_once_all_before_it_are_acknowledged() {
    let sequence = InsertSequence::new(10);
    let claimed = [(); 4].map(|()| sequence.claim());
    assert_eq!(claimed, [10, 11, 12, 13]);
    assert_eq!(sequence.count(), 10);
    for (acknowledged, count) in [(12, 10), (10, 11), (13, 11), (11, 14), (11, 14)] {
        sequence.acknowledge(acknowledged).unwrap();
        assert_eq!(sequence.count(), count, "after {acknowledged}");
    }
}

#[test]
fn an_insert_that_never_ends_stops_the_others_at_the_window() {
    let sequence = InsertSequence::new(0);
    sequence.acknowledge(WINDOW - 1).unwrap();
    let refused = InsertWindowError {
        item: WINDOW,
        waiting_for: 0,
    };
    assert_eq!(sequence.acknowledge(WINDOW), Err(refused));
    sequence.acknowledge(0).unwrap();
    assert_eq!(sequence.acknowledge(WINDOW), Ok(()));
}

#[test]
fn items_go_around_the_window_out_of_order() {
    // The second start leads over the end of the marks' generations; the first is of YCSB's test.
    for first in [i32::MAX as u64 - 1_000, 255 * WINDOW - 500] {
        let sequence = InsertSequence::new(first);
        let mut random = Random::new(first);
        let mut pending = VecDeque::new();
        let total = 2 * WINDOW + WINDOW / 2;
        for _ in 0..total {
            pending.push_back(sequence.claim());
            if pending.len() >= 1_000 {
                let place = random.below(2) as usize;
                let item = pending.remove(place).unwrap();
                sequence.acknowledge(item).unwrap();
                let oldest = *pending.front().unwrap();
                assert_eq!(sequence.count(), oldest);
            }
        }
        for item in pending {
            sequence.acknowledge(item).unwrap();
        }
        assert_eq!(sequence.count(), first + total);
    }
}

#[test]
fn threads_get_different_items_and_none_is_left_behind() {
    let sequence = InsertSequence::new(0);
    let mut claimed: Vec<u64> = std::thread::scope(|scope| {
        let work = || {
            let insert = |_| {
                let item = sequence.claim();
                assert!(sequence.count() <= item);
                sequence.acknowledge(item).unwrap();
                item
            };
            (0..50_000).map(insert).collect::<Vec<_>>()
        };
        let threads = [(); 4].map(|()| scope.spawn(work));
        threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect()
    });
    claimed.sort_unstable();
    assert!(claimed.into_iter().eq(0..200_000));
    assert_eq!(sequence.count(), 200_000);
}
