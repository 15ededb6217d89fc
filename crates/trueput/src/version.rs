//! What `trueput --version` says.

use trueput_findings::eligibility::HARNESS_ENGINE;
use trueput_runner::{Registry, describe_build};

/// How an engine says that it needs no library ([`trueput_engine::EngineInfo::install`]).
const COMPILED_IN: &str = "compiled in";

/// Describes this program: its version, commit and date, and the engines that are in it.
pub fn describe(registry: &Registry) -> String {
    let engines = registry.engines.iter().filter_map(|engine| {
        let info = engine.info();
        // The one that keeps nothing measures the harness.
        let is_compiled_in = info.install == COMPILED_IN && info.name != HARNESS_ENGINE;
        let build = is_compiled_in.then(|| engine.build())?.ok()?;
        let version = build.version.split_whitespace().next()?.to_owned();
        Some(format!("{} {version}", info.name))
    });
    format!(
        "trueput {}\ncompiled in: {}\n",
        describe_build(),
        engines.collect::<Vec<_>>().join(", ")
    )
}
