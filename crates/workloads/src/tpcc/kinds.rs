//! The kinds of operation, as indexes of [`crate::Job::kinds`].

use super::input::Input;

pub(super) const NEW_ORDER: usize = 0;
pub(super) const PAYMENT: usize = 1;
pub(super) const ORDER_STATUS: usize = 2;
pub(super) const DELIVERY: usize = 3;
pub(super) const STOCK_LEVEL: usize = 4;
/// A new-order that was rolled back for its unused item (clause 2.4.1.4).
pub(super) const ROLLED_BACK: usize = 5;

/// Their names.
pub(super) const NAMES: [&str; 6] = [
    "new-order",
    "payment",
    "order-status",
    "delivery",
    "stock-level",
    "rolled-back new-order",
];

/// Response times of which 90 of 100 must be within, seconds, in the order of [`NAMES`] (clause
/// 5.2.5.7; for a delivery the 80 seconds within which it is to be executed, clause 2.7.2.3).
pub(super) const LIMITS_S: [f64; 6] = [5.0, 5.0, 5.0, 80.0, 20.0, 5.0];

/// The kind of an input.
pub(super) fn of(input: &Input) -> usize {
    match input {
        Input::NewOrder(_) => NEW_ORDER,
        Input::Payment(_) => PAYMENT,
        Input::OrderStatus(_) => ORDER_STATUS,
        Input::Delivery(_) => DELIVERY,
        Input::StockLevel(_) => STOCK_LEVEL,
    }
}
