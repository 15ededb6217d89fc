//! Finds the line of a value in a JSON text, for messages about files that were parsed already.

/// Returns the line, from 1, at which the value at a place begins; `None` if the text has no such
/// value. A part of the place is the name of a field or the index of an element.
pub(crate) fn line_of(text: &[u8], place: &[String]) -> Option<usize> {
    let mut scanner = Scanner { text, at: 0 };
    place.iter().try_for_each(|part| scanner.enter(part))?;
    scanner.skip_space();
    let before = text.get(..scanner.at)?;
    Some(1 + before.iter().filter(|byte| **byte == b'\n').count())
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Moves from the beginning of an object or a list to that of its part.
    fn enter(&mut self, part: &str) -> Option<()> {
        self.skip_space();
        let opened = self.peek()?;
        self.at += 1;
        let mut index = 0;
        loop {
            self.skip_space();
            if self.peek()? == b']' {
                return None;
            }
            let is_there = match opened {
                b'{' => {
                    let name = self.string()?;
                    self.skip_space();
                    self.at += 1;
                    name == part.as_bytes()
                }
                b'[' => index.to_string() == part,
                _ => return None,
            };
            if is_there {
                return Some(());
            }
            self.skip_value()?;
            self.skip_space();
            if self.peek()? != b',' {
                return None;
            }
            self.at += 1;
            index += 1;
        }
    }

    /// Moves behind a string, and returns what is between its quotes.
    fn string(&mut self) -> Option<&'a [u8]> {
        if self.peek()? != b'"' {
            return None;
        }
        let begin = self.at + 1;
        self.at = begin;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        self.text.get(begin..self.at - 1)
    }

    /// Moves behind a value.
    fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            self.skip_space();
            match self.peek()? {
                b'"' => drop(self.string()?),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' => {
                    self.at += 1;
                    continue;
                }
                _ => self.skip_word(),
            }
            self.skip_space();
            let is_name = self.peek() == Some(b':');
            if depth == 0 && !is_name {
                return Some(());
            }
        }
    }

    /// Moves behind a number, a truth value or `null`.
    fn skip_word(&mut self) {
        let is_end = |byte: u8| byte.is_ascii_whitespace() || b",]}\"".contains(&byte);
        self.at += 1;
        while self.peek().is_some_and(|byte| !is_end(byte)) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, place: &str) -> Option<usize> {
        let place: Vec<_> = place.split('.').map(str::to_owned).collect();
        line_of(text.as_bytes(), &place)
    }

    #[test]
    fn a_value_is_found_in_its_object_and_list_and_nowhere_else() {
        let lines = [
            "{",
            r#" "a": "\"b","#,
            " \"t\": [",
            r#"  {"b": [1, {}], "c": 1},"#,
            r#"  {"b": [],"#,
            r#"   "c": -5}"#,
            " ]}",
        ];
        let text = &lines.join("\n");
        assert_eq!(line(text, "a"), Some(2));
        assert_eq!(line(text, "t.0.c"), Some(4));
        assert_eq!(line(text, "t.1.b"), Some(5));
        assert_eq!(line(text, "t.1.c"), Some(6));
        for absent in ["t.2", "b", "t.0.d", "a.b", "t.1.b.0"] {
            assert_eq!(line(text, absent), None, "{absent}");
        }
    }

    #[test]
    fn a_text_that_is_no_json_has_no_values() {
        for text in [
            "",
            "{",
            "[",
            "{\"a",
            "{\"a\\",
            "}",
            "[1",
            "{\"a\":{\"b\":1",
            "nul",
        ] {
            line(text, "a.b");
            line(text, "1");
        }
    }
}
