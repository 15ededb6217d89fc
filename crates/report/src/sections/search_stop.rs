//! Why a search did not try all that was planned.

use trueput_record::folder::RunEnd;
use trueput_record::search::SearchEnd;

/// What stopped a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchStop {
    /// The run has no end.
    CutShort,
    /// Its user stopped it.
    Interrupted,
    /// The search itself proposed no more trials.
    Ended(SearchEnd),
    /// The run ended, and does not tell why.
    Unrecorded,
}

impl SearchStop {
    pub(super) fn of(end: Option<&RunEnd>) -> Self {
        match end {
            None => Self::CutShort,
            Some(end) if !end.complete => Self::Interrupted,
            Some(end) => end.search_end.map_or(Self::Unrecorded, Self::Ended),
        }
    }

    /// The reason, as a clause that stands alone.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::CutShort => "the run is still going or was cut short",
            Self::Ended(SearchEnd::NothingLeft) => "nothing was left to try",
            other => other.event(),
        }
    }

    /// What happened, as a clause that "after" or "before" follows.
    pub(super) fn event(self) -> &'static str {
        match self {
            Self::CutShort => "the record ends",
            Self::Interrupted => "the run was interrupted",
            Self::Ended(SearchEnd::TimeUp) => "the time was up",
            Self::Ended(SearchEnd::TrialLimit) => "the run had as many trials as a run may have",
            Self::Ended(SearchEnd::NothingLeft) | Self::Unrecorded => "the search ended",
        }
    }
}
