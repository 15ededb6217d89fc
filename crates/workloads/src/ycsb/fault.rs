//! What a worker saw that must not be: counted, so that the trial goes on and is then INVALID.

use crate::Findings;
use trueput_record::measurement::Check;

/// What is wrong with something that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// A record is not there.
    Missing,
    /// A record is not one of the key that it stands under, or damaged.
    Foreign,
    /// A record misses updates that were committed before the read began.
    Stale,
    /// A record tells updates that nobody has made.
    Unmade,
    /// A scan began elsewhere than at its record, or went back.
    Disordered,
}

const NAMES: [&str; 5] = [
    "missing",
    "of another record or damaged",
    "older than what was committed",
    "newer than what was written",
    "out of order",
];

/// Faults by kind, with the first item that each befell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Faults([(u64, u64); NAMES.len()]);

impl Faults {
    /// One more.
    #[cold]
    pub(super) fn add(&mut self, fault: Fault, item: u64) {
        let (count, first) = &mut self.0[fault as usize];
        if *count == 0 {
            *first = item;
        }
        *count += 1;
    }

    /// Takes over what another one saw.
    pub(super) fn merge(&mut self, other: &Self) {
        for (own, others) in self.0.iter_mut().zip(other.0) {
            if own.0 == 0 {
                own.1 = others.1;
            }
            own.0 += others.0;
        }
    }

    /// As findings, which are numbers by name.
    pub(super) fn write(&self, findings: &mut Findings) {
        for (name, (count, first)) in NAMES.iter().zip(self.0) {
            if count > 0 {
                findings.insert(format!("read: {name}"), count);
                findings.insert(format!("read: {name}: first"), first);
            }
        }
    }

    /// From findings.
    pub(super) fn read(findings: &Findings) -> Self {
        let named = |name: String| findings.get(&name).copied().unwrap_or_default();
        Self(NAMES.map(|name| {
            let count = named(format!("read: {name}"));
            (count, named(format!("read: {name}: first")))
        }))
    }

    /// The check that there are none among so many that were looked at.
    pub(super) fn check(&self, name: &str, looked_at: u64) -> Check {
        let seen = NAMES
            .iter()
            .zip(self.0)
            .filter(|(_, (count, _))| *count > 0);
        let seen: Vec<_> = seen
            .map(|(name, (count, first))| format!("{count} {name} (first record {first})"))
            .collect();
        let detail = match seen.is_empty() {
            true => format!("{looked_at} looked at"),
            false => format!("{} of {looked_at} looked at", seen.join(", ")),
        };
        Check {
            name: name.to_owned(),
            passed: seen.is_empty(),
            detail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_pass_through_findings_and_fail_the_check() {
        let mut faults = Faults::default();
        assert!(faults.check("reads", 3).passed);
        faults.add(Fault::Stale, 17);
        faults.add(Fault::Stale, 4);
        let mut findings = Findings::new();
        faults.write(&mut findings);
        let mut all = Faults::default();
        all.merge(&Faults::read(&findings));
        assert_eq!(all, faults);
        let check = all.check("reads", 9);
        assert!(!check.passed);
        let wanted = "2 older than what was committed (first record 17) of 9 looked at";
        assert_eq!(check.detail, wanted);
    }
}
