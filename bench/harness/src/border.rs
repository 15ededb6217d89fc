//! What the border of plug-ins costs: LMDB by the driver in the tree and as a plug-in in C, both
//! with the system's library.

use crate::compare::{COMPARISONS, figure, spread, take_turns, this_program};
use crate::engines::driver;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the comparison on the command line.
pub const NAME: &str = "lmdb-plugin";

/// Records of the database: so few that all stay in the processor's caches, and a look-up is short
/// against what is measured.
const RECORDS: u64 = 2_000;
/// Gets in a loop.
const GETS: u64 = 1_000_000;
/// Puts in a loop.
const PUTS: u64 = 200_000;

/// The plug-in's folder.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../engines/lmdb-plugin");

/// Compares, and prints a row for each operation; one line instead where something is missing.
pub fn compare(rounds: usize) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let sides = match sides(folder.path()) {
        Ok(sides) => sides,
        Err(why) => {
            println!("The border of plug-ins is left out: {why:#}");
            return Ok(());
        }
    };
    println!(
        "The border of plug-ins: CPU ns per operation of LMDB ({}), medians of {rounds} pairs, \
         least and greatest in brackets:\n",
        sides[0]
    );
    println!(
        "  {:<30}{:<32}{:<32}difference",
        "operation", "driver in the tree", "plug-in in C"
    );
    let loaded = folder.path().join("loaded");
    std::fs::create_dir(&loaded).context("cannot make the database folder")?;
    timed(&sides[0], "load", &loaded)?;
    for (what, title) in COMPARISONS {
        row(&sides, (what, title), folder.path(), &loaded, rounds)?;
    }
    Ok(())
}

/// The names of both sides: the driver with the system's library, and the plug-in, which is built.
fn sides(folder: &Path) -> Result<[String; 2]> {
    let library = driver("lmdb")?.library_files().into_iter().next();
    let library = library.context("no liblmdb.so on this machine; `make engines` installs it")?;
    let plugin: PathBuf = folder.join("liblmdb-plugin.so");
    let made = Command::new("make")
        .args(["-s", "-C", SOURCE])
        .arg(format!("OUTPUT={}", plugin.display()))
        .output()
        .context("cannot run make")?;
    let said = String::from_utf8_lossy(&made.stderr);
    ensure!(
        made.status.success(),
        "cannot build the plug-in (on Debian, liblmdb-dev has its header): {}",
        said.trim()
    );
    Ok([
        format!("lmdb@{}", library.display()),
        plugin.display().to_string(),
    ])
}

fn row(
    sides: &[String; 2],
    (what, title): (&str, &str),
    folder: &Path,
    loaded: &Path,
    rounds: usize,
) -> Result<()> {
    let [mut tree, mut plugin] = take_turns(what, folder, loaded, rounds, |side, target| {
        timed(&sides[side], what, target)
    })?;
    let pairs = tree.iter().zip(&plugin);
    let mut differences: Vec<_> = pairs.map(|(tree, plugin)| plugin - tree).collect();
    println!(
        "  {title:<30}{:<32}{:<32}{}",
        spread(&mut tree, 1),
        spread(&mut plugin, 1),
        spread(&mut differences, 1)
    );
    Ok(())
}

/// Runs a loop through the harness in a process of its own.
fn timed(engine: &str, what: &str, folder: &Path) -> Result<f64> {
    let mut program = this_program()?;
    program.args(["harness", engine, what]).arg(folder);
    let operations = match what {
        "load" => RECORDS,
        _ if what.starts_with("get") => GETS,
        _ => PUTS,
    };
    program.arg(operations.to_string());
    figure(program)
}
