//! The sources that the program carries: those of the plug-ins that come with trueput, and of the
//! shims through which libraries are called.

use std::fs;
use std::io;
use std::path::Path;

/// A file's path from the root of the repository, and its bytes.
type SourceFile = (&'static str, &'static [u8]);

/// Written by the build script.
static FILES: &[SourceFile] = &include!(concat!(env!("OUT_DIR"), "/bundled_sources.rs"));

/// Returns the sources: the path of each from the root of the repository, and its bytes.
pub fn files() -> impl Iterator<Item = SourceFile> {
    FILES.iter().copied()
}

/// Returns the bytes of one source.
pub fn read(path: &str) -> Option<&'static [u8]> {
    let mut files = files();
    files
        .find(|(name, _)| *name == path)
        .map(|(_, bytes)| bytes)
}

/// Writes the sources whose path is wanted into a folder.
///
/// # Errors
/// A file that cannot be written.
pub fn write_matching(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> io::Result<()> {
    for (path, bytes) in FILES.iter().filter(|(path, _)| is_wanted(path)) {
        let path = folder.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, bytes)?;
    }
    Ok(())
}

/// Returns the names of the plug-ins that can be installed: the folders of `engines` with a README.
/// What serves measurements and tests alone has none.
pub fn plugin_names() -> Vec<&'static str> {
    let folder = |path: &'static str| path.strip_prefix("engines/")?.strip_suffix("/README.md");
    let names = FILES.iter().filter_map(|(path, _)| folder(path));
    names.filter(|name| *name != "template").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_sources_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        write_matching(folder.path(), |_| true).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for path in [
            "crates/drivers/shim/wiredtiger.c",
            "include/trueput_engine.h",
            "engines/bbolt/go.sum",
        ] {
            let written = fs::read(folder.path().join(path)).unwrap();
            assert_eq!(written, fs::read(root.join(path)).unwrap(), "{path}");
        }
    }

    #[test]
    fn every_plug_in_with_a_readme_has_the_name_of_its_folder() {
        let names = plugin_names();
        assert!(names.contains(&"bbolt"), "{names:?}");
        for name in names {
            let description = read(&format!("engines/{name}/description.json")).unwrap();
            let description: Value = serde_json::from_slice(description).unwrap();
            assert_eq!(description["name"], name);
            assert!(
                read(&format!("engines/{name}/Makefile")).is_some(),
                "{name}"
            );
        }
    }
}
