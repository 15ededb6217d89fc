//! Pictures of runs that could be told to overlap, run out of room or lose a name.

use super::display_list::{Bounds, Text};
use super::*;
use trueput_record::testing::{end, everything, manifest, open_loop, repeats, spec, valid};
use trueput_record::{Durability, TrialRecord};

const LEVELS: [Durability; 3] = [Durability::Sync, Durability::Async, Durability::Process];

fn run(trials: Vec<TrialRecord>) -> Run {
    Run {
        end: Some(end()),
        ..Run::of_records(Path::new("results/a-run"), manifest(&trials), trials)
    }
}

fn name(place: u32) -> String {
    let long = [
        "lmdb",
        "rocksdb",
        "berkeleydb",
        "an-engine-with-a-long-name",
    ];
    format!("{}-{place:02}", long[place as usize % long.len()])
}

/// So many contenders at three levels, some of them alike in rate and latency.
fn crowd(contenders: u32) -> Run {
    let mut trials = Vec::new();
    for (level, durability) in (0..).zip(LEVELS) {
        for place in 0..contenders {
            let rate = 900.0 * 30_f64.powi(level) * (1.0 + f64::from(place / 4) * 0.4);
            let rates = [rate, rate * 1.01, rate * 0.99, rate * 1.004];
            let cell = level as u32 * contenders + place;
            trials.extend(repeats(cell, &name(place), durability, &rates));
        }
    }
    run(trials)
}

fn frames() -> impl Iterator<Item = Frame> {
    let page = PAGE_WIDTHS.iter().map(|(width, _)| Frame::page(*width));
    page.chain([Frame::SLIDE])
}

fn charts(run: &Run) -> Vec<Chart> {
    let findings = Findings::of(run);
    let charts = [content::overview(&findings), content::latency(&findings)];
    charts.into_iter().flatten().collect()
}

fn drawn(chart: &Chart, frame: Frame) -> DisplayList {
    let sets: Vec<_> = names_by_panel(chart).collect();
    lay_out(chart, frame, &Appearance::of_sets(&sets))
}

/// Texts that cover each other or reach beyond the picture.
fn faults(list: &DisplayList) -> Vec<String> {
    let whole = Bounds {
        right: list.width,
        bottom: list.height,
        ..Bounds::default()
    };
    let texts: Vec<(&Text, Bounds)> = list.texts().map(|(it, _)| (it, it.bounds())).collect();
    let mut faults = Vec::new();
    for (index, (text, bounds)) in texts.iter().enumerate() {
        if !whole.contains(*bounds) {
            faults.push(format!("cut: {}", text.text));
        }
        let covered = texts[..index]
            .iter()
            .filter(|(_, other)| covers(*bounds, *other));
        faults.extend(covered.map(|(other, _)| format!("{} on {}", text.text, other.text)));
    }
    faults
}

/// Whether texts overlap by more than the room around letters.
fn covers(one: Bounds, other: Bounds) -> bool {
    const AROUND: f64 = 1.5;
    let inner = Bounds {
        left: one.left + AROUND,
        top: one.top + AROUND,
        right: one.right - AROUND,
        bottom: one.bottom - AROUND,
    };
    inner.overlaps(other)
}

#[test]
fn texts_of_20_contenders_cover_neither_each_other_nor_the_edge() {
    for contenders in [1, 2, 12, 20] {
        for chart in charts(&crowd(contenders)) {
            for frame in frames() {
                let list = drawn(&chart, frame);
                let found = faults(&list);
                assert!(found.is_empty(), "{contenders}, {frame:?}: {found:?}");
                // The control: the same texts a little larger.
                let mut larger = list;
                for item in &mut larger.items {
                    if let display_list::Shape::Text(text) = &mut item.shape {
                        text.size *= 1.7;
                    }
                }
                assert!(!faults(&larger).is_empty(), "{contenders}, {frame:?}");
            }
        }
    }
}

#[test]
fn every_contender_is_named_in_every_panel_of_both_charts() {
    for chart in charts(&crowd(20)) {
        for frame in frames() {
            let list = drawn(&chart, frame);
            for (number, group) in chart.groups.iter().enumerate() {
                let end = &group.name[group.name.len() - 3..];
                let texts = list.texts().filter(|(_, of)| *of == Some(number));
                let names = texts.filter(|(text, _)| text.text.ends_with(end));
                assert_eq!(
                    names.count(),
                    3,
                    "{:?} {} {frame:?}",
                    chart.kind,
                    group.name
                );
            }
            assert_eq!(chart.groups.len(), 20);
        }
    }
}

/// Returns the texts of a well-formed document; its elements must end in the reverse of their
/// order, and nothing may be open at its end.
fn texts_of_xml(document: &str) -> Result<Vec<String>, String> {
    let (mut open, mut texts) = (Vec::new(), Vec::new());
    let mut rest = document;
    while let Some(at) = rest.find('<') {
        texts.push(rest[..at].trim().to_owned());
        let end = rest[at..].find('>').ok_or("an open tag")? + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if tag.matches('"').count() % 2 == 1 || tag.contains('<') {
            return Err(format!("<{tag}>"));
        }
        let name = |tag: &str| tag.split([' ', '/']).next().unwrap_or_default().to_owned();
        match tag.as_bytes().first() {
            Some(b'?') => {}
            Some(b'/') => match open.pop() {
                Some(began) if began == tag[1..] => {}
                began => return Err(format!("{began:?} ends as {tag}")),
            },
            _ if tag.ends_with('/') => {}
            _ => open.push(name(tag)),
        }
    }
    if open.is_empty() && rest.trim().is_empty() {
        texts.retain(|text| !text.is_empty());
        Ok(texts)
    } else {
        Err(format!("{open:?} {rest}"))
    }
}

#[test]
fn svg_is_well_formed_names_every_contender_and_escapes_hostile_names() {
    let mut run = crowd(12);
    run.manifest.name = "<script>&\"\u{1b}[2J\u{202e}".to_owned();
    for chart in ChartName::ALL {
        let svg = picture(&run, chart, ImageFormat::Svg).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        let texts = texts_of_xml(&svg).unwrap();
        for place in 0..12 {
            let named = texts.iter().filter(|text| **text == name(place));
            assert!(named.count() >= 3, "{}: {svg}", name(place));
        }
        assert!(
            texts.iter().any(|text| text.contains("&lt;script&gt;")),
            "{texts:?}"
        );
        assert!(!svg.contains(['\u{1b}', '\u{202e}']));
        // The control: an element that does not end.
        assert!(texts_of_xml(&svg.replacen("</text>", "", 1)).is_err());
    }
}

#[test]
fn png_is_of_the_size_of_a_slide_and_not_blank() {
    for chart in ChartName::ALL {
        let png = picture(&crowd(12), chart, ImageFormat::Png).unwrap();
        let image = tiny_skia::Pixmap::decode_png(&png).unwrap();
        assert_eq!((image.width(), image.height()), (2_560, 1_440));
        let pixels = image.pixels();
        let ground = pixels
            .iter()
            .filter(|pixel| pixel.red() == 255 && pixel.blue() == 255);
        let drawn = pixels.len() - ground.count();
        assert!(
            drawn > pixels.len() / 100 && drawn < pixels.len() / 3,
            "{drawn}"
        );
    }
}

#[test]
fn a_picture_says_the_verdict_in_the_words_of_the_report() {
    let run = run(everything());
    let chart = &charts(&run)[0];
    let answer = Findings::of(&run).answer;
    let texts = |list: &DisplayList| {
        let texts = list.texts().map(|(text, _)| text.text.clone());
        texts.collect::<Vec<_>>().join(" ")
    };
    for frame in frames() {
        let said = texts(&drawn(chart, frame));
        for ranking in &answer.rankings {
            let sentence = crate::answer::words::verdict_sentence(ranking);
            assert!(said.contains(&sentence), "{sentence}: {said}");
            assert!(said.contains(ranking.verdict.label()), "{said}");
        }
    }
    let slide = texts(&drawn(chart, Frame::SLIDE));
    for condition in [
        "first-look",
        "4 workers",
        "Model 9000, 2 cores",
        "2026-11-21",
        "Failed",
    ] {
        let is_said = slide.to_lowercase().contains(&condition.to_lowercase());
        assert!(is_said, "{condition}: {slide}");
    }
}

#[test]
fn rates_that_are_far_apart_are_on_a_log_scale_which_is_said() {
    let is_log = |rates: [f64; 2]| {
        let trials = (0..).zip(rates).flat_map(|(cell, rate)| {
            repeats(
                cell,
                &name(cell),
                Durability::Sync,
                &[rate, rate * 1.01, rate * 0.99],
            )
        });
        let chart = &charts(&run(trials.collect()))[0];
        let list = drawn(chart, Frame::SLIDE);
        list.texts()
            .any(|(text, _)| text.text == "updates per second, log scale")
    };
    assert!(is_log([1_000.0, 90_000.0]));
    assert!(!is_log([1_000.0, 3_000.0]), "the control");
}

#[test]
fn at_one_rate_response_times_are_shown_and_no_second_chart() {
    let run = run(open_loop::contest());
    let all = charts(&run);
    assert_eq!(all.len(), 1);
    let panel = &all[0].panels.panels[0];
    let texts: Vec<_> = panel.rows.iter().map(|row| row.text.as_str()).collect();
    assert_eq!(texts.last(), Some(&"rate not kept"), "{texts:?}");
    assert!(
        texts[0].ends_with("µs") && panel.label.contains("response time"),
        "{texts:?}"
    );
    let error = picture(&run, ChartName::Latency, ImageFormat::Svg).unwrap_err();
    assert!(
        error.to_string().contains("only response times differ"),
        "{error}"
    );
}

#[test]
fn rankings_without_room_are_counted() {
    let trials = (1..=7).flat_map(|workers| {
        let trial = |cell: u32| {
            let mut spec = spec(10 * workers + cell, &name(cell), Durability::Sync, 1);
            spec.workers = workers;
            valid(spec, 1_000.0)
        };
        [trial(0), trial(1)]
    });
    let chart = &charts(&run(trials.collect()))[0];
    assert_eq!(chart.panels.panels.len(), 6);
    assert!(
        chart.note.contains("Not shown: 1 more ranking"),
        "{}",
        chart.note
    );
    assert!(
        chart.panels.panels[2].title.contains("3 workers"),
        "{chart:?}"
    );
}

#[test]
fn a_run_without_valid_trials_has_no_chart_and_says_why() {
    for chart in ChartName::ALL {
        let error = picture(&run(Vec::new()), chart, ImageFormat::Png).unwrap_err();
        assert!(error.to_string().contains("no valid trials"), "{error}");
    }
}

#[test]
fn a_chart_is_named_and_a_file_ends_in_its_format() {
    assert_eq!(ChartName::named("overveiw"), None);
    for chart in ChartName::ALL {
        assert_eq!(ChartName::named(chart.name()), Some(chart));
    }
    let of = |file: &str| ImageFormat::of_file(Path::new(file)).ok();
    assert_eq!(of("a.svg"), Some(ImageFormat::Svg));
    assert_eq!(of("b/a.PNG"), Some(ImageFormat::Png));
    assert_eq!([of("a.pdf"), of("a"), of(".svg")], [None; 3]);
}
