//! Lists the engines that can be installed.

use super::catalog::{Catalog, Group, Recipe};
use super::plugins::plugin_version;
use crate::table;
use std::path::PathBuf;

/// The table of what can be installed, and of what of it is in one of the folders.
pub fn list(catalog: &Catalog, folders: &[PathBuf]) -> String {
    let is_here = |name: &str, version: &str| {
        let name = format!("{name}-{version}");
        folders.iter().any(|folder| folder.join(&name).is_dir())
    };
    let row = |name: &str, version: &str, group: &str, origin: &str, is_here: bool| {
        let here = if is_here { "yes" } else { "" };
        [name, version, group, origin, here].map(str::to_owned)
    };
    let engines = catalog.engines.iter().map(|engine| {
        let version = pinned_version(engine);
        let group = match engine.group {
            Group::Quick => "quick",
            Group::Compiled => "all",
        };
        let is_here = is_here(engine.folder(), version);
        row(
            &engine.name,
            if version.is_empty() { "any" } else { version },
            group,
            &engine.origin,
            is_here,
        )
    });
    let plugins = catalog.plugins.iter().map(|&name| {
        let version = plugin_version(name).unwrap_or_default();
        let is_here = is_here(name, &version);
        row(name, &version, "all", "plug-in, built here", is_here)
    });
    let rows: Vec<_> = engines.chain(plugins).collect();
    table::align(["engine", "version", "with", "from", "installed"], &rows)
}

/// The version that is installed; empty where the distribution decides.
fn pinned_version(engine: &Recipe) -> &str {
    let shim = engine.shims.iter().find_map(|shim| shim.version.as_deref());
    engine.version.as_deref().or(shim).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folders of earlier versions of trueput stay what they are: a new version is a new folder.
    #[test]
    fn every_engine_is_listed_with_its_version_and_whether_it_is_here() {
        let catalog = Catalog::load().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("wiredtiger-11.3.1")).unwrap();
        let text = list(&catalog, &[folder.path().to_owned()]);
        let words: Vec<Vec<_>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let row = |name: &str| {
            let mut rows = words.iter().filter(|row| row[0] == name);
            rows.next().unwrap_or_else(|| panic!("{name}\n{text}"))
        };
        for (name, version, group) in [
            ("rocksdb", "11.8.1", "quick"),
            ("leveldb", "1.23", "quick"),
            ("berkeleydb", "5.3.28", "quick"),
            ("wiredtiger", "any", "quick"),
            ("gtm", "any", "quick"),
            ("lmdb", "any", "quick"),
            ("sqlite", "any", "quick"),
            ("postgresql", "any", "quick"),
            ("mariadb", "any", "quick"),
            ("etcd", "any", "quick"),
            ("galera", "any", "quick"),
            ("odbc", "any", "quick"),
            ("speedb", "2.8.0", "all"),
            ("hyperleveldb", "1.0.2", "all"),
            ("basho-leveldb", "2.0.33", "all"),
            ("wiredtiger-11", "11.3.1", "all"),
            ("mdbx", "0.14.4", "all"),
            ("tokudb", "5.6.49-89.0", "all"),
            ("bbolt", "1.4.3", "all"),
        ] {
            assert_eq!(row(name)[1..3], [version, group], "{name}");
        }
        assert_eq!(row("wiredtiger-11").last(), Some(&"yes"));
        assert_ne!(row("rocksdb").last(), Some(&"yes"));
    }
}
