//! The types of columns, which each dialect writes in its own way.

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnType {
    /// A whole number in four bytes.
    Number,
    /// A whole number in two bytes.
    Small,
    /// A whole number in eight bytes.
    Large,
    /// Twelve digits, two of them behind the point.
    Money,
    /// Four digits behind the point.
    Rate,
    /// Text that always has this length.
    Fixed(u16),
    /// Text of up to this length.
    Text(u16),
    /// A moment.
    Moment,
}
