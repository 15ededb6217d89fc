//! What starts this program on a host and connects its standard input and output with ours: ssh, a
//! scheduler, or any command.
//!
//! A launcher is data: a command template and a row of rules ([`built_in`]). Its exit code proves
//! nothing: heartbeats and an explicit last message decide.

mod built_in;
mod template;

use super::error::HostError;
use crate::workers::worker_process::{COMMAND, wait_at_most};
use built_in::{BUILT_IN, LauncherRules, TEMPLATE};
pub(super) use built_in::{EndReason, LauncherEnd};
use std::fmt;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;
use template::CommandTemplate;
pub use template::TemplateError;
use trueput_record::conditions::HostList;
use trueput_record::suggest::did_you_mean;

/// The value of `--hosts` that takes the hosts of the scheduler's allocation.
pub const HOSTS_OF_ALLOCATION: &str = "slurm";

/// The time that a scheduler may take to list the hosts of an allocation.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// What starts this program on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// Its text on the command line.
    text: String,
    template: CommandTemplate,
    rules: &'static LauncherRules,
}

/// A text that is no launcher.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LauncherError {
    /// It is neither a name nor a template.
    #[error(
        "'{text}' is no launcher{hint}; write ssh, slurm, kubernetes, or a command with {{host}} \
         and {{command}}"
    )]
    Unknown {
        /// The text.
        text: String,
        /// A similar name.
        hint: String,
    },
    /// The template of a command cannot be used.
    #[error("the command '{text}' {error}")]
    Template {
        /// The template.
        text: String,
        /// The reason.
        error: TemplateError,
    },
}

impl Launcher {
    fn of_rules(rules: &'static LauncherRules) -> Self {
        Self {
            text: rules.name.to_owned(),
            // A test parses every row.
            template: CommandTemplate::parse(rules.command).unwrap_or_default(),
            rules,
        }
    }

    /// Returns its text on the command line.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns its program.
    #[must_use]
    pub fn program(&self) -> &str {
        self.template.program()
    }

    /// Whether `--ssh-config` names a configuration file of it.
    #[must_use]
    pub fn takes_config(&self) -> bool {
        self.rules.config_option.is_some()
    }

    /// Whether it knows its hosts: those of an allocation.
    #[must_use]
    pub fn knows_hosts(&self) -> bool {
        self.rules.allocation.is_some()
    }

    /// What its ends mean.
    pub(super) fn ends(&self) -> &'static [LauncherEnd] {
        self.rules.ends
    }

    /// Returns the words of the command that starts this program, which has this path there, on a
    /// host.
    #[must_use]
    pub fn words(&self, host: &str, program: &Path, config: Option<&Path>) -> Vec<String> {
        let program = program.to_string_lossy();
        let mut words = self.template.fill(host, &[&program, COMMAND]);
        if let (Some(option), Some(file)) = (self.rules.config_option, config) {
            let file = file.to_string_lossy().into_owned();
            words.splice(1..1, [option.to_owned(), file]);
        }
        words
    }

    /// Returns that command, with pipes for its standard input and output.
    pub(super) fn command(&self, host: &str, program: &Path, config: Option<&Path>) -> Command {
        let words = self.words(host, program, config);
        let mut words = words.iter();
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words);
        for variable in self.rules.unset {
            command.env_remove(variable);
        }
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: a terminal's Ctrl-C reaches only the runner.
        command.process_group(0);
        command
    }

    /// Checks that this process is where the launcher can be used.
    ///
    /// # Errors
    /// [`HostError::NoAllocation`].
    pub(super) fn check_place(&self) -> Result<(), HostError> {
        let allocation = self.rules.allocation.as_ref();
        match allocation.filter(|it| std::env::var_os(it.variable).is_none()) {
            Some(missing) => Err(HostError::NoAllocation {
                launcher: self.text.clone(),
                variable: missing.variable,
                remedy: missing.remedy,
            }),
            None => Ok(()),
        }
    }

    /// Returns why its program is not started.
    pub(super) fn start_error(&self, error: std::io::Error) -> HostError {
        self.error_of(self.program(), error)
    }

    fn error_of(&self, program: &str, error: std::io::Error) -> HostError {
        let (program, launcher) = (program.to_owned(), self.text.clone());
        match error.kind() {
            std::io::ErrorKind::NotFound => HostError::NoLauncher {
                program,
                launcher,
                remedy: self.rules.remedy,
            },
            _ => HostError::LauncherNotStarted { program, error },
        }
    }

    /// Returns the hosts of the allocation in which this process is; `None` if the launcher knows
    /// none.
    ///
    /// # Errors
    /// [`HostError`], if there is no allocation, or its hosts cannot be listed.
    pub fn list_hosts(&self) -> Result<Option<HostList>, HostError> {
        let Some(allocation) = &self.rules.allocation else {
            return Ok(None);
        };
        self.check_place()?;
        let [program, arguments @ ..] = allocation.hosts_command else {
            return Ok(None);
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = command.spawn();
        let mut child = started.map_err(|error| self.error_of(program, error))?;
        let status = wait_at_most(&mut child, LIST_TIMEOUT).ok().flatten();
        if status.is_none() {
            // It may have ended just now.
            let _ = child.kill();
            let _ = child.wait();
        }
        let (mut listed, mut said) = (String::new(), String::new());
        // What cannot be read is no list.
        let _ = child
            .stdout
            .take()
            .map(|mut it| it.read_to_string(&mut listed));
        let _ = child
            .stderr
            .take()
            .map(|mut it| it.read_to_string(&mut said));
        let unlisted = |message: &str| HostError::NoHostList {
            command: allocation.hosts_command.join(" "),
            message: message.trim().to_owned(),
        };
        if !status.is_some_and(|status| status.success()) {
            return Err(unlisted(
                said.lines().next_back().unwrap_or("it does not end"),
            ));
        }
        let names: Vec<_> = listed.lines().collect();
        let hosts = names.join(",").parse::<HostList>();
        hosts
            .map(Some)
            .map_err(|error| unlisted(&error.to_string()))
    }
}

impl Default for Launcher {
    fn default() -> Self {
        Self::of_rules(&BUILT_IN[0])
    }
}

impl FromStr for Launcher {
    type Err = LauncherError;

    fn from_str(text: &str) -> Result<Self, LauncherError> {
        let error = |error| LauncherError::Template {
            text: trueput_record::text::escape_line(text).into_owned(),
            error,
        };
        if let Some(rules) = BUILT_IN.iter().find(|rules| rules.name == text) {
            return Ok(Self::of_rules(rules));
        }
        if !text.contains([' ', '{']) {
            let hint = did_you_mean(text, BUILT_IN.iter().map(|rules| rules.name));
            let text = trueput_record::text::escape_line(text).into_owned();
            return Err(LauncherError::Unknown { text, hint });
        }
        Ok(Self {
            text: text.to_owned(),
            template: CommandTemplate::parse(text).map_err(error)?,
            rules: &TEMPLATE,
        })
    }
}

impl fmt::Display for Launcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(launcher: &str) -> String {
        let launcher: Launcher = launcher.parse().unwrap();
        let words = launcher.words("n1", Path::new("/opt/trueput"), Some(Path::new("/c")));
        words.join("|")
    }

    #[test]
    fn each_launcher_has_its_command() {
        assert_eq!(
            words("ssh"),
            "ssh|-F|/c|-T|-a|-x|-S|none|-o|BatchMode=yes|-o|ClearAllForwardings=yes|-o|\
             ConnectTimeout=10|-o|ServerAliveInterval=5|-o|ServerAliveCountMax=3|--|n1|\
             exec '/opt/trueput' worker"
        );
        assert_eq!(
            words("slurm"),
            "srun|--overlap|--nodes=1|--ntasks=1|--nodelist=n1|--unbuffered|--mpi=none|\
             --quit-on-interrupt|--immediate=10|/opt/trueput|worker"
        );
        assert_eq!(
            words("kubernetes"),
            "kubectl|exec|--stdin|--quiet|n1|--|/opt/trueput|worker"
        );
        assert_eq!(
            words("mpirun -np 1 --host {host} {command}"),
            "mpirun|-np|1|--host|n1|/opt/trueput|worker"
        );
        assert_eq!(Launcher::default().text(), "ssh");
    }

    #[test]
    fn labels_of_slurm_are_switched_off() {
        let slurm: Launcher = "slurm".parse().unwrap();
        let command = slurm.command("n1", Path::new("/opt/trueput"), None);
        let unset = |name: &str| command.get_envs().any(|one| one == (name.as_ref(), None));
        assert!(unset("SLURM_LABELIO") && unset("SLURM_STDOUTMODE"));
        let ssh = Launcher::default().command("n1", Path::new("/opt/trueput"), None);
        assert_eq!(ssh.get_envs().count(), 0);
    }

    #[test]
    fn what_is_no_launcher_is_refused_in_one_line() {
        for (text, expected) in [
            ("slrum", "did you mean"),
            (
                "srun",
                "write ssh, slurm, kubernetes, or a command with {host} and {command}",
            ),
            ("on {host}", "the command 'on {host}' has no {command}"),
            (
                "on {host} {command} {x}",
                "{x} is unknown; write {host} or {command}, or \\{x}",
            ),
        ] {
            let reason = text.parse::<Launcher>().unwrap_err().to_string();
            assert!(reason.contains(expected), "{reason}");
            assert_eq!(reason.lines().count(), 1);
        }
    }

    #[test]
    fn a_launcher_that_is_not_here_is_named_with_its_remedy() {
        let launcher: Launcher = "no-such-launcher {host} {command}".parse().unwrap();
        let mut command = launcher.command("n1", Path::new("/opt/trueput"), None);
        let error = launcher
            .start_error(command.spawn().unwrap_err())
            .to_string();
        assert!(error.contains("no program no-such-launcher"), "{error}");
        assert!(
            error.contains("check the first word of --launcher"),
            "{error}"
        );
    }
}
