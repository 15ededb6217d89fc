//! `trueput knobs`: lists the knobs of an engine or the settings of a workload, with their cost.

use crate::failure::Failure;
use crate::screen::list_width;
use crate::table::Entry;
use crate::{output, table};
use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use trueput_engine::Parameter;
use trueput_record::plan::Contender;
use trueput_record::suggest::did_you_mean;
use trueput_runner::{Registry, RegistryError};
use trueput_tuner::presets::presets;

const EXAMPLES: &str = "\
Examples:
  trueput knobs lmdb
  trueput run threen1 --engine lmdb --knob lmdb.map_size=4GiB     # sets one
  trueput knobs threen1                                           # a workload's settings";

/// The arguments of `trueput knobs`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// An engine, the path of a plug-in, or a workload to list its settings
    #[arg(value_name = "ENGINE")]
    owner: String,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Lists the knobs of an engine or the settings of a workload.
///
/// # Errors
/// A usage error if no engine or workload has that name.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let (name, knobs) = knobs_of(&arguments.owner, registry)?;
    if arguments.json {
        output::json(&described(knobs))?;
    } else if knobs.is_empty() {
        output::line(&format!("{name} has no knobs"))?;
    } else {
        output::write(&table(knobs))?;
        write_presets(name)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists the presets from published advice.
fn write_presets(owner: &str) -> Result<(), Failure> {
    let presets = presets(owner).map_err(Failure::usage)?;
    let listed: Vec<_> = presets
        .iter()
        .map(|preset| Entry {
            cells: [preset.name.clone()],
            below: vec![preset.stated_values().collect::<Vec<_>>().join("; ")],
        })
        .collect();
    if listed.is_empty() {
        return Ok(());
    }
    output::line("\nPresets, with which 'trueput tune' begins; docs/TUNING.md has their sources:")?;
    output::write(&table::entries(["preset"], &listed, list_width()))
}

/// Returns the name of an engine or a workload, and its parameters.
fn knobs_of(
    owner: &str,
    registry: &Registry,
) -> Result<(&'static str, &'static [Parameter]), Failure> {
    let contender = registry.named(&Contender::parse(owner));
    let contender = contender.map_err(Failure::usage)?;
    let build = contender.build.as_deref();
    match registry.engine_of(&contender.engine, build) {
        Ok(engine) => return Ok((engine.info().name, engine.knobs())),
        // It is the name of an installed plug-in that cannot be used.
        Err(error @ RegistryError::Library(_)) => return Err(Failure::usage(error)),
        Err(error) if build.is_some() => return Err(Failure::usage(error)),
        Err(_) => {}
    }
    if let Ok(workload) = registry.workload(owner) {
        return Ok((workload.info().name, workload.settings()));
    }
    let engines = registry.engines.iter().map(|engine| engine.info().name);
    let workloads = registry
        .workloads
        .iter()
        .map(|workload| workload.info().name);
    let names: Vec<_> = engines.chain(workloads).collect();
    let hint = did_you_mean(owner, names.iter().copied());
    let names = names.join(", ");
    Err(Failure::Usage(format!(
        "unknown engine or workload '{owner}'{hint}; known: {names}"
    )))
}

/// An entry per knob.
pub fn table(knobs: &[Parameter]) -> String {
    let listed: Vec<_> = knobs.iter().map(entry).collect();
    table::entries(["name", "default", "unit", "range"], &listed, list_width())
}

fn entry(knob: &Parameter) -> Entry<4> {
    Entry {
        cells: [
            knob.name.to_owned(),
            knob.kind.default_text(),
            knob.unit.to_owned(),
            knob.kind.range(),
        ],
        below: match knob.cost {
            "" => vec![knob.summary.to_owned()],
            cost => vec![knob.summary.to_owned(), format!("Cost: {cost}")],
        },
    }
}

/// Describes parameters as JSON.
pub fn described(knobs: &[Parameter]) -> serde_json::Value {
    let describe = |knob: &Parameter| {
        json!({
            "name": knob.name,
            "default": knob.kind.default_value(),
            "range": knob.kind.range(),
            "unit": knob.unit,
            "summary": knob.summary,
            "cost": knob.cost,
        })
    };
    knobs.iter().map(describe).collect()
}
