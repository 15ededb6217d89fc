//! Runs the loops of both sides in turns and prints a row for each operation.

use crate::bare::external::Program;
use crate::engines::{Contender, Loop, driver};
use crate::harness::NULL_LOOPS;
use crate::keys;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// The loops, by their names on the command line of the child process, with their titles.
pub const COMPARISONS: [(&str, &str); 4] = [
    ("get", "get, one transaction for all"),
    ("get-each", "get, a transaction each"),
    ("put", "put, 1,000 to a transaction"),
    ("put-each", "put, a transaction each"),
];

/// Prints the harness's cost on the null engine.
pub fn null(rounds: usize) -> Result<()> {
    println!("CPU ns per operation on the null engine, latency recording on ({rounds} runs):");
    for what in NULL_LOOPS {
        let run = |_| {
            let mut program = this_program()?;
            program.args(["null", what]);
            figure(program)
        };
        let runs: Result<Vec<f64>> = (0..rounds).map(run).collect();
        println!("  {what:<39} {}", spread(&mut runs?, 1));
    }
    Ok(())
}

/// Prints the table's head for the rows of [`engine`].
pub fn print_head(rounds: usize) {
    println!(
        "CPU ns per operation, {} records of {}-byte keys and {}-byte values, nothing flushed.\n\
         Medians of {rounds} pairs, least and greatest in brackets; the ratio is of each pair:\n",
        keys::RECORDS,
        keys::KEY_BYTES,
        keys::VALUE_BYTES
    );
    println!(
        "  {:<11}{:<30}{:<32}{:<32}ratio",
        "engine", "operation", "bare loop", "through trueput"
    );
}

/// Compares on one engine and prints its rows; one line instead where something is missing.
pub fn engine(contender: &Contender, rounds: usize) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let sides = match Sides::of(contender, folder.path()) {
        Ok(sides) => sides,
        Err(why) => {
            println!("  {:<11}left out: {why:#}", contender.engine);
            return Ok(());
        }
    };
    let loaded = folder.path().join("loaded");
    std::fs::create_dir(&loaded).context("cannot make the database folder")?;
    figure(sides.harness("load", &loaded)?)?;
    for (what, title) in COMPARISONS {
        sides.compare(what, title, folder.path(), &loaded, rounds)?;
    }
    Ok(())
}

/// The two sides of an engine's comparison.
struct Sides<'c> {
    contender: &'c Contender,
    /// The program of the bare loop, if it is not compiled in.
    bare: Option<Program>,
}

impl<'c> Sides<'c> {
    fn of(contender: &'c Contender, folder: &Path) -> Result<Self> {
        let build = driver(contender.engine)?.build()?;
        let bare = match contender.bare {
            Loop::Linked => None,
            Loop::Compiled { header, package } => {
                let library = build.library.context("its driver names no library")?;
                let engine = contender.engine;
                Some(Program::compile(engine, header, package, &library, folder)?)
            }
        };
        Ok(Self { contender, bare })
    }

    fn harness(&self, what: &str, folder: &Path) -> Result<Command> {
        self.child("harness", what, folder)
    }

    fn bare(&self, what: &str, folder: &Path) -> Result<Command> {
        match &self.bare {
            None => self.child("bare", what, folder),
            Some(program) => Ok(program.command(what, folder, self.contender.operations(what))),
        }
    }

    fn child(&self, side: &str, what: &str, folder: &Path) -> Result<Command> {
        let mut program = this_program()?;
        program
            .args([side, self.contender.engine, what])
            .arg(folder)
            .arg(self.contender.operations(what).to_string());
        Ok(program)
    }

    /// Times one loop bare and through the harness in turns and prints both and their ratio.
    fn compare(
        &self,
        what: &str,
        title: &str,
        folder: &Path,
        loaded: &Path,
        rounds: usize,
    ) -> Result<()> {
        let [mut bare, mut harness] = take_turns(what, folder, loaded, rounds, |side, target| {
            figure(match side {
                0 => self.bare(what, target)?,
                _ => self.harness(what, target)?,
            })
        })?;
        let pairs = bare.iter().zip(&harness);
        let mut ratios: Vec<_> = pairs.map(|(bare, harness)| harness / bare).collect();
        println!(
            "  {:<11}{title:<30}{:<32}{:<32}{}",
            self.contender.engine,
            spread(&mut bare, 1),
            spread(&mut harness, 1),
            spread(&mut ratios, 3)
        );
        Ok(())
    }
}

/// Runs a loop on both sides, 0 and 1, in pairs. Gets read the database in `loaded`, and puts make
/// one of their own below `folder`.
pub fn take_turns(
    what: &str,
    folder: &Path,
    loaded: &Path,
    rounds: usize,
    run: impl Fn(usize, &Path) -> Result<f64>,
) -> Result<[Vec<f64>; 2]> {
    let mut figures = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        for turn in 0..2 {
            // Who goes first alternates as well.
            let side = (round + turn) % 2;
            figures[side].push(if what.starts_with("get") {
                run(side, loaded)?
            } else {
                let fresh = tempfile::tempdir_in(folder).context("cannot make a folder")?;
                run(side, fresh.path())?
            });
        }
    }
    Ok(figures)
}

/// This program, to be run again.
pub fn this_program() -> Result<Command> {
    let program = std::env::current_exe().context("cannot find this program")?;
    Ok(Command::new(program))
}

/// Runs a program and reads the figure that it prints.
pub fn figure(mut program: Command) -> Result<f64> {
    let output = program.output().context("cannot start a child")?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("{program:?} failed: {}", message.trim());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim()
        .parse()
        .with_context(|| format!("{program:?} printed '{}'", text.trim()))
}

/// Median, and the least and greatest in brackets.
pub fn spread(figures: &mut [f64], decimals: usize) -> String {
    figures.sort_by(f64::total_cmp);
    let median = figures[figures.len() / 2];
    let (least, greatest) = (figures[0], figures[figures.len() - 1]);
    format!("{median:>8.decimals$} ({least:.decimals$} to {greatest:.decimals$})")
}
