//! Text that lives as long as the program: settings are copied, and the kinds of a job's operations
//! are static.

use std::sync::{Mutex, PoisonError};

/// Returns the text for as long as the program lives. Each distinct one is kept once.
pub(crate) fn intern(text: &str) -> &'static str {
    static KNOWN: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    keep(&KNOWN, text.into())
}

/// Returns the texts for as long as the program lives. Each distinct list is kept once.
pub(crate) fn intern_all(texts: impl Iterator<Item = String>) -> &'static [&'static str] {
    static KNOWN: Mutex<Vec<&'static [&'static str]>> = Mutex::new(Vec::new());
    keep(&KNOWN, texts.map(|text| intern(&text)).collect())
}

/// The same value among those that are known; it becomes one of them if it is new.
fn keep<T: PartialEq + ?Sized + 'static>(
    known: &Mutex<Vec<&'static T>>,
    value: Box<T>,
) -> &'static T {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = known.iter().find(|one| ***one == *value) {
        return same;
    }
    let value = &*Box::leak(value);
    known.push(value);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_and_lists_are_kept_once() {
        let (given, again) = (String::from("a file"), String::from("a file"));
        let text = intern(&given);
        assert!(std::ptr::eq(text, intern(&again)));
        assert_ne!(text, intern("another file"));
        let list = || intern_all(["get", "put"].map(str::to_owned).into_iter());
        assert!(std::ptr::eq(list(), list()));
        assert_eq!(list(), ["get", "put"]);
    }
}
