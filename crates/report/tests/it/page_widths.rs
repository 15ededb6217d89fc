//! Nothing on a page is cut off, on screens of three widths and on paper.

use crate::support::{
    browser::Browser,
    pages::{hundreds, sampled, unguarded, with_failures},
    report, spec, valid,
};
use serde_json::{Value, json};
use trueput_findings::Run;
use trueput_record::hardware_limits::{FlushLimit, HardwareLimits, MemoryBandwidth};
use trueput_record::measurement::{OpenLoop, OperationSummary, ResponseSummary};
use trueput_record::{Durability, Isolation, TrialRecord, Value as Setting};
use trueput_report::RunReport;

/// The kinds of operation that tpcc has.
const KINDS: [&str; 5] = [
    "new-order",
    "payment",
    "order-status",
    "delivery",
    "stock-level",
];

/// A trial with something in every column: five kinds of operation, hardware limits, an open loop.
fn trial(cell: u32, engine: &str, repeat: u32) -> TrialRecord {
    let mut spec = spec(cell, engine, Durability::Sync, repeat);
    spec.workload = "tpcc".to_owned();
    let map_size = Setting::Integer(1 << (30 + cell));
    spec.knobs.insert("map_size".to_owned(), map_size);
    let mut trial = valid(spec, 1_234_567.0 + f64::from(10_000 * cell + repeat));
    trial.hardware_limits = Some(HardwareLimits {
        flush: Some(FlushLimit {
            separate_per_s: 12_345.0,
            grouped_per_s: 123_456.0,
            grouped_flushes_per_s: 1_234.0,
        }),
        memory: MemoryBandwidth {
            dependent_reads_per_s: 9_299_854.0,
            ..MemoryBandwidth::default()
        },
        ..HardwareLimits::default()
    });
    let measurement = trial.measurement.as_mut().unwrap();
    let like = measurement.operations[1].clone();
    let operation = |kind: &str| OperationSummary {
        kind: kind.to_owned(),
        ..like.clone()
    };
    measurement.operations = KINDS.into_iter().chain(["read"]).map(operation).collect();
    measurement.commits = Some(5 * like.count);
    let response = |kind: &str| ResponseSummary {
        kind: kind.to_owned(),
        count: like.count,
        latency: like.latency.clone(),
    };
    measurement.open_loop = Some(OpenLoop {
        rate_per_s: 1_500_000.0,
        issued: 5 * like.count,
        responses: KINDS.map(response).to_vec(),
        ..OpenLoop::default()
    });
    trial
}

fn many_columns() -> Run {
    let cells = [(0, "lmdb"), (1, "lmdb"), (2, "berkeleydb"), (3, "rocksdb")];
    let repeats = (1..=3).flat_map(|repeat| cells.map(|(cell, engine)| (cell, engine, repeat)));
    let trials = repeats.map(|(cell, engine, repeat)| trial(cell, engine, repeat));
    let mut report = report(trials.collect());
    let headline = ("tpcc".to_owned(), KINDS[0].to_owned());
    report.manifest.headlines = [headline].into();
    report
}

/// Elements that reach beyond the right of the page outside a scrolling frame, with the distance.
const OUTSIDE: &str = "(() => {
  const scrolls = (e) => !['visible', 'clip'].includes(getComputedStyle(e).overflowX);
  const framed = (e) => e !== null && e !== document.body
    && (scrolls(e) || framed(e.parentElement));
  const over = (e) => Math.round(e.getBoundingClientRect().right - innerWidth);
  const outside = [...document.querySelectorAll('body *')].filter((e) => over(e) > 0);
  const told = outside.filter((e) => !framed(e.parentElement))
    .map((e) => `${e.tagName} by ${over(e)}: ${e.textContent.slice(0, 40)}`);
  const page = document.documentElement.scrollWidth - innerWidth;
  return page > 0 ? [`the page by ${page}`, ...told.slice(0, 5)] : told.slice(0, 5);
})()";

/// Elements beyond the page at each width, and on A4 and Letter after drawing for a screen.
fn outside(browser: &mut Browser, page: &str) -> Vec<(&'static str, Value)> {
    let mut seen = Vec::new();
    for (medium, width) in [("1280", 1280), ("760", 760), ("360", 360)] {
        browser.open(page, width, false);
        seen.push((medium, browser.evaluate(OUTSIDE)));
        // The data of each chart as a table, which is made when it is opened.
        browser.evaluate(
            "document.querySelectorAll('.chart details').forEach((one) => { one.open = true; });
             new Promise((done) => setTimeout(done, 100))",
        );
        seen.push((medium, browser.evaluate(OUTSIDE)));
    }
    // The width of the sheet without Chromium's margins, at 96 points to the inch.
    for (medium, width) in [("A4", 718), ("Letter", 739), ("760 in print", 760)] {
        browser.open(page, 1280, false);
        browser.print(width);
        seen.push((medium, browser.evaluate(OUTSIDE)));
    }
    seen.retain(|(_, outside)| *outside != json!([]));
    seen
}

#[test]
#[ignore = "slow: make test runs it"]
fn nothing_stands_out_of_the_page_on_a_screen_or_on_paper() {
    let mut browser = started!();
    assert_eq!(outside(&mut browser, &many_columns().page()), []);
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
#[ignore = "slow: make test runs it"]
fn what_stands_out_is_found() {
    let mut browser = started!();
    let wide = "<p style=\"white-space: nowrap; max-width: none\">";
    let page = unguarded(&many_columns().page());
    let page = page.replace(
        "</main>",
        &format!("{wide}{}</p></main>", "wide ".repeat(900)),
    );
    let found = outside(&mut browser, &page);
    let mut found: Vec<_> = found.into_iter().map(|(medium, _)| medium).collect();
    found.dedup();
    let everywhere = ["1280", "760", "360", "A4", "Letter", "760 in print"];
    assert_eq!(found, everywhere);
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_table_that_may_not_break_its_headings_is_too_wide_for_paper() {
    let mut browser = started!();
    let style = "th.figure, td.figure { white-space: nowrap !important; }
        .scroll .spare.spare.spare { display: table-cell !important; }</style>";
    let page = unguarded(&many_columns().page()).replacen("</style>", style, 1);
    let found = outside(&mut browser, &page);
    assert!(found.iter().any(|(medium, _)| *medium == "A4"), "{found:?}");
    let on_screen = |medium: &str| ["1280", "760", "360"].contains(&medium);
    assert!(
        !found.iter().any(|(medium, _)| on_screen(medium)),
        "{found:?}"
    );
}

/// The names of ranked contenders and of trials, and what these are ranked by, that are not wholly
/// in their frame.
const UNSEEN: &str = "(() => [...document.querySelectorAll('table')].flatMap((table) => {
  const titles = [...table.tHead.rows[0].cells].map((heading) => heading.textContent);
  const isKey = (title) => /^(per second|response p99|.*\\/s)$/.test(title);
  const rate = titles.findIndex(isKey);
  const name = titles.findIndex((title) => title === 'trial' || title === 'contender');
  const asked = /^Every trial$|, \\d+ workers/.test(table.caption.textContent);
  if (rate < 0 || name > 1 || !asked) return [];
  const frame = table.closest('.scroll').getBoundingClientRect();
  const cells = [...table.rows].flatMap((row) => [row.cells[name], row.cells[rate]]);
  const cut = (cell) => {
    const { left, right } = cell.getBoundingClientRect();
    return left < frame.left || right > frame.right || cell.scrollWidth > cell.clientWidth;
  };
  return cells.filter(cut).map((cell) => `${table.caption.textContent}: ${cell.textContent}`);
}))()";

#[test]
#[ignore = "slow: make test runs it"]
fn on_a_telephone_every_contender_and_its_rate_are_seen_at_once() {
    let mut browser = started!();
    for report in [with_failures(), hundreds(), many_columns()] {
        let page = report.page();
        browser.open(&page, 360, false);
        assert_eq!(browser.evaluate(UNSEEN), json!([]));
    }
    // The control: with all columns, as many as there are before it push the rate out.
    browser.evaluate("document.querySelectorAll('.columns input').forEach((one) => one.click())");
    assert_ne!(browser.evaluate(UNSEEN), json!([]));
}

/// The tables of which some part is out of sight, and by how much.
const SIDEWAYS: &str = "(() => [...document.querySelectorAll('.table .scroll')]
  .filter((frame) => frame.scrollWidth > frame.clientWidth + 1)
  .map((frame) => `${frame.ariaLabel}: ${frame.scrollWidth - frame.clientWidth}`))()";

/// The notes below the names of the first ranking, in order.
const BELOW_NAMES: &str = "[...document.querySelector('.table table').tBodies[0].rows]
  .map((row) => getComputedStyle(row.querySelector('th'), '::after').content)";

#[test]
#[ignore = "slow: make test runs it"]
fn no_table_scrolls_sideways_until_all_its_columns_are_asked_for() {
    let mut browser = started!();
    for report in [with_failures(), hundreds(), many_columns(), long_names()] {
        let page = report.page();
        for width in [360, 1280] {
            browser.load(&page, width, false);
            assert_eq!(browser.evaluate(SIDEWAYS), json!([]), "{width}");
        }
    }
    // The control: tables with all their columns.
    browser.evaluate("document.querySelectorAll('.columns input').forEach((one) => one.click())");
    assert_ne!(browser.evaluate(SIDEWAYS), json!([]));
}

#[test]
#[ignore = "slow: make test runs it"]
fn on_a_telephone_the_isolation_stands_below_the_name_until_its_column_is_asked_for() {
    let mut browser = started!();
    let mut report = with_failures();
    for trial in &mut report.trials {
        let stated = match trial.spec.engine.as_str() {
            "redb" => Isolation::Serializable,
            _ => Isolation::Snapshot,
        };
        trial.engine.as_mut().unwrap().isolation = Some(stated);
    }
    let page = report.page();
    browser.load(&page, 360, false);
    let stated = json!(["\"snapshot\"", "\"serializable\""]);
    assert_eq!(browser.evaluate(BELOW_NAMES), stated);
    // The name itself is the contender's: it is what is selected by, and what CSV says.
    let names = browser.evaluate("tableRows(document.querySelector('.table table'))[2][1]");
    assert_eq!(names, "redb");
    browser.evaluate("document.querySelector('.table .columns input').click()");
    let none = json!(["none", "none"]);
    assert_eq!(browser.evaluate(BELOW_NAMES), none);
    browser.load(&page, 1280, false);
    assert_eq!(browser.evaluate(BELOW_NAMES), none);
}

/// Contenders with names of about 80 characters, and trials that were held by something.
fn long_names() -> Run {
    let trial = |cell: u32| {
        let mut trial = sampled(trial(cell, "rocksdb", 1), 20);
        let names = ["map_size", "target_file_size_base", "write_buffer_size"];
        for (name, value) in names.into_iter().zip([1 << 30, 1 << 26, 1 << 26]) {
            let value = Setting::Integer(value + i64::from(cell));
            trial.spec.knobs.insert(name.to_owned(), value);
        }
        trial
    };
    let mut report = report((0..8).map(trial).collect());
    let headline = ("tpcc".to_owned(), KINDS[0].to_owned());
    report.manifest.headlines = [headline].into();
    report
}

/// In tables scrolled sideways: row headings under another column's heading, and names of more than
/// three lines.
const HEADLESS: &str = "(() => [...document.querySelectorAll('.scroll')].flatMap((frame) => {
  const table = frame.querySelector('table');
  if (!table || !table.tBodies[0].rows.length) return [];
  const row = table.tBodies[0].rows[0];
  const at = [...row.cells].findIndex((cell) => cell.scope === 'row');
  frame.scrollIntoView({ block: 'center', behavior: 'instant' });
  frame.scrollLeft = 300;
  const heading = table.tHead.rows[0].cells[at].getBoundingClientRect();
  const name = row.cells[at].getBoundingClientRect();
  const seen = document.elementFromPoint(name.left + 4, heading.top + heading.height / 2);
  const titled = Math.abs(heading.left - name.left) < 1
    && seen?.closest('th') === table.tHead.rows[0].cells[at];
  const caption = table.caption.textContent;
  const lines = (one) => (one.offsetHeight - 11) / 21;
  const asked = /^Every trial$|, \\d+ workers/.test(caption);
  const high = [...table.tBodies[0].rows].filter((one) => asked && lines(one) > 3.2);
  return [...(titled ? [] : [`${caption}: headless`]),
    ...high.map((one) => `${caption}: ${one.offsetHeight} px high: ${one.textContent}`)];
}))()";

#[test]
#[ignore = "slow: make test runs it"]
fn a_table_scrolled_sideways_keeps_names_under_their_heading_and_rows_low() {
    let mut browser = started!();
    let page = long_names().page();
    browser.open(&page, 1280, false);
    let wide = "[...document.querySelectorAll('.scroll')]
      .filter((frame) => frame.scrollWidth > frame.clientWidth + 300).length";
    browser.evaluate("document.querySelectorAll('.columns input').forEach((one) => one.click())");
    assert!(browser.evaluate(wide).as_u64() > Some(0), "none scrolls");
    assert_eq!(browser.evaluate(HEADLESS), json!([]));
    // Control: headings that do not stick, and names as narrow as possible.
    browser.evaluate(
        "['thead th { left: auto !important; }',
          'tbody th[scope=row] { min-width: 7rem !important; max-width: 7rem !important; }']
           .forEach((rule) => document.styleSheets[0].insertRule(rule))",
    );
    let found = browser.evaluate(HEADLESS).to_string();
    assert_has!(found, "headless", "px high");
}

/// The vertical positions of the first table, the first chart and its second row, verdicts that
/// reach beyond their table, and the number of tab stops before the first table, and before that of
/// the first ranking.
const FIRST: &str = "(() => {
  const top = (what) => Math.round(document.querySelector(what).getBoundingClientRect().top);
  const stops = (what) => [...document.querySelectorAll('a, button, input, summary, [tabindex]')]
    .filter((one) => one.tabIndex >= 0 && one.checkVisibility()
      && one.compareDocumentPosition(document.querySelector(what)) & 4).length;
  const right = (one) => one.getBoundingClientRect().right;
  const beyond = [...document.querySelectorAll('.tile')]
    .filter((one) => right(one) > right(one.closest('table')) + .5);
  const rows = [...document.querySelectorAll('.chart .picture [data-group]')]
    .filter((one) => one.checkVisibility());
  const row = (place) => Math.round(rows[place].getBoundingClientRect().top);
  return { table: top('table.answer'), chart: row(0), title: top('.chart strong'),
    second: row(1), beyond: beyond.length,
    facts: top('.facts'), contents: top('nav'),
    stops: [stops('table.answer tbody'), stops('.table table')] };
})()";

#[test]
#[ignore = "slow: make test runs it"]
fn the_first_screen_has_the_answer_and_a_chart_and_few_stops_of_the_tab_key() {
    let mut browser = started!();
    // A screen is 740 pixels high at 360: the chart's title and its first bars are on it, whatever
    // the run says of itself.
    for (mut report, width, most) in [
        (with_failures(), 1280, 400),
        (hundreds(), 1280, 720),
        (with_failures(), 360, 600),
    ] {
        report.manifest.about = "What this run is about, in a few sentences. ".repeat(5);
        let page = report.page();
        browser.load(&page, width, false);
        let seen = browser.evaluate(FIRST);
        let at = |name: &str| seen[name].as_i64().unwrap();
        assert!(at("table") < 200 && at("title") > at("table"), "{seen}");
        assert!(at("chart") < most, "{width}: {seen}");
        assert!(at("second") < 740 && at("second") > at("chart"), "{seen}");
        assert_eq!(at("beyond"), 0, "{width}: {seen}");
        assert!(
            at("chart") < at("facts") && at("chart") < at("contents"),
            "{seen}"
        );
        let stops = [0, 1].map(|index| seen["stops"][index].as_u64().unwrap());
        assert!(stops[0] < 5 && stops[1] < 100, "{seen}");
    }
    // The control: contents before the table, and a link to each trial in them.
    browser.evaluate(
        "(() => { const nav = document.querySelector('nav');
           nav.append(...[...Array(500)].map(() => element('a', { href: '#main' }, 'trial')));
           document.querySelector('main').prepend(nav); })()",
    );
    let seen = browser.evaluate(FIRST);
    assert!(seen["stops"][0].as_u64() > Some(100), "{seen}");
    assert!(seen["chart"].as_i64() > seen["contents"].as_i64(), "{seen}");
}

/// Fonts that are wider than most, as styles of the page.
const WIDE_FONTS: [&str; 3] = [
    "font-family: monospace",
    "font-family: 'DejaVu Sans', Verdana, sans-serif",
    "letter-spacing: .12em",
];

#[test]
#[ignore = "slow: make test runs it"]
fn whatever_the_font_nothing_reaches_beyond_the_page_or_the_first_table() {
    let mut browser = started!();
    let page = with_failures().page();
    for font in WIDE_FONTS {
        let style = format!("body, button, input {{ {font} !important; }}</style>");
        let page = unguarded(&page).replacen("</style>", &style, 1);
        for width in [1280, 1000, 760, 360] {
            browser.load(&page, width, false);
            assert_eq!(browser.evaluate(OUTSIDE), json!([]), "{font}, {width}");
            let seen = browser.evaluate(FIRST);
            assert_eq!(seen["beyond"], json!(0), "{font}, {width}: {seen}");
        }
    }
    // The control: words that may not break.
    let style = ".tile { max-width: none; white-space: nowrap; letter-spacing: 2em }</style>";
    let page = unguarded(&page).replacen("</style>", style, 1);
    browser.load(&page, 1280, false);
    assert_ne!(browser.evaluate(FIRST)["beyond"], json!(0));
}

/// The number of charts, and of those with bars or lines of a visible size.
const DRAWN: &str = "(() => {
  const figures = [...document.querySelectorAll('.chart')];
  const sized = (one) => { const { width, height } = one.getBoundingClientRect();
    return width > 20 || height > 20; };
  const drawn = figures.filter((figure) =>
    [...figure.querySelectorAll('.bar, .line, .marks use, .picture')].some(sized));
  return [figures.length, drawn.length, document.querySelectorAll('button').length];
})()";

#[test]
#[ignore = "slow: make test runs it"]
fn without_scripts_every_chart_is_there_and_so_are_all_columns() {
    let mut browser = started!();
    let page = with_failures().page();
    browser.scripts(false);
    browser.load(&page, 1280, false);
    let seen = browser.evaluate(DRAWN);
    assert!(seen[0].as_u64() > Some(8), "{seen}");
    assert_eq!((&seen[0], &seen[2]), (&seen[1], &json!(0)), "{seen}");
    let columns = "(() => { const table = document.querySelector('.table table');
       return [...table.tHead.rows[0].cells].filter((one) => one.checkVisibility()).length; })()";
    let before = browser.evaluate(columns).as_u64().unwrap();
    assert!(before <= 8, "{before} columns");
    browser.evaluate("document.querySelector('.table .columns input').click()");
    let after = browser.evaluate(columns).as_u64().unwrap();
    assert!(after > 15, "{after} columns");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_ranking_fits_the_page_and_leads_with_what_a_reader_asks_first() {
    let mut browser = started!();
    let page = with_failures().page();
    browser.open(&page, 1280, false);
    let seen = browser.evaluate(
        "(() => { const frame = document.querySelector('.table .scroll');
           const cells = [...frame.querySelectorAll('thead th')];
           return [frame.scrollWidth <= frame.clientWidth,
             cells.filter((one) => one.checkVisibility()).map((one) => one.textContent)]; })()",
    );
    let titles = [
        "rank",
        "contender",
        "version",
        "updates/s",
        "of best",
        "of best from–to",
        "update p99",
        "CPU/operation",
    ];
    assert_eq!(seen, json!([true, titles]));
}

/// The ends of elements on paper, pixels from the top of the first sheet.
const ON_PAPER: &str = "(() => {
  const end = (what) => document.querySelector(what).getBoundingClientRect().bottom;
  return { table: end('table.answer'), chart: end('.chart .drawing'),
    tools: [...document.querySelectorAll('.tools, nav, .columns, .selection')]
      .filter((one) => one.checkVisibility()).length };
})()";

#[test]
#[ignore = "slow: make test runs it"]
fn the_first_sheet_of_paper_has_the_answer_and_a_whole_chart() {
    let mut browser = started!();
    // The height of A4 without the margins that browsers give it.
    let sheet = 1_046.0;
    for report in [with_failures(), hundreds()] {
        let page = report.page();
        browser.open(&page, 1280, false);
        browser.print(718);
        let seen = browser.evaluate(ON_PAPER);
        assert!(seen["chart"].as_f64().unwrap() < sheet, "{seen}");
        assert!(seen["table"].as_f64() < seen["chart"].as_f64(), "{seen}");
        assert_eq!(seen["tools"], json!(0));
    }
}
