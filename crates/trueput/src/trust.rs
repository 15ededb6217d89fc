//! Protection against plans and run folders of others that run code or write to the user's folders:
//! these parts are shown, and used only with the user's consent. See SECURITY.md.

use crate::failure::Failure;
use crate::output;
use crate::plan_overrides::PlanOverrides;
use clap::Args;
use std::io::{IsTerminal, Write};
use std::path::Path;
use trueput_engine::Address;
use trueput_record::address::is_address_for;
use trueput_record::conditions::HostList;
use trueput_record::filesystem::{FileSystem, FileSystemKind};
use trueput_record::plan::{Contender, PlanFile};
use trueput_record::{RunFolder, RunManifest};
use trueput_runner::Registry;
use trueput_runner::matrix::{self, BuildAccess};

/// The user's consent to use a plan or a run folder of others.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Trust {
    /// Load and run what a plan or run folder names outside the known directories (see SECURITY.md)
    /// [default: ask on a terminal, refuse elsewhere]
    #[arg(long)]
    trust_plan: bool,
}

/// Code and folders that somebody else named, with their use: `rocksdb@/tmp/x.so (a library to
/// load)`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UntrustedInputs(Vec<String>);

impl UntrustedInputs {
    /// The parts of a plan that are neither in a known place nor on the user's own command line.
    pub fn of_plan(plan: &PlanFile, overrides: &PlanOverrides) -> Self {
        let mut foreign = if overrides.engine.is_empty() {
            Self::of_contenders(&plan.engines)
        } else {
            Self::default()
        };
        let is_plans = |name: &str| !overrides.conditions.is_given(name);
        let steps = plan.steps.iter().map(|step| &step.conditions);
        for conditions in steps.chain([&plan.conditions]) {
            let lists = [
                (&conditions.file_system, is_plans("filesystem")),
                (&conditions.log_file_system, is_plans("log_filesystem")),
            ];
            let foreign_lists = lists.into_iter().filter(|(_, is_plans)| *is_plans);
            for file_system in foreign_lists.flat_map(|(list, _)| list) {
                foreign.add_file_system(file_system);
            }
            // An allocation's scheduler starts nothing outside of it.
            let is_any_host = !overrides.host_options.launcher.knows_hosts();
            if is_any_host && is_plans("hosts") {
                conditions
                    .hosts
                    .iter()
                    .flatten()
                    .for_each(|hosts| foreign.add_hosts(hosts));
            }
        }
        foreign
    }

    /// The parts of a run folder that are not in a known place; `work` is the folder for databases
    /// that the user named.
    pub fn of_run(folder: &RunFolder, manifest: &RunManifest, work: Option<&Path>) -> Self {
        let mut foreign = Self::default();
        for spec in &manifest.trials {
            foreign.add_build(&spec.engine, spec.build.as_deref());
            let conditions = &spec.conditions;
            let both = [&conditions.file_system, &conditions.log_file_system];
            for file_system in both.into_iter().flatten() {
                foreign.add_file_system(file_system);
            }
            if let Some(hosts) = &conditions.hosts {
                foreign.add_hosts(hosts);
            }
        }
        if let (None, Some(named)) = (work, &manifest.work)
            && !trueput_runner::has_worked_in(named, folder)
        {
            let named = named.display();
            foreign.add(format!(
                "{named} (a directory in which databases are created and removed; --work names \
                 it, too)"
            ));
        }
        foreign
    }

    /// The builds among contenders of a plan that are not in a known place.
    pub fn of_contenders(contenders: &[Contender]) -> Self {
        let mut foreign = Self::default();
        for contender in contenders {
            foreign.add_build(&contender.engine, contender.build.as_deref());
        }
        foreign
    }

    /// The parts of a replay that are not in a known place: what the audit in `folder` names, and
    /// the folder itself if root replays in it and another user could change it meanwhile.
    pub fn of_replay(
        folder: &Path,
        contender: &Contender,
        file_system: Option<&FileSystem>,
    ) -> Self {
        let mut foreign = Self::of_contenders(std::slice::from_ref(contender));
        if let Some(file_system) = file_system {
            foreign.add_file_system(file_system);
        }
        let reason = trueput_host::is_root().then(|| trueput_drivers::untrusted_reason(folder));
        if let Some(reason) = reason.flatten() {
            foreign.add(format!(
                "{} (a directory that others could change meanwhile: {reason}; replay a copy)",
                folder.display()
            ));
        }
        foreign
    }

    fn add_build(&mut self, engine: &str, build: Option<&Path>) {
        let Some(build) = build else { return };
        let address = Address::of(&build.to_string_lossy());
        let shown = address.redacted();
        let is_address = is_address_for(engine, build);
        if !is_address && trueput_drivers::is_in_trusted_location(build) {
            return;
        }
        let files = password_files(&address);
        let does = if !is_address {
            "code to load or run".to_owned()
        } else if engine == "odbc" {
            "a data source to connect to by its driver".to_owned()
        } else if files.is_empty() {
            "a server to connect to".to_owned()
        } else {
            format!(
                "a server to connect to, with the first line of {} as password",
                files.join(" or ")
            )
        };
        self.add(format!("{engine}@{shown} ({does})"));
    }

    fn add_file_system(&mut self, file_system: &FileSystem) {
        if names_files_or_devices(file_system) {
            self.add(format!(
                "{file_system} (options that can name files and devices)"
            ));
        }
    }

    fn add_hosts(&mut self, hosts: &HostList) {
        for host in hosts.names() {
            self.add(format!("{host} (a host on which workers are started)"));
        }
    }

    fn add(&mut self, input: String) {
        if !self.0.contains(&input) {
            self.0.push(input);
        }
    }

    /// Whether there is nothing to ask for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Trust {
    /// Like [`Trust::check`], for a plan with the overrides of the command line. An invalid plan is
    /// refused before the user is asked.
    ///
    /// # Errors
    /// A usage error, as [`matrix::expand`] and [`Trust::check`].
    pub fn check_plan(
        self,
        subject: &str,
        plan: &PlanFile,
        overrides: &PlanOverrides,
        registry: &Registry,
    ) -> Result<(), Failure> {
        let foreign = UntrustedInputs::of_plan(plan, overrides);
        if !foreign.is_empty() {
            matrix::expand_with(plan, registry, BuildAccess::Unopened)?;
        }
        self.check(subject, &foreign)
    }

    /// Continues if `subject`, a plan or a run folder, names nothing foreign or the user trusts it;
    /// the foreign parts are shown.
    ///
    /// # Errors
    /// A usage error in one line if the user refuses, or cannot be asked.
    pub fn check(self, subject: &str, foreign: &UntrustedInputs) -> Result<(), Failure> {
        if foreign.is_empty() {
            return Ok(());
        }
        let can_ask = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if !self.trust_plan && !can_ask {
            return Err(Failure::usage(format!(
                "{subject} uses files or servers outside the known directories: {}; check them, \
                 then add --trust-plan",
                foreign.0.join(", ")
            )));
        }
        output::note(&format!(
            "{subject} uses files or servers outside the known directories:"
        ));
        for one in &foreign.0 {
            output::note(&format!("  {one}"));
        }
        if self.trust_plan || ask_user() {
            Ok(())
        } else {
            Err(Failure::usage(format!(
                "{subject} is not trusted: nothing was run"
            )))
        }
    }
}

/// Asks on the terminal; anything but a yes is a no.
fn ask_user() -> bool {
    let mut terminal = std::io::stderr().lock();
    let asked = write!(terminal, "Load and run it with your rights? [y/N] ");
    let mut answer = String::new();
    asked.and_then(|()| terminal.flush()).is_ok()
        && std::io::stdin().read_line(&mut answer).is_ok()
        && ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str())
}

/// Every password file that an address names, as typed; the address is shown without them. The
/// driver chooses which of several is read.
fn password_files(address: &Address) -> Vec<String> {
    let options = address.secret_options();
    let files = options.filter_map(|option| option.strip_prefix("password_file="));
    files.map(str::to_owned).collect()
}

/// Options of one family's mkfs that neither name a file or a device nor take more words than
/// stated: mke2fs(8), mkfs.xfs(8) and mkfs.btrfs(8).
struct SafeMkfsOptions {
    kinds: &'static [&'static str],
    /// Those that take no value.
    flags: &'static [&'static str],
    /// Those that take a number, a size or features.
    valued: &'static [&'static str],
}

const PLAIN_MKFS: [SafeMkfsOptions; 3] = [
    SafeMkfsOptions {
        kinds: &["ext2", "ext3", "ext4"],
        flags: &["-q", "-F"],
        valued: &["-O", "-b", "-I", "-i", "-m", "-N", "-T", "-E"],
    },
    SafeMkfsOptions {
        kinds: &["xfs"],
        flags: &["-q", "-f"],
        valued: &["-b", "-m", "-i", "-n", "-s"],
    },
    SafeMkfsOptions {
        kinds: &["btrfs"],
        flags: &["-q", "-f", "-K"],
        valued: &["-O", "-n", "-s"],
    },
];

/// Whether options could name a file or a device: some options of mkfs and mount name one by path,
/// label or number, and write to it.
fn names_files_or_devices(file_system: &FileSystem) -> bool {
    let is_plain = |word: &str| {
        word.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"^,=_.:-".contains(&byte))
    };
    let names_device = |word: &str| {
        let word = word.to_ascii_lowercase();
        ["dev", "journal_path", "name=", "file", "uuid", "label"]
            .iter()
            .any(|part| word.contains(part))
    };
    let is_plain_value =
        |word: &String| is_plain(word) && !names_device(word) && !word.starts_with('-');
    let is_plain_mount = |option: &String| {
        // `nodev` is the mount's own.
        option == "nodev" || (is_plain(option) && !names_device(option))
    };
    // A word that no option takes is an operand: mkfs.btrfs formats each device that it is given.
    let is_plain_mkfs = |kind: &str| {
        let known = PLAIN_MKFS.iter().find(|known| known.kinds.contains(&kind));
        let mut words = file_system.mkfs.iter();
        known.is_some_and(|known| {
            while let Some(word) = words.next() {
                let word = word.as_str();
                let is_valued = known.valued.contains(&word);
                let has_value = is_valued && words.next().is_some_and(is_plain_value);
                if !known.flags.contains(&word) && !has_value {
                    return false;
                }
            }
            true
        })
    };
    let mkfs_is_plain = file_system.mkfs.is_empty()
        || matches!(&file_system.kind, FileSystemKind::Made(kind) if is_plain_mkfs(kind));
    file_system.kind != FileSystemKind::Here
        && !(mkfs_is_plain && file_system.mount.iter().all(is_plain_mount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_makes_of_files_is_said_and_a_file_is_no_address() {
        let mut foreign = UntrustedInputs::default();
        let server = "mysql://me@evil/trueput_trust?password_file=/root/token";
        foreign.add_build("mariadb", Some(Path::new(server)));
        foreign.add_build("rocksdb", Some(Path::new("a://b.so")));
        assert!(foreign.0[0].contains("/root/token"), "{foreign:?}");
        assert!(foreign.0[1].contains("code to load or run"), "{foreign:?}");
        // The last of several is the one that counts for MariaDB.
        let two = "mysql://me@evil/trueput_two?password_file=/tmp/a&password_file=/root/token";
        foreign.add_build("mariadb", Some(Path::new(two)));
        assert!(foreign.0[2].contains("/root/token"), "{foreign:?}");
    }

    #[test]
    fn options_that_name_a_device_or_a_file_are_told_from_plain_ones() {
        let foreign = |text: &str| names_files_or_devices(&text.parse().unwrap());
        for plain in [
            "here",
            "tmpfs:size=64MiB",
            "folder:/tmp",
            "ext4",
            "ext4:mkfs=-O ^has_journal -b 1024;mount=noatime,barrier=0,data=journal,nodev",
            "xfs:mkfs=-m crc=1;journal=external",
            "btrfs:mkfs=-n 16384 -q",
            "btrfs:mount=nodatacow,compress=zstd:3",
        ] {
            assert!(!foreign(plain), "{plain}");
        }
        for named in [
            "ext4:mkfs=-J device=/dev/sda",
            "ext4:mkfs=-J device=LABEL=root",
            "ext4:mkfs=-z undo",
            "ext4:mkfs=-d etc",
            "xfs:mkfs=-l logdev=/dev/sda",
            "xfs:mkfs=-m crc=1 -r rtdev=loop0",
            "xfs:mount=logdev=/dev/sda",
            "ext4:mount=journal_path=/dev/sda",
            "btrfs:mount=device=/dev/sda",
            "ext4:mkfs=-b4096",
            "ext4:mkfs=-b",
            "btrfs:mkfs=x.img",
            "btrfs:mkfs=-f sda",
            "btrfs:mkfs=-n 16384 sda",
            "f2fs:mkfs=-O encrypt",
        ] {
            assert!(foreign(named), "{named}");
        }
    }
}
