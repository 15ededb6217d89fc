//! Lists of values as the command line gives them: `1,2,4`.

/// A text that is not clearly a list of values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(
    missing_docs,
    reason = "the message of each variant says what its fields are"
)]
pub enum SplitError {
    #[error(
        "'{text}' may be one number or a list: write {} for the one, or give the option once for \
         each of {}",
        text.replace(',', ""),
        text.replace(',', " and ")
    )]
    Ambiguous { text: String },
    #[error("no file system is named; write here, tmpfs, ext4 …")]
    NoFileSystem,
}

/// Splits a list of values separated by commas.
///
/// Refuses a list that may be a single number with thousands separators, as in `1,500`: the two
/// readings run different trials, and neither is safe to guess.
///
/// # Errors
/// [`SplitError::Ambiguous`], with the spelling of each reading.
///
/// ```
/// use trueput_record::list::split;
/// assert_eq!(split("1,2,4"), Ok(vec!["1", "2", "4"]));
/// assert!(split("1,500").unwrap_err().to_string().contains("write 1500"));
/// ```
pub fn split(text: &str) -> Result<Vec<&str>, SplitError> {
    let values: Vec<&str> = text.split(',').collect();
    if is_separated_number(&values) {
        Err(SplitError::Ambiguous {
            text: text.to_owned(),
        })
    } else {
        Ok(values)
    }
}

/// Returns whether the values, joined, are a number with thousands separators: one to three digits,
/// then groups of three, the last perhaps with a fraction or a unit.
fn is_separated_number(values: &[&str]) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let [first, groups @ .., last] = values else {
        return false;
    };
    let first = first.strip_prefix('-').unwrap_or(first);
    let leads = (1..=3).contains(&first.len()) && digits(first) && !first.starts_with('0');
    let group = |text: &&str| text.len() == 3 && digits(text);
    let (head, rest) = last.split_at_checked(3).unwrap_or((last, ""));
    let ends = group(&head) && !rest.starts_with(|c: char| c.is_ascii_digit());
    leads && groups.iter().all(group) && ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_may_be_one_number_is_refused_with_both_ways_to_write_it() {
        let reason = split("1,500").unwrap_err().to_string();
        let expected = "'1,500' may be one number or a list: write 1500 for the one, or give the \
                        option once for each of 1 and 500";
        assert_eq!(reason, expected);
        for text in [
            "10,100",
            "100,200,400",
            "1,024MiB",
            "-1,000",
            "1,000.5",
            "1,000 KiB",
        ] {
            assert!(split(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_list_that_can_be_nothing_else_is_taken() {
        for text in [
            "1", "1500", "1,2,4", "500,1", "1000,500", "0,500", "1,5000", "1,500,2",
        ] {
            assert_eq!(split(text), Ok(text.split(',').collect()), "{text}");
        }
        for text in ["a,b,c", "1,abc", "64MiB,128MiB", "on,off", "", "0.5,100"] {
            assert_eq!(split(text), Ok(text.split(',').collect()), "{text}");
        }
    }
}
