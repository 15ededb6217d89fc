//! The folders of new engines: a plug-in that builds, keeps the contract, and is measured at once.

use clap::ValueEnum;

/// Stands for the engine's name in the files.
const NAME: &str = "@NAME@";
/// Stands for the names of the engine's own files.
const FILES: &str = "@FILES@";
/// Stands for the records that a call of a scan returns.
const SCAN_BATCH: &str = "@SCAN_BATCH@";

const HEADER: &str = include_str!("../include/trueput_engine.h");
const DESCRIPTION: &str = include_str!("../template/description.json");

/// A file's path in the folder, and its text.
type TemplateFile = (&'static str, &'static str);

macro_rules! file {
    ($path:literal, $source:literal) => {
        ($path, include_str!(concat!("../template/", $source)))
    };
}

/// The files that are the same in every language.
const COMMON: [TemplateFile; 5] = [
    ("description.json", DESCRIPTION),
    file!("plan.toml", "plan.toml"),
    file!("README.md", "README.md"),
    file!(".gitignore", "gitignore"),
    file!(".github/workflows/check.yml", "check.yml"),
];

/// The language of a new engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// C, with one file
    C,
    /// C++17, with one file
    Cpp,
    /// Go, with cgo
    Go,
    /// Rust, without trueput's own crates
    Rust,
}

impl Language {
    /// The files of the engine itself, and its Makefile.
    fn files(self) -> &'static [TemplateFile] {
        match self {
            Self::C => &[
                file!("Makefile", "c/Makefile"),
                file!("engine.c", "c/engine.c"),
                ("trueput_engine.h", HEADER),
            ],
            Self::Cpp => &[
                file!("Makefile", "cpp/Makefile"),
                file!("engine.cpp", "cpp/engine.cpp"),
                ("trueput_engine.h", HEADER),
            ],
            Self::Go => &[
                file!("Makefile", "go/Makefile"),
                file!("go.mod", "go/go.mod.txt"),
                file!("store.go", "go/store.go"),
                file!("trueput_engine.go", "go/trueput_engine.go"),
                file!("trueput_engine.c", "go/trueput_engine.c"),
                ("trueput_engine.h", HEADER),
            ],
            Self::Rust => &[
                file!("Makefile", "rust/Makefile"),
                file!("Cargo.toml", "rust/Cargo.toml.txt"),
                file!("src/lib.rs", "rust/src/lib.rs"),
                file!("src/store.rs", "rust/src/store.rs"),
                file!("src/trueput_engine.rs", "rust/src/trueput_engine.rs"),
                ("trueput_engine.h", HEADER),
            ],
        }
    }

    /// The files of a new engine of that name: the path of each, and its text.
    pub fn folder(self, name: &str) -> Vec<(&'static str, String)> {
        let own = self.files().iter();
        let own_code = own.clone().filter(|(path, _)| !is_kept(path));
        let names: Vec<_> = own_code.map(|(path, _)| format!("`{path}`")).collect();
        let names = names.join(", ");
        // Safe Rust lends one record at a time.
        let batch = if self == Self::Rust { "1" } else { "64" };
        let text = |text: &str| {
            let text = text.replace(NAME, name).replace(FILES, &names);
            text.replace(SCAN_BATCH, batch)
        };
        own.chain(&COMMON)
            .map(|(path, contents)| (*path, text(contents)))
            .collect()
    }
}

/// Whether a file stays as it is when the engine is replaced.
fn is_kept(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with("trueput_engine.") || ["Makefile", "go.mod", "Cargo.toml"].contains(&name)
}
