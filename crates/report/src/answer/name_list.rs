//! Names in a row.

/// More names than these are counted instead.
const MAX_NAMES: usize = 3;

/// Lists names; if there are many, the first ones and a count: `a, b and 4 more`.
pub(crate) fn listed(names: &[&str]) -> String {
    if names.len() <= MAX_NAMES {
        return all_listed(names);
    }
    let shown = &names[..MAX_NAMES - 1];
    let more = names.len() - shown.len();
    format!("{} and {more} more", shown.join(separator(names)))
}

/// Lists all names: `a, b and c`.
pub(crate) fn all_listed(names: &[&str]) -> String {
    match names {
        [before @ .., last] if !before.is_empty() => {
            format!("{} and {last}", before.join(separator(names)))
        }
        _ => names.concat(),
    }
}

/// The separator between names, which may contain commas.
fn separator(names: &[&str]) -> &'static str {
    if names.iter().any(|name| name.contains(',')) {
        "; "
    } else {
        ", "
    }
}
