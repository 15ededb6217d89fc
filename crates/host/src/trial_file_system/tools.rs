//! Kinds of file systems: availability on this machine, and the commands that make them.

use super::error::{FileSystemError, TrialFileSystemError};
use super::loop_device::CONTROL;
use super::system::{may_mount, open_file};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use trueput_record::filesystem::{FileSystem, FileSystemKind};

/// The device by which a server of FUSE speaks with the kernel.
const FUSE_DEVICE: &str = "/dev/fuse";

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
            other => (&mut others, other.to_string()),
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
        may_mount()
            .then_some(())
            .ok_or_else(|| FileSystemError::NeedsRoot(wanted.to_string()))
    };
    match &wanted.kind {
        FileSystemKind::Here => Ok(()),
        FileSystemKind::Folder(folder) if folder.is_dir() => Ok(()),
        FileSystemKind::Folder(folder) => Err(FileSystemError::NoFolder(folder.clone())),
        FileSystemKind::Tmpfs => may_mount(),
        FileSystemKind::Made(kind) => {
            check_kind(kind)?;
            check_journal(wanted, kind)?;
            may_mount()?;
            if Path::new(CONTROL).exists() {
                Ok(())
            } else {
                Err(FileSystemError::NoLoopDevices {
                    file_system: wanted.to_string(),
                    control: CONTROL,
                })
            }
        }
    }
}

/// Checks that FUSE can show what `purpose` names: an image with the delays of a storage model, or
/// a folder with a fault.
///
/// # Errors
/// [`FileSystemError::NoFuse`].
pub(super) fn check_fuse(purpose: &'static str) -> Result<(), FileSystemError> {
    match open_file(Path::new(FUSE_DEVICE), true) {
        Ok(_) => Ok(()),
        Err(error) => Err(FileSystemError::NoFuse {
            purpose,
            reason: error.to_string(),
        }),
    }
}

fn check_kind(kind: &str) -> Result<(), FileSystemError> {
    let known = TOOLS.iter().find(|known| known.name == kind);
    let mkfs = mkfs_program(kind);
    match (known, mkfs.is_some(), kernel_has(kind)) {
        (_, true, true) => Ok(()),
        (None, false, false) => Err(FileSystemError::UnknownKind {
            kind: kind.to_owned(),
            known: TOOLS.map(|tool| tool.name).to_vec(),
        }),
        (_, _, false) => Err(FileSystemError::NoDriver(kind.to_owned())),
        (known, false, true) => Err(FileSystemError::NotInstalled {
            kind: kind.to_owned(),
            package: known.map(|known| known.package),
        }),
    }
}

fn check_journal(wanted: &FileSystem, kind: &str) -> Result<(), FileSystemError> {
    if wanted.external_journal && !["ext3", "ext4", "xfs"].contains(&kind) {
        return Err(FileSystemError::NoExternalJournal(kind.to_owned()));
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
/// [`TrialFileSystemError`], with the program's message.
pub(super) fn make(
    wanted: &FileSystem,
    kind: &str,
    device: &Path,
    journal: Option<&Path>,
) -> Result<String, TrialFileSystemError> {
    let program =
        mkfs_program(kind).ok_or_else(|| TrialFileSystemError::NoMkfs(kind.to_owned()))?;
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

fn run(program: &Path, words: &[String]) -> Result<String, TrialFileSystemError> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let output = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| TrialFileSystemError::MkfsNotStarted {
            program: program.to_owned(),
            error,
        })?;
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
    Err(TrialFileSystemError::MkfsFailed {
        program: name.into_owned(),
        message: said.join("; "),
    })
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
        let reason = FileSystemError::NoDriver("jfs".to_owned());
        let both = [("jfs".to_owned(), reason), root("ext4")];
        let expected = "ext4 needs root; jfs is skipped: this kernel has no driver for it";
        assert_eq!(told(&both), expected);
        assert_eq!(told(&[]), "");
    }

    fn of(text: &str) -> Result<(), FileSystemError> {
        check(&text.parse().unwrap())
    }

    #[test]
    fn a_misspelled_kind_is_wrong_and_a_known_one_without_a_driver_is_missing() {
        let reason = of("ext5").unwrap_err().to_string();
        assert!(reason.contains("did you mean 'ext"), "{reason}");
        // Whichever kernel this runs on: a known kind is never a mistake of the plan's.
        for known in TOOLS {
            let is_invalid = of(known.name).is_err_and(|error| error.is_invalid());
            assert!(!is_invalid, "{}", known.name);
        }
    }

    #[test]
    fn a_folder_must_be_there_and_here_always_is() {
        assert_eq!(of("here"), Ok(()));
        assert_eq!(of("folder:/"), Ok(()));
        let missing = of("folder:/nowhere/at/all").unwrap_err();
        assert!(missing.is_invalid(), "{missing}");
    }

    #[test]
    fn a_kind_without_an_external_journal_is_refused_one() {
        let wanted: FileSystem = "btrfs:journal=external".parse().unwrap();
        assert!(check_journal(&wanted, "btrfs").is_err());
        assert_eq!(check_journal(&wanted, "xfs"), Ok(()));
    }
}
