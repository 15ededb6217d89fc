//! The formats of trace files: what one line says.
//!
//! `docs/workloads/trace.md` describes each format and names its source.

use super::error::LineError;
use super::grammar::{COLUMNS, FormatChoice};
use super::text::{decode_key, parse_action, parse_seconds, split_csv, whole_number};
use crate::keyed::action::Action;
use serde::Deserialize;
use std::borrow::Cow;
use trueput_record::suggest::did_you_mean;

/// What one line of a trace says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TraceLine<'l> {
    /// Nanoseconds since the origin of the trace's times; `None` if it states no times.
    pub time_ns: Option<u64>,
    pub action: Action,
    pub key: Cow<'l, [u8]>,
    /// Bytes of the value, or records of a scan; `None` if not stated.
    pub size: Option<u64>,
    /// The number of its transaction.
    pub transaction: Option<u64>,
}

/// The columns of a CSV file, by their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Columns {
    time: Option<usize>,
    operation: usize,
    key: usize,
    size: Option<usize>,
    transaction: Option<usize>,
    count: usize,
}

/// A format, ready to read lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Format {
    Csv(Columns),
    Jsonl,
    Rocksdb,
    Twitter,
    Msr,
}

/// A line of our own JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonLine {
    time: Option<serde_json::Number>,
    operation: String,
    key: String,
    size: Option<u64>,
    transaction: Option<u64>,
}

impl Format {
    /// Determines the format by the first line of the file, and whether that line holds names and
    /// no operation.
    ///
    /// # Errors
    /// One clause, if the line is of no known format, or its columns are wrong.
    pub(super) fn of_first_line(
        choice: FormatChoice,
        line: &str,
    ) -> Result<(Self, bool), LineError> {
        let choice = match choice {
            FormatChoice::Auto => detect(line)?,
            given => given,
        };
        Ok(match choice {
            FormatChoice::Csv | FormatChoice::Auto => (Self::Csv(Columns::parse(line)?), true),
            FormatChoice::Jsonl => (Self::Jsonl, false),
            FormatChoice::Rocksdb => (Self::Rocksdb, false),
            FormatChoice::Twitter => (Self::Twitter, false),
            FormatChoice::Msr => (Self::Msr, line.starts_with("Timestamp,")),
        })
    }

    /// Its word.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Csv(_) => FormatChoice::Csv.word(),
            Self::Jsonl => FormatChoice::Jsonl.word(),
            Self::Rocksdb => FormatChoice::Rocksdb.word(),
            Self::Twitter => FormatChoice::Twitter.word(),
            Self::Msr => FormatChoice::Msr.word(),
        }
    }

    /// Whether its times are whole seconds, so that many requests share one.
    pub(super) fn has_whole_seconds(&self) -> bool {
        *self == Self::Twitter
    }

    /// Reads a line.
    ///
    /// # Errors
    /// One clause: the wrong part, and what would be right.
    pub(super) fn parse<'l>(&self, line: &'l str) -> Result<TraceLine<'l>, LineError> {
        match self {
            Self::Csv(columns) => columns.read(line),
            Self::Jsonl => read_json(line),
            Self::Rocksdb => read_rocksdb(line),
            Self::Twitter => read_twitter(line),
            Self::Msr => read_msr(line),
        }
    }
}

fn detect(line: &str) -> Result<FormatChoice, LineError> {
    let fields: Vec<_> = line.split(',').map(str::trim).collect();
    let is_hex = |key: &str| {
        key.strip_prefix("0x")
            .is_some_and(|digits| !digits.is_empty())
    };
    Ok(match fields.as_slice() {
        _ if line.trim_start().starts_with('{') => FormatChoice::Jsonl,
        [only] if only.split_whitespace().count() == 5 && is_hex(only) => FormatChoice::Rocksdb,
        names if names.contains(&"operation") && names.contains(&"key") => FormatChoice::Csv,
        [_, _, _, kind, _, _, _] if block_action(kind).is_some() || *kind == "Type" => {
            FormatChoice::Msr
        }
        [_, .., operation, _] if fields.len() >= 7 && cache_action(operation).is_some() => {
            FormatChoice::Twitter
        }
        _ => {
            let line = line.to_owned();
            return Err(LineError::UnknownFormat { line });
        }
    })
}

impl Columns {
    fn parse(line: &str) -> Result<Self, LineError> {
        let names: Vec<_> = split_csv(line)?
            .iter()
            .map(|it| it.trim().to_owned())
            .collect();
        for (index, name) in names.iter().enumerate() {
            if !COLUMNS.contains(&name.as_str()) {
                return Err(LineError::UnknownColumn {
                    name: name.clone(),
                    hint: did_you_mean(name, COLUMNS),
                });
            }
            if names[..index].contains(name) {
                let name = name.clone();
                return Err(LineError::ColumnTwice { name });
            }
        }
        let place = |name: &str| names.iter().position(|it| it == name);
        let needed = |name| place(name).ok_or(LineError::NoColumn { name });
        Ok(Self {
            time: place("time"),
            operation: needed("operation")?,
            key: needed("key")?,
            size: place("size"),
            transaction: place("transaction"),
            count: names.len(),
        })
    }

    fn read<'l>(&self, line: &'l str) -> Result<TraceLine<'l>, LineError> {
        let mut fields = split_csv(line)?;
        if fields.len() != self.count {
            return Err(LineError::ColumnCount {
                fields: fields.len(),
                named: self.count,
            });
        }
        let text = |place: Option<usize>| {
            let field = place.map(|place| fields[place].trim());
            field.filter(|field| !field.is_empty())
        };
        let number = |place, name| text(place).map(|it| whole_number(name, it)).transpose();
        let time = text(self.time).map(parse_seconds).transpose()?;
        let action = parse_action(fields[self.operation].trim())?;
        let (size, transaction) = (
            number(self.size, "size")?,
            number(self.transaction, "transaction")?,
        );
        let key = std::mem::take(&mut fields[self.key]);
        Ok(TraceLine {
            time_ns: time,
            action,
            key: decode_key(key),
            size,
            transaction,
        })
    }
}

fn read_json(line: &str) -> Result<TraceLine<'static>, LineError> {
    let read: JsonLine = serde_json::from_str(line).map_err(|_| mistake_in_json(line))?;
    let time = read.time.map(|time| parse_seconds(&time.to_string()));
    Ok(TraceLine {
        time_ns: time.transpose()?,
        action: parse_action(&read.operation)?,
        key: decode_key(Cow::Owned(read.key)),
        size: read.size,
        transaction: read.transaction,
    })
}

/// Says what is wrong with a line that is not read as JSON, in the words of the format.
fn mistake_in_json(line: &str) -> LineError {
    const MAX_SHOWN: usize = 40;
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(line) else {
        let mut shown: String = line.chars().take(MAX_SHOWN).collect();
        if shown.len() < line.len() {
            shown.push_str("...");
        }
        return LineError::NotAnObject { shown };
    };
    if let Some(name) = fields.keys().find(|name| !COLUMNS.contains(&name.as_str())) {
        let (name, hint) = (name.clone(), did_you_mean(name, COLUMNS));
        return LineError::UnknownName { name, hint };
    }
    let mut needed = ["operation", "key"].into_iter();
    if let Some(name) = needed.find(|name| !fields.contains_key(*name)) {
        return LineError::NoName { name };
    }
    for (name, value) in &fields {
        let (is_right, right) = match name.as_str() {
            "operation" | "key" => (value.is_string(), "a text in double quotes"),
            "time" => (value.is_number() || value.is_null(), "a number of seconds"),
            _ => (
                value.is_u64() || value.is_null(),
                "a whole number from 0 on",
            ),
        };
        if !is_right {
            return LineError::JsonValue {
                name: name.clone(),
                value: value.to_string(),
                right,
            };
        }
    }
    LineError::NameTwice
}

/// `KEY TYPE COLUMN_FAMILY VALUE_SIZE MICROSECONDS`, with the key as `0x` and hexadecimal digits.
fn read_rocksdb(line: &str) -> Result<TraceLine<'_>, LineError> {
    let fields: Vec<_> = line.split_ascii_whitespace().collect();
    let &[key, kind, family, size, time] = fields.as_slice() else {
        return Err(LineError::FieldCount {
            fields: fields.len(),
            columns: "KEY TYPE COLUMN_FAMILY VALUE_SIZE MICROSECONDS (a trace that was converted \
                      with -no_key cannot be replayed)",
        });
    };
    let Cow::Owned(mut bytes) = decode_key(Cow::Borrowed(key)) else {
        let key = key.to_owned();
        return Err(LineError::KeyIsNotHexadecimal { key });
    };
    // Column families have keys of their own.
    let family = whole_number("column family", family)?;
    if family > 0 {
        bytes.splice(..0, format!("{family}/").into_bytes());
    }
    let action = match whole_number("type", kind)? {
        0 | 8 => Action::Get,
        1 => Action::Put,
        2 | 3 => Action::Delete,
        5 => Action::Update,
        6 | 7 => Action::Scan,
        4 => return Err(LineError::DeletesRange),
        number => return Err(LineError::UnknownType { number }),
    };
    let size = Some(whole_number("value size", size)?);
    let time_us = whole_number("time", time)?;
    Ok(TraceLine {
        time_ns: Some(scaled("time", time_us, 1_000)?),
        action,
        key: bytes.into(),
        size: size.filter(|size| *size > 0),
        transaction: None,
    })
}

fn cache_action(word: &str) -> Option<Action> {
    Some(match word {
        "get" | "gets" => Action::Get,
        "set" => Action::Put,
        "add" => Action::Insert,
        "replace" | "cas" | "append" | "prepend" | "incr" | "decr" => Action::Update,
        "delete" => Action::Delete,
        _ => return None,
    })
}

/// `TIMESTAMP,KEY,KEY_SIZE,VALUE_SIZE,CLIENT,OPERATION,TTL`; a key may have commas.
fn read_twitter(line: &str) -> Result<TraceLine<'_>, LineError> {
    let columns = || LineError::FieldCount {
        fields: line.split(',').count(),
        columns: "timestamp,key,key size,value size,client id,operation,TTL",
    };
    let (time, rest) = line.split_once(',').ok_or_else(columns)?;
    let mut fields = rest.rsplitn(6, ',');
    let mut next = || fields.next().ok_or_else(columns);
    let (ttl, operation, client) = (next()?, next()?, next()?);
    let (value_size, key_size, key) = (next()?, next()?, next()?);
    let time_s = whole_number("timestamp", time)?;
    whole_number("key size", key_size)?;
    whole_number("client id", client)?;
    whole_number("TTL", ttl)?;
    let size = whole_number("value size", value_size)?;
    let action = cache_action(operation).ok_or_else(|| LineError::UnknownCacheOperation {
        word: operation.to_owned(),
    })?;
    Ok(TraceLine {
        time_ns: Some(scaled("timestamp", time_s, 1_000_000_000)?),
        action,
        key: Cow::Borrowed(key.as_bytes()),
        size: (size > 0).then_some(size),
        transaction: None,
    })
}

fn block_action(word: &str) -> Option<Action> {
    match word.to_ascii_lowercase().as_str() {
        "read" => Some(Action::Get),
        "write" => Some(Action::Put),
        _ => None,
    }
}

/// `TIMESTAMP,HOSTNAME,DISK,TYPE,OFFSET,SIZE,RESPONSE_TIME`, times in units of 100 ns.
fn read_msr(line: &str) -> Result<TraceLine<'_>, LineError> {
    let fields: Vec<_> = line.split(',').map(str::trim).collect();
    let &[time, host, disk, kind, offset, size, response] = fields.as_slice() else {
        return Err(LineError::FieldCount {
            fields: fields.len(),
            columns: "timestamp,hostname,disk,type,offset,size,response time",
        });
    };
    let ticks = whole_number("timestamp", time)?;
    let (disk, offset) = (whole_number("disk", disk)?, whole_number("offset", offset)?);
    whole_number("response time", response)?;
    let action = block_action(kind).ok_or_else(|| LineError::UnknownBlockType {
        word: kind.to_owned(),
    })?;
    Ok(TraceLine {
        time_ns: Some(scaled("timestamp", ticks, 100)?),
        action,
        key: Cow::Owned(format!("{host}.{disk}.{offset:016x}").into_bytes()),
        size: Some(whole_number("size", size)?),
        transaction: None,
    })
}

fn scaled(name: &'static str, number: u64, factor: u64) -> Result<u64, LineError> {
    let scaled = number.checked_mul(factor);
    scaled.ok_or(LineError::TooLarge { name, number })
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
