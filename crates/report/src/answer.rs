//! The answer of a run for a terminal: its first screen.

pub(crate) mod decision;
mod layout;
pub(crate) mod name_list;
mod shared_marks;
mod standings;
pub(crate) mod subject;
pub(crate) mod table;
mod terminal;
pub(crate) mod words;

pub use decision::decided_lines;
pub use layout::Layout;
pub use standings::{round_lines, standings};
pub use terminal::AnswerText;
