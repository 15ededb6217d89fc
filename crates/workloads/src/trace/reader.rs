//! Reads a trace file and checks every line that it reads.

use super::builder::TraceBuilder;
use super::error::{FileError, LineError, TraceError};
use super::format::Format;
use super::grammar::{FormatChoice, MAX_LINE_BYTES};
use super::stored::Trace;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use trueput_record::regular_file::{self, OpenMode};
use trueput_record::text::without_byte_order_mark;

/// The name of the trace that is part of the program.
pub(super) const EXAMPLE_NAME: &str = "example";

/// The trace that is part of the program.
const EXAMPLE: &str = include_str!("../../traces/example.csv");

/// The first bytes of compressed files, with the program that decompresses them.
const COMPRESSED: [(&[u8], &str); 3] = [
    (&[0x1f, 0x8b], "gzip -d"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd -d"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz -d"),
];

/// First lines of which none shows the format, before the rest of a file is not read.
const MAX_UNRECOGNIZED: u32 = 10;

/// What is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    /// The path, or [`EXAMPLE_NAME`].
    pub file: String,
    pub format: FormatChoice,
    /// Requests to read; 0: all.
    pub requests: u64,
}

/// Reads a trace. Damaged lines are passed to `damaged` and skipped.
///
/// # Errors
/// The file cannot be read, is of no known format, is too large for the memory, or has no valid
/// line. Also the first error of `damaged`.
pub(super) fn read(
    source: &Source,
    damaged: &mut dyn FnMut(TraceError) -> Result<(), TraceError>,
) -> Result<Trace, TraceError> {
    let file = &source.file;
    let of_file = |error: FileError| TraceError::File {
        file: file.clone(),
        error,
    };
    let mut lines = open(file).map_err(of_file)?;
    let mut builder = TraceBuilder::new(source.requests);
    let (mut buffer, mut number, mut format) = (Vec::new(), 0_u64, None);
    let mut unrecognized = 0;
    while let Some(read) = next_line(&mut lines, &mut buffer).map_err(of_file)? {
        number += 1;
        if number == 1 {
            let length = without_byte_order_mark(&buffer).len();
            buffer.drain(..buffer.len() - length);
        }
        let at_line = |error: LineError| TraceError::Line {
            file: file.clone(),
            line: number,
            error,
        };
        let line = match read.and_then(|()| text_of(&buffer)) {
            Ok(line) if line.trim().is_empty() || line.starts_with('#') => continue,
            line => line.map_err(at_line),
        };
        let checked = match (&format, line) {
            // Without its format no line can be read; the next line may show it.
            (None, line) => {
                let first = line
                    .and_then(|line| Format::of_first_line(source.format, line).map_err(at_line));
                match first {
                    Err(error) => {
                        unrecognized += 1;
                        damaged(error.clone())?;
                        match unrecognized {
                            MAX_UNRECOGNIZED => return Err(error),
                            _ => continue,
                        }
                    }
                    Ok((found, is_header)) => {
                        let format = format.insert(found);
                        if is_header {
                            continue;
                        } else {
                            text_of(&buffer).and_then(|line| format.parse(line))
                        }
                    }
                }
            }
            (Some(_), Err(error)) => {
                damaged(error)?;
                continue;
            }
            (Some(format), Ok(line)) => format.parse(line),
        };
        match checked.and_then(|line| builder.add(&line)) {
            Ok(()) => {}
            Err(error) => damaged(at_line(error))?,
        }
        if builder.is_full() {
            break;
        }
        builder.check_memory().map_err(of_file)?;
    }
    let format = format.ok_or_else(|| of_file(FileError::NoOperation))?;
    builder.finish(&format).map_err(of_file)
}

/// Reads a trace whose every line must be valid. The last trace is kept, because the trials of a
/// plan and the workers of a process read the same one.
///
/// # Errors
/// As [`read`], and the first damaged line.
pub(super) fn read_valid(source: &Source) -> Result<Arc<Trace>, TraceError> {
    type Stamp = Option<(SystemTime, u64)>;
    type CachedTrace = Option<(Source, Stamp, Arc<Trace>)>;
    static LAST: Mutex<CachedTrace> = Mutex::new(None);
    let stamp: Stamp = std::fs::metadata(&source.file)
        .and_then(|of_file| Ok((of_file.modified()?, of_file.len())))
        .ok();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, known_stamp, trace)) = &*last
        && (known, *known_stamp) == (source, stamp)
    {
        return Ok(trace.clone());
    }
    // Two traces need not fit into memory.
    *last = None;
    let trace = Arc::new(read(source, &mut Err)?);
    *last = Some((source.clone(), stamp, trace.clone()));
    Ok(trace)
}

fn open(file: &str) -> Result<Box<dyn BufRead>, FileError> {
    if file == EXAMPLE_NAME {
        return Ok(Box::new(EXAMPLE.as_bytes()));
    }
    let path = Path::new(file);
    // The path itself may be a link; what it leads to must be a regular file.
    let path = path.canonicalize()?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().map_or(path.as_path(), Path::new);
    let opened: File = regular_file::open(folder, name, OpenMode::Read)?;
    let mut lines = BufReader::with_capacity(1 << 20, opened);
    let start = lines.fill_buf()?;
    match COMPRESSED
        .iter()
        .find(|(magic, _)| start.starts_with(magic))
    {
        Some((_, program)) => Err(FileError::Compressed { program }),
        None => Ok(Box::new(lines)),
    }
}

/// Reads a line without its end; `None` at the end of the file. A line that is too long is skipped
/// to its end, and is the inner error.
#[allow(clippy::type_complexity, reason = "a line, or why there is none")]
fn next_line(
    lines: &mut dyn BufRead,
    buffer: &mut Vec<u8>,
) -> Result<Option<Result<(), LineError>>, FileError> {
    buffer.clear();
    let limited = &mut lines.take(MAX_LINE_BYTES);
    if limited.read_until(b'\n', buffer)? == 0 {
        return Ok(None);
    }
    let has_ended = buffer.last() == Some(&b'\n');
    if !has_ended && buffer.len() as u64 == MAX_LINE_BYTES {
        lines.skip_until(b'\n')?;
        return Ok(Some(Err(LineError::TooLong)));
    }
    Ok(Some(Ok(())))
}

fn text_of(line: &[u8]) -> Result<&str, LineError> {
    let line = std::str::from_utf8(line).map_err(|_| LineError::NotText)?;
    Ok(line.trim_end_matches(['\n', '\r']))
}
