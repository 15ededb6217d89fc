//! The page's charts as a reader sees them: labels, positions, exported pictures.

use crate::support::{
    browser::Browser,
    pages::{self, sampled, with_failures},
    report, spec, valid,
};
use serde_json::{Value, json};
use trueput_findings::{Run, units};
use trueput_record::Durability;
use trueput_record::recovery::EventRecord;
use trueput_report::RunReport;

/// As many contenders as a run of every engine has, at two levels. At async the quickest have no
/// samples, so that they are in no timeline, and their order differs.
fn thirteen() -> Run {
    let mut trials = Vec::new();
    for place in 0..13 {
        let engine = format!("engine-{place:02}");
        let strict = valid(
            spec(place, &engine, Durability::Sync, 1),
            1_000.0 * f64::from(20 - place),
        );
        let mut strict = sampled(strict, 10);
        for second in &mut strict.measurement.as_mut().unwrap().timeline {
            second
                .counts
                .iter_mut()
                .for_each(|count| *count *= u64::from(20 - place));
        }
        trials.push(strict);
        let loose = valid(
            spec(20 + place, &engine, Durability::Async, 1),
            100_000.0 + 9_000.0 * f64::from(place),
        );
        trials.push(if place > 9 { loose } else { sampled(loose, 10) });
    }
    report(trials)
}

fn shown(report: &Run, width: u32) -> Option<Browser> {
    let mut browser = Browser::start()?;
    browser.open(&report.page(), width, false);
    Some(browser)
}

/// Every chart exported and measured: texts that reach beyond their picture, and charts whose
/// picture does not begin with their full name.
const EXPORTED: &str = "(() => {
  const faults = [];
  document.querySelectorAll('.chart').forEach((figure) => {
    const chart = chartOf(figure);
    const text = standalone(figure, chart.name, chart.note);
    const place = document.body.appendChild(document.createElement('div'));
    place.innerHTML = text;
    const svg = place.firstChild;
    const frame = svg.getBoundingClientRect();
    const own = [...svg.children].filter((one) => one.tagName === 'text');
    const said = own.map((one) => one.textContent).join(' ');
    if (said !== `${chart.name} ${chart.note}`) faults.push(`${chart.name} says: ${said}`);
    const names = figure.querySelectorAll('.legend li').length;
    if (svg.querySelectorAll(':scope > g > text').length !== names) faults.push('no legend');
    for (const one of svg.querySelectorAll('text')) {
      const { left, right, top, bottom } = one.getBoundingClientRect();
      const inside = left >= frame.left && right <= frame.right
        && top >= frame.top && bottom <= frame.bottom;
      if (!inside) faults.push(`cut: ${one.textContent}`);
    }
    place.remove();
  });
  return faults;
})()";

#[test]
#[ignore = "slow: make test runs it"]
fn a_picture_of_a_chart_says_all_of_its_name_and_cuts_nothing_off() {
    for width in [1280, 360] {
        let mut browser = started!(shown(&with_failures(), width));
        assert_eq!(browser.evaluate(EXPORTED), json!([]), "at {width}");
        // Control: titles with their middle where they should begin.
        browser.evaluate(
            "const original = standalone; globalThis.standalone = (...parts) =>
               original(...parts).replaceAll('text-anchor=\"start\"', 'text-anchor=\"middle\"')",
        );
        let cut = browser.evaluate(EXPORTED);
        let cut: Vec<_> = cut.as_array().unwrap().iter().collect();
        let titles = cut
            .iter()
            .filter(|one| one.as_str().unwrap().contains("threen1"));
        assert!(titles.count() > 4, "{cut:?}");
    }
}

/// The looks that each name has in all charts: colors, shapes and dashings of legends.
const LOOKS: &str = "(() => {
  const looks = {};
  const add = (name, look) => { (looks[name] ??= new Set()).add(look); };
  document.querySelectorAll('.legend li').forEach((entry) => {
    const [line, shape] = [entry.querySelector('path'), entry.querySelector('use')];
    if (!shape) return;
    const color = line.getAttribute('stroke');
    if (shape.getAttribute('fill') !== color) add(entry.textContent, 'two colors');
    const dash = line.getAttribute('stroke-dasharray');
    add(entry.textContent, [color, dash, shape.getAttribute('href')].join(' '));
  });
  return Object.fromEntries(Object.entries(looks).map(([name, all]) => [name, [...all]]));
})()";

#[test]
#[ignore = "slow: make test runs it"]
fn a_contender_looks_the_same_in_all_charts_and_like_no_other() {
    let mut browser = started!(shown(&thirteen(), 1280));
    let looks = browser.evaluate(LOOKS);
    let looks = looks.as_object().unwrap();
    assert_eq!(looks.len(), 13, "{looks:?}");
    for (name, all) in looks {
        assert_eq!(all.as_array().unwrap().len(), 1, "{name}: {all}");
    }
    let different: std::collections::BTreeSet<_> =
        looks.values().map(ToString::to_string).collect();
    assert_eq!(different.len(), 13, "{looks:?}");
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn contenders_of_a_ranking_with_colors_for_all_have_colors_of_their_own() {
    let mut few = thirteen();
    // The last seven at async: five of them have no color of their own among all thirteen.
    few.trials
        .retain(|trial| trial.spec.cell < 20 || trial.spec.cell > 25);
    few.manifest = report(few.trials.clone()).manifest;
    let mut browser = started!(shown(&few, 1280));
    let colors = browser.evaluate(
        "[...document.querySelectorAll('.chart.Bars')].map((figure) => {
           const bars = [...figure.querySelectorAll('.bar')];
           return [bars.length, new Set(bars.map((bar) => bar.getAttribute('fill'))).size]; })",
    );
    assert_eq!(colors, json!([[13, 8], [7, 7]]));
}

#[test]
#[ignore = "slow: make test runs it"]
fn bars_have_the_colors_of_the_lines() {
    let mut browser = started!(shown(&thirteen(), 1280));
    let pairs = browser.evaluate(
        "(() => { const lines = {};
           document.querySelectorAll('.legend li[data-group]').forEach((entry) => {
             lines[entry.textContent] = entry.querySelector('path').getAttribute('stroke'); });
           return [...document.querySelectorAll('.chart.Bars .row')].map((row) =>
             [row.querySelector('.bar').getAttribute('fill'),
              lines[row.querySelector('title').textContent]]); })()",
    );
    let pairs = pairs.as_array().unwrap();
    assert_eq!(pairs.len(), 26);
    assert!(pairs.iter().all(|pair| pair[0] == pair[1]), "{pairs:?}");
}

/// Moves the pointer to the end of each line of a timeline, and returns the names in its tips.
const TIPS: &str = "(() => {
  const figure = document.querySelector('.chart.Timeline');
  const told = new Set();
  figure.querySelectorAll('.area .marks').forEach((marks) => {
    const end = [...marks.querySelectorAll('use')].at(-1);
    const { left, top, width, height } = end.getBoundingClientRect();
    const at = { clientX: left + width / 2, clientY: top + height / 2, pointerType: 'mouse' };
    end.dispatchEvent(new PointerEvent('pointermove', { ...at, bubbles: true }));
    told.add(figure.querySelector('.tip').textContent.match(/engine-\\d\\d/)?.[0]);
  });
  return [...told].sort();
})()";

#[test]
#[ignore = "slow: make test runs it"]
fn every_one_of_thirteen_lines_is_named_at_the_pointer() {
    let mut browser = started!(shown(&thirteen(), 1280));
    let expected: Vec<_> = (0..13).map(|place| format!("engine-{place:02}")).collect();
    assert_eq!(browser.evaluate(TIPS), json!(expected));
}

/// The names of the lines that are seen in the first timeline, after a click on this legend entry.
fn isolated(browser: &mut Browser, entry: u32) -> Value {
    browser.evaluate(&format!(
        "(() => {{ const figure = document.querySelector('.chart.Timeline');
           const buttons = [...figure.querySelectorAll('.legend button')];
           buttons[{entry}].click();
           const seen = groupsOf(figure).filter((one) => getComputedStyle(one).opacity === '1');
           return [seen.map((one) => chartOf(figure).groups[one.dataset.group].name),
             buttons.filter((one) => one.ariaPressed === 'true').map((one) => one.textContent)];
         }})()"
    ))
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_click_on_a_name_leaves_its_line_alone_and_another_brings_all_back() {
    let mut browser = started!(shown(&thirteen(), 1280));
    let only = json!([["engine-04"], ["engine-04"]]);
    assert_eq!(isolated(&mut browser, 4), only);
    assert_eq!(isolated(&mut browser, 7)[0], json!(["engine-07"]));
    let all = isolated(&mut browser, 7);
    assert_eq!(all[0].as_array().unwrap().len(), 13, "{all}");
    assert_eq!(all[1], json!([]));
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_contender_that_is_not_selected_is_in_no_chart_and_no_table() {
    let mut browser = started!(shown(&thirteen(), 1280));
    // A group of SVG has no box of its own that could be invisible.
    let seen = "(() => { const shown = (one) => one.checkVisibility()
         && getComputedStyle(one).display !== 'none';
       const rows = [...document.querySelectorAll('.table tbody tr')].filter(shown);
       const cells = rows.flatMap((row) => [...row.cells]).map((cell) => cell.textContent);
       const svg = document.querySelector('svg.rows');
       return [cells.filter((text) => text === 'engine-03').length,
         [...document.querySelectorAll('[data-group]')].filter(shown)
           .filter((one) => one.textContent.includes('engine-03')).length,
         Number(svg.getAttribute('height'))]; })()";
    let before = browser.evaluate(seen);
    assert!(before[0].as_u64() > Some(2) && before[1].as_u64() > Some(2));
    let choose = "[...document.querySelectorAll('.selection label')]
       .find((one) => one.textContent.includes('engine-03')).querySelector('input').click()";
    browser.evaluate(choose);
    let after = browser.evaluate(seen);
    assert_eq!((&after[0], &after[1]), (&json!(0), &json!(0)));
    let height = |seen: &Value| seen[2].as_u64().unwrap();
    assert_eq!(
        height(&before) - height(&after),
        40,
        "its row is left empty"
    );
    browser.evaluate(choose);
    assert_eq!(browser.evaluate(seen), before);
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
fn who_was_too_quick_for_a_timeline_is_named_below_it() {
    let charts = pages::charts(&thirteen().page());
    let timelines = charts.iter().filter(|chart| chart["kind"] == "timeline");
    let notes: Vec<_> = timelines
        .map(|chart| chart["note"].as_str().unwrap())
        .collect();
    assert_eq!(notes.len(), 2);
    assert!(!notes[0].contains("Too short"), "{}", notes[0]);
    let left_out = "Too short for a line: engine-12, engine-11, engine-10.";
    assert!(notes[1].contains(left_out), "{}", notes[1]);
}

/// A trial whose rate changes from second to second, with events before, on and between the ends of
/// its seconds, and after the last.
fn with_events() -> Run {
    let mut trial = sampled(valid(spec(0, "lmdb", Durability::Sync, 1), 2_000.0), 20);
    let measured = trial.measurement.as_mut().unwrap();
    for (index, second) in measured.timeline.iter_mut().enumerate() {
        for count in &mut second.counts {
            *count *= if index % 2 == 0 { 1 } else { 4 };
        }
    }
    measured.elapsed_s = 20.2;
    let moments = [0.3, 1.0, 1.5, 4.9, 12.25, 19.99, 20.1, 21.0];
    let event = |at_s: f64| EventRecord {
        at_s,
        kind: "checkpoint".to_owned(),
        detail: String::new(),
    };
    measured.events = Some(moments.map(event).to_vec());
    report(vec![trial])
}

/// The number of dots for events, and the largest distance of one from its line, pixels.
const DOTS: &str = "(() => {
  const area = document.querySelector('.chart.Timeline .area');
  const path = area.querySelector('path.line');
  const box = area.querySelector('svg').getBoundingClientRect();
  const d = path.getAttribute('d').match(/[\\d.]+/g).map(Number);
  const ends = d.flatMap((x, at) => (at % 2 ? [] : [[x / 2000 * 1e3, d[at + 1] / 2000 * 240]]));
  const points = ends.slice(1).flatMap(([x, y], at) => [...Array(400).keys()].map((step) =>
    [ends[at][0] + (x - ends[at][0]) * step / 400, ends[at][1] + (y - ends[at][1]) * step / 400]));
  const dots = [...area.querySelectorAll('.event')].map((dot) => {
    const part = (side) => parseFloat(dot.getAttribute(side)) / 100;
    const far = ([x, y]) => Math.hypot(x - part('cx') * 1e3, y - part('cy') * 240);
    return Math.min(...points.map(far));
  });
  return [dots.length, Math.max(...dots), box.width > 0];
})()";

#[test]
#[ignore = "slow: make test runs it"]
fn what_an_engine_did_lies_on_its_line() {
    let mut browser = started!(shown(&with_events(), 1280));
    let far = |seen: &Value| seen[1].as_f64().unwrap();
    let seen = browser.evaluate(DOTS);
    // Not the one that came after the trial's end.
    assert_eq!(seen[0], json!(7));
    assert!(far(&seen) < 2.0, "{seen}");
    // The control: one of them moved.
    browser.evaluate("document.querySelector('.event').setAttribute('cy', '95%')");
    let seen = browser.evaluate(DOTS);
    assert!(far(&seen) > 10.0, "{seen}");
}

#[test]
#[ignore = "slow: make test runs it"]
fn figures_in_charts_are_written_as_those_in_tables() {
    let mut browser = started!(shown(&with_failures(), 1280));
    // Between two neighbors, close to them, at powers of ten, and at the end of a unit.
    let figures = [
        0.0,
        0.0123,
        0.125,
        1.0,
        1.125,
        1.225,
        1.235,
        2.5,
        9.995,
        12.25,
        12.35,
        99.95,
        99.96,
        100.5,
        101.5,
        999.5,
        1_023.4,
        1_023.49,
        1_225.0,
        216_927.495_1,
        216_927.5,
        216_928.5,
        999_499.9,
        999_500.0,
        12_845_056.0,
        1_234_999_600.0,
        1e12,
    ];
    for figure in figures {
        let expected = [
            units::number(figure),
            units::seconds(figure),
            units::nanoseconds(figure),
            units::bytes(figure.round()),
        ];
        let written = format!(
            "((figure, bytes) => [WRITE.number(figure), WRITE.seconds(figure), \
             WRITE.nanoseconds(figure), WRITE.bytes(bytes)])({figure:?}, {:?})",
            figure.round()
        );
        assert_eq!(browser.evaluate(&written), json!(expected), "{figure}");
    }
}

#[test]
fn a_rate_keeps_the_digits_that_its_rounding_hangs_on() {
    let per_s = 216_927.495_1;
    let report = report(vec![valid(spec(0, "lmdb", Durability::Sync, 1), per_s)]);
    let page = report.page();
    let charts = pages::charts(&page);
    let bars = charts.iter().find(|chart| chart["kind"] == "bars").unwrap();
    let drawn = bars["groups"][0]["rows"][0][0].as_f64().unwrap();
    assert_eq!(units::number(drawn), "216,927");
    assert!(page.contains(">216,927</td>"));
}

#[test]
fn latencies_over_time_of_every_kind_and_percentile_are_on_the_page_folded() {
    let trial = |place: u32, engine: &str| {
        let trial = valid(spec(place, engine, Durability::Sync, 1), 1_000.0);
        let mut trial = sampled(trial, 10);
        for second in &mut trial.measurement.as_mut().unwrap().timeline {
            let times_ns = vec![1_000, 2_000];
            second.latency_p50_ns.clone_from(&times_ns);
            second.latency_p99_ns.clone_from(&times_ns);
            second.latency_p999_ns.clone_from(&times_ns);
            second.latency_max_ns = times_ns;
        }
        trial
    };
    let page = report(vec![trial(0, "lmdb"), trial(1, "redb")]).page();
    let charts = pages::charts(&page);
    for kind in ["read", "update"] {
        for figure in ["p50", "p99", "p99.9", "max"] {
            let title = format!("{figure} of {kind} over time");
            let is_it = |chart: &&Value| chart["title"] == title.as_str();
            assert_eq!(charts.iter().filter(is_it).count(), 1, "{title}");
        }
    }
    let (open, folded) = page
        .split_once("Latencies over time: other kinds of operation and percentiles")
        .unwrap();
    assert!(open.contains("p99 of update over time"));
    assert!(folded.contains("p50 of update over time"));
}

#[test]
fn size_write_amplification_and_tombstones_are_drawn_over_time_where_they_are_known() {
    let titles = [
        "Database on disk over time",
        "Write amplification over time, bytes of the processes",
        "Tombstones passed per second over time",
    ];
    let shown = |run: &Run| {
        let page = run.page();
        titles.map(|title| page.contains(title))
    };
    let mut run = pages::one_trial();
    assert_eq!(shown(&run), [false; 3]);
    let fill = |run: &mut Run, size: u64, written: u64| {
        for second in &mut run.trials[0].measurement.as_mut().unwrap().timeline {
            second.database_allocated_bytes = Some(size);
            second.storage_written_bytes = written;
            second.user_written_bytes = Some(1_000);
            second.tombstones_passed = Some(7);
        }
    };
    fill(&mut run, 8 << 20, 3_000);
    assert_eq!(shown(&run), [true; 3]);
    // An engine without files has no line.
    fill(&mut run, 0, 0);
    assert_eq!(shown(&run), [false, false, true]);
    // Nor has a user's server, of which the client's bytes would be shown.
    let mut on_users_server = spec(0, "postgresql", Durability::Sync, 1);
    on_users_server.build = Some("postgres://host/database".into());
    let mut run = report(vec![sampled(valid(on_users_server, 2_000.0), 20)]);
    fill(&mut run, 8 << 20, 3_000);
    assert_eq!(shown(&run), [false, false, true]);
}

#[test]
fn an_engine_that_passes_no_tombstones_has_a_line_if_another_passes_some() {
    let trial = |place: u32, engine: &str, passed: Option<u64>| {
        let trial = valid(spec(place, engine, Durability::Sync, 1), 1_000.0);
        let mut trial = sampled(trial, 10);
        for second in &mut trial.measurement.as_mut().unwrap().timeline {
            second.tombstones_passed = passed;
        }
        trial
    };
    let lines = |first: Option<u64>, second: Option<u64>| {
        let of_rocksdb = trial(0, "rocksdb", first);
        let page = report(vec![of_rocksdb, trial(1, "speedb", second)]).page();
        let charts = pages::charts(&page);
        let title = "Tombstones passed per second over time";
        let chart = charts.iter().find(|chart| chart["title"] == title);
        chart.map_or(0, |chart| chart["groups"].as_array().unwrap().len())
    };
    assert_eq!(lines(Some(7), Some(0)), 2);
    assert_eq!(lines(Some(7), None), 1);
    assert_eq!(lines(Some(0), Some(0)), 0);
}
