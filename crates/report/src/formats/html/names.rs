//! Unique names of tables and charts on the page, for labels, captions and file names.

use std::collections::BTreeMap;

/// The names that the page has so far, and how often each was wanted.
#[derive(Default)]
pub(crate) struct PageNames {
    wanted: BTreeMap<String, usize>,
}

impl PageNames {
    /// Returns the name, with a number appended if it is already taken.
    pub(crate) fn unique(&mut self, name: &str) -> String {
        let count = self.wanted.entry(name.to_owned()).or_default();
        *count += 1;
        match *count {
            1 => name.to_owned(),
            again => {
                let numbered = format!("{name} ({again})");
                // A name may itself end so.
                self.unique(&numbered)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_alike_is_numbered() {
        let mut names = PageNames::default();
        let named = ["a", "a (2)", "a", "b", "a"].map(|name| names.unique(name));
        assert_eq!(named, ["a", "a (2)", "a (2) (2)", "b", "a (3)"]);
    }
}
