//! The harness's own cost: CPU nanoseconds per operation on the null engine, and the ratio to bare
//! loops over LMDB's own API. `make bench` runs it.
//!
//! Each figure comes from a fresh process of this program, contenders taking turns (bare, harness,
//! bare, harness, …), so that drift of the machine falls on both; the ratio is taken pair by pair.
//! CPU time is the process's own, user and system, around the loop alone.

mod bare;
mod harness;
mod keys;

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// Pairs of runs per comparison.
const ROUNDS: usize = 11;

/// What a loop does, named as on the command line of the child process.
const COMPARISONS: [(&str, &str); 4] = [
    ("get", "get, one read transaction for all"),
    ("get-each", "get, a read transaction each"),
    ("put", "put, 1,000 to a transaction, no sync"),
    ("put-each", "put, a transaction each, no sync"),
];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => compare_all(),
        ["bare", what, folder] => report(bare::run(what, Path::new(folder))?),
        ["harness", what, folder] => report(harness::run(what, Path::new(folder))?),
        ["null", what] => report(harness::run_null(what)?),
        _ => bail!("usage: harness-cost (without arguments)"),
    }
}

/// What a child process hands back: CPU nanoseconds per operation.
fn report(cpu_ns_per_operation: f64) -> Result<()> {
    println!("{cpu_ns_per_operation}");
    Ok(())
}

fn compare_all() -> Result<()> {
    if cfg!(debug_assertions) {
        bail!("this is a debug build; run `make bench`");
    }
    println!("CPU ns per operation on the null engine, latency recording on ({ROUNDS} runs):");
    for what in ["get", "put", "threen1"] {
        let mut runs = Vec::new();
        for _ in 0..ROUNDS {
            runs.push(child(&["null", what])?);
        }
        println!("  {what:<38} {}", spread(&mut runs, 1));
    }
    println!();
    println!(
        "CPU ns per operation on LMDB, {} records of {}-byte keys and {}-byte values, {ROUNDS} pairs:",
        keys::RECORDS,
        keys::KEY_BYTES,
        keys::VALUE_BYTES
    );
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let loaded = folder.path().join("loaded");
    child(&["bare", "load", path_text(&loaded)?])?;
    for (what, title) in COMPARISONS {
        compare(what, title, folder.path(), &loaded)?;
    }
    Ok(())
}

/// Times one loop bare and through the harness in turns and prints both and their ratio.
fn compare(what: &str, title: &str, folder: &Path, loaded: &Path) -> Result<()> {
    let (mut bare, mut harness, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let mut figures = [0.0; 2];
        for turn in 0..2 {
            // Who goes first alternates as well.
            let side = (round + turn) % 2;
            let fresh = folder.join("fresh");
            let target = if what.starts_with("get") {
                loaded
            } else {
                &fresh
            };
            figures[side] = child(&[["bare", "harness"][side], what, path_text(target)?])?;
            if fresh.exists() {
                std::fs::remove_dir_all(&fresh)
                    .with_context(|| format!("cannot remove {}", fresh.display()))?;
            }
        }
        bare.push(figures[0]);
        harness.push(figures[1]);
        ratios.push(figures[1] / figures[0]);
    }
    println!("  {title}");
    println!(
        "    bare loop                            {}",
        spread(&mut bare, 1)
    );
    println!(
        "    through trueput                      {}",
        spread(&mut harness, 1)
    );
    println!(
        "    ratio, pair by pair                  {}",
        spread(&mut ratios, 3)
    );
    Ok(())
}

/// Runs this program again and reads the figure that it prints.
fn child(arguments: &[&str]) -> Result<f64> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let output = Command::new(program)
        .args(arguments)
        .output()
        .context("cannot start a child")?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("{} failed: {}", arguments.join(" "), message.trim());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim()
        .parse()
        .with_context(|| format!("{} printed '{}'", arguments.join(" "), text.trim()))
}

/// Median, and the least and greatest in brackets.
fn spread(figures: &mut [f64], decimals: usize) -> String {
    figures.sort_by(f64::total_cmp);
    let median = figures[figures.len() / 2];
    let (least, greatest) = (figures[0], figures[figures.len() - 1]);
    format!("{median:>8.decimals$}  ({least:.decimals$} to {greatest:.decimals$})")
}

fn path_text(path: &Path) -> Result<&str> {
    path.to_str()
        .context("the temporary folder's path is not UTF-8")
}
