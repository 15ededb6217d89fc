//! Statuses and texts of a plug-in as errors of the contract.

use super::abi::{self, ErrorText, Status};
use trueput_engine::{Error, common_errors};

impl ErrorText {
    /// An error without a text.
    pub(super) const fn new() -> Self {
        Self {
            code: 0,
            text_size: 0,
            reserved: 0,
            text: [0; 496],
        }
    }

    /// Takes the text and the code, and clears both for the next call.
    fn take(&mut self) -> (i64, String) {
        let size = (self.text_size as usize).min(self.text.len());
        let text = String::from_utf8_lossy(&self.text[..size]).into_owned();
        let code = self.code;
        (self.code, self.text_size) = (0, 0);
        (code, text)
    }
}

/// The error of a status other than [`abi::OK`], with the text that the plug-in left.
#[cold]
pub(super) fn error_of(status: Status, text: &mut ErrorText) -> Error {
    let (code, mut text) = text.take();
    if text.is_empty() {
        text = format!("the plug-in returned status {status} without a text");
    }
    match status {
        abi::CONFLICT => Error::Conflict(text),
        abi::DEADLOCK => Error::Deadlock(text),
        abi::UNSUPPORTED => Error::Unsupported(text),
        abi::FULL => Error::Full(text),
        abi::ENGINE => common_errors::coded(code, text),
        abi::NOT_FOUND => {
            Error::engine(format!("'not found' of a call that finds nothing: {text}"))
        }
        other => common_errors::coded(code, format!("{text} (unknown status {other})")),
    }
}
