//! Workers on other hosts: a process of this program on each, started by a launcher such as ssh,
//! which starts the host's workers and relays what runner and workers tell each other.
//!
//! There is no daemon and no open port: the protocol is on standard input and output, and when a
//! connection ends, so do the host's workers.

mod clock_offset;
pub(crate) mod connection;
pub(crate) mod error;
pub(crate) mod fit;
pub(crate) mod launcher;
pub(crate) mod load_generators;
pub(crate) mod protocol;
pub(crate) mod trial_protocol;
pub(crate) mod usage;
pub(crate) mod workers;

use crate::context::sha256_of;
use crate::plan::storage_models::check_again;
use crate::{Error, Options};
use connection::HostAccess;
use std::collections::BTreeSet;
use std::path::Path;
use trueput_record::{RunManifest, TrialSpec};
use workers::HostWorkers;

/// Checks what may have changed since trials were planned: their storage models, and their hosts.
///
/// # Errors
/// A usage error for the first of them.
pub(crate) fn check_resumed(
    manifest: &RunManifest,
    to_do: &[&TrialSpec],
    options: &Options,
) -> Result<(), Error> {
    // A search may add trials to any of its cells.
    match manifest.search {
        Some(_) => check_again(&manifest.trials.iter().collect::<Vec<_>>())?,
        None => check_again(to_do)?,
    }
    let access = &options.host_access;
    check_hosts(to_do.iter().copied(), access, &options.worker_program)
}

/// Checks that every host of these trials is reachable and has this program.
///
/// # Errors
/// A usage error that names the first host that has not, and the remedy.
pub(crate) fn check_hosts<'a>(
    trials: impl IntoIterator<Item = &'a TrialSpec>,
    access: &HostAccess,
    worker_program: &Path,
) -> Result<(), Error> {
    let lists = trials.into_iter().filter_map(|spec| {
        let hosts = spec.conditions.hosts.as_ref()?;
        Some(hosts.names())
    });
    let names: BTreeSet<&String> = lists.flatten().collect();
    if names.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = names.into_iter().cloned().collect();
    let sha256 = sha256_of(worker_program).map_err(|source| Error::Worker {
        program: worker_program.to_owned(),
        source,
    })?;
    let connected = HostWorkers::connect(&names, access, worker_program, &sha256);
    connected?.kill_all();
    Ok(())
}
