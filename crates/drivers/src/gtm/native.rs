//! The workload threen1 in M, run by GT.M itself: no call-ins.

use super::install::GtmInstallation;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use std::os::unix::process::CommandExt;
use std::process::Command;
use trueput_engine::{Error, NativeProgram, OpenSpec, ParameterValues, Result};

/// The settings that the program has in one way only.
const FIXED: [(&str, &str); 2] = [("commit", "per-store"), ("snapshot", "get")];

/// Refuses settings that the native program does not support.
pub(super) fn check(workload: &str, settings: &ParameterValues) -> Result<()> {
    let refuse = |reason: String| {
        Err(Error::Unsupported(format!(
            "gtm.host_language: m {reason}; rust takes every workload and setting"
        )))
    };
    if workload != "threen1" {
        return refuse(format!(
            "has a program for threen1, and none for {workload}"
        ));
    }
    for (name, only) in FIXED {
        let given = settings.get(name).map(ToString::to_string);
        let given = given.unwrap_or_default();
        if given != only {
            return refuse(format!("takes {name}={only}, and not {given}"));
        }
    }
    Ok(())
}

/// The program with the workload's settings.
pub(super) struct MumpsProgram {
    installation: GtmInstallation,
    /// `NAME=VALUE`.
    settings: Vec<String>,
}

impl MumpsProgram {
    pub(super) fn new(installation: GtmInstallation, settings: &ParameterValues) -> Self {
        let settings = settings.as_settings().iter();
        Self {
            installation,
            settings: settings
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
        }
    }
}

impl NativeProgram for MumpsProgram {
    fn command(&self, spec: &OpenSpec<'_>, worker: u32, workers: u32) -> Result<Command> {
        // GT.M knows the database by its full path, as the driver does.
        let folder = spec.directory.canonicalize().map_err(Error::engine)?;
        let mut command = Command::new(self.installation.tool("mumps"));
        command
            .args(["-run", "threen1"])
            .arg(format!("worker={worker}"))
            .arg(format!("workers={workers}"))
            .arg(format!("durability={}", spec.durability))
            .args(&self.settings)
            .envs(self.installation.environment(&folder))
            .current_dir(&folder);
        // SAFETY: the closure makes one system call and touches no memory of the parent's.
        unsafe {
            command.pre_exec(|| set_pdeathsig(Signal::SIGKILL).map_err(std::io::Error::from));
        }
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_engine::{Value, parameter, parameters};

    parameters! {
        /// Settings of threen1.
        struct MumpsSettings {
            /// The work of one transaction.
            commit: Choice = "per-store" of ["per-store", "per-block"],
            /// The work of one read transaction.
            snapshot: Choice = "get" of ["get", "start"],
        }
    }

    fn settings(commit: &str) -> ParameterValues {
        let given = [("commit".to_owned(), Value::from(commit))].into();
        parameter::resolve("threen1", MumpsSettings::PARAMETERS, &given).unwrap()
    }

    #[test]
    fn what_the_program_cannot_do_is_refused() {
        assert!(check("threen1", &settings("per-store")).is_ok());
        let text = check("threen1", &settings("per-block"))
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("takes commit=per-store, and not per-block"),
            "{text}"
        );
        let text = check("other", &settings("per-store"))
            .unwrap_err()
            .to_string();
        assert!(text.contains("none for other"), "{text}");
    }
}
