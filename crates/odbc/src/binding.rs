//! The rules by which a driver takes parameters and gives columns.

/// The rules by which a dialect's driver takes parameters and gives columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BindingOptions {
    /// Decimals and moments have types; otherwise they are whole numbers.
    pub(super) has_decimals: bool,
    /// Whether columns can be described and bound before execution; if not, they are described
    /// again after it, and fetched one by one.
    pub(super) binds_columns: bool,
    /// Text and bytes must be bound for each execution: the driver keeps their first length.
    pub(super) binds_each_time: bool,
    /// Digits after the decimal point of a timestamp's seconds.
    pub(super) fraction_digits: u8,
}

impl BindingOptions {
    /// The rules of the standard.
    pub(super) const STANDARD: Self = Self {
        has_decimals: true,
        binds_columns: true,
        binds_each_time: false,
        fraction_digits: 6,
    };
}
