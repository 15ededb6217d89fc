//! The original's output: a line per problem.

use std::fmt;
use trueput_record::measurement::Measurement;
use trueput_record::{TrialSpec, Value};

/// What is printed for a problem; thousands are separated in its `Display`.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputLine {
    /// The first start.
    pub start: u64,
    /// The last start.
    pub finish: u64,
    /// Workers.
    pub workers: u32,
    /// Starts per block, as it was used.
    pub block: u64,
    /// Steps of the longest sequence.
    pub longest: u64,
    /// The largest number computed.
    pub largest: u64,
    /// Elapsed time of the workers, seconds.
    pub elapsed_s: f64,
    /// Stores in the step table.
    pub updates: u64,
    /// Look-ups of the step table.
    pub reads: u64,
    /// Updates per second.
    pub updates_per_s: f64,
    /// Reads per second.
    pub reads_per_s: f64,
    /// User and system CPU of the workers, seconds.
    pub cpu_s: f64,
}

impl OutputLine {
    /// The columns' names, aligned with `Display`.
    pub const HEADER: &'static str = "     start         finish workers      block longest         \
        largest number    elapsed s        updates          reads  updates/s    reads/s      CPU s";

    /// Draws the line from a trial of this workload; `None` where a figure of it is missing.
    #[must_use]
    pub fn from_trial(spec: &TrialSpec, measurement: &Measurement) -> Option<Self> {
        let result = |name: &str| unsigned(measurement.results.get(name)?);
        let (reads, updates) = (
            measurement.operation("read")?,
            measurement.operation("update")?,
        );
        Some(Self {
            start: unsigned(spec.settings.get("start")?)?,
            finish: unsigned(spec.settings.get("finish")?)?,
            workers: spec.workers,
            block: result("block")?,
            longest: result("longest")?,
            largest: result("largest")?,
            elapsed_s: measurement.elapsed_s,
            updates: updates.count,
            reads: reads.count,
            updates_per_s: updates.per_s,
            reads_per_s: reads.per_s,
            cpu_s: measurement.cpu_s(),
        })
    }
}

impl fmt::Display for OutputLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:>10} {:>14} {:>7} {:>10} {:>7} {:>22} {:>12.3} {:>14} {:>14} {:>10} {:>10} {:>10.2}",
            separated(self.start),
            separated(self.finish),
            separated(self.workers.into()),
            separated(self.block),
            separated(self.longest),
            separated(self.largest),
            self.elapsed_s,
            separated(self.updates),
            separated(self.reads),
            separated(self.updates_per_s.round() as u64),
            separated(self.reads_per_s.round() as u64),
            self.cpu_s,
        )
    }
}

fn unsigned(value: &Value) -> Option<u64> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        Value::Text(text) => text.parse().ok(),
        Value::Boolean(_) | Value::Float(_) => None,
    }
}

/// A number with its thousands separated by commas.
fn separated(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        let all = [0, 12, 999, 1_000, 56_991_483_520].map(separated);
        assert_eq!(all, ["0", "12", "999", "1,000", "56,991,483,520"]);
    }

    #[test]
    fn the_columns_stand_under_their_names() {
        let line = OutputLine {
            start: 1,
            finish: 1_000_000,
            workers: 4,
            block: 50_000,
            longest: 524,
            largest: 56_991_483_520,
            elapsed_s: 12.3456,
            updates: 2_168_610,
            reads: 3_168_610,
            updates_per_s: 175_659.2,
            reads_per_s: 256_659.9,
            cpu_s: 24.6,
        };
        let text = line.to_string();
        assert_eq!(text.len(), OutputLine::HEADER.len());
        assert!(text.contains(" 56,991,483,520 "), "{text}");
        assert!(text.contains(" 256,660 "), "{text}");
        for (name, value) in [
            ("finish", "1,000,000"),
            ("longest", "524"),
            ("CPU s", "24.60"),
        ] {
            let end = |text: &str, part: &str| text.find(part).unwrap() + part.len();
            assert_eq!(end(OutputLine::HEADER, name), end(&text, value), "{name}");
        }
    }
}
