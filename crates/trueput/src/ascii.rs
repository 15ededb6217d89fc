//! Text in ASCII, for terminals whose character set is not UTF-8.

use std::borrow::Cow;
use std::sync::OnceLock;

/// ASCII replacements for the other characters that this program writes. A test finds missing ones.
const REPLACEMENTS: &[(char, &str)] = &[
    ('…', "..."),
    ('–', "-"),
    ('—', "--"),
    ('−', "-"),
    ('×', "x"),
    ('µ', "u"),
    ('μ', "u"),
    ('±', "+-"),
    ('→', "->"),
    ('≤', "<="),
    ('≥', ">="),
    ('≈', "~"),
    ('√', "sqrt "),
    ('·', "."),
    ('•', "*"),
    ('²', "^2"),
    ('⁸', "^8"),
    ('σ', "sigma"),
    ('κ', "kappa"),
    ('λ', "lambda"),
    ('’', "'"),
    ('“', "\""),
    ('”', "\""),
    ('\u{a0}', " "),
    ('─', "-"),
    ('│', "|"),
    ('✓', "+"),
    ('✗', "x"),
    ('▁', "_"),
    ('▂', "_"),
    ('▃', "-"),
    ('▄', "-"),
    ('▅', "="),
    ('▆', "="),
    ('▇', "#"),
    ('█', "#"),
    ('▉', "#"),
    ('▊', "#"),
    ('▋', "#"),
    ('▌', "#"),
    ('▍', "#"),
    ('▎', "#"),
    ('▏', "#"),
];

/// The text with every character of [`REPLACEMENTS`] replaced, except in names that a user chose: a
/// changed path would not exist. A longer replacement shortens the gap to the next column.
pub fn transliterated(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(replaced(text, chosen_names()))
    }
}

/// Names that the user chose and that are not ASCII: words of the command line, and folders at the
/// beginning of paths. They are printed unchanged.
fn chosen_names() -> &'static [String] {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let words = std::env::args_os().skip(1);
        let words = words.map(|word| word.to_string_lossy().into_owned());
        let parts = words.flat_map(|word| {
            let after_equals = word.split_once('=').map(|(_, value)| value.to_owned());
            let listed: Vec<_> = word.split([',', ':']).map(str::to_owned).collect();
            [word].into_iter().chain(after_equals).chain(listed)
        });
        let folders = [std::env::current_dir().ok(), Some(std::env::temp_dir())];
        let home = std::env::var_os("HOME").map(Into::into);
        let folders = folders.into_iter().chain([home]).flatten();
        let folders = folders.map(|folder| folder.to_string_lossy().into_owned());
        let mut names: Vec<_> = parts.chain(folders).collect();
        names.retain(|name| !name.is_ascii());
        // Of two names with the same beginning the longer one is matched first.
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        names
    })
}

/// Length of the part of `name` with which the text begins; a line may break within it.
fn matched_length(text: &str, name: &str) -> Option<usize> {
    let mut rest = text;
    for character in name.chars() {
        rest = match rest.strip_prefix(character) {
            Some(rest) => rest,
            None if rest.len() == text.len() => return None,
            None => {
                let next_line = rest.strip_prefix('\n')?.trim_start_matches(' ');
                match character {
                    ' ' => next_line,
                    _ => next_line.strip_prefix(character)?,
                }
            }
        };
    }
    Some(text.len() - rest.len())
}

fn replaced(text: &str, names: &[String]) -> String {
    let mut ascii = String::with_capacity(text.len());
    let mut owed = 0;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let kept = names.iter().find_map(|name| matched_length(rest, name));
        if let Some(length) = kept.filter(|length| *length > 0) {
            let (name, after) = rest.split_at(length);
            ascii.push_str(name);
            rest = after;
            continue;
        }
        rest = &rest[character.len_utf8()..];
        if character == ' ' && owed > 0 && rest.starts_with(' ') {
            owed -= 1;
            continue;
        }
        if character == '\n' {
            owed = 0;
        }
        let known = REPLACEMENTS.iter().find(|(from, _)| *from == character);
        match known {
            Some((_, to)) => {
                ascii.push_str(to);
                owed += to.len() - 1;
            }
            None => ascii.push(character),
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn columns_stay_where_they_are() {
        let table = "rate   median  n\n±3 %   4 µs    …\n5      6       7\n";
        let expected = "rate   median  n\n+-3 %  4 us    ...\n5      6       7\n";
        assert_eq!(transliterated(table), expected);
        assert_eq!(transliterated("1–2 ×"), "1-2 x");
    }

    #[test]
    fn a_users_names_keep_their_characters() {
        assert_eq!(transliterated("/home/zoë/…"), "/home/zoë/...");
        // Other characters are replaced as usual, and a line may end within a name.
        let names = ["a – b/runs…".to_owned()];
        let text = "2 × a – b/runs…/1 and\na –\n  b/runs…/2 – or a\n– b/ru\n  ns…";
        let expected = "2 x a – b/runs…/1 and\na –\n  b/runs…/2 - or a\n– b/ru\n  ns…";
        assert_eq!(replaced(text, &names), expected);
        assert_eq!(replaced("a – b/other…", &names), "a - b/other...");
    }

    /// The characters beyond ASCII in the string literals of a source file that is read by people
    /// on a terminal.
    fn foreign(source: &str) -> Vec<(char, String)> {
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let of_line = |line: &str| {
            let foreign = line.chars().filter(|c| !c.is_ascii()).collect::<Vec<_>>();
            foreign
                .into_iter()
                .map(|c| (c, line.to_owned()))
                .collect::<Vec<_>>()
        };
        code.lines().filter(is_code).flat_map(of_line).collect()
    }

    fn sources(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            // The page is UTF-8 wherever it is read.
            if path.is_dir() && !path.ends_with("html") {
                sources(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_character_that_people_are_shown_has_a_replacement() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut files = Vec::new();
        for name in [
            "findings", "report", "runner", "record", "engine", "drivers", "trueput",
        ] {
            sources(&crates.join(name).join("src"), &mut files);
        }
        // What only tests use is shown to nobody.
        files.retain(|file| !file.iter().any(|part| part == "testing"));
        assert!(files.len() > 100);
        let mut missing = Vec::new();
        for file in files
            .iter()
            .filter(|file| !file.ends_with("ascii.rs") && !file.ends_with("tests.rs"))
        {
            let source = std::fs::read_to_string(file).unwrap();
            for (character, line) in foreign(&source) {
                if transliterated(&character.to_string()) == character.to_string() {
                    missing.push(format!("{character} in {}: {line}", file.display()));
                }
            }
        }
        assert_eq!(missing, Vec::<String>::new());
        // Control: a character without a replacement is found.
        assert_eq!(foreign("let x = \"語\";").len(), 1);
    }
}
