//! The nearest known name to a misspelled one.

/// `"; did you mean 'NAME'?"`-like text for the known name nearest to `given`, or nothing when none
/// is near.
///
/// ```
/// use trueput_record::suggest::did_you_mean;
/// assert_eq!(did_you_mean("lmbd", ["redb", "lmdb"]), " (did you mean 'lmdb'?)");
/// assert_eq!(did_you_mean("oracle", ["redb", "lmdb"]), "");
/// ```
#[must_use]
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, known)
        .map(|name| format!(" (did you mean '{name}'?)"))
        .unwrap_or_default()
}

/// The known name nearest to `given` in edits, swapped letters counting as one, if it is near
/// enough to be a misspelling.
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = given.to_lowercase();
    known
        .into_iter()
        .map(|name| {
            (
                strsim::damerau_levenshtein(&lower, &name.to_lowercase()),
                name,
            )
        })
        .filter(|(distance, name)| *distance <= 1 + name.len().max(given.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
