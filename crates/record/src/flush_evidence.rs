//! Whether what storage did can explain the commits that a trial acknowledged.

use serde::{Deserialize, Serialize};

/// What was counted while a trial committed at a level that no lost power undoes, and what follows
/// from it.
///
/// A session begins no commit before its last one is acknowledged. So a write, or a flush, that is
/// completed makes at most one commit of each session durable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlushEvidence {
    /// Acknowledged commits that changed something for certain.
    pub commits: u64,
    /// Sessions that could commit at once.
    pub sessions: u32,
    /// The block devices that were counted, as named in `/sys/block`; empty where none could be.
    pub devices: Vec<String>,
    /// Writes that they completed, for whomever, from before the first commit began (that of a
    /// warm-up too) until the last had ended.
    pub writes: u64,
    /// Flushes that they completed meanwhile; absent where they count none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
    /// What the verdict rests on; absent where nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<FlushBasis>,
    /// What follows.
    pub verdict: FlushVerdict,
    /// Why nothing was counted; absent where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Which requests a commit needs on the devices that were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlushBasis {
    /// A write: the device keeps what is written, or writes some of it through its cache.
    Writes,
    /// A write, and after it a flush: the device has a volatile cache, and no write goes through
    /// it.
    WritesAndFlushes,
}

/// Whether flushes and writes explain the commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlushVerdict {
    /// They can have made every one durable.
    Explained,
    /// They cannot have.
    Impossible,
    /// Nothing could be counted.
    #[default]
    NotCounted,
}

/// Why nothing follows from a few commits.
const TOO_FEW: &str = "too few commits: the counters may lag by as many";

impl FlushEvidence {
    /// Evidence that there is none.
    #[must_use]
    pub fn not_counted(commits: u64, sessions: u32, reason: String) -> Self {
        Self {
            commits,
            sessions,
            reason: Some(reason),
            ..Self::default()
        }
    }

    /// Requests of the scarcer kind that a commit needs; `None` if nothing was counted.
    #[must_use]
    pub fn requests(&self) -> Option<u64> {
        Some(match (self.basis?, self.flushes) {
            (FlushBasis::WritesAndFlushes, Some(flushes)) => self.writes.min(flushes),
            _ => self.writes,
        })
    }

    /// The most commits that those can have made durable, over the commits: below 1 where they
    /// cannot explain them. `None` if nothing was counted or nothing committed.
    #[must_use]
    pub fn headroom(&self) -> Option<f64> {
        let most = self.requests()? as f64 * f64::from(self.sessions.max(1));
        (self.commits > 0).then(|| most / self.commits as f64)
    }

    /// Draws the verdict, where so many requests (`uncounted`) may be completed that no counter
    /// shows yet. Where those alone would explain half of the commits, and what was counted does
    /// not explain them all, nothing follows.
    #[must_use]
    pub fn judged(mut self, uncounted: u64) -> Self {
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

    /// Why the trial's figures must not be believed, one sentence; `None` if nothing speaks
    /// against them.
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
        let of = |commits| evidence(commits, 25, None, FlushBasis::Writes).judged(0);
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
                .judged(uncounted)
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
                .judged(256)
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
        let of = |basis| evidence(100, 1_000, Some(3), basis).judged(0).verdict;
        assert_eq!(of(FlushBasis::Writes), FlushVerdict::Explained);
        assert_eq!(of(FlushBasis::WritesAndFlushes), FlushVerdict::Impossible);
    }

    #[test]
    fn where_nothing_was_counted_nothing_follows() {
        let nothing = FlushEvidence::not_counted(1 << 40, 1, "on tmpfs".to_owned()).judged(0);
        assert_eq!(nothing.verdict, FlushVerdict::NotCounted);
        assert_eq!((nothing.doubt(), nothing.headroom()), (None, None));
    }
}
