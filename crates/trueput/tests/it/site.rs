//! `trueput site` on runs of version 1, which the fixtures have, and on copies with other hosts.

use crate::support::{Bench, assert_contains, copy_folder, stderr, stdout};
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// A host name that would be a script if it were not escaped.
const HOSTILE_HOST: &str = "\"><img src=x onerror=alert(1)>";

/// A bench with the folder `results`: a run folder, a bundle, and in a folder below the run of
/// another host with hostile texts.
pub fn with_results() -> Bench {
    let bench = Bench::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/version-1");
    let results = bench.path().join("results");
    copy_folder(&fixtures.join("turns"), &results.join("turns"));
    std::fs::copy(fixtures.join("steps.tar.gz"), results.join("steps.tar.gz")).unwrap();
    changed_copy(&bench, "deep/other", |run| {
        run["name"] = "<script>alert(1)</script>".into();
        run["about"] = "</small><b>bold".into();
        run["started_at"] = "2026-11-30T01:02:03Z".into();
        run["host"]["host_name"] = HOSTILE_HOST.into();
    });
    bench
}

/// Copies the run folder and changes its `run.json`.
fn changed_copy(bench: &Bench, name: &str, change: impl Fn(&mut Value)) {
    let results = bench.path().join("results");
    let copy = results.join(name);
    copy_folder(&results.join("turns"), &copy);
    let file = copy.join("run.json");
    let mut run: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    change(&mut run);
    std::fs::write(&file, run.to_string()).unwrap();
}

fn page(bench: &Bench, name: &str) -> String {
    std::fs::read_to_string(bench.path().join("public").join(name)).unwrap()
}

/// The identifiers of the runs, newest first.
pub fn ids(summary: &Value) -> Vec<String> {
    let runs = summary["runs"].as_array().unwrap();
    let id = |run: &Value| run["id"].as_str().unwrap().to_owned();
    runs.iter().map(id).collect()
}

#[test]
fn a_site_has_a_page_for_each_run_and_the_same_bytes_each_time() {
    let bench = with_results();
    let made = bench.run_expecting(0, "site results --output public");
    assert_eq!(stdout(&made), "site: public/index.html\n");
    let before = bench.snapshot();
    let summary = bench.json_of("site results --output public --json --title results");
    assert_eq!(bench.snapshot(), before);
    let own = page(&bench, "trueput-site.json");
    assert_eq!(serde_json::from_str::<Value>(&own).unwrap(), summary);
    let ids = ids(&summary);
    assert_eq!(ids.len(), 3);
    let begins = ["script-alert-1-script-", "steps-", "turns-"];
    assert!(
        ids.iter()
            .zip(begins)
            .all(|(id, name)| id.starts_with(name)),
        "{ids:?}"
    );
    let index = page(&bench, "index.html");
    for id in &ids {
        assert_contains(&index, &[&format!("href=\"runs/{id}.html\"")]);
        let of_run = page(&bench, &format!("runs/{id}.html"));
        assert_contains(
            &of_run,
            &["href=\"../index.html\"", &format!("href=\"{id}.html\"")],
        );
        // No page has a path of this machine.
        assert!(!of_run.contains(bench.path().to_str().unwrap()));
    }
    assert!(!index.contains(bench.path().to_str().unwrap()));
    assert_contains(&index, &["3 runs on 2 hosts, 2026-11-23 to 2026-11-30."]);
}

#[test]
fn rankings_stand_apart_by_run_and_level() {
    let bench = with_results();
    let summary = bench.json_of("site results --output public --json");
    let runs = summary["runs"].as_array().unwrap().iter();
    let rankings = runs.flat_map(|run| run["rankings"].as_array().unwrap());
    let levels: Vec<_> = rankings
        .map(|it| it["subject"]["durability"].clone())
        .collect();
    let index = page(&bench, "index.html");
    let groups = index.matches("scope=\"rowgroup\" colspan=\"7\"").count();
    assert_eq!(groups, levels.len(), "a group for each ranking: {levels:?}");
    // The strongest level comes first, and each has a heading once.
    let level = |name: &str| index.find(&format!("colspan=\"4\">{name}: "));
    assert!(level("process").is_some());
    let sync = index.find("sync, micro").unwrap();
    assert!(sync < index.rfind("process, threen1").unwrap());
}

#[test]
fn a_folder_and_its_bundle_are_one_run_with_one_link() {
    let bench = with_results();
    let before = ids(&bench.json_of("site results/turns --output public --json"));
    bench.run_expecting(0, "bundle results/turns --output results/turns.tgz");
    let after = bench.run_expecting(0, "site results/turns.tgz --output public --json");
    assert_eq!(ids(&serde_json::from_str(&stdout(&after)).unwrap()), before);
    let both = bench.run_expecting(0, "site results --output public --json");
    let said = stderr(&both);
    assert_contains(&said, &["turns.tgz is the same run as turns"]);
    let summary: Value = serde_json::from_str(&stdout(&both)).unwrap();
    assert_eq!(ids(&summary).len(), 3);
}

#[test]
fn texts_of_strangers_are_escaped() {
    let bench = with_results();
    let summary = bench.json_of("site results --output public --json --title <b>");
    let id = &ids(&summary)[0];
    for name in ["index.html".to_owned(), format!("runs/{id}.html")] {
        let page = page(&bench, &name);
        for raw in ["<script>alert", "<img", "</small><b>"] {
            assert!(!page.contains(raw), "{name} has {raw}");
        }
        let policy = "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';";
        assert_contains(&page, &[policy, "&lt;script&gt;alert(1)&lt;/script&gt;"]);
    }
    assert_contains(
        &page(&bench, "index.html"),
        &["<title>trueput: &lt;b&gt;</title>"],
    );
}

#[test]
fn a_damaged_bundle_is_named_in_one_line_and_the_others_are_shown() {
    let bench = with_results();
    bench.run_expecting(0, "bundle results/turns --output results/whole.tar.gz");
    // A figure is changed after the checksums were made.
    let script = "tar -xzf results/whole.tar.gz && rm results/whole.tar.gz \
        && sed -i 's/\"elapsed_s\":/\"elapsed_s\":1/' turns/trials.jsonl \
        && tar -czf results/forged.tar.gz turns \
        && head -c 900 results/steps.tar.gz > results/cut.tgz";
    let mut shell = Command::new("sh");
    let shell = shell.args(["-ec", script]).current_dir(bench.path());
    assert!(shell.status().unwrap().success());
    let made = bench.run_expecting(1, "site results --output public");
    assert_eq!(stdout(&made), "site: public/index.html\n");
    let said = stderr(&made);
    let skipped: Vec<_> = said
        .lines()
        .filter(|line| line.starts_with("skipped: "))
        .collect();
    assert_eq!(skipped.len(), 2, "{said}");
    assert_contains(skipped[0], &["results/cut.tgz"]);
    assert_contains(
        skipped[1],
        &["results/forged.tar.gz", "trials.jsonl was changed"],
    );
    let summary: Value = serde_json::from_str(&page(&bench, "trueput-site.json")).unwrap();
    assert_eq!(ids(&summary).len(), 3);
    assert_eq!(summary["skipped"][1]["source"], "forged.tar.gz");
    assert_contains(
        &page(&bench, "index.html"),
        &["<code>forged.tar.gz</code>: neither"],
    );
    // Nothing but damaged ones: no site, and an earlier one stays.
    let before = bench.snapshot();
    let made = bench.run_expecting(1, "site results/forged.tar.gz --output public");
    assert_contains(&stderr(&made), &["no run could be read"]);
    assert_eq!(bench.snapshot(), before);
}

#[test]
fn bad_input_is_refused_in_one_line_and_changes_nothing() {
    let bench = with_results();
    bench.write("empty/notes.txt", "");
    bench.write("mine/notes.txt", "");
    bench.write("file", "");
    symlink(
        bench.path().join("results"),
        bench.path().join("empty/link"),
    )
    .unwrap();
    symlink(bench.path().join("mine"), bench.path().join("away")).unwrap();
    let before = bench.snapshot();
    let long = format!("site results --output public --title {}", "x".repeat(121));
    let empty = stderr(&bench.run_expecting(2, "site empty --output public"));
    assert_contains(
        &empty,
        &["symbolic link not followed", "no run folder and no bundle"],
    );
    for (line, reason) in [
        ("site nowhere --output public", "nowhere: No such file"),
        (
            "site results --output mine",
            "it has files and is no site of trueput",
        ),
        (
            "site results --output results",
            "it has files and is no site of trueput",
        ),
        ("site results --output file", "it is no folder"),
        ("site results --output away", "it is a symbolic link"),
        ("site results --output a/b", "there is no folder a"),
        ("site results", "--output"),
        (long.as_str(), "1 to 120 characters"),
    ] {
        assert_contains(&bench.refusal_of(line), &[reason]);
        assert_eq!(bench.snapshot(), before, "{line}");
    }
}
