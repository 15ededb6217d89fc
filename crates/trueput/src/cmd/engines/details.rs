//! What an engine states of itself: its levels, with the settings and sources of each.

use super::{EngineListing, isolation, promises, short, workers};
use trueput_engine::parameter::resolve;
use trueput_engine::{Durability, Engine, Isolation, Promise};
use trueput_record::value::Settings;
use trueput_report::document::Block;
use trueput_runner::level_refusal;

/// Describes an engine, with its default knobs; `name` may have a build.
pub(super) fn details(name: &str, listed: &EngineListing) -> Vec<Block> {
    let engine = listed.engine;
    let info = engine.info();
    let version = match listed.builds.first().map(|found| &found.build) {
        Some(Ok(build)) => short(&build.version).to_owned(),
        Some(Err(reason)) => format!("(unusable: {reason})"),
        None => "(not installed)".to_owned(),
    };
    let isolation = isolation(engine).map_or("not stated", Isolation::name);
    let head = format!(
        "{name} {version}: {}. Workers: {}. Isolation: {isolation}. License: {}.",
        info.summary,
        workers(engine),
        info.license
    );
    let audited = |promise: Promise| {
        let audits = listed.builds.first().map(|found| &found.audits);
        let mut audits = audits.into_iter().flatten();
        let audit = audits.find(|(level, _)| *level == promise.durability);
        let audit = audit.map(|(_, state)| format!(" Audit: {state}."));
        format!("{}{}", level(&promise), audit.unwrap_or_default())
    };
    let levels = promises(engine).map(audited);
    let levels = levels.chain(refused_levels(engine)).collect();
    let mut blocks = vec![Block::Text(head), Block::List(levels)];
    blocks.extend(remarks(engine).map(Block::Warnings));
    let knobs = match engine.knobs().len() {
        0 => "No knobs.".to_owned(),
        1 => format!("This is with the default of its knob (trueput knobs {name})."),
        number => {
            format!("This is with the defaults of its {number} knobs (trueput knobs {name}).")
        }
    };
    blocks.push(Block::Text(format!("{knobs} {}", info.homepage)));
    blocks
}

/// The levels that it does not have with default knobs, where the driver says why.
fn refused_levels(engine: &dyn Engine) -> impl Iterator<Item = String> {
    let levels = Durability::ALL.into_iter();
    let levels = levels.filter(|&level| engine.promise(level).is_none());
    levels.filter_map(|level| {
        let reason = level_refusal(engine, level)?;
        Some(format!("not {level}: {reason}"))
    })
}

/// A level: `sync: fdatasync=each commit. Source: the manual`.
fn level(promise: &Promise) -> String {
    let (level, settings) = (promise.durability, &promise.mapped_to);
    let window = promise.window.as_ref();
    let window = window.map_or_else(String::new, |window| {
        format!(" What is not yet safe can be lost, until {}.", window.until)
    });
    let doubt = promise.doubt.as_ref();
    let doubt = doubt.map_or_else(String::new, |doubt| format!(" In doubt: {doubt}."));
    format!(
        "{level}: {settings}.{window}{doubt} Source: {}",
        promise.source
    )
}

/// What affects its rates or its records, with default knobs.
fn remarks(engine: &dyn Engine) -> Option<Vec<String>> {
    let knobs = resolve(engine.info().name, engine.knobs(), &Settings::new()).ok()?;
    let workaround = engine.workaround(&knobs);
    let workaround = workaround.map(|text| format!("the driver's own work: {text}"));
    let defect = engine.known_defect(&knobs);
    let defect = defect.map(|text| format!("known defect: {text}"));
    let remarks: Vec<_> = workaround.into_iter().chain(defect).collect();
    (!remarks.is_empty()).then_some(remarks)
}
