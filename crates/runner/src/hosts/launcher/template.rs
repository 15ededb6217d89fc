//! Commands with a place for the host and for this program's command, as words: no shell reads
//! them.

/// The maximum length of a template.
const MAX_BYTES: usize = 4096;

/// The places of a template.
const PLACES: [(&str, Piece); 2] = [("host", Piece::Host), ("command", Piece::Command)];

/// The reason why a command template cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A place is missing.
    #[error(
        "has no {{{place}}}: write {{host}} where the host's name goes, and {{command}} where \
             the program's command goes"
    )]
    NoPlace {
        /// Its name.
        place: &'static str,
    },
    /// A place is unknown.
    #[error(
        "is not clear: {{{name}}} is unknown; write {{host}} or {{command}}, or \\{{{name}}} \
             for these characters"
    )]
    UnknownPlace {
        /// Its name.
        name: String,
    },
    /// The first word is not a program's name.
    #[error("names no program: the first word is the program, without {{host}} or {{command}}")]
    NoProgram,
    /// A quote is not closed.
    #[error("has no closing {quote}")]
    Quote {
        /// The quote.
        quote: char,
    },
    /// The last character is a backslash.
    #[error("ends with a backslash: write \\\\ for one")]
    Backslash,
    /// A character has no place on a command line.
    #[error("has a control character")]
    Control,
    /// It is too long.
    #[error("is longer than {max} bytes: write it as a script, and name that")]
    TooLong {
        /// The maximum length.
        max: usize,
    },
}

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Host,
    Command,
}

/// A command with a place for the host and for this program's command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CommandTemplate(Vec<Vec<Piece>>);

impl CommandTemplate {
    /// Reads the words of a template. Blanks separate words. Within `'…'` all is literal, within
    /// `"…"` all but `\"` and `\\`; elsewhere `\` makes the next character literal. `{host}` and
    /// `{command}` are places, also within quotes.
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if text.len() > MAX_BYTES {
            return Err(TemplateError::TooLong { max: MAX_BYTES });
        }
        let words = split_words(text)?;
        let words: Result<Vec<_>, _> = words.iter().map(|word| split_pieces(word)).collect();
        let words = words?;
        let has = |piece: &Piece| words.iter().flatten().any(|one| one == piece);
        if let Some((place, _)) = PLACES.iter().find(|(_, piece)| !has(piece)) {
            return Err(TemplateError::NoPlace { place });
        }
        match words.first().map(Vec::as_slice) {
            Some([Piece::Text(_)]) => Ok(Self(words)),
            _ => Err(TemplateError::NoProgram),
        }
    }

    /// Returns the words for a host and a command. A word that is nothing but `{command}` becomes
    /// the words of the command; within a longer word it becomes one text that a POSIX shell reads
    /// as these words.
    pub fn fill(&self, host: &str, command: &[&str]) -> Vec<String> {
        let mut words = Vec::new();
        for word in &self.0 {
            if let [Piece::Command] = word.as_slice() {
                words.extend(command.iter().map(|&part| part.to_owned()));
                continue;
            }
            let pieces = word.iter().map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Host => host.to_owned(),
                Piece::Command => to_shell_text(command),
            });
            words.push(pieces.collect());
        }
        words
    }

    /// Returns the program.
    pub fn program(&self) -> &str {
        match self.0.first().map(Vec::as_slice) {
            Some([Piece::Text(text), ..]) => text,
            _ => "",
        }
    }
}

/// A character of a word, and whether it can be part of a place.
type Letter = (char, bool);

fn split_words(text: &str) -> Result<Vec<Vec<Letter>>, TemplateError> {
    let mut words = Vec::new();
    let mut word: Option<Vec<Letter>> = None;
    let mut quote = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c.is_control() && c != '\t' {
            return Err(TemplateError::Control);
        }
        match (quote, c) {
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(opened), _) if c == opened => quote = None,
            (None, '\\') => {
                let next = rest.next().ok_or(TemplateError::Backslash)?;
                word.get_or_insert_default().push((next, false));
            }
            (Some('"'), '\\') => {
                let next = rest.next().ok_or(TemplateError::Quote { quote: '"' })?;
                let letters = word.get_or_insert_default();
                if !['"', '\\'].contains(&next) {
                    letters.push(('\\', false));
                }
                letters.push((next, false));
            }
            _ => word.get_or_insert_default().push((c, true)),
        }
    }
    if let Some(quote) = quote {
        return Err(TemplateError::Quote { quote });
    }
    words.extend(word);
    Ok(words)
}

/// Finds the places of a word. Braces around anything but a name are text.
fn split_pieces(word: &[Letter]) -> Result<Vec<Piece>, TemplateError> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = word;
    while let Some(((c, is_open), after)) = rest.split_first() {
        let name = (*c == '{' && *is_open).then(|| place_name(after)).flatten();
        let Some(name) = name else {
            text.push(*c);
            rest = after;
            continue;
        };
        let place = PLACES.iter().find(|(known, _)| *known == name);
        let Some((_, piece)) = place else {
            return Err(TemplateError::UnknownPlace { name });
        };
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(piece.clone());
        rest = &after[name.len() + 1..];
    }
    if !text.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// Returns the name that a brace follows, of letters, digits and underscores.
fn place_name(letters: &[Letter]) -> Option<String> {
    let is_name = |letter: &&Letter| letter.0.is_ascii_alphanumeric() || letter.0 == '_';
    let name: String = letters
        .iter()
        .take_while(is_name)
        .map(|one| one.0)
        .collect();
    let closes = letters.get(name.len())?.0 == '}';
    (closes && !name.is_empty()).then_some(name)
}

/// Returns a text that a POSIX shell reads as these words.
fn to_shell_text(words: &[&str]) -> String {
    let quoted = words.iter().map(|word| shell_word(word));
    quoted.collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a POSIX shell, if it needs that.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase();
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn fill(template: &str) -> Vec<String> {
        let template = CommandTemplate::parse(template).unwrap();
        template.fill("h1", &["/opt/a b/trueput", "worker"])
    }

    fn refusal(template: &str) -> String {
        let refused = CommandTemplate::parse(template).unwrap_err();
        refused.to_string()
    }

    #[test]
    fn words_are_split_and_quoted_as_documented() {
        for (template, expected) in [
            (
                "on {host} {command}",
                vec!["on", "h1", "/opt/a b/trueput", "worker"],
            ),
            (
                "on\t x{host}y  {command} ",
                vec!["on", "xh1y", "/opt/a b/trueput", "worker"],
            ),
            (
                "on {host} sh -c 'exec {command}'",
                vec!["on", "h1", "sh", "-c", "exec '/opt/a b/trueput' worker"],
            ),
            (
                r#"on '' 'a\b' "a\"b\\c\d" e\ f '{host}' "{command}""#,
                vec![
                    "on",
                    "",
                    r"a\b",
                    r#"a"b\c\d"#,
                    "e f",
                    "h1",
                    "/opt/a b/trueput",
                    "worker",
                ],
            ),
            (
                r"on {} ${ \{host} {host} {command}",
                vec![
                    "on",
                    "{}",
                    "${",
                    "{host}",
                    "h1",
                    "/opt/a b/trueput",
                    "worker",
                ],
            ),
            // Nobody expands it.
            (
                "on $HOME;* {host} {command}",
                vec!["on", "$HOME;*", "h1", "/opt/a b/trueput", "worker"],
            ),
        ] {
            assert_eq!(fill(template), expected, "{template}");
        }
    }

    #[test]
    fn a_template_that_cannot_start_the_program_is_refused() {
        for (template, expected) in [
            ("on {host}", "has no {command}"),
            ("on {command}", "has no {host}"),
            ("", "has no {host}"),
            (r"on \{host} {command}", "has no {host}"),
            ("on {hosts} {command}", "{hosts} is unknown"),
            ("{host} {command}", "the first word is the program"),
            ("{command} {host}", "the first word is the program"),
            ("on '{host} {command}", "no closing '"),
            ("on \"{host} {command}", "no closing \""),
            ("on {host} {command}\\", "ends with a backslash"),
            ("on {host} {command}\n", "control character"),
        ] {
            let reason = refusal(template);
            assert!(reason.contains(expected), "{template}: {reason}");
            assert_eq!(reason.lines().count(), 1);
        }
        let long = format!("on {{host}} {{command}} {}", "x".repeat(MAX_BYTES));
        assert!(refusal(&long).contains("longer than 4096 bytes"));
    }

    #[test]
    fn a_path_is_one_word_of_the_hosts_shell() {
        for path in ["/opt/a b/trueput", "/tmp/$(id)'s/x", "", "~", "a*"] {
            let printed = Command::new("sh")
                .arg("-c")
                .arg(format!("printf %s {}", shell_word(path)))
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&printed.stdout), path);
        }
    }
}
