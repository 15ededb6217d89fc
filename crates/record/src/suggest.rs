//! The nearest known name to a misspelled one.

/// Returns ` (did you mean 'NAME'?)` with the known name nearest to `given`; empty if none is near.
///
/// ```
/// use trueput_record::suggest::did_you_mean;
/// assert_eq!(did_you_mean("lmbd", ["redb", "lmdb"]), " (did you mean 'lmdb'?)");
/// assert_eq!(did_you_mean("oracle", ["redb", "lmdb"]), "");
/// assert_eq!(did_you_mean("cach", ["page_size", "cache_size"]), " (did you mean 'cache_size'?)");
/// ```
#[must_use]
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, known)
        .map(|name| format!(" (did you mean '{name}'?)"))
        .unwrap_or_default()
}

/// A name that is none of the known ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no {kind} '{given}'{}; {lead} {}",
    did_you_mean(given, known.iter().copied()),
    known.join(", ")
)]
pub struct UnknownName {
    /// What it would name: `durability level`.
    pub kind: &'static str,
    /// The name.
    pub given: String,
    /// The words before the known names: `the levels are`.
    pub lead: &'static str,
    /// The known names.
    pub known: Vec<&'static str>,
}

/// Returns the one of `all` that has this name.
pub(crate) fn find_named<T: Copy, const N: usize>(
    given: &str,
    all: [T; N],
    name: fn(T) -> &'static str,
    [kind, lead]: [&'static str; 2],
) -> Result<T, UnknownName> {
    let found = all.into_iter().find(|one| name(*one) == given);
    found.ok_or_else(|| UnknownName {
        kind,
        given: given.to_owned(),
        lead,
        known: all.map(name).to_vec(),
    })
}

/// Returns the known name with the fewest edits from `given` (swapped letters count as one) if it
/// is near enough to be a misspelling; else one that has a word so near: `cache_size` for `cach`.
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<_> = known.into_iter().collect();
    let lower = given.to_lowercase();
    let near = known
        .iter()
        .copied()
        .map(|name| {
            (
                strsim::damerau_levenshtein(&lower, &name.to_lowercase()),
                name,
            )
        })
        .filter(|(distance, name)| *distance <= 1 + name.len().max(given.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name);
    let has_word = |name: &&str| {
        let mut words = name.split(['_', '-', '.']);
        words.any(|word| strsim::damerau_levenshtein(&lower, &word.to_lowercase()) <= 1)
    };
    let by_word = || known.iter().copied().find(has_word);
    near.or_else(|| (given.len() >= MIN_WORD).then(by_word)?)
}

/// Shorter words are near too many others.
const MIN_WORD: usize = 4;

/// Synonyms in names of settings; the first one is canonical.
const SYNONYMS: [&[&str]; 3] = [
    &["bytes", "size", "length", "len"],
    &["percent", "proportion", "ratio", "pct"],
    &["count", "number", "num"],
];

/// Names of settings in other benchmarks, trueput's names for them, and the difference.
const ALIASES: [(&str, &str, &str); 9] = [
    (
        "read_percent",
        "update_percent",
        "reads are what the other shares leave",
    ),
    (
        "value_bytes",
        "fieldlength",
        "a record has fieldcount fields",
    ),
    ("record_count", "records", ""),
    ("num", "records", ""),
    ("entries", "records", ""),
    ("records", "recordcount", ""),
    ("num", "recordcount", ""),
    ("operation_count", "operations", ""),
    ("operations", "operationcount", ""),
];

/// Other names of engines, and those of their drivers.
const ENGINE_ALIASES: [(&str, &str); 13] = [
    ("basho-leveldb", "leveldb"),
    ("bdb", "berkeleydb"),
    ("hyperleveldb", "leveldb"),
    ("innodb", "mariadb"),
    ("libmdbx", "mdbx"),
    ("myrocks", "mariadb"),
    ("mysql", "mariadb"),
    ("percona-ft", "tokudb"),
    ("pg", "postgresql"),
    ("postgres", "postgresql"),
    ("speedb", "rocksdb"),
    ("tokuft", "tokudb"),
    ("wt", "wiredtiger"),
];

/// As [`did_you_mean`], for the name of an engine.
///
/// ```
/// use trueput_record::suggest::engine_hint;
/// assert_eq!(engine_hint("libmdbx", ["lmdb", "mdbx"]), " (did you mean 'mdbx'?)");
/// ```
#[must_use]
pub fn engine_hint<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let lower = given.to_lowercase();
    let alias = ENGINE_ALIASES.iter().find(|(alias, _)| *alias == lower);
    did_you_mean(alias.map_or(given, |(_, name)| name), known)
}

/// A known setting, suggested for an unknown name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suggestion<'a> {
    /// The setting's name.
    pub name: &'a str,
    /// The difference; empty if the names mean the same.
    pub note: &'static str,
}

/// Returns the known setting that is a synonym of `given`: `value_bytes` for `value_size`.
#[must_use]
pub fn same_setting<'a>(
    given: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<Suggestion<'a>> {
    let known: Vec<_> = known.into_iter().collect();
    let given = canonical(given);
    let same = known.iter().find(|name| canonical(name) == given);
    if let Some(name) = same {
        return Some(Suggestion { name, note: "" });
    }
    ALIASES.iter().find_map(|(alias, means, note)| {
        let name = known.iter().find(|name| *name == means)?;
        (canonical(alias) == given).then_some(Suggestion { name, note })
    })
}

/// As [`did_you_mean`], for the name of a setting.
///
/// ```
/// use trueput_record::suggest::setting_hint;
/// let hint = setting_hint("value_size", ["records", "value_bytes"]);
/// assert_eq!(hint, " (did you mean 'value_bytes'?)");
/// let hint = setting_hint("read_percent", ["readproportion"]);
/// assert_eq!(hint, " (did you mean 'readproportion'?)");
/// ```
#[must_use]
pub fn setting_hint<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<_> = known.into_iter().collect();
    match same_setting(given, known.iter().copied()) {
        Some(Suggestion { name, note: "" }) => format!(" (did you mean '{name}'?)"),
        Some(Suggestion { name, note }) => format!(" (did you mean '{name}'? {note})"),
        None => did_you_mean(given, known),
    }
}

/// Normalizes a setting's name: without case and separators, each word replaced by its first
/// synonym. A synonym is a word or the end of one (`fieldlength`), never a part within.
fn canonical(name: &str) -> String {
    let name = name.to_lowercase();
    let by_first_synonym = |word: &str| {
        let with_first = |words: &&[&str]| {
            let stem = words[1..].iter().find_map(|last| word.strip_suffix(last))?;
            Some(format!("{stem}{}", words[0]))
        };
        let found = SYNONYMS.iter().find_map(with_first);
        found.unwrap_or_else(|| word.to_owned())
    };
    name.split(['_', '-', '.']).map(by_first_synonym).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_found_by_what_others_call_it() {
        let micro = [
            "records",
            "size",
            "key_bytes",
            "value_bytes",
            "update_percent",
            "scan_percent",
        ];
        let ycsb = [
            "recordcount",
            "operationcount",
            "fieldlength",
            "readproportion",
        ];
        let name = |given, known: &[&'static str]| {
            same_setting(given, known.iter().copied()).map(|found| found.name)
        };
        assert_eq!(name("value_size", &micro), Some("value_bytes"));
        assert_eq!(name("key-length", &micro), Some("key_bytes"));
        assert_eq!(name("recordcount", &micro), Some("records"));
        assert_eq!(name("read_percent", &micro), Some("update_percent"));
        assert_eq!(name("value_size", &ycsb), Some("fieldlength"));
        assert_eq!(name("read_percent", &ycsb), Some("readproportion"));
        assert_eq!(name("records", &ycsb), Some("recordcount"));
        assert_eq!(name("pacing", &ycsb), None);
    }

    #[test]
    fn a_synonym_within_a_word_is_left_alone() {
        assert_eq!(canonical("Field-Length"), "fieldbytes");
        assert_eq!(canonical("num_records"), "countrecords");
        for word in ["enumerate", "silent", "duration", "lengthen", "sizes"] {
            assert_eq!(canonical(word), word);
        }
    }
}
