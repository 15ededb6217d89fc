//! `trueput clean`: lists the leftovers of killed runs, and removes them on request.

use crate::failure::{FAILED, Failure};
use crate::{output, table};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueput_host::trial_file_system::{CleanError, Leftover, clean, find, find_everywhere};
use trueput_runner::ConformanceCache;

const EXAMPLES: &str = "\
Examples:
  trueput clean                          # list what killed runs left behind
  trueput clean --yes                    # unmount, detach and remove it
  trueput clean --work /fast/work        # only what is in this work folder

Active runs, databases that a run was to keep (--keep-databases, threen1), and everything without \
a mark of trueput are not touched.

--yes also removes the remembered conformance results, unless --results or --work is given. The \
next run checks conformance again.

Exit codes:
  0    nothing is left, or all of it was removed
  1    something is left: it was listed, or could not be removed
  2    bad input: command line";

/// The arguments of `trueput clean`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Remove what is listed [default: only list it]
    #[arg(long)]
    yes: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Look only at runs in this results directory [default: 'results', and everything of trueput's
    /// that is mounted or attached]
    #[arg(long, value_name = "DIR")]
    results: Vec<PathBuf>,
    /// Look only in this work directory, or directory of 'storage fit --on'
    #[arg(long, value_name = "DIR")]
    work: Vec<PathBuf>,
}

/// Lists leftovers of killed runs, and removes them if requested.
///
/// # Errors
/// If standard output is closed.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let is_everywhere = arguments.results.is_empty() && arguments.work.is_empty();
    let found = if is_everywhere {
        find_everywhere(Path::new("results"))
    } else {
        find(&arguments.results, &arguments.work)
    };
    if !arguments.json {
        list(&found)?;
    }
    let mut outcomes = Vec::new();
    for left in found.iter().filter(|_| arguments.yes) {
        let failures = clean(left).err().unwrap_or_default();
        let failures: Vec<_> = failures.iter().map(CleanError::to_string).collect();
        failures
            .iter()
            .for_each(|reason| output::print_error(reason));
        outcomes.push(failures);
    }
    if arguments.json {
        output::json(&described(&found, arguments.yes.then_some(&outcomes)))?;
    }
    let is_forgotten = !is_everywhere || forget_conformance(arguments)?;
    let removed = arguments.yes && is_forgotten && outcomes.iter().all(Vec::is_empty);
    if !arguments.json && !found.is_empty() {
        output::line(match (arguments.yes, removed) {
            (false, _) => "to remove this: trueput clean --yes, with the same options",
            (true, true) => "all removed",
            (true, false) => "some of it could not be removed",
        })?;
    }
    Ok(if (found.is_empty() && is_forgotten) || removed {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FAILED)
    })
}

/// Forgets which engines passed the conformance suite if requested, and prints their number.
/// Returns `false` if that failed.
fn forget_conformance(arguments: &Arguments) -> Result<bool, Failure> {
    let Some(cache) = ConformanceCache::of_user(true) else {
        return Ok(true);
    };
    let (count, folder) = (cache.count(), cache.folder().display());
    if count == 0 {
        return Ok(true);
    }
    let said = match arguments.yes.then(|| cache.clear()) {
        Some(Err(error)) => {
            output::print_error(&format!("{folder} cannot be removed: {error}"));
            return Ok(false);
        }
        Some(Ok(())) => format!("removed {count} cached conformance results from {folder}"),
        None => {
            format!("{count} cached conformance results in {folder}; --yes removes them")
        }
    };
    if !arguments.json {
        output::line(&said)?;
    }
    Ok(true)
}

fn list(found: &[Leftover]) -> Result<(), Failure> {
    if found.is_empty() {
        return output::line("nothing to clean");
    }
    let rows: Vec<_> = found
        .iter()
        .flat_map(|left| left.items.iter().map(move |item| (left, item)))
        .map(|(left, (kind, path))| {
            let path = path.display().to_string();
            [kind.name().to_owned(), left.pid.to_string(), path]
        })
        .collect();
    output::write(&table::align(["what", "process", "path"], &rows))
}

fn described(found: &[Leftover], outcomes: Option<&Vec<Vec<String>>>) -> serde_json::Value {
    let of = |(index, left): (usize, &Leftover)| {
        let items = left
            .items
            .iter()
            .map(|(kind, path)| json!({ "what": kind.name(), "path": path.display().to_string() }));
        let failures = outcomes.and_then(|outcomes| outcomes.get(index));
        json!({
            "path": left.path.display().to_string(),
            "process": left.pid,
            "items": items.collect::<Vec<_>>(),
            "removed": failures.map(Vec::is_empty),
            "failures": failures,
        })
    };
    found.iter().enumerate().map(of).collect()
}
