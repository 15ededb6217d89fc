//! GT.M, through its call-ins: a few routines in M, run inside this process.

mod database;
mod folder;
mod install;
mod knobs;
mod native;
mod process;
mod scan;
mod session;
mod sigalrm;
mod transaction_log;

use crate::folder_path;
use crate::library;
use database::GtmDatabase;
use folder::DatabaseFolder;
use install::GtmInstallation;
use knobs::{AccessMethod, DatabaseLayout, GtmKnobs, HostLanguage};
use std::path::{Path, PathBuf};
use trueput_engine::{
    Build, CacheKnob, Capabilities, Database, Durability, Engine, Error, Info, Isolation,
    NativeProgram, OpenSpec, Parameter, ParameterValues, Promise, Result, Window,
};

const TITLE: &str = "GT.M";
const SOURCE: &str = "GT.M Programmer's Guide, TSTART; GT.M Administration and Operations Guide, \
                      'GT.M Journaling'";

/// The longest key of any content. A subscript takes 1,012 bytes at most beside the name of the
/// global and its own marks, a zero byte takes two of them, and ours begins with a letter.
const MAX_KEY_BYTES: usize = 506;
/// The longest string, and the longest record, that GT.M has.
const MAX_VALUE_BYTES: usize = process::MAX_STRING_BYTES;

/// The GT.M driver.
pub struct Gtm {
    named: Option<PathBuf>,
}

impl Gtm {
    /// GT.M as the first installation that is found has it.
    #[must_use]
    pub const fn new() -> Self {
        Self { named: None }
    }

    fn installation(&self) -> Result<GtmInstallation> {
        let path = match &self.named {
            Some(path) => path.clone(),
            None => install::find_all().into_iter().next().ok_or_else(|| {
                Error::missing(
                    "no GT.M on this machine (libgtmshr.so); `trueput engines install gtm` \
                     installs it",
                )
            })?,
        };
        process::check(&path, TITLE)?;
        GtmInstallation::of(path, TITLE)
    }
}

impl Default for Gtm {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine for Gtm {
    fn info(&self) -> Info {
        Info {
            name: "gtm",
            title: TITLE,
            summary: "B*-tree in shared memory; many processes and writers",
            license: "AGPL-3.0-only",
            homepage: "https://gitlab.com/YottaDB/Upstream/FIS-GTM",
            install: "trueput engines install gtm",
        }
    }

    fn build(&self) -> Result<Build> {
        let installation = self.installation()?;
        let library = installation.library().to_owned();
        Ok(library::build_of(library, installation.version()?))
    }

    /// Blanks separate the folders in `gtmroutines`, and GDE reads the path as M's text.
    fn path_objection(&self, folder: &Path) -> Option<String> {
        let reason = "GT.M separates folders by blanks and parentheses, and quotes no path";
        folder_path::objection(folder, " ()\"\\", reason)
    }

    fn library_files(&self) -> Vec<PathBuf> {
        install::find_all()
    }

    fn with_library(&self, library: &Path) -> Result<Box<dyn Engine>> {
        let shown = library.display();
        let full = library
            .canonicalize()
            .map_err(|error| Error::engine(format!("cannot read {shown}: {error}")))?;
        let engine = Self { named: Some(full) };
        engine.installation()?;
        Ok(Box::new(engine))
    }

    fn unopened(&self, library: &Path) -> Result<Box<dyn Engine>> {
        let named = Some(library::full_path(library)?);
        Ok(Box::new(Self { named }))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            several_processes: true,
            concurrent_writers: true,
            // Each read of a read transaction sees the data committed at that moment.
            snapshot_reads: false,
            ..Capabilities::transactional(MAX_KEY_BYTES, MAX_VALUE_BYTES)
        }
    }

    fn promise_with(&self, durability: Durability, knobs: &ParameterValues) -> Result<Promise> {
        let transactions = match durability {
            Durability::Sync => ", TSTART ():serial",
            Durability::Buffered => ", SET or TSTART ():(serial:transaction=\"BATCH\")",
            Durability::None => "",
            Durability::Async | Durability::Process => {
                return Err(Error::no_durability("gtm", durability));
            }
        };
        let knobs = GtmKnobs::from(knobs);
        let journal = DatabaseLayout::of(knobs, durability)?.journal_settings();
        let window = (durability == Durability::Buffered).then(|| unflushed(&knobs));
        Ok(Promise::new(
            durability,
            format!("{journal}{transactions}"),
            window,
            SOURCE,
        ))
    }

    fn isolation(&self, _knobs: &ParameterValues) -> Option<Isolation> {
        // Write transactions are validated at commit, but a read transaction has no snapshot.
        Some(Isolation::ReadCommitted)
    }

    fn knobs(&self) -> &'static [Parameter] {
        GtmKnobs::PARAMETERS
    }

    fn cache_knob(&self, knobs: &ParameterValues) -> std::result::Result<CacheKnob, &'static str> {
        let knobs = GtmKnobs::from(knobs);
        match knobs.access_method {
            AccessMethod::Mm => {
                Err("has no effect with access_method=MM, which has no global buffers")
            }
            AccessMethod::Bg => Ok(CacheKnob {
                unit_bytes: knobs.block_size,
                ..CacheKnob::bytes("global_buffers", knobs.global_buffers * knobs.block_size)
            }),
        }
    }

    fn prepare_after_power_loss(&self, spec: &OpenSpec<'_>) -> Result<()> {
        let directory = spec.directory.canonicalize().map_err(Error::engine)?;
        let folder = DatabaseFolder {
            installation: &self.installation()?,
            path: &directory,
            layout: &DatabaseLayout::of(GtmKnobs::from(spec.knobs), spec.durability)?,
        };
        folder.recover_after_power_loss()
    }

    /// By region, which works beside this process: GT.M leaves a database only when it ends. A
    /// database with an unfinished KILL is not checked.
    fn check_files(&self, spec: &OpenSpec<'_>) -> Result<()> {
        let directory = spec.directory.canonicalize().map_err(Error::engine)?;
        let installation = self.installation()?;
        let folder = DatabaseFolder {
            installation: &installation,
            path: &directory,
            layout: &DatabaseLayout::of(GtmKnobs::from(spec.knobs), spec.durability)?,
        };
        // It would wait without end for a KILL that a killed process has begun.
        if folder.header()?.get("kill_in_prog").map(String::as_str) != Some("0") {
            return Ok(());
        }
        let arguments = ["integ", "-noonline", "-region", "DEFAULT"];
        let said = installation.run("mupip", &arguments, &directory, "")?;
        if said.contains("No errors detected") {
            Ok(())
        } else {
            Err(Error::engine(said.trim().replace('\n', "; ")))
        }
    }

    fn audit_requires_root(&self) -> Option<&'static str> {
        Some("its global directory holds the path of its database")
    }

    fn audit_knobs(&self) -> &'static [(&'static str, &'static str)] {
        &[("epoch_interval", "1"), ("global_buffers", "64")]
    }

    fn open(&self, spec: &OpenSpec<'_>) -> Result<Box<dyn Database>> {
        let full = spec.directory.canonicalize();
        let full = full.unwrap_or_else(|_| spec.directory.to_owned());
        if let Some(objection) = self.path_objection(&full) {
            return Err(Error::Unsupported(objection));
        }
        self.promise_with(spec.durability, spec.knobs)?;
        Ok(Box::new(GtmDatabase::open(self.installation()?, spec)?))
    }

    fn workaround(&self, knobs: &ParameterValues) -> Option<String> {
        let by_call_ins = GtmKnobs::from(knobs).host_language == HostLanguage::Rust;
        by_call_ins.then(|| {
            "its transactions cannot outlast a call-in, so the driver keeps a write transaction's \
             writes until the commit, which reads again what was read, compares, and then writes; \
             programs in M (host_language=m) use the engine's own transactions"
                .to_owned()
        })
    }

    fn native(
        &self,
        knobs: &ParameterValues,
        workload: &str,
        settings: &ParameterValues,
    ) -> Result<Option<Box<dyn NativeProgram>>> {
        if GtmKnobs::from(knobs).host_language == HostLanguage::Rust {
            return Ok(None);
        }
        native::check(workload, settings)?;
        let installation = self.installation()?;
        let program = native::MumpsProgram::new(installation, settings);
        Ok(Some(Box::new(program)))
    }
}

/// The window of `buffered`.
fn unflushed(knobs: &GtmKnobs) -> Window {
    let for_lost_power = if knobs.sync_io {
        ", and sync_io flushes what is written, so that this holds for lost power, too"
    } else {
        ""
    };
    Window {
        time_s: Some(knobs.epoch_interval as f64),
        ..Window::until(format!(
            "the next epoch, for lost power: due after epoch_interval. For killed processes with \
             their shared memory: the journal's buffer is written when it fills, or 1 s after a \
             write{for_lost_power}"
        ))
    }
}
