//! The transactions as procedures of a server: each is one statement in one round trip, and one
//! transaction of its own. They take the same inputs as those of [`super::transaction`] and leave
//! the same rows.

use super::input::{Delivery, NewOrder, OrderStatus, Payment, StockLevel};
use trueput_engine::Result;

/// The outcome of a new-order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewOrderOutcome {
    /// It was committed.
    Committed {
        /// O_ID.
        order: u32,
        /// The total amount, cents, rounded down.
        total: i64,
    },
    /// An item was not there, and it was rolled back (clause 2.4.2.3).
    RolledBack,
}

/// The transactions as functions of a store's server.
///
/// Each is called while no transaction is open. One that ends in an error, which is the engine's or
/// that a row is not there which must be, has been rolled back; a
/// [`trueput_engine::Error::Conflict`] has it tried again with the same input.
pub trait Procedures {
    /// New-order, clause 2.4.2.2, with the rule of clause 2.4.2.3. `at` is O_ENTRY_D, microseconds
    /// since 1970.
    fn new_order(&mut self, input: &NewOrder, at: i64) -> Result<NewOrderOutcome>;

    /// Payment, clause 2.5.2.2. `at` is H_DATE, microseconds since 1970.
    fn payment(&mut self, input: &Payment, at: i64) -> Result<()>;

    /// Order-status, clause 2.6.2.2: returns the number of lines of the customer's last order;
    /// `None` if there is no order.
    fn order_status(&mut self, input: &OrderStatus) -> Result<Option<usize>>;

    /// Delivery, clause 2.7.4.2, all ten districts: how many orders were delivered. `at` is
    /// OL_DELIVERY_D, microseconds since 1970.
    fn delivery(&mut self, input: &Delivery, at: i64) -> Result<usize>;

    /// Stock-level, clause 2.8.2.2: how many items are low.
    fn stock_level(&mut self, input: &StockLevel) -> Result<u64>;
}
