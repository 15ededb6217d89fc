//! Kinds of file systems: availability on this machine, and the commands that make them.

use super::loop_device::CONTROL;
use super::system::may_mount;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use trueput_record::filesystem::{FileSystem, FileSystemKind};
use trueput_record::suggest::did_you_mean;

/// The mkfs command of a kind of file system.
struct FileSystemTool {
    name: &'static str,
    /// The Debian package that has its mkfs.
    package: &'static str,
    /// Options for every mkfs of that kind: no questions, no discard (which would free the image's
    /// blocks), and no initialization deferred to the background.
    options: &'static [&'static str],
}

const EXT: &[&str] = &[
    "-F",
    "-q",
    "-E",
    "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
];
const TOOLS: [FileSystemTool; 9] = [
    known("ext2", "e2fsprogs", EXT),
    known("ext3", "e2fsprogs", EXT),
    known("ext4", "e2fsprogs", EXT),
    known("xfs", "xfsprogs", &["-f", "-q", "-K"]),
    known("btrfs", "btrfs-progs", &["-f", "-q", "-K"]),
    known("jfs", "jfsutils", &["-q"]),
    known("f2fs", "f2fs-tools", &["-f", "-q", "-t", "0"]),
    known("nilfs2", "nilfs-tools", &["-f", "-q", "-K"]),
    known("bcachefs", "bcachefs-tools", &["--force", "--quiet"]),
];

const fn known(
    name: &'static str,
    package: &'static str,
    options: &'static [&'static str],
) -> FileSystemTool {
    FileSystemTool {
        name,
        package,
        options,
    }
}

/// The reason why a trial cannot have its file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSystemError {
    /// The kind does not exist: the plan is wrong.
    Invalid(String),
    /// This machine or user cannot create it; other trials can run.
    Missing(String),
    /// This user may not mount it; other trials can run.
    NeedsRoot(String),
}

/// Returns why these file systems are unavailable, in one sentence: those that need root by name,
/// then the reasons of the others. Empty if all are available.
#[must_use]
pub fn why_unavailable(wanted: &[FileSystem]) -> String {
    let unavailable = wanted
        .iter()
        .filter_map(|one| Some((one, check(one).err()?)));
    summarize(unavailable.map(|(one, unavailable)| (name(one), unavailable)))
}

fn summarize(unavailable: impl Iterator<Item = (String, FileSystemError)>) -> String {
    let (mut need_root, mut others) = (Vec::new(), Vec::new());
    for (name, unavailable) in unavailable {
        let (known, said) = match unavailable {
            FileSystemError::NeedsRoot(_) => (&mut need_root, name),
            FileSystemError::Invalid(reason) | FileSystemError::Missing(reason) => {
                (&mut others, reason)
            }
        };
        if !known.contains(&said) {
            known.push(said);
        }
    }
    let root = match need_root.split_last() {
        None => None,
        Some((one, [])) => Some(format!("{one} needs root")),
        Some((last, before)) => Some(format!("{} and {last} need root", before.join(", "))),
    };
    root.into_iter()
        .chain(others)
        .collect::<Vec<_>>()
        .join("; ")
}

fn name(file_system: &FileSystem) -> String {
    match &file_system.kind {
        FileSystemKind::Made(kind) => kind.clone(),
        _ => file_system.to_string(),
    }
}

/// Checks that this machine and this user can have that file system.
///
/// # Errors
/// [`FileSystemError`], one sentence.
pub fn check(wanted: &FileSystem) -> Result<(), FileSystemError> {
    let may_mount = || {
        let reason = format!(
            "{wanted} needs root (CAP_SYS_ADMIN) to be mounted: run trueput as root, or mount it \
             yourself and use folder:/its/path"
        );
        may_mount()
            .then_some(())
            .ok_or(FileSystemError::NeedsRoot(reason))
    };
    match &wanted.kind {
        FileSystemKind::Here => Ok(()),
        FileSystemKind::Folder(folder) if folder.is_dir() => Ok(()),
        FileSystemKind::Folder(folder) => Err(FileSystemError::Invalid(format!(
            "{} is not a directory: create it, or name another",
            folder.display()
        ))),
        FileSystemKind::Tmpfs => may_mount(),
        FileSystemKind::Made(kind) => {
            check_kind(kind)?;
            check_journal(wanted, kind)?;
            may_mount()?;
            if Path::new(CONTROL).exists() {
                Ok(())
            } else {
                Err(FileSystemError::Missing(format!(
                    "{wanted} needs a loop device, but {CONTROL} is missing: load the kernel \
                     module 'loop', or give the container its devices"
                )))
            }
        }
    }
}

fn check_kind(kind: &str) -> Result<(), FileSystemError> {
    let known = TOOLS.iter().find(|known| known.name == kind);
    let mkfs = mkfs_program(kind);
    match (known, mkfs.is_some(), kernel_has(kind)) {
        (_, true, true) => Ok(()),
        (None, false, false) => {
            let names = TOOLS.map(|known| known.name);
            let hint = did_you_mean(kind, names);
            Err(FileSystemError::Invalid(format!(
                "unknown file system '{kind}'{hint}: neither the kernel nor mkfs.{kind} supports \
                 it; known: here, folder:/mnt/x, tmpfs, {}",
                names.join(", ")
            )))
        }
        (_, _, false) => Err(FileSystemError::Missing(format!(
            "{kind} is skipped: this kernel has no driver for it"
        ))),
        (known, false, true) => {
            let install = known.map_or_else(
                || "install its package".to_owned(),
                |known| format!("install {}", known.package),
            );
            Err(FileSystemError::Missing(format!(
                "{kind} is skipped: mkfs.{kind} is not installed; {install}"
            )))
        }
    }
}

fn check_journal(wanted: &FileSystem, kind: &str) -> Result<(), FileSystemError> {
    if wanted.external_journal && !["ext3", "ext4", "xfs"].contains(&kind) {
        let reason = format!("{kind} does not support an external journal; ext3, ext4 and xfs do");
        return Err(FileSystemError::Invalid(reason));
    }
    Ok(())
}

/// Returns whether the kernel has the driver, or a module that mounting would load.
fn kernel_has(kind: &str) -> bool {
    let drivers = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let built_in = drivers
        .lines()
        .any(|line| line.split_whitespace().last() == Some(kind));
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let modules = format!("/lib/modules/{}/modules.dep", release.trim());
    let module = format!("/{kind}.ko");
    let modules = std::fs::read_to_string(modules).unwrap_or_default();
    built_in
        || modules
            .lines()
            .any(|line| line.split(':').next().unwrap_or_default().contains(&module))
}

fn mkfs_program(kind: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // The folders of the administrator's programs are often not in a user's path.
    let usual = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let mut folders = std::env::split_paths(&path).chain(usual);
    folders
        .find_map(|folder| Some(folder.join(format!("mkfs.{kind}"))).filter(|file| file.is_file()))
}

/// Creates a file system on a device that was attached for it, and returns the command line.
///
/// # Errors
/// One sentence with the program's message.
pub(super) fn make(
    wanted: &FileSystem,
    kind: &str,
    device: &Path,
    journal: Option<&Path>,
) -> Result<String, String> {
    let program = mkfs_program(kind).ok_or_else(|| format!("mkfs.{kind} is not installed"))?;
    let known = TOOLS.iter().find(|known| known.name == kind);
    let mut words: Vec<String> = known
        .map_or(&[][..], |known| known.options)
        .iter()
        .map(|&word| word.to_owned())
        .collect();
    words.extend(wanted.mkfs.iter().cloned());
    if let Some(journal) = journal {
        let journal = journal.display();
        match kind {
            "xfs" => words.extend(["-l".to_owned(), format!("logdev={journal}")]),
            _ => {
                let block = block_size(&wanted.mkfs);
                let words = ["-F", "-q", "-b", &block, "-O", "journal_dev"].map(str::to_owned);
                run(&program, &[&words[..], &[journal.to_string()]].concat())?;
            }
        }
        if kind != "xfs" {
            let block = block_size(&wanted.mkfs);
            words.extend(["-b".to_owned(), block]);
            words.extend(["-J".to_owned(), format!("device={journal}")]);
        }
    }
    words.push(device.display().to_string());
    run(&program, &words)
}

/// Returns the block size, which must be the same for a journal and its file system.
fn block_size(options: &[String]) -> String {
    let given = options.iter().position(|word| word == "-b");
    let given = given.and_then(|at| options.get(at + 1));
    given.cloned().unwrap_or_else(|| "4096".to_owned())
}

fn run(program: &Path, words: &[String]) -> Result<String, String> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let output = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    if output.status.success() {
        return Ok(format!("{name} {}", words.join(" ")));
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout);
    let said = if errors.trim().is_empty() {
        said
    } else {
        errors
    };
    let said: Vec<_> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(2)
        .collect();
    Err(format!("{name}: {}", said.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_that_need_root_are_named_together() {
        let root = |name: &str| {
            (
                name.to_owned(),
                FileSystemError::NeedsRoot("long".to_owned()),
            )
        };
        let told =
            |unavailable: &[(String, FileSystemError)]| summarize(unavailable.iter().cloned());
        assert_eq!(told(&[root("ext4")]), "ext4 needs root");
        let twice = [root("ext4"), root("jfs"), root("ext4")];
        assert_eq!(told(&twice), "ext4 and jfs need root");
        let reason = FileSystemError::Missing("jfs is skipped: no driver".to_owned());
        let both = [("jfs".to_owned(), reason), root("ext4")];
        assert_eq!(told(&both), "ext4 needs root; jfs is skipped: no driver");
        assert_eq!(told(&[]), "");
    }

    fn of(text: &str) -> Result<(), FileSystemError> {
        check(&text.parse().unwrap())
    }

    #[test]
    fn a_misspelled_kind_is_wrong_and_a_known_one_without_a_driver_is_missing() {
        match of("ext5") {
            Err(FileSystemError::Invalid(reason)) => {
                assert!(reason.contains("did you mean 'ext"), "{reason}");
            }
            other => assert!(other.is_err(), "ext5 is no file system"),
        }
        // Whichever kernel this runs on: a known kind is never a mistake of the plan's.
        for known in TOOLS {
            assert!(
                !matches!(of(known.name), Err(FileSystemError::Invalid(_))),
                "{}",
                known.name
            );
        }
    }

    #[test]
    fn a_folder_must_be_there_and_here_always_is() {
        assert_eq!(of("here"), Ok(()));
        assert_eq!(of("folder:/"), Ok(()));
        assert!(matches!(
            of("folder:/nowhere/at/all"),
            Err(FileSystemError::Invalid(_))
        ));
    }

    #[test]
    fn a_kind_without_an_external_journal_is_refused_one() {
        let wanted: FileSystem = "btrfs:journal=external".parse().unwrap();
        assert!(check_journal(&wanted, "btrfs").is_err());
        assert_eq!(check_journal(&wanted, "xfs"), Ok(()));
    }
}
