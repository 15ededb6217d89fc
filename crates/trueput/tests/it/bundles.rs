//! Bundles that were made by hand, damaged ones and hostile ones, and folders that are either.

use crate::support::{
    Bench, assert_contains,
    copies::{at_factor, copied, made, set_rate},
    make_fifo, stderr, stdout,
};
use flate2::{Compression, GzBuilder, read::GzDecoder};
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use tar::EntryType;

/// Two copies of a run in the folder `copies`; their names.
fn copies(bench: &Bench) -> [String; 2] {
    let run = made(bench);
    ["one", "two"].map(|name| {
        let path = at_factor(bench, &run, name, 1.0);
        let name = Path::new(&path).file_name().unwrap();
        name.to_str().unwrap().to_owned()
    })
}

/// Packs with the system's own tar.
fn tar(bench: &Bench, folder: &str, archive: &str, files: &[&str]) {
    let mut tar = Command::new("tar");
    tar.args(["-czf", archive, "-C", folder]).args(files);
    assert!(tar.current_dir(bench.path()).status().unwrap().success());
}

#[test]
fn a_run_that_was_packed_by_hand_is_read_however_its_paths_begin() {
    let bench = Bench::new();
    let [one, _] = copies(&bench);
    let folder = format!("copies/{one}");
    let expected = bench.stdout_of(&format!("report {folder} --full"));
    let packed = [
        ("copies", format!("./{one}")),
        ("copies", one),
        (".", format!("./{folder}")),
        (folder.as_str(), ".".to_owned()),
    ];
    for (at, path) in packed {
        tar(&bench, at, "by-hand.tar.gz", &[&path]);
        let report = bench.run("report by-hand.tar.gz --full");
        assert_eq!(stdout(&report), expected, "{path}: {}", stderr(&report));
        let note = "by-hand.tar.gz has no SHA256SUMS: its files";
        assert_contains(&stderr(&report), &[note]);
    }
}

#[test]
fn an_archive_of_two_runs_is_refused_and_both_are_named() {
    let bench = Bench::new();
    let [one, two] = copies(&bench);
    tar(&bench, "copies", "both.tar.gz", &[&one, &two]);
    let said = bench.refusal_of("report both.tar.gz");
    let reason = format!("it holds 2 runs: {one}, {two}; make one bundle of each");
    assert_contains(&said, &["both.tar.gz", &reason]);
    // A folder next to a run that is none is not passed over either.
    std::fs::remove_file(bench.path().join("copies").join(&two).join("run.json")).unwrap();
    tar(&bench, "copies", "one.tar.gz", &[&two, &one]);
    let said = bench.refusal_of("report one.tar.gz");
    assert_contains(&said, &[&two, "does not belong to the run"]);
    // The control.
    tar(&bench, "copies", "single.tar.gz", &[&one]);
    let report = bench.stdout_of(&format!("report copies/{one} --full"));
    assert_eq!(bench.stdout_of("report single.tar.gz --full"), report);
}

#[test]
fn a_damaged_manifest_in_a_bundle_is_said_to_be_the_bundles() {
    let bench = Bench::new();
    let [one, _] = copies(&bench);
    let manifest = bench.path().join("copies").join(&one).join("run.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, &text[..text.len() / 2]).unwrap();
    tar(&bench, "copies", "torn.tar.gz", &[&one]);
    let said = bench.refusal_of("report torn.tar.gz");
    assert_contains(&said, &["torn.tar.gz, run.json:"]);
    assert!(
        !said.contains("/.tmp"),
        "a temporary folder is named: {said}"
    );
}

/// A small run as it was made, and its bundle's file.
fn bundled(bench: &Bench) -> (PathBuf, PathBuf) {
    bench.run_once("run threen1 --engine lmdb --durability process --set finish=20");
    let run = bench.run_path();
    bench.run_expecting(0, &format!("bundle {run} --output made.tar.gz"));
    (run.into(), bench.path().join("made.tar.gz"))
}

fn inflated(bundle: &Path) -> Vec<u8> {
    let mut plain = Vec::new();
    let file = std::fs::File::open(bundle).unwrap();
    GzDecoder::new(file).read_to_end(&mut plain).unwrap();
    plain
}

fn deflated(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// The one-line message of `report` about a file with these bytes; exit code 2.
fn refused(bench: &Bench, bytes: &[u8]) -> String {
    bench.write("other.tar.gz", "");
    std::fs::write(bench.path().join("other.tar.gz"), bytes).unwrap();
    bench.refusal_of("report other.tar.gz")
}

#[test]
fn a_bundle_that_was_damaged_or_added_to_is_refused() {
    let bench = Bench::new();
    let (_, bundle) = bundled(&bench);
    let whole = std::fs::read(&bundle).unwrap();
    bench.run_expecting(0, "report made.tar.gz");
    let mut wrong = whole.clone();
    let at = wrong.len() - 8;
    wrong[at] ^= 1;
    for (bytes, reason) in [
        (wrong, "checksum"),
        (whole[..whole.len() - 4].to_vec(), "other.tar.gz"),
        (whole[..whole.len() / 2].to_vec(), "other.tar.gz"),
        ([&whole[..], b"more"].concat(), "data follows the end"),
        ([&whole[..], &whole[..]].concat(), "data follows the end"),
        (
            deflated(&[&inflated(&bundle)[..], b"more"].concat()),
            "data follows",
        ),
    ] {
        assert_contains(&refused(&bench, &bytes), &[reason]);
    }
}

#[test]
fn a_file_that_is_not_the_one_that_was_packed_is_named() {
    let bench = Bench::new();
    let (run, bundle) = bundled(&bench);
    let name = run.file_name().unwrap().to_str().unwrap();
    let unpacked = bench.path().join("unpacked");
    std::fs::create_dir(&unpacked).unwrap();
    let mut tool = Command::new("tar");
    tool.args(["-xzf"]).arg(&bundle).arg("-C").arg(&unpacked);
    assert!(tool.status().unwrap().success());
    // Another program computes the same checksums.
    let mut sums = Command::new("sha256sum");
    sums.args(["--check", "--strict", "--quiet", "SHA256SUMS"]);
    let checked = sums.current_dir(unpacked.join(name)).status();
    assert!(checked.unwrap().success());
    tar(&bench, "unpacked", "same.tar.gz", &[name]);
    bench.run_expecting(0, "report same.tar.gz");
    let trials = unpacked.join(name).join("trials.jsonl");
    let text = std::fs::read_to_string(&trials).unwrap();
    std::fs::write(&trials, text.replace("per_s\":", "per_s\":1")).unwrap();
    tar(&bench, "unpacked", "changed.tar.gz", &[name]);
    let said = bench.refusal_of("report changed.tar.gz");
    assert_contains(&said, &["trials.jsonl was changed since it was packed"]);
    // Without its sums, as former versions packed it, it is read, and judged by what it says.
    std::fs::remove_file(unpacked.join(name).join("SHA256SUMS")).unwrap();
    tar(&bench, "unpacked", "unsummed.tar.gz", &[name]);
    let read = bench.stdout_of("report unsummed.tar.gz");
    assert_contains(&read, &["parts of the record disagree"]);
}

/// The bundle with one more entry before its others.
fn with_entry(bundle: &Path, path: &str, kind: EntryType, link: &str) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    let bytes = header.as_old_mut();
    bytes.name[..path.len()].copy_from_slice(path.as_bytes());
    bytes.linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(kind);
    header.set_size(0);
    header.set_mode(0o644);
    header.set_cksum();
    deflated(&[header.as_bytes(), &inflated(bundle)[..]].concat())
}

#[test]
fn what_no_run_folder_has_is_named_and_refused() {
    use EntryType::{Char, Directory, Fifo, GNUSparse, Link, Regular, Symlink};
    let bench = Bench::new();
    let (run, bundle) = bundled(&bench);
    let name = run.file_name().unwrap().to_str().unwrap();
    let before = bench.snapshot();
    let unknown = "which a run folder does not contain";
    for (path, kind, link, reason) in [
        ("../outside.txt", Regular, "", "leaves the"),
        ("/outside.txt", Regular, "", "leaves the"),
        ("a/../../run.json", Regular, "", "leaves the"),
        ("NAME/end.json", Symlink, "/etc/passwd", "a symbolic link"),
        ("NAME/end.json", Link, "/etc/passwd", "a hard link"),
        ("NAME/histograms", Symlink, "/tmp", "a symbolic link"),
        ("NAME/null", Char, "", "a device"),
        ("NAME/fifo", Fifo, "", "a FIFO"),
        ("NAME/sparse", GNUSparse, "", "other.tar.gz"),
        ("NAME/setup.sh", Regular, "", unknown),
        ("NAME/work/", Directory, "", unknown),
        ("NAME/run.json", Regular, "", "twice"),
        ("b/end.json", Regular, "", "not belong"),
        ("\u{1b}[31mred", Regular, "", "\\u{1b}[31mred"),
    ] {
        let path = path.replace("NAME", name);
        let said = refused(&bench, &with_entry(&bundle, &path, kind, link));
        assert_contains(&said, &[reason]);
    }
    // The controls: folders of its own, and the page, which is made from the record.
    for (path, kind) in [
        ("./", Directory),
        (name, Directory),
        ("NAME/histograms/", Directory),
        ("NAME/report.html", Regular),
    ] {
        let path = path.replace("NAME", name);
        let bytes = with_entry(&bundle, &path, kind, "");
        std::fs::write(bench.path().join("other.tar.gz"), bytes).unwrap();
        bench.run_expecting(0, "report other.tar.gz");
    }
    std::fs::remove_file(bench.path().join("other.tar.gz")).unwrap();
    assert!(bench.snapshot() == before, "something was written");
}

#[test]
fn more_files_than_a_run_can_have_are_refused() {
    let bench = Bench::new();
    let (_, bundle) = bundled(&bench);
    let mut archive = tar::Builder::new(Vec::new());
    for number in 0..70_101 {
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        header.set_mode(0o644);
        let path = format!("a{number}/end.json");
        archive.append_data(&mut header, path, &b""[..]).unwrap();
    }
    let said = refused(&bench, &deflated(&archive.into_inner().unwrap()));
    let expected = "it holds more than 70100 files; a run has at most 10000 trials";
    assert_contains(&said, &[expected]);
    bench.run_expecting(0, &format!("report {}", bundle.display()));
}

#[test]
fn links_and_fifos_in_a_run_folder_are_neither_read_nor_packed_nor_written_to() {
    let bench = Bench::new();
    let (run, _) = bundled(&bench);
    let secret = bench.write("secret", "secret\n");
    let folder = run.to_str().unwrap();
    let log = run.join("histograms").read_dir().unwrap().next().unwrap();
    let log = log.unwrap().path();
    for (file, command) in [
        (run.join("trials.jsonl"), "report"),
        (run.join("end.json"), "bundle"),
        (log, "bundle"),
    ] {
        let kept = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        symlink(&secret, &file).unwrap();
        let said = bench.refusal_of(&[command, folder]);
        assert_contains(&said, &["symbolic link"]);
        std::fs::remove_file(&file).unwrap();
        make_fifo(&file);
        let said = bench.refusal_of(&[command, folder]);
        assert_contains(&said, &["a FIFO"]);
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, kept).unwrap();
    }
    let histograms = run.join("histograms");
    std::fs::rename(&histograms, bench.path().join("elsewhere")).unwrap();
    symlink(bench.path().join("elsewhere"), &histograms).unwrap();
    bench.refusal_of(&["bundle", folder]);
    let page = run.join("report.html");
    std::fs::remove_file(&page).unwrap();
    symlink(&secret, &page).unwrap();
    let said = bench.refusal_of(&["report", folder, "--html"]);
    assert_contains(&said, &["symbolic link"]);
    assert_eq!(std::fs::read(&secret).unwrap(), b"secret\n");
}

#[test]
fn a_run_without_results_is_not_bundled_and_its_bundle_not_read() {
    let bench = Bench::new();
    let (run, _) = bundled(&bench);
    std::fs::write(run.join("trials.jsonl"), "").unwrap();
    let said = bench.refusal_of(&["bundle", run.to_str().unwrap()]);
    assert_contains(&said, &["no trial of this run has finished"]);
    std::fs::remove_dir_all(bench.path().join("results/work")).unwrap_or_default();
    let name = run.file_name().unwrap().to_str().unwrap();
    tar(&bench, "results", "none.tar.gz", &[name]);
    let said = bench.refusal_of("report none.tar.gz");
    assert_contains(&said, &["no trial of it has finished"]);
}

#[test]
fn what_is_larger_than_the_limit_is_refused_and_the_limit_can_be_raised() {
    let bench = Bench::new();
    let (run, bundle) = bundled(&bench);
    // Zeros that a small archive holds a great many of.
    let name = run.file_name().unwrap().to_str().unwrap();
    let mut header = tar::Header::new_gnu();
    header
        .set_path(format!("{name}/histograms/x.hlog"))
        .unwrap();
    header.set_size(300 << 20);
    header.set_mode(0o644);
    header.set_cksum();
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::fast());
    encoder.write_all(header.as_bytes()).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..300).for_each(|_| encoder.write_all(&zeros).unwrap());
    encoder.write_all(&inflated(&bundle)).unwrap();
    let said = refused(&bench, &encoder.finish().unwrap());
    assert_contains(&said, &["it unpacks to more than 256 MiB", "--max-size"]);
    let run = run.display();
    let said = bench.refusal_of(&format!("run --resume {run} --max-size 1KiB"));
    assert_contains(&said, &["run.json: it has more than 1 KiB", "--max-size"]);
    for command in [
        format!("report {run}"),
        format!("compare {run}:lmdb {run}:lmdb"),
        format!("history {run}"),
        format!("export {run} --format csv"),
        format!("bundle {run}"),
    ] {
        let output = bench.run_expecting(2, &format!("{command} --max-size 1KiB"));
        assert_contains(&stderr(&output), &["more than 1 KiB; raise the limit"]);
    }
    bench.run_expecting(0, &format!("report {run} --max-size 8GiB"));
}

/// The output of every command that reads a run, including standard error.
fn read_by_all(bench: &Bench, other: &str, run: &str) -> Vec<(String, String)> {
    let commands = [
        format!("report {run}"),
        format!("report {run} --format csv"),
        format!("report {run} --format json"),
        format!("report {run} --format markdown"),
        format!("compare {other} {run}"),
        format!("history {run}"),
        format!("export {run} --format jsonl"),
        format!("report {run} --html page.html"),
    ];
    let said = commands.map(|command| {
        let output = bench.run(&command);
        let mut text = stdout(&output) + &stderr(&output);
        if command.ends_with("page.html") {
            text += &std::fs::read_to_string(bench.path().join("page.html")).unwrap();
        }
        (command, text)
    });
    said.to_vec()
}

#[test]
fn a_rate_that_its_counts_do_not_make_is_never_ranked() {
    let bench = Bench::new();
    let run = made(&bench);
    let [base, honest] = ["base", "honest"].map(|name| at_factor(&bench, &run, name, 1.0));
    let changed = copied(&bench, &run, "changed", |trial| {
        set_rate(trial, 1.0);
        if trial.spec.engine == "sqlite" {
            for operation in &mut trial.measurement.as_mut().unwrap().operations {
                operation.per_s *= 10.0;
            }
        }
    });
    for (command, said) in read_by_all(&bench, &base, &honest) {
        assert!(!said.contains("disagree"), "{command}: {said}");
    }
    for (command, said) in read_by_all(&bench, &base, &changed) {
        let reason = "parts of the record disagree: per_s of";
        assert!(said.contains(reason), "{command}: {said}");
    }
    let document = bench.json_of(&format!("report {changed} --format json"));
    let ranked = document["rankings"].to_string();
    let cells = document["rankings"][0]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 1, "only lmdb is ranked: {ranked}");
    assert!(!cells[0].to_string().contains("sqlite"), "{ranked}");
    // The shown rate is computed from count and elapsed time.
    let trial = &document["trials"][1]["measurement"];
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let first = &trial["operations"][0];
    let derived = number(&first["count"]) / number(&trial["elapsed_s"]);
    assert!((number(&first["per_s"]) / derived - 1.0).abs() < 1e-9);
}

/// Runs of each kind: engines, processes and threads, warm-up, an open loop with a backlog, turns.
const HONEST: [&str; 8] = [
    "threen1 --engine lmdb,sqlite --durability process --set finish=100",
    "threen1 --engine null --durability none --set finish=100",
    "threen1 --engine lmdb --durability process --set finish=200 --set commit=per-block \
     --set block=20",
    "micro --engine lmdb --durability process --set test=mix --set update_percent=40 --set \
     scan_percent=10 --set records=500 --duration 1500ms --warm-up 200ms",
    "ycsb --engine redb --durability buffered --set workload=a,f",
    "ycsb --engine sqlite --durability process --rate 100000 --duration 1s",
    "threen1 --engine lmdb,sqlite --durability process --set finish=200 --turns 5ms",
    "tpcc --engine lmdb --durability process --set warehouses=1 --duration 1s --workers 2",
];

#[test]
#[ignore = "slow: make test runs it"]
fn no_honest_record_is_said_to_disagree_with_itself() {
    for words in HONEST {
        let bench = Bench::new();
        bench.run(&format!("run {words}"));
        let csv = bench.run(&format!("report {} --format csv", bench.run_path()));
        let said = stdout(&csv);
        assert!(said.lines().count() >= 2, "{words}: {}", stderr(&csv));
        assert!(!said.contains("disagree"), "{words}: {said}");
    }
}
