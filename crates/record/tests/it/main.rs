//! Tests of the files of a run, as one program: a test's name begins with its file.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod folder;
mod format_document;
mod published;
mod support;
