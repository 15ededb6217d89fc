//! Room for the columns of a row while it is shown.

use trueput_engine::Datum;

/// Most rows have no more columns: their room costs next to nothing to prepare.
const FEW: usize = 4;
/// Rows of no more columns need no memory of their own.
const MANY: usize = 32;

/// Calls `show` with room for this many columns.
#[inline]
pub(crate) fn with_columns<'d, T>(columns: usize, show: impl FnOnce(&mut [Datum<'d>]) -> T) -> T {
    if columns <= FEW {
        let mut room = [Datum::Null; FEW];
        return show(&mut room[..columns]);
    }
    if columns <= MANY {
        let mut room = [Datum::Null; MANY];
        return show(&mut room[..columns]);
    }
    show(&mut vec![Datum::Null; columns])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_any_number_of_columns() {
        for columns in [0, 1, FEW, FEW + 1, MANY, MANY + 1, 1_000] {
            assert_eq!(with_columns(columns, |room| room.len()), columns);
        }
    }
}
