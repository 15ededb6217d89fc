//! The harness's own cost: CPU nanoseconds per operation on the null engine, and the ratio to bare
//! loops over the engines' own APIs. `make bench` runs it.
//!
//! Each figure comes from a fresh process, contenders taking turns (bare, harness, harness, bare,
//! …), so that drift of the machine falls on both; the ratio is taken pair by pair. CPU time is
//! that of the thread that loops, user and system, around only the loop.

mod bare;
mod border;
mod compare;
mod engines;
mod harness;
mod keys;

use anyhow::{Result, bail, ensure};
use clap::{Parser, Subcommand};
use engines::{CONTENDERS, Contender};
use std::path::PathBuf;

/// The cost of trueput compared with bare loops over the engines' own APIs, in CPU time per
/// operation.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only this engine; may be given several times. `null` measures only the harness,
    /// `lmdb-plugin` what the border of plug-ins costs.
    #[arg(long = "engine", value_name = "NAME")]
    engines: Vec<String>,
    /// Pairs of runs for each operation.
    #[arg(long, value_name = "NUMBER", default_value_t = 5)]
    rounds: usize,
    #[command(subcommand)]
    child: Option<Child>,
}

/// The commands that the program gives to its own child processes.
#[derive(Debug, Subcommand)]
#[command(hide = true)]
enum Child {
    /// One loop over the engine's own API.
    Bare(LoopArguments),
    /// One loop through the contract.
    Harness(LoopArguments),
    /// One loop on the null engine.
    Null { what: String },
}

#[derive(Debug, clap::Args)]
struct LoopArguments {
    engine: String,
    what: String,
    folder: PathBuf,
    operations: u64,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match &arguments.child {
        Some(child) => answer(child),
        None => compare_all(&arguments),
    }
}

/// Does a child's work and prints CPU nanoseconds per operation.
fn answer(child: &Child) -> Result<()> {
    let cpu_ns_per_operation = match child {
        Child::Bare(of) => bare::run(&of.engine, &of.what, &of.folder, of.operations)?,
        Child::Harness(of) => {
            let engine = engines::engine(&of.engine)?;
            harness::run(engine, &of.what, &of.folder, of.operations)?
        }
        Child::Null { what } => harness::run_null(what)?,
    };
    println!("{cpu_ns_per_operation}");
    Ok(())
}

fn compare_all(arguments: &Arguments) -> Result<()> {
    if cfg!(debug_assertions) {
        bail!("this is a debug build; run `make bench`");
    }
    ensure!(arguments.rounds > 0, "--rounds 0 measures nothing");
    let is_chosen = |name: &str| {
        arguments.engines.is_empty() || arguments.engines.iter().any(|chosen| chosen == name)
    };
    for name in arguments
        .engines
        .iter()
        .filter(|name| !["null", border::NAME].contains(&name.as_str()))
    {
        Contender::named(name)?;
    }
    if is_chosen("null") {
        compare::null(arguments.rounds)?;
        println!();
    }
    let chosen: Vec<_> = CONTENDERS
        .iter()
        .filter(|contender| is_chosen(contender.engine))
        .collect();
    if !chosen.is_empty() {
        compare::print_head(arguments.rounds);
    }
    for contender in chosen {
        compare::engine(contender, arguments.rounds)?;
    }
    if is_chosen(border::NAME) {
        println!();
        border::compare(arguments.rounds)?;
    }
    Ok(())
}
