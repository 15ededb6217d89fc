//! Compares a trial's acknowledged commits with the writes and flushes that its storage completed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The requests counted while a trial committed at a level that survives power loss, and the
/// conclusion from them.
///
/// A session begins no commit before its previous one is acknowledged. So a completed write or
/// flush makes at most one commit of each session durable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlushEvidence {
    /// Acknowledged commits that changed something for certain.
    pub commits: u64,
    /// Sessions that could commit at once.
    pub sessions: u32,
    /// The block devices counted, as named in `/sys/block`; empty if none could be counted.
    pub devices: Vec<String>,
    /// Writes that the devices completed, from all programs, from before the first commit began
    /// (including warm-up) until the last had ended.
    pub writes: u64,
    /// Flushes that the devices completed meanwhile; absent if they do not count flushes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
    /// The kind of request on which the verdict is based; absent if nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<FlushBasis>,
    /// The conclusion.
    pub verdict: FlushVerdict,
    /// The reason for counting nothing; absent if requests were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The kind of request that a commit needs on the counted devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlushBasis {
    /// A write: the device has no volatile cache, or some writes go through it (FUA).
    Writes,
    /// A write, and after it a flush: the device has a volatile cache, and no write goes through
    /// it.
    WritesAndFlushes,
}

/// The conclusion on whether flushes and writes explain the commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlushVerdict {
    /// They can have made every one durable.
    Explained,
    /// They cannot have.
    Impossible,
    /// No requests could be counted.
    #[default]
    NotCounted,
}

/// The reason for drawing no conclusion from few commits.
const TOO_FEW: &str = "too few commits: the counters may lag by as many";

impl FlushEvidence {
    /// Creates evidence without counts.
    #[must_use]
    pub fn not_counted(commits: u64, sessions: u32, reason: String) -> Self {
        Self {
            commits,
            sessions,
            reason: Some(reason),
            ..Self::default()
        }
    }

    /// Returns the number of requests of the scarcer kind that a commit needs; `None` if nothing
    /// was counted.
    #[must_use]
    pub fn requests(&self) -> Option<u64> {
        Some(match (self.basis?, self.flushes) {
            (FlushBasis::WritesAndFlushes, Some(flushes)) => self.writes.min(flushes),
            _ => self.writes,
        })
    }

    /// Returns the most commits that these requests can have made durable, divided by the commits:
    /// below 1 if the requests cannot explain the commits. `None` if nothing was counted or nothing
    /// committed.
    #[must_use]
    pub fn headroom(&self) -> Option<f64> {
        let most = self.requests()? as f64 * f64::from(self.sessions.max(1));
        (self.commits > 0).then(|| most / self.commits as f64)
    }

    /// Sets the verdict. `uncounted` requests may be completed but not yet visible in a counter: if
    /// they alone would explain half of the commits, and the counted requests do not explain all,
    /// no conclusion is drawn.
    #[must_use]
    pub fn with_verdict(mut self, uncounted: u64) -> Self {
        self.verdict = match self.requests() {
            None => FlushVerdict::NotCounted,
            Some(requests) => {
                let sessions = u64::from(self.sessions.max(1));
                let explained = requests.saturating_mul(sessions);
                let granted = uncounted.saturating_mul(sessions);
                if self.commits <= explained {
                    FlushVerdict::Explained
                } else if self.commits > explained.saturating_add(granted) {
                    FlushVerdict::Impossible
                } else if granted < self.commits / 2 {
                    FlushVerdict::Explained
                } else {
                    self.reason = Some(TOO_FEW.to_owned());
                    FlushVerdict::NotCounted
                }
            }
        };
        self
    }

    /// Returns the reason for distrusting the trial's figures, one sentence; `None` if there is
    /// none.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        if self.verdict != FlushVerdict::Impossible {
            return None;
        }
        let devices = self.devices.join(" and ");
        let counted = match (self.basis, self.flushes) {
            (Some(FlushBasis::WritesAndFlushes), Some(flushes)) => {
                format!("{} writes and {flushes} flushes", self.writes)
            }
            _ => format!("{} writes", self.writes),
        };
        let sessions = self.sessions.max(1);
        let each = match sessions {
            1 => "each makes at most one commit durable".to_owned(),
            _ => format!("each makes at most {sessions} commits durable, one of each session"),
        };
        Some(format!(
            "flushes cannot explain its commits: it acknowledged {} at sync while {devices} \
             completed {counted}, and {each}",
            self.commits
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(
        commits: u64,
        writes: u64,
        flushes: Option<u64>,
        basis: FlushBasis,
    ) -> FlushEvidence {
        FlushEvidence {
            commits,
            sessions: 4,
            devices: vec!["vda".to_owned()],
            writes,
            flushes,
            basis: Some(basis),
            ..FlushEvidence::default()
        }
    }

    #[test]
    fn one_request_makes_a_commit_of_each_session_durable_and_no_more() {
        let of = |commits| evidence(commits, 25, None, FlushBasis::Writes).with_verdict(0);
        assert_eq!(of(100).verdict, FlushVerdict::Explained);
        assert_eq!(of(100).doubt(), None);
        assert_eq!(of(101).verdict, FlushVerdict::Impossible);
        let doubt = of(101).doubt().unwrap();
        assert!(
            doubt.contains("acknowledged 101") && doubt.contains("25 writes"),
            "{doubt}"
        );
    }

    #[test]
    fn a_request_that_is_not_counted_yet_speaks_for_the_engine() {
        let of = |uncounted| {
            evidence(104, 25, None, FlushBasis::Writes)
                .with_verdict(uncounted)
                .verdict
        };
        assert_eq!(
            (of(0), of(1)),
            (FlushVerdict::Impossible, FlushVerdict::Explained)
        );
    }

    #[test]
    fn requests_that_no_counter_shows_do_not_vouch_for_half_of_the_commits() {
        let of = |commits, writes| {
            evidence(commits, writes, None, FlushBasis::Writes)
                .with_verdict(256)
                .verdict
        };
        // 4 sessions: 1,024 commits may be due to requests that are not counted yet.
        assert_eq!(of(1_000, 0), FlushVerdict::NotCounted);
        assert_eq!(of(2_000, 250), FlushVerdict::NotCounted);
        assert_eq!(of(1_000, 250), FlushVerdict::Explained);
        assert_eq!(of(4_000, 900), FlushVerdict::Explained);
        assert_eq!(of(4_000, 10), FlushVerdict::Impossible);
    }

    #[test]
    fn flushes_count_where_a_write_alone_does_not_last() {
        let of = |basis| evidence(100, 1_000, Some(3), basis).with_verdict(0).verdict;
        assert_eq!(of(FlushBasis::Writes), FlushVerdict::Explained);
        assert_eq!(of(FlushBasis::WritesAndFlushes), FlushVerdict::Impossible);
    }

    #[test]
    fn where_nothing_was_counted_nothing_follows() {
        let nothing = FlushEvidence::not_counted(1 << 40, 1, "on tmpfs".to_owned()).with_verdict(0);
        assert_eq!(nothing.verdict, FlushVerdict::NotCounted);
        assert_eq!((nothing.doubt(), nothing.headroom()), (None, None));
    }
}
