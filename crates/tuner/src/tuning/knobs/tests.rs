use super::*;
use crate::samples::{spec as first, sqlite};

fn space<'a>(first: &'a TrialSpec, searched: &'a [SearchedKnob]) -> SearchSpace<'a> {
    SearchSpace {
        engine: sqlite(),
        first,
        window_s: None,
        memory_bytes: 8 << 30,
        searched,
    }
}

#[test]
fn bounds_are_read_in_the_unit_of_the_knob() {
    let texts = [
        "sqlite.cache_size=1MiB..64MiB",
        "mmap_size=..1GiB",
        "page_size",
    ];
    let texts = texts.map(str::to_owned);
    let knobs = searched_knobs(&texts, sqlite(), &first(&[])).unwrap();
    assert_eq!(knobs[0].name, "cache_size");
    assert_eq!(knobs[0].low, Some(1_048_576.0));
    assert_eq!((knobs[1].low, knobs[1].high), (None, Some(1_073_741_824.0)));
    assert_eq!((knobs[2].low, knobs[2].high), (None, None));
    let first = first(&[]);
    assert_eq!(space(&first, &knobs).space().unwrap().dimensions(), 3);
}

#[test]
fn knobs_that_cannot_be_searched_are_refused() {
    let kept = first(&[("page_size", Value::from("8192"))]);
    for (text, right) in [
        ("cache_sise", "did you mean 'cache_size'"),
        ("page_size", "keeps it at 8192"),
        ("cache_size=64MiB", "LOW..HIGH"),
        ("cache_size=2GiB..1GiB", "above the upper"),
        ("cache_size=much..1GiB", "as in 4096, 64KiB, 1GiB"),
        ("journal_mode=wal..off", "it has no range"),
    ] {
        let reason = searched_knobs(&[text.to_owned()], sqlite(), &kept)
            .unwrap_err()
            .to_string();
        assert!(reason.contains(right), "{text}: {reason}");
    }
    let twice = ["cache_size", "sqlite.cache_size=1MiB.."].map(str::to_owned);
    let reason = searched_knobs(&twice, sqlite(), &kept)
        .unwrap_err()
        .to_string();
    assert!(reason.contains("names 'cache_size' twice"), "{reason}");
}

#[test]
fn a_value_of_a_preset_that_may_not_run_is_dropped_with_its_reason() {
    let texts = ["cache_size=1MiB..4MiB", "mmap_size"].map(str::to_owned);
    let kept = first(&[]);
    let searched = searched_knobs(&texts, sqlite(), &kept).unwrap();
    let presets = space(&kept, &searched).presets(2).unwrap();
    let of = |name: &str| presets.iter().find(|preset| preset.name == name).unwrap();
    let server = of("server");
    assert_eq!(server.settings.keys().collect::<Vec<_>>(), ["mmap_size"]);
    let dropped = server.dropped.join("; ");
    assert!(dropped.contains("outside of the bounds"), "{dropped}");
    assert!(dropped.contains("journal_mode=wal: this knob is not searched"));
}

#[test]
fn a_preset_keeps_the_promise_of_the_level() {
    let first = first(&[]);
    let space = space(&first, &[]);
    let weaker = Settings::from([("journal_mode".to_owned(), Value::from("off"))]);
    let checked = space.admit(&space.space().unwrap(), &weaker);
    assert!(checked.is_err(), "{checked:?}");
}
