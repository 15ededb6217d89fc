//! Settings with which a server runs and that contradict the promise of its level.

use crate::Durability;
use std::fmt;

/// A setting of a running server that does not keep what a level of durability promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingContradiction {
    /// The server in words: `the server`, `node 2`, `a session`.
    pub server: String,
    /// The name of the setting, as the server calls it.
    pub setting: String,
    /// Its value, as the server reports it.
    pub value: String,
    /// The value that the level needs.
    pub needed: String,
    /// The level.
    pub durability: Durability,
}

/// What stands between a server and its setting in the text of a contradiction.
pub const RUNS_WITH: &str = " runs with ";

impl fmt::Display for SettingContradiction {
    /// `node 2 runs with fsync=off; durability 'sync' needs fsync=on`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            server,
            setting,
            value,
            needed,
            durability,
        } = self;
        write!(
            formatter,
            "{server}{RUNS_WITH}{setting}={}; durability '{durability}' needs {setting}={}",
            shown(value),
            shown(needed)
        )
    }
}

/// A value that may be empty.
fn shown(value: &str) -> String {
    match value {
        "" => "''".to_owned(),
        value => value.replace('\n', " "),
    }
}

/// The settings that a level needs of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededSettings {
    durability: Durability,
    needed: Vec<(String, String)>,
}

impl NeededSettings {
    /// Begins the list of a level.
    #[must_use]
    pub fn of(durability: Durability) -> Self {
        Self {
            durability,
            needed: Vec::new(),
        }
    }

    /// Adds a setting that must have this value.
    pub fn add(&mut self, setting: impl Into<String>, value: impl Into<String>) {
        self.needed.push((setting.into(), value.into()));
    }

    /// Returns the names of the settings, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.needed.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the settings of a server, whose values `reported` gives, that are not as needed. One
    /// that the server does not report is missing.
    pub fn contradictions(
        &self,
        server: &str,
        mut reported: impl FnMut(&str) -> Option<String>,
    ) -> Vec<SettingContradiction> {
        let checked = self.needed.iter().filter_map(|(setting, needed)| {
            let value = reported(setting).unwrap_or_else(|| "missing".to_owned());
            (value != *needed).then(|| SettingContradiction {
                server: server.to_owned(),
                setting: setting.clone(),
                value,
                needed: needed.clone(),
                durability: self.durability,
            })
        });
        checked.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_is_not_as_needed_is_named_with_both_values() {
        let mut needed = NeededSettings::of(Durability::Sync);
        needed.add("fsync", "on");
        needed.add("full_page_writes", "on");
        needed.add("standbys", "ANY 1 (a)");
        let reported = |name: &str| match name {
            "fsync" => Some("off".to_owned()),
            "full_page_writes" => Some("on".to_owned()),
            _ => Some(String::new()),
        };
        let said: Vec<String> = needed
            .contradictions("node 2", reported)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            said,
            [
                "node 2 runs with fsync=off; durability 'sync' needs fsync=on",
                "node 2 runs with standbys=''; durability 'sync' needs standbys=ANY 1 (a)"
            ]
        );
    }

    #[test]
    fn a_setting_that_is_not_reported_is_missing() {
        let mut needed = NeededSettings::of(Durability::Async);
        needed.add("flush", "2");
        let found = needed.contradictions("the server", |_| None);
        assert_eq!(found[0].value, "missing");
    }
}
