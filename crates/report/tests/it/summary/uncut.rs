//! Answers where nothing is cut: in a pipe or a file.

use super::screen::large;
use crate::support::{failed, spec};
use trueput_findings::answer::{Answer, NextStep};
use trueput_record::Durability;
use trueput_report::answer::{AnswerText, Layout};

#[test]
fn where_nothing_is_cut_every_sentence_and_command_is_whole() {
    let mut run = large(5, 4, 0);
    run.manifest.skipped = vec![format!(
        "engine9 is not installed: {}",
        "trueput engines install engine9 ".repeat(12).trim_end()
    )];
    run.manifest.name = "a-name-of-a-plan ".repeat(12).trim_end().to_owned();
    let reason = "why ".repeat(60).trim_end().to_owned();
    let dead = spec(9_000, "dead", Durability::Process, 1);
    run.trials.push(failed(dead, &reason));
    let answer = Answer::of(&run);
    let narrow =
        "sync, threen1, 4 workers, finish=1000:\n  engine0? too few repeats; engine1 50 %\n";
    let layout = Layout {
        width: 40,
        cuts: false,
        ..Layout::default()
    };
    assert_has!(answer.render(layout, &[]), narrow);
    for width in [40, 80] {
        let layout = Layout {
            width,
            cuts: false,
            ..Layout::default()
        };
        let text = answer.render(layout, &["run folder: results/1".to_owned()]);
        let fits = |line: &str| line.starts_with("  trueput ") || line.chars().count() <= width;
        assert!(text.lines().all(fits), "{text}");
        let is_counted = |line: &str| !line.contains('…') || line.contains(" more; --full");
        assert!(text.lines().all(is_counted), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for whole in [&run.manifest.skipped[0], &run.manifest.name, &reason] {
            assert!(words.contains(whole), "{width}: {whole}: {text}");
        }
        // The control: a terminal cuts.
        let screen = answer.render(
            Layout {
                width,
                ..Layout::default()
            },
            &[],
        );
        assert!(screen.contains('…'), "{screen}");
    }
}

#[test]
fn a_command_to_copy_has_the_name_by_which_the_program_was_called() {
    let answer = Answer::of(&large(1, 2, 0));
    let step = answer.next_steps[0].clone().called("./tp");
    assert!(matches!(step, NextStep::Decide { .. }), "{step:?}");
    assert_eq!(step.command()[..2], ["./tp", "run"]);
}

#[test]
fn a_long_list_of_what_was_skipped_leaves_a_few_rankings_their_tables() {
    let mut run = large(3, 12, 0);
    let skipped = "does not support durability 'async'; it supports sync, buffered and process";
    run.manifest.skipped = (0..20)
        .map(|one| format!("engine{one} {skipped}"))
        .collect();
    let layout = Layout {
        cuts: false,
        ..Layout::default()
    };
    let text = Answer::of(&run).render(layout, &[]);
    assert_eq!(text.matches(" more (").count(), 3, "{text}");
    assert_has!(text, "updates/s");
}
