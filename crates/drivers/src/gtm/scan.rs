//! Scans: records come from GT.M a page at a time, or each would cost a call.

use super::MAX_KEY_BYTES;
use super::process::{ProcessGuard, subscript};
use std::ops::{Bound, ControlFlow, Range};
use trueput_engine::{Direction, Error, KeyRange, Result};

/// Records of the first page; each page after it has twice as many.
const FIRST_PAGE: i64 = 16;
const MAX_PAGE: i64 = 1024;

/// An observation of a scan about the stored records, as subscripts.
pub(super) enum ScanStep<'s> {
    /// The key at which it was to start is not there.
    Absent { subscript: &'s [u8] },
    /// A record; `after` is the key before it, absent if the scan starts at it.
    Record {
        after: Option<&'s [u8]>,
        subscript: &'s [u8],
        value: &'s [u8],
    },
    /// A record that the range has no more.
    Beyond {
        after: &'s [u8],
        subscript: &'s [u8],
    },
    /// The end of the range.
    End { after: &'s [u8] },
}

/// A record of the page: where its subscript and its value are; a long value is not in the page.
type RecordRange = (Range<usize>, Option<Range<usize>>);

/// The state of a scan; its memory is kept from one to the next.
#[derive(Default)]
pub(super) struct PageReader {
    bytes: Vec<u8>,
    records: Vec<RecordRange>,
    /// The subscript that was seen last, or where to start.
    after: Vec<u8>,
    /// Whether the scan is to start at `after` itself.
    inclusive: bool,
    /// The far end, without prefix.
    end: Option<(Vec<u8>, bool)>,
    direction: Option<Direction>,
    most: i64,
    long_value: Vec<u8>,
}

/// Shown each record of the range, and nothing at its end.
type StoredRecordVisitor<'v> = dyn FnMut(Option<(&[u8], &[u8])>) -> ControlFlow<()> + 'v;

impl PageReader {
    /// Starts a scan of a range that is not empty.
    pub(super) fn begin(&mut self, range: KeyRange<'_>, direction: Direction) {
        let (near, far) = match direction {
            Direction::Forward => (range.lower, range.upper),
            Direction::Backward => (range.upper, range.lower),
        };
        self.direction = Some(direction);
        self.most = FIRST_PAGE;
        self.inclusive = matches!(near, Bound::Included(_));
        self.after.clear();
        if let Bound::Included(key) | Bound::Excluded(key) = near {
            // A longer key cannot be stored, and sorts directly after its truncation.
            let cut = &key[..key.len().min(MAX_KEY_BYTES)];
            if cut.len() < key.len() {
                self.inclusive = direction == Direction::Backward;
            }
            subscript(&mut self.after, cut);
        }
        self.end = match far {
            Bound::Included(key) => Some((key.to_vec(), true)),
            Bound::Excluded(key) => Some((key.to_vec(), false)),
            Bound::Unbounded => None,
        };
    }

    fn is_backward(&self) -> bool {
        self.direction == Some(Direction::Backward)
    }

    /// Whether the range has a key that is on its way.
    fn admits(&self, key: &[u8]) -> bool {
        let Some((end, included)) = &self.end else {
            return true;
        };
        let order = if self.is_backward() {
            end.as_slice().cmp(key)
        } else {
            key.cmp(end)
        };
        order.is_lt() || (*included && order.is_eq())
    }

    /// Goes through the range until `visit` breaks.
    pub(super) fn walk<'p>(
        &mut self,
        guard: impl Fn() -> Result<ProcessGuard<'p>>,
        note: &mut dyn FnMut(&ScanStep<'_>),
        visit: &mut StoredRecordVisitor<'_>,
    ) -> Result<()> {
        loop {
            let more = self.fetch(&mut guard()?)?;
            let records = std::mem::take(&mut self.records);
            let walked = self.walk_page(&records, &guard, note, visit);
            self.records = records;
            if walked?.is_break() {
                return Ok(());
            }
            if !more {
                note(&ScanStep::End { after: &self.after });
                let _ = visit(None);
                return Ok(());
            }
        }
    }

    fn walk_page<'p>(
        &mut self,
        records: &[RecordRange],
        guard: &impl Fn() -> Result<ProcessGuard<'p>>,
        note: &mut dyn FnMut(&ScanStep<'_>),
        visit: &mut StoredRecordVisitor<'_>,
    ) -> Result<ControlFlow<()>> {
        for (index, (key, value)) in records.iter().enumerate() {
            let subscript = &self.bytes[key.clone()];
            let is_start = index == 0 && self.inclusive && subscript == self.after;
            if index == 0 && self.inclusive && !is_start {
                note(&ScanStep::Absent {
                    subscript: &self.after,
                });
            }
            let after = (!is_start).then_some(self.after.as_slice());
            if !self.admits(&subscript[1..]) {
                if let Some(after) = after {
                    note(&ScanStep::Beyond { after, subscript });
                }
                let _ = visit(None);
                return Ok(ControlFlow::Break(()));
            }
            let value = match value {
                Some(value) => &self.bytes[value.clone()],
                None => match guard()?.get(subscript)? {
                    Some(value) => {
                        self.long_value.clear();
                        self.long_value.extend_from_slice(value);
                        &self.long_value
                    }
                    // Deleted since the page was read: a later page would not have had it.
                    None => continue,
                },
            };
            note(&ScanStep::Record {
                after,
                subscript,
                value,
            });
            if visit(Some((&subscript[1..], value))).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            self.after.clear();
            self.after.extend_from_slice(&self.bytes[key.clone()]);
        }
        if records.is_empty() && self.inclusive {
            note(&ScanStep::Absent {
                subscript: &self.after,
            });
        }
        self.inclusive = false;
        Ok(ControlFlow::Continue(()))
    }

    /// Reads the next page; returns whether there may be another.
    fn fetch(&mut self, guard: &mut ProcessGuard<'_>) -> Result<bool> {
        let way = if self.is_backward() { -1 } else { 1 };
        let (text, more) = guard.page(&self.after, self.inclusive, way, self.most)?;
        self.most = (self.most * 2).min(MAX_PAGE);
        self.bytes.clear();
        self.bytes.extend_from_slice(text);
        parse(&self.bytes, &mut self.records)?;
        Ok(more)
    }
}

/// Parses the records of a page: `KEYBYTES,VALUEBYTES,KEYVALUE…`, or `KEYBYTES,,KEY` if the value
/// is long.
fn parse(text: &[u8], records: &mut Vec<RecordRange>) -> Result<()> {
    records.clear();
    let mut at = 0;
    while at < text.len() {
        let place = record(text, &mut at)
            .ok_or_else(|| Error::engine("GT.M gave a page that cannot be read"))?;
        records.push(place);
    }
    Ok(())
}

fn record(text: &[u8], at: &mut usize) -> Option<RecordRange> {
    let key_bytes = number(text, at)??;
    let value_bytes = number(text, at)?;
    let key = *at..*at + key_bytes;
    let value = value_bytes.map(|bytes| key.end..key.end + bytes);
    *at = value.as_ref().unwrap_or(&key).end;
    (*at <= text.len() && key_bytes > 0).then_some((key, value))
}

/// The number up to the next comma; the inner `None` is for no digits.
fn number(text: &[u8], at: &mut usize) -> Option<Option<usize>> {
    let rest = &text[*at..];
    let comma = rest.iter().position(|&byte| byte == b',')?;
    *at += comma + 1;
    if comma == 0 {
        return Some(None);
    }
    let digits = std::str::from_utf8(&rest[..comma]).ok()?;
    digits.parse().ok().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_lengths_and_strings() {
        let mut records = Vec::new();
        parse(b"2,3,ka1,22,,kb1,0,k", &mut records).unwrap();
        assert_eq!(
            records,
            [(4..6, Some(6..9)), (12..14, None), (18..19, Some(19..19))]
        );
    }

    #[test]
    fn a_torn_page_is_refused() {
        for text in ["2,3,ka1", "2", "x,3,kab", ",3,abc", "2,x,ka"] {
            assert!(parse(text.as_bytes(), &mut Vec::new()).is_err(), "'{text}'");
        }
    }
}
