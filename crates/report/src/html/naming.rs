//! Names of tables and charts that nothing else on the page has: labels, captions and file names
//! are made of them.

use crate::document::Block;
use std::collections::BTreeMap;

/// A text with more characters than this names nothing.
const LONGEST: usize = 60;

/// The names that the page has so far, and how often each was wanted.
#[derive(Default)]
pub(crate) struct Names {
    wanted: BTreeMap<String, usize>,
}

impl Names {
    /// The name itself, or with a number where something else has it.
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

/// What to call each block of a section, where it is a table: the first by the section's title,
/// others by the nearest heading, or the text since the table before.
pub(crate) fn captions(section: &str, blocks: &[Block]) -> Vec<String> {
    let (mut heading, mut text) = (None, None);
    let mut tables = 0;
    let mut captions = Vec::new();
    for block in blocks {
        match block {
            Block::Heading(_, title) => (heading, text) = (Some(title.as_str()), None),
            Block::Text(words) => text = beginning(words).or(text),
            _ => {}
        }
        let is_table = matches!(block, Block::Table(_));
        let own = match (heading, tables) {
            (None, 0) => None,
            (Some(heading), 0) => Some(heading.to_owned()),
            (Some(heading), _) => Some(match text {
                Some(text) => format!("{heading}: {text}"),
                None => heading.to_owned(),
            }),
            (None, _) => text.map(str::to_owned),
        };
        captions.push(match own {
            Some(own) => format!("{section}: {own}"),
            None => section.to_owned(),
        });
        if is_table {
            tables += 1;
            text = None;
        }
    }
    captions
}

/// As much of a text as may name something: all of it, its first sentence, or up to its first
/// colon.
fn beginning(text: &str) -> Option<&str> {
    let ends = [Some(text.len()), text.find(". "), text.find(": ")];
    let mut parts = ends.into_iter().flatten().map(|end| &text[..end]);
    let short = parts.find(|part| part.chars().count() <= LONGEST)?;
    let short = short.trim_end_matches(['.', ':']);
    (!short.is_empty()).then_some(short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Table;

    #[test]
    fn tables_of_a_section_are_named_by_what_stands_above_them() {
        let text = |words: &str| Block::Text(words.to_owned());
        let table = || Block::Table(Table::default());
        let blocks = [
            text("A text before the first."),
            table(),
            text(
                "The null engine keeps nothing: these figures are the harness's own cost, and no one's.",
            ),
            table(),
            Block::Heading(3, "File systems".to_owned()),
            table(),
            text("Each over ext2, inside each set:"),
            table(),
            table(),
        ];
        let captions = captions("Rates", &blocks);
        let named: Vec<_> = captions
            .iter()
            .zip(&blocks)
            .filter(|(_, block)| matches!(block, Block::Table(_)))
            .map(|(caption, _)| caption.as_str())
            .collect();
        let expected = [
            "Rates",
            "Rates: The null engine keeps nothing",
            "Rates: File systems",
            "Rates: File systems: Each over ext2, inside each set",
            "Rates: File systems",
        ];
        assert_eq!(named, expected);
    }

    #[test]
    fn what_is_named_alike_is_numbered() {
        let mut names = Names::default();
        let named = ["a", "a (2)", "a", "b", "a"].map(|name| names.unique(name));
        assert_eq!(named, ["a", "a (2)", "a (2) (2)", "b", "a (3)"]);
    }
}
