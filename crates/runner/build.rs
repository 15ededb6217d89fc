//! Notes the commit that this program is built from, and its date.

use std::path::Path;
use std::process::Command;

/// What Cargo puts into a package that is made in a repository.
const PACKAGED_COMMIT: &str = ".cargo_vcs_info.json";

fn main() {
    let commit = packaged_commit().or_else(commit);
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=TRUEPUT_COMMIT={commit}");
    let date = git(&["show", "--no-patch", "--format=%cs", "HEAD"]);
    let date = date.filter(|_| !Path::new(PACKAGED_COMMIT).exists());
    println!(
        "cargo:rustc-env=TRUEPUT_COMMIT_DATE={}",
        date.unwrap_or_default()
    );
    if Path::new(PACKAGED_COMMIT).exists() {
        println!("cargo:rerun-if-changed={PACKAGED_COMMIT}");
        return;
    }
    // Any source of the workspace makes the tree clean or not; a commit shows in the log of HEAD.
    println!("cargo:rerun-if-changed=..");
    if let Some(directory) = git(&["rev-parse", "--absolute-git-dir"]) {
        for name in ["HEAD", "logs/HEAD"] {
            let file = Path::new(&directory).join(name);
            if file.exists() {
                println!("cargo:rerun-if-changed={}", file.display());
            }
        }
    }
}

/// The short hash of the commit that this crate was packaged from; `None` in a repository.
fn packaged_commit() -> Option<String> {
    let text = std::fs::read_to_string(PACKAGED_COMMIT).ok()?;
    let hash = text.split_once("\"sha1\": \"")?.1.get(..12)?;
    Some(hash.to_owned())
}

/// The commit's short hash, `-dirty` appended where a tracked source differs from it.
fn commit() -> Option<String> {
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
    let sources = ["..", "../../Cargo.toml", "../../Cargo.lock"];
    let mut question = vec!["status", "--porcelain", "--untracked-files=no", "--"];
    question.extend(sources);
    let clean = git(&question)?.is_empty();
    Some(if clean { hash } else { format!("{hash}-dirty") })
}

/// The output of git, run in this crate's folder; `None` if there is no git or no repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = output
        .status
        .success()
        .then(|| String::from_utf8(output.stdout).ok())??;
    Some(text.trim().to_owned())
}
