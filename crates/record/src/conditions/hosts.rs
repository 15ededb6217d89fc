//! The hosts on which the workers of a trial run.

use super::ParsePlaceError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The maximum number of hosts of a trial.
pub(crate) const MAX_HOSTS: usize = 64;

/// The maximum length of a host's name, with a user's.
const MAX_NAME_BYTES: usize = 255;

/// Hosts as ssh takes them: names, aliases of its configuration or addresses, each perhaps with a
/// user, as in `me@a,b`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct HostList(Vec<String>);

impl HostList {
    /// Returns the names, in their order. There is at least one.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for HostList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join(","))
    }
}

impl FromStr for HostList {
    type Err = ParsePlaceError;

    fn from_str(text: &str) -> Result<Self, ParsePlaceError> {
        let mut names: Vec<String> = Vec::new();
        for name in text.split(',').map(str::trim) {
            check_name(name)?;
            if names.iter().any(|known| known == name) {
                let name = name.to_owned();
                return Err(ParsePlaceError::HostTwice { name });
            }
            names.push(name.to_owned());
        }
        let count = names.len();
        if count > MAX_HOSTS {
            let max = MAX_HOSTS;
            Err(ParsePlaceError::TooManyHosts { count, max })
        } else {
            Ok(Self(names))
        }
    }
}

/// Checks a name. It becomes an argument of ssh: one that begins with a dash would be an option.
fn check_name(name: &str) -> Result<(), ParsePlaceError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.@:%[]".contains(c);
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && !name.starts_with('-')
        && !name.contains("@-")
        && name.chars().all(allowed);
    if is_name {
        Ok(())
    } else {
        let name = name.to_owned();
        Err(ParsePlaceError::HostName { name })
    }
}

/// Reads a list of hosts, or `none`.
///
/// # Errors
/// A [`ParsePlaceError`].
pub(super) fn parse_hosts(text: &str) -> Result<Option<HostList>, ParsePlaceError> {
    match text {
        "none" => Ok(None),
        list => list.parse().map(Some),
    }
}

impl TryFrom<String> for HostList {
    type Error = ParsePlaceError;

    fn try_from(text: String) -> Result<Self, ParsePlaceError> {
        text.parse()
    }
}

impl From<HostList> for String {
    fn from(hosts: HostList) -> Self {
        hosts.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_read_as_they_are_written() {
        let hosts: HostList = "me@a, 10.0.0.2,fe80::1%eth0".parse().unwrap();
        assert_eq!(hosts.names(), ["me@a", "10.0.0.2", "fe80::1%eth0"]);
        assert_eq!(hosts.to_string(), "me@a,10.0.0.2,fe80::1%eth0");
        assert_eq!(parse_hosts("none"), Ok(None));
    }

    #[test]
    fn what_ssh_would_take_for_an_option_is_no_host() {
        for text in [
            "-oProxyCommand=x",
            "a,-F",
            "me@-x",
            "a,,b",
            "",
            "a b",
            "$(x)",
            "a;b",
        ] {
            let refused = text.parse::<HostList>().unwrap_err();
            let is_name = matches!(refused, ParsePlaceError::HostName { .. });
            assert!(is_name, "{text}: {refused}");
        }
        let many: Vec<_> = (0..65).map(|number| format!("h{number}")).collect();
        let refused = many.join(",").parse::<HostList>();
        assert_eq!(
            refused,
            Err(ParsePlaceError::TooManyHosts {
                count: 65,
                max: MAX_HOSTS
            })
        );
    }
}
