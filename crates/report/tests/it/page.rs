//! The report as a page: what it holds, and what a browser makes of it.

use crate::support::{
    everything,
    looks::{LOOK, complaints_about},
    pages::{charts, hundreds, one_trial, unguarded, with_failures},
    report,
};
use serde_json::{Value, json};
use trueput_findings::Run;
use trueput_record::Value as Setting;
use trueput_report::RunReport;

#[test]
fn a_page_asks_for_nothing_from_elsewhere() {
    let page = with_failures().page();
    assert!(page.contains("content=\"default-src 'none';"));
    for link in page.split("href=\"").skip(1) {
        assert!(link.starts_with('#'), "{}", &link[..link.len().min(60)]);
    }
    for asking in [" src=\"", "<link", "<iframe", "@import", "url(http"] {
        assert!(!page.contains(asking), "{asking}");
    }
}

/// The page's policy and its scripts, data left out.
fn policy_and_scripts(page: &str) -> (String, Vec<&str>) {
    let policy = page.split_once("Content-Security-Policy\" content=\"");
    let policy = policy.unwrap().1.split_once('"').unwrap().0.to_owned();
    let scripts = page.split("<script>").skip(1);
    let scripts = scripts.map(|rest| rest.split_once("</script>").unwrap().0);
    (policy, scripts.collect())
}

#[test]
fn the_policy_admits_the_page_s_own_script_and_style_by_their_hashes_and_no_other() {
    use base64::Engine;
    use sha2::{Digest, Sha256};
    let page = with_failures().page();
    let (policy, scripts) = policy_and_scripts(&page);
    let admitted = |directive: &str| -> Vec<String> {
        let parts = policy.split(';').map(str::trim);
        let hashes = parts.filter_map(|part| part.strip_prefix(directive));
        let hashes = hashes.flat_map(str::split_whitespace);
        hashes.map(str::to_owned).collect()
    };
    let hash = |script: &&str| {
        let hash = Sha256::digest(script.as_bytes());
        let hash = base64::engine::general_purpose::STANDARD.encode(hash);
        format!("'sha256-{hash}'")
    };
    let [script] = scripts.as_slice() else {
        panic!("{} scripts", scripts.len());
    };
    assert_eq!(admitted("script-src "), [hash(script)]);
    let (_, style) = page.split_once("<style>").unwrap();
    let (style, after) = style.split_once("</style>").unwrap();
    assert_eq!(admitted("style-src "), [hash(&style)]);
    assert!(!after.contains("<style") && !page.contains(" style=\""));
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_browser_runs_the_page_s_own_scripts_and_none_that_was_smuggled_in() {
    let mut browser = started!();
    let report = with_failures();
    let whole = report.page();
    browser.load(&whole, 1280, false);
    assert_eq!(browser.complaints, [] as [String; 0]);
    // Attributes that are scripts would not run.
    let handlers = "[...document.querySelectorAll('*')].flatMap((one) => [...one.attributes]) \
                    .filter(({ name }) => name.startsWith('on')).length";
    let seen = browser.evaluate(&format!("[{handlers}, CHARTS.length > 0]"));
    assert_eq!(seen, json!([0, true]));
    let smuggled = "<script>window.smuggled = 1</script>\
                    <img src=\"data:,x\" onerror=\"window.smuggled = 2\"></main>";
    let page = report.page().replace("</main>", smuggled);
    browser.load(&page, 1280, false);
    let seen = browser.evaluate("[typeof window.smuggled, CHARTS.length > 0]");
    assert_eq!(seen, json!(["undefined", true]));
    let said = browser.complaints.join(" ");
    assert_has!(said, "Content Security Policy");
}

#[test]
fn what_an_engine_or_a_plan_says_never_becomes_markup() {
    let mut hostile = with_failures();
    let mark = "</script><b id=\"hostile\">&{{sections}}";
    hostile.manifest.name = mark.to_owned();
    hostile.manifest.about = mark.to_owned();
    hostile.manifest.host.cpu_model = mark.to_owned();
    for trial in &mut hostile.trials {
        trial.spec.engine = format!("lmdb{mark}");
    }
    let page = hostile.page();
    assert!(!page.contains("<b id="), "a name became an element");
    assert!(!page.contains("<img"), "a reason became an element");
    assert_eq!(
        page.matches("</script>").count(),
        2,
        "a name ended a script"
    );
    assert!(
        page.contains("{{sections}}"),
        "a name was read as the template"
    );
}

#[test]
fn levels_are_never_drawn_together() {
    let charts = charts(&with_failures().page());
    let bars = charts.iter();
    let bars: Vec<_> = bars.filter(|chart| chart["kind"] == "bars").collect();
    // At sync lmdb is ahead by its pairs, though not by its median; the harness is ranked nowhere.
    let names = |chart: &Value| -> Vec<Value> {
        let groups = chart["groups"].as_array().unwrap().iter();
        groups.map(|group| group["name"].clone()).collect()
    };
    assert_eq!(bars.len(), 2);
    assert_eq!(names(bars[0]), ["lmdb", "redb"]);
    assert_eq!(names(bars[1]), ["lmdb", "redb"]);
}

#[test]
fn the_page_says_in_words_what_was_found_and_what_went_wrong() {
    let page = with_failures().page();
    assert_has!(
        page,
        "<strong>lmdb</strong> <small>2,100 updates/s</small>",
        "<span class=\"tile significant\">significant</span>",
        "<strong>Updates per second, threen1, 4 workers</strong>",
        "<span>cost of the harness: null, 5,000,000 updates/s</span></summary>",
        "A contender is slower if its interval ends before the dashed line, a rank test agrees and \
         the difference is at least 1 %.",
        "1 invalid, 2 failed. 1 damaged line of trials.jsonl is left out",
        "trials.jsonl, line 3: unreadable, skipped",
        "worker 2 was killed by SIGKILL",
        "The run has not finished",
        "git checkout 0123abc",
        "trueput run 'plans/first look.toml'",
        "--knob lmdb.map_size=1073741824"
    );
}

#[test]
fn a_run_without_trials_has_a_page_that_says_so() {
    let mut empty = report(everything());
    empty.trials.clear();
    let page = empty.page();
    assert!(page.contains("17 trials: 17 missing."));
    assert!(page.contains("No trial has ended."));
    assert!(!page.contains("data-chart="));
}

#[test]
fn turns_of_a_knob_stand_with_what_they_give_up() {
    let page = hundreds().page();
    assert!(page.contains("Effect of each knob"));
    assert!(page.contains("memory that the page cache would have"));
    assert!(page.contains("rocksdb cache_size"));
    assert!(!one_trial().page().contains("Effect of each knob"));
}

#[test]
fn a_page_of_hundreds_of_trials_stays_small_enough_to_send() {
    let bytes = hundreds().page().len();
    assert!(bytes < 4_000_000, "{bytes} bytes");
    // With a chart library in it, a page of one trial had 555,000.
    let bytes = one_trial().page().len();
    assert!(bytes < 555_000 / 5, "{bytes} bytes");
}

/// These trials, of which the given repeats kept a rate.
fn at_a_rate(repeats: &[u32]) -> Run {
    let mut report = report(everything());
    for trial in &mut report.trials {
        let Some(measured) = trial.measurement.as_mut() else {
            continue;
        };
        measured.open_loop =
            repeats
                .contains(&trial.spec.repeat)
                .then(|| trueput_record::measurement::OpenLoop {
                    rate_per_s: 10.0,
                    ..Default::default()
                });
    }
    report
}

#[test]
fn what_latencies_are_is_said_by_whether_the_trials_had_a_rate() {
    let (closed, open) = (
        "service times of a closed loop",
        "arrived at a fixed rate (open",
    );
    let both = "Some trials had a fixed request rate";
    let cases = [(&[][..], closed), (&[1, 2, 3][..], open), (&[2][..], both)];
    for (repeats, said) in cases {
        let page = at_a_rate(repeats).page();
        for words in [closed, open, both] {
            assert_eq!(page.contains(words), words == said, "{repeats:?}: {words}");
        }
    }
}

#[test]
fn a_notice_is_no_answer_that_all_came_to() {
    let mut report = report(everything());
    for trial in &mut report.trials {
        if let Some(measured) = trial.measurement.as_mut() {
            let notice = Setting::from("not an audited result");
            measured.results.insert("notice".to_owned(), notice);
        }
    }
    let page = report.page();
    assert!(page.contains(
        "All engines returned identical results: largest 1,570,824,736, longest \
        350."
    ));
    assert!(!page.contains("notice not an audited result"));
}

#[test]
fn what_is_folded_is_opened_for_printing_and_closed_again() {
    let mut browser = started!();
    browser.load(&hundreds().page(), 360, false);
    let folded = "(() => { const all = [...document.querySelectorAll('section > .more')];
       return [all.length > 8, all.filter((one) => one.open).length === all.length,
         all.filter((one) => one.open).length]; })()";
    assert_eq!(browser.evaluate(folded), json!([true, false, 0]));
    browser.evaluate("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(browser.evaluate(folded)[1], json!(true));
    browser.evaluate("dispatchEvent(new Event('afterprint'))");
    assert_eq!(browser.evaluate(folded)[2], json!(0), "left open");
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_browser_draws_every_page_at_every_width_without_a_complaint() {
    let mut browser = started!();
    let pages = [
        ("one.html", one_trial()),
        ("failures.html", with_failures()),
        ("hundreds.html", hundreds()),
    ];
    for (name, report) in pages {
        let page = report.page();
        for (width, dark) in [(1280, false), (360, true)] {
            browser.open(&page, width, dark);
            let seen = browser.evaluate(LOOK);
            assert!(seen["drawings"].as_u64() > Some(0), "{name}: {seen}");
            assert_eq!(complaints_about(&seen), [""; 0], "{name} at {width}");
        }
    }
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
fn a_page_with_faults_is_found_out() {
    let mut browser = started!();
    let faults = "<h4 style=\"width: 3000px\">x</h4><table></table>\
                  <table><caption>Every trial</caption></table></main>";
    let page = unguarded(&one_trial().page()).replace("</main>", faults);
    let drawing = "<div class=\"drawing\"";
    let empty = "<div class=\"drawing\"></div><div class=\"drawing\"";
    let page = page.replacen(drawing, empty, 1);
    browser.open(&page, 1280, false);
    let seen = browser.evaluate(LOOK);
    let complaints = complaints_about(&seen).join("; ");
    assert_has!(
        complaints,
        "empty",
        "skipped",
        "uncaptioned",
        "namesakes",
        "files",
        "overflow"
    );
    // A script within the page would not be admitted.
    browser.evaluate(
        "setTimeout(() => { throw new Error('broken'); }); \
         new Promise((done) => setTimeout(() => done(true), 50))",
    );
    assert!(browser.complaints.iter().any(|one| one.contains("broken")));
}

#[test]
fn charts_leave_the_page_as_pictures_and_their_data_as_csv() {
    let mut browser = started!();
    browser.open(&with_failures().page(), 1280, true);
    let exported = browser.evaluate(
        "(async () => { const svg = document.querySelector('.drawing svg');
           const figure = svg.closest('.chart');
           const text = standalone(figure, 'Rates & more');
           const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
           const png = new Uint8Array(await (await pngOf(figure, 'Rates')).arrayBuffer());
           return { error: parsed.querySelector('parsererror') !== null,
             variables: text.includes('var('), titled: text.includes('Rates &amp; more'),
             png: [...png.slice(1, 4)], long: png.length > 5000,
             csv: csvOf(rowsOf(CHARTS.find((chart) => chart.kind === 'bars'))) }; })()",
    );
    assert_eq!(exported["error"], json!(false));
    assert_eq!(
        exported["variables"],
        json!(false),
        "a color was left to the page"
    );
    assert_eq!(exported["titled"], json!(true));
    assert_eq!(
        (&exported["png"], &exported["long"]),
        (&json!([80, 78, 71]), &json!(true))
    );
    let csv = exported["csv"].as_str().unwrap();
    let lines: Vec<_> = csv.split("\r\n").collect();
    let titles = "contender,median,interval from,interval to,repeat 1,repeat 2,repeat 3";
    assert_eq!(lines[0], titles);
    assert_eq!(lines[1], "lmdb,2100,,,2000,9000,2100");
    assert!(
        lines[2].starts_with("redb,3000,") && lines[2].ends_with(",3000,3100,2900"),
        "{csv}"
    );
    assert_eq!(browser.complaints, [""; 0]);
}
