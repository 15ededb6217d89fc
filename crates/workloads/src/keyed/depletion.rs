//! Whether a mix takes out the records that its operations look for.

/// The operations of a mix that take records out and put them back, as shares of all operations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RecordTurnover {
    /// Operations that take out a record.
    pub deletes: f64,
    /// Operations that put a record, whether it is there or not.
    pub puts: f64,
    /// Operations of the trial; `None` if time ends it.
    pub operations: Option<u64>,
    /// Records to begin with.
    pub records: u64,
}

impl RecordTurnover {
    /// A sentence, if operations will often look for records that are not there; `None` if not.
    ///
    /// A record is chosen by deletes and puts in turn, so in the long run it is there in as many
    /// cases as a put was last.
    pub(crate) fn caution(&self) -> Option<String> {
        let there = self.puts / (self.deletes + self.puts);
        if self.deletes <= 0.0 || there >= MIN_LASTING_PART {
            return None;
        }
        let taken = self.operations.map(|count| count as f64 * self.deletes);
        let records = self.records;
        if taken.is_some_and(|taken| taken < records as f64 * FEW_TAKEN) {
            return None;
        }
        let expected = match taken {
            Some(taken) => format!("{taken:.0} deletes on {records} records"),
            None => format!("deletes on {records} records until the time is up"),
        };
        let outcome = if self.puts > 0.0 {
            format!("leave about {:.0} % of them there", 100.0 * there)
        } else {
            "empty the database, since nothing puts records back".to_owned()
        };
        Some(format!(
            "{expected} {outcome}: operations that find no record cost less; give more records, \
             fewer deletes, or put"
        ))
    }
}

/// With this part of the records there in the long run, a mix is as intended.
const MIN_LASTING_PART: f64 = 0.5;

/// Deletes of this part of the records change little.
const FEW_TAKEN: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    fn caution(deletes: f64, puts: f64, operations: Option<u64>) -> Option<String> {
        let turnover = RecordTurnover {
            deletes,
            puts,
            operations,
            records: 1_000,
        };
        turnover.caution()
    }

    #[test]
    fn deletes_that_nothing_makes_up_for_are_told_before_the_run() {
        let endless = caution(0.1, 0.0, None).unwrap();
        assert!(endless.contains("empty the database"), "{endless}");
        assert!(caution(0.1, 0.0, Some(100_000)).is_some());
        assert_eq!(caution(0.1, 0.0, Some(500)), None, "5 % of the records");
        let most = caution(0.3, 0.1, None).unwrap();
        assert!(most.contains("about 25 % of them"), "{most}");
        assert_eq!(caution(0.1, 0.5, None), None);
        assert_eq!(caution(0.0, 0.0, None), None);
    }
}
