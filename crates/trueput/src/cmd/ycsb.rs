//! `trueput ycsb`: runs the workload ycsb as YCSB's property files say it.

mod properties;

use crate::failure::{EXIT_CODES, Failure};
use crate::output;
use crate::workload_run::WorkloadRun;
use clap::Args;
use properties::PlanProperties;
use std::path::PathBuf;
use std::process::ExitCode;
use trueput_record::plan::PlanFile;
use trueput_runner::Registry;

const WORKLOAD: &str = "ycsb";

const EXAMPLES: &str = "\
-P files are read in order, then -p; the last value of a property counts. Options override \
properties: --workers threadcount, --rate target, --duration maxexecutiontime. A transaction is \
one operation. The load is a separate phase before each run.

Examples:
  trueput ycsb -P workloads/workloada --engine lmdb
  trueput ycsb -P workloads/workloadb -p recordcount=1000000 -p threadcount=4 --engine present
  trueput ycsb -P workloads/workloadc -p target=5000 -p maxexecutiontime=60 --engine lmdb,rocksdb
  trueput ycsb --engine sqlite --set workload=a,b,c --durability process";

/// The arguments of `trueput ycsb`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Arguments {
    /// Read a YCSB property file; can be repeated
    #[arg(short = 'P', value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Set a YCSB property; can be repeated
    #[arg(short = 'p', value_name = "NAME=VALUE", value_parser = properties::parse_one)]
    properties: Vec<(String, String)>,
    #[command(flatten)]
    run: WorkloadRun,
}

/// Runs the workload that the properties describe and prints the result.
///
/// # Errors
/// A usage error for an invalid file or property, before anything runs.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let asked = PlanProperties::read(&arguments.files, &arguments.properties)?;
    for warning in &asked.warnings {
        output::print_error(warning);
    }
    let mut plan = PlanFile::for_workload(WORKLOAD);
    asked.apply(&mut plan);
    arguments.run.run(plan, registry)
}
