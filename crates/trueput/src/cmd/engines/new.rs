//! `trueput engines new`: writes the folder of a new engine.

use crate::engine_template::Language;
use crate::failure::Failure;
use crate::output;
use clap::Args;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trueput_runner::Registry;

const EXAMPLES: &str = "\
Examples:
  trueput engines new mine --language c     # then: cd mine && make test
  trueput engines new mine --language rust --folder ~/src/mine-engine";

/// The arguments of `trueput engines new`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The engine's name: letters a to z, digits and hyphens
    name: String,
    /// The language to write it in
    #[arg(long, value_enum)]
    language: Language,
    /// The folder to write; it must not exist [default: the name]
    #[arg(long)]
    folder: Option<PathBuf>,
}

/// Writes the folder.
///
/// # Errors
/// A usage error for a name that is taken or is none, or a folder that exists; a file that cannot
/// be written.
pub fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let name = arguments.name.as_str();
    check_name(name, registry)?;
    let folder = arguments.folder.clone();
    let folder = folder.unwrap_or_else(|| PathBuf::from(name));
    if folder.exists() {
        let shown = folder.display();
        return Err(Failure::usage(format!(
            "{shown} exists: nothing is written over; remove it, or name another --folder"
        )));
    }
    for (path, text) in arguments.language.folder(name) {
        let path = folder.join(path);
        write(&path, &text)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))?;
    }
    let (shown, program) = (folder.display(), program_for_make());
    output::line(&format!(
        "{shown} has a plug-in of trueput that builds and conforms. Next:\n  \
         cd {shown}\n  \
         make test{program}    # builds ./lib{name}.so, and checks it\n  \
         make run{program}     # measures it beside LMDB"
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// How make finds this program where no folder of PATH has it.
fn program_for_make() -> String {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_on_path = std::env::split_paths(&folders).any(|one| one.join("trueput").is_file());
    let program = std::env::current_exe().ok().filter(|_| !is_on_path);
    program.map_or_else(String::new, |path| format!(" TRUEPUT={}", path.display()))
}

fn check_name(name: &str, registry: &Registry) -> Result<(), Failure> {
    trueput_drivers::check_plugin_name(name).map_err(Failure::usage)?;
    if registry.engine(name).is_ok() {
        return Err(Failure::usage(format!(
            "{name} is an engine of trueput: choose another name"
        )));
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
