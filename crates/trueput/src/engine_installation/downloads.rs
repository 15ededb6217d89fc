//! Gets packages by the ordinary clients of their registries, checks their sums and unpacks them.

use super::console::{StopMethod, find_program};
use super::error::{InstallationError, Result};
use super::packages;
use super::workspace::Workspace;
use flate2::read::GzDecoder;
use std::env::var_os;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use tar::Archive;
use trueput_runner::sha256_of;

/// How deep below a folder the files of a download lie at most.
const MAX_DEPTH: usize = 4;

/// The keys that Debian's releases are signed with.
const DEBIAN_KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A file of a registry, pinned by its checksum.
pub struct PinnedFile<'t> {
    /// Its name in the workspace.
    pub file: &'t str,
    /// Its size, for the progress bar.
    pub bytes: u64,
    /// Its checksum.
    pub sha256: &'t str,
}

/// Runs the client of a registry. How far it is shows what it has written below its folders.
fn download(
    workspace: &Workspace<'_>,
    file: &PinnedFile<'_>,
    command: &mut Command,
    folders: &[PathBuf],
    failure: &str,
) -> Result<()> {
    let console = workspace.console;
    let began = SystemTime::now();
    console.display.begin_download(file.file, file.bytes);
    let show = |_: usize| {
        let bytes = folders.iter().map(|folder| bytes_since(folder, began, 0));
        console
            .display
            .advance_to(bytes.sum::<u64>().min(file.bytes));
    };
    let commands = std::slice::from_mut(command);
    let is_done = console.run_all(commands, 1, StopMethod::Group, &show);
    console.display.clear();
    if is_done? {
        return Ok(());
    }
    Err(workspace.failure_in_log(failure))
}

/// The bytes of the files below a folder that were written since then.
fn bytes_since(folder: &Path, began: SystemTime, depth: usize) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let bytes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() && depth < MAX_DEPTH => {
            bytes_since(&entry.path(), began, depth + 1)
        }
        Ok(metadata) if metadata.is_file() => {
            let is_new = metadata.modified().is_ok_and(|time| time >= began);
            if is_new { metadata.len() } else { 0 }
        }
        _ => 0,
    });
    bytes.sum()
}

/// A folder of the user's: the variable's, or one below the home folder.
fn user_folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let named = var_os(variable).map(PathBuf::from);
    let named = named.filter(|path| path.is_absolute());
    named.or_else(|| Some(PathBuf::from(var_os("HOME")?).join(below_home)))
}

/// Gets `ARTIFACT-VERSION.jar` from Maven Central.
///
/// # Errors
/// A download that fails, and another file than the pinned one.
pub fn get_maven(
    workspace: &Workspace<'_>,
    group: &str,
    artifact: &str,
    file: &PinnedFile<'_>,
) -> Result<()> {
    packages::need_program(workspace, "mvn", "maven")?;
    let version = &workspace.version;
    let repository = var_os("HOME").map(|home| PathBuf::from(home).join(".m2/repository"));
    let group_folder = group.replace('.', "/");
    let folder = repository.map(|it| it.join(group_folder).join(artifact).join(version));
    let mut command = workspace.command("mvn");
    let command = command
        .args(["-B", "-q", "dependency:copy"])
        .arg(format!("-Dartifact={group}:{artifact}:{version}:jar"))
        .arg(format!("-DoutputDirectory={}", workspace.path().display()));
    let failure = format!("Maven cannot get {group}:{artifact}:{version}");
    download(workspace, file, command, folder.as_slice(), &failure)?;
    verify(workspace, file)
}

/// Gets `PACKAGE-VERSION.tgz` from npm.
///
/// # Errors
/// As [`get_maven`].
pub fn get_npm(
    workspace: &Workspace<'_>,
    package: &str,
    version: &str,
    file: &PinnedFile<'_>,
) -> Result<()> {
    packages::need_program(workspace, "npm", "npm")?;
    let cache = user_folder("npm_config_cache", ".npm");
    let cache = cache.map(|cache| cache.join("_cacache/tmp"));
    let wanted = format!("{package}@{version}");
    let mut command = workspace.command("npm");
    let command = command.args(["pack", "--silent", &wanted]);
    let failure = format!("npm cannot get {wanted}");
    download(workspace, file, command, cache.as_slice(), &failure)?;
    verify(workspace, file)
}

/// Gets `PACKAGE-VERSION.tar.gz` from PyPI. pip checks the sum itself, before it runs the package's
/// set-up to learn what it needs.
///
/// # Errors
/// As [`get_maven`].
pub fn get_pip(workspace: &Workspace<'_>, package: &str, file: &PinnedFile<'_>) -> Result<()> {
    packages::need_program(workspace, "pip3", "python3-pip")?;
    let wanted = format!("{package}=={}", workspace.version);
    let requirement = format!("{wanted} --hash=sha256:{}\n", file.sha256);
    fs::write(workspace.path().join("requirements.txt"), requirement)?;
    let temporary = workspace.path().join("pip");
    fs::create_dir_all(&temporary)?;
    let mut command = workspace.command("pip3");
    let options = "download --no-deps --no-binary :all: --require-hashes -r requirements.txt";
    let command = command.env("TMPDIR", &temporary).args(options.split(' '));
    let failure = format!("pip cannot get {wanted} with the right hash");
    download(workspace, file, command, &[temporary], &failure)?;
    verify(workspace, file)
}

/// Gets `NAME-VERSION.crate`.
///
/// # Errors
/// As [`get_maven`].
pub fn get_crate(
    workspace: &Workspace<'_>,
    name: &str,
    version: &str,
    file: &PinnedFile<'_>,
) -> Result<()> {
    if find_program("cargo").is_none() {
        let reason = "needs cargo: install Rust";
        return Err(InstallationError::failure(reason));
    }
    let cache = user_folder("CARGO_HOME", ".cargo").unwrap_or_default();
    let cache = cache.join("registry/cache");
    let mut command = workspace.command("cargo");
    let command = command.args(["info", &format!("{name}@{version}")]);
    let failure = format!("cargo cannot get {name}-{version}");
    download(
        workspace,
        file,
        command,
        std::slice::from_ref(&cache),
        &failure,
    )?;
    let pattern = format!("{}/*/{}", cache.display(), file.file);
    let found = packages::matching_paths(&pattern);
    let Some(found) = found.first() else {
        let reason = format!("cargo has not kept {}", file.file);
        return Err(InstallationError::Failure(reason));
    };
    fs::copy(found, workspace.path().join(file.file))?;
    verify(workspace, file)
}

/// Gets the upstream archive of a source package of one Debian, past this machine's own lists.
///
/// # Errors
/// As [`get_maven`]; a system without apt-get.
pub fn get_debian_source(
    workspace: &Workspace<'_>,
    suite: &str,
    package: &str,
    version: &str,
    file: &PinnedFile<'_>,
) -> Result<()> {
    if find_program("apt-get").is_none() {
        let reason = "needs apt-get: use Debian or Ubuntu";
        return Err(InstallationError::failure(reason));
    }
    let keyring = ["debian-archive-keyring".to_owned()];
    if !Path::new(DEBIAN_KEYS).exists() && !packages::install(workspace, &keyring, &[])? {
        let reason = format!("needs {DEBIAN_KEYS}: install debian-archive-keyring");
        return Err(InstallationError::Failure(reason));
    }
    let work = workspace.path();
    fs::create_dir_all(work.join("lists/partial"))?;
    fs::create_dir_all(work.join("cache/archives/partial"))?;
    let source =
        format!("deb-src [signed-by={DEBIAN_KEYS}] http://deb.debian.org/debian {suite} main\n");
    fs::write(work.join("sources.list"), source)?;
    let shown = work.display();
    let apt_get = |words: &[&str]| {
        let mut command = workspace.command("apt-get");
        for option in [
            format!("Dir::Etc::sourcelist={shown}/sources.list"),
            "Dir::Etc::sourceparts=-".to_owned(),
            format!("Dir::State::lists={shown}/lists"),
            format!("Dir::Cache={shown}/cache"),
            "APT::Sandbox::User=root".to_owned(),
        ] {
            command.arg("-o").arg(option);
        }
        command.args(words);
        command
    };
    let failure = format!("apt-get cannot get the source of {package} {version}");
    let display = &workspace.console.display;
    display.begin_step("reading Debian's list of sources");
    workspace.run(&mut apt_get(&["update", "-q"]), &failure)?;
    let wanted = format!("{package}={version}");
    let words = ["source", "-qq", "--download-only", "--tar-only", &wanted];
    let mut command = apt_get(&words);
    download(workspace, file, &mut command, &[work.to_owned()], &failure)?;
    verify(workspace, file)
}

/// Gets a package of the distribution, which its keys vouch for, and unpacks it to `package`.
///
/// # Errors
/// As [`get_debian_source`].
pub fn get_debian_package(workspace: &Workspace<'_>, package: &str, unless: &str) -> Result<()> {
    if find_program("apt-get").is_none() || find_program("dpkg-deb").is_none() {
        return Err(InstallationError::failure(unless));
    }
    let display = &workspace.console.display;
    display.begin_step(&format!("downloading {package}"));
    let mut command = workspace.command("apt-get");
    let command = command.args(["-o", "APT::Sandbox::User=root", "download", package]);
    let failure = format!("apt-get cannot get {package}; run apt-get update");
    workspace.run(command, &failure)?;
    let pattern = format!("{}/{package}_*.deb", workspace.path().display());
    let found = packages::matching_paths(&pattern);
    let found = found.first().cloned().unwrap_or_default();
    let mut command = workspace.command("dpkg-deb");
    let command = command.arg("-x").arg(found).arg("package");
    let unpacked = workspace.run(command, &format!("dpkg-deb cannot unpack {package}"));
    display.clear();
    unpacked
}

/// Refuses another file than the pinned one.
fn verify(workspace: &Workspace<'_>, pinned: &PinnedFile<'_>) -> Result<()> {
    let (file, expected) = (pinned.file, pinned.sha256);
    let absent = |error| InstallationError::Failure(format!("the download has no {file}: {error}"));
    let found = sha256_of(&workspace.path().join(file)).map_err(absent)?;
    if found == expected {
        return Ok(());
    }
    let reason = format!("{file} has SHA-256 {found}, not {expected}");
    Err(InstallationError::Failure(reason))
}

/// Unpacks a `.tar.gz`: all of it, or the folder `only` below the archive's only folder, under the
/// last name of that path.
///
/// # Errors
/// A broken archive, one without that folder, and an interruption.
pub fn unpack(workspace: &Workspace<'_>, archive: &str, only: Option<&str>) -> Result<()> {
    let display = &workspace.console.display;
    display.begin_step(&format!("unpacking {archive}"));
    let file = File::open(workspace.path().join(archive))?;
    let mut tar = Archive::new(GzDecoder::new(io::BufReader::new(file)));
    let mut is_empty = true;
    for entry in tar.entries()? {
        workspace.console.check_stop()?;
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let Some(path) = path_within(&path, only) else {
            continue;
        };
        is_empty = false;
        unpack_entry(&mut entry, workspace.path(), &path)?;
    }
    display.clear();
    if is_empty {
        let part = only.unwrap_or("any file");
        let reason = format!("{archive} is without {part}");
        return Err(InstallationError::Failure(reason));
    }
    Ok(())
}

/// Unpacks a folder, a file, or a link to a name below it; nothing that leads out of the folder.
fn unpack_entry<R: io::Read>(
    entry: &mut tar::Entry<'_, R>,
    folder: &Path,
    path: &Path,
) -> io::Result<()> {
    let target = folder.join(path);
    let kind = entry.header().entry_type();
    if kind.is_dir() {
        return fs::create_dir_all(target);
    }
    let link = entry.link_name()?.map(std::borrow::Cow::into_owned);
    let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
    let is_below = link.is_some_and(|link| link.components().all(is_name));
    let is_wanted = kind.is_file() || kind.is_symlink() && is_below;
    if !is_wanted {
        return Ok(());
    }
    target.parent().map_or(Ok(()), fs::create_dir_all)?;
    entry.unpack(target).map(drop)
}

/// The path under which a file of an archive is unpacked; `None` if it is not.
fn path_within(path: &Path, only: Option<&str>) -> Option<PathBuf> {
    // A path must not lead out of the folder.
    let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
    let parts: PathBuf = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    if !parts.components().all(|part| is_name(&part)) {
        return None;
    }
    let Some(only) = only.map(Path::new) else {
        return Some(parts);
    };
    let below: PathBuf = parts.components().skip(1).collect();
    let rest = below.strip_prefix(only).ok()?;
    Some(Path::new(only.file_name()?).join(rest))
}

/// Unpacks a file of a Java package.
///
/// # Errors
/// A package without it.
pub fn unzip(workspace: &Workspace<'_>, archive: &str, member: &str, to: &str) -> Result<()> {
    packages::need_program(workspace, "unzip", "unzip")?;
    let mut command = workspace.command("unzip");
    let command = command.args(["-q", archive, member]);
    if !workspace.console.run(command, StopMethod::Group)? {
        let reason = format!("the package has no {member}");
        return Err(InstallationError::Failure(reason));
    }
    fs::rename(workspace.path().join(member), workspace.path().join(to))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_an_archive_stays_within_the_folder() {
        let within = |path: &str, only| path_within(Path::new(path), only);
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(within("./a-1/b.c", None), path("a-1/b.c"));
        assert_eq!(within("a-1/x/y/z.c", Some("x/y")), path("y/z.c"));
        assert_eq!(within("a-1/x/other.c", Some("x/y")), None);
        assert_eq!(within("a-1/../../b.c", None), None);
        assert_eq!(within("/etc/passwd", None), None);
    }

    #[test]
    fn only_new_files_count_as_downloaded() {
        let folder = tempfile::tempdir().unwrap();
        let began = SystemTime::now() - std::time::Duration::from_secs(60);
        fs::create_dir(folder.path().join("tmp")).unwrap();
        fs::write(folder.path().join("tmp/part"), [0; 1_000]).unwrap();
        assert_eq!(bytes_since(folder.path(), began, 0), 1_000);
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        assert_eq!(bytes_since(folder.path(), later, 0), 0);
    }
}
