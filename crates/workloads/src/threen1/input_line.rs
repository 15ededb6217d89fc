//! The original's input: a problem per line, `start finish [workers [block]]`.

use super::{InputMistake, MAX_STORABLE, used_block};
use trueput_record::plan::MAX_WORKERS;
use trueput_record::value::Settings;

/// One problem of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputLine {
    /// The first start.
    pub start: u64,
    /// The last start.
    pub finish: u64,
    /// Workers; twice the number of cores if the line does not give it.
    pub workers: u32,
    /// Starts per block, as it will be used.
    pub block: u64,
}

impl InputLine {
    /// The workload's settings for this line; the workers are the trial's, not the workload's.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let named = [
            ("start", self.start),
            ("finish", self.finish),
            ("block", self.block),
        ];
        named
            .map(|(name, value)| (name.to_owned(), value.into()))
            .into()
    }
}

/// A line that is not a problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {mistake}")]
pub struct InputLineError {
    /// The line number, from 1.
    pub line: usize,
    /// The mistake, and the right form.
    pub mistake: InputMistake,
}

/// Parses the problems of `text`; blank lines, and text after a `#`, are ignored.
///
/// # Errors
/// The first line that is not a problem.
///
/// ```
/// use trueput_workloads::threen1::parse_lines;
/// let lines = parse_lines("# small\n1 100000 8 5000\n1 1000\n", 2)?;
/// assert_eq!((lines[0].workers, lines[0].block), (8, 5_000));
/// assert_eq!((lines[1].workers, lines[1].block), (4, 250));
/// # Ok::<(), trueput_workloads::threen1::InputLineError>(())
/// ```
pub fn parse_lines(text: &str, cores: u32) -> Result<Vec<InputLine>, InputLineError> {
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let fields: Vec<_> = line
            .split('#')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        if fields.is_empty() {
            continue;
        }
        let parsed = parse(&fields, cores);
        lines.push(parsed.map_err(|mistake| InputLineError {
            line: index + 1,
            mistake,
        })?);
    }
    Ok(lines)
}

fn parse(fields: &[&str], cores: u32) -> Result<InputLine, InputMistake> {
    if !(2..=4).contains(&fields.len()) {
        return Err(InputMistake::Count {
            fields: fields.join(" "),
            count: fields.len(),
        });
    }
    let start = number("start", fields[0], MAX_STORABLE)?;
    let finish = number("finish", fields[1], MAX_STORABLE)?;
    if finish < start {
        return Err(InputMistake::ReversedRange { start, finish });
    }
    let workers = match fields.get(2) {
        Some(field) => number("number of workers", field, MAX_WORKERS.into())? as u32,
        None => cores.max(1).saturating_mul(2),
    };
    let block = match fields.get(3) {
        Some(field) => number("block", field, MAX_STORABLE)?,
        None => 0,
    };
    Ok(InputLine {
        start,
        finish,
        workers,
        block: used_block(finish - start + 1, workers, block),
    })
}

fn number(name: &'static str, field: &str, max: u64) -> Result<u64, InputMistake> {
    match field.parse::<u64>() {
        Ok(0) => Err(InputMistake::Zero { name, max }),
        Ok(number) if number <= max => Ok(number),
        Err(_) if field.is_empty() || !field.bytes().all(|byte| byte.is_ascii_digit()) => {
            let field = field.to_owned();
            Err(InputMistake::NoNumber { name, field, max })
        }
        _ => {
            let field = field.to_owned();
            Err(InputMistake::TooLarge { name, field, max })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse_lines(text, 2).unwrap_err().to_string()
    }

    #[test]
    fn the_published_lines_are_read_as_they_stand() {
        let text =
            "1 100000 8 5000\n1 1000000 8 50000\n\n  # the large ones\n1 40000000 8 50000 # last";
        let lines = parse_lines(text, 2).unwrap();
        assert_eq!(
            lines[0],
            InputLine {
                start: 1,
                finish: 100_000,
                workers: 8,
                block: 5_000
            }
        );
        assert_eq!(
            lines[2],
            InputLine {
                start: 1,
                finish: 40_000_000,
                workers: 8,
                block: 50_000
            }
        );
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn what_a_line_leaves_out_gets_the_originals_defaults() {
        let lines = parse_lines("1 100001\n1 1000 3\n1 1000 4 9999", 4).unwrap();
        assert_eq!((lines[0].workers, lines[0].block), (8, 12_501));
        assert_eq!((lines[1].workers, lines[1].block), (3, 334));
        assert_eq!(lines[2].block, 250);
    }

    #[test]
    fn a_line_becomes_settings() {
        let line = parse_lines("5 10 2 1", 2).unwrap()[0];
        let settings = line.settings();
        assert_eq!(settings["start"], 5_u64.into());
        assert_eq!(settings["finish"], 10_u64.into());
        assert_eq!(settings["block"], 1_u64.into());
    }

    #[test]
    fn each_mistake_is_named_with_its_line_and_what_would_be_right() {
        let most = MAX_STORABLE;
        assert_eq!(
            refused("1 10\n\n9 3"),
            "line 3: the range 9 3 is reversed; write 3 9"
        );
        assert_eq!(
            refused("0 10"),
            format!("line 1: the start is 0; write a whole number from 1 to {most}")
        );
        assert_eq!(
            refused("1 ten"),
            format!(
                "line 1: the finish 'ten' is not a whole number; write a whole number from 1 to \
                 {most}"
            )
        );
        assert!(refused("1 -5").contains("'-5' is not a whole number"));
        assert!(refused("1 1e6").contains("'1e6' is not a whole number"));
        assert!(refused("1 99999999999999999999999").contains("is too large"));
        assert_eq!(
            refused("1 10 0"),
            "line 1: the number of workers is 0; write a whole number from 1 to 1024"
        );
        assert!(refused("1 10 1025").contains("is too large"));
        assert!(refused("1 10 4 0").contains("the block is 0"));
        assert_eq!(
            refused("1 10 4 5 6"),
            "line 1: '1 10 4 5 6' has 5 numbers; write two to four: start finish [workers [block]]"
        );
        assert!(refused("7").contains("has 1 number;"));
    }
}
