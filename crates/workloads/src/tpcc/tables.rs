//! How the transactions reach the nine tables: one trait, implemented over keys and values and over
//! SQL. Its operations are as large as a SQL store needs to answer each in one or two round trips.
//!
//! A store is made for one session and used by one thread.
//!
//! Every operation can fail, and its error is the engine's: a [`trueput_engine::Error::Conflict`]
//! has the transaction aborted and tried again with the same input. A row that must be there and is
//! not (a warehouse, a district, a customer, an order, a stock) is
//! [`trueput_engine::Error::Engine`], which fails the trial.
//!
//! Where several rows are handed over or asked for, `out` is cleared first and is filled in
//! the order of what was asked.

use super::input::CustomerSelector;
use super::procedures::Procedures;
use super::rows::{
    Address, CustomerRow, DistrictKey, DistrictRow, HistoryRow, ItemRow, NewOrderRow, OrderLineRow,
    OrderRow, StockRow, Table, WarehouseRow,
};
use crate::fixed_text::FixedText;
use crate::keyed::transaction::TransactionScope;
use std::fmt;
use trueput_engine::Result;

/// The purpose of looking a customer up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadIntent {
    /// Order-status: the row is read only. C_DATA need not be filled in.
    Show,
    /// Payment: [`PaymentTables::pay_customer`] follows in the same transaction, so a store that
    /// locks takes the lock here.
    Pay,
}

/// The fields of a customer and of the warehouse that a new-order reads at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BuyerState {
    /// C_DISCOUNT, parts of ten thousand.
    pub discount: i64,
    /// C_LAST.
    pub last: FixedText<16>,
    /// C_CREDIT.
    pub credit: FixedText<2>,
    /// W_TAX, parts of ten thousand.
    pub warehouse_tax: i64,
}

/// The number that a new order got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderNumber {
    /// D_NEXT_O_ID before it was raised: the new O_ID.
    pub order: u32,
    /// D_TAX, parts of ten thousand.
    pub district_tax: i64,
}

/// The fields of an item that a new-order reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Item {
    /// I_PRICE, cents.
    pub price: i64,
    /// I_NAME.
    pub name: FixedText<24>,
    /// I_DATA.
    pub data: FixedText<50>,
}

/// The fields of a stock that a new-order reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stock {
    /// S_QUANTITY.
    pub quantity: i32,
    /// S_YTD.
    pub ytd: i64,
    /// S_ORDER_CNT.
    pub order_count: u32,
    /// S_REMOTE_CNT.
    pub remote_count: u32,
    /// S_DIST_xx of the district asked for.
    pub district_info: FixedText<24>,
    /// S_DATA.
    pub data: FixedText<50>,
}

/// The key of a stock: S_W_ID and S_I_ID.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StockKey {
    /// S_W_ID.
    pub warehouse: u32,
    /// S_I_ID.
    pub item: u32,
}

impl fmt::Display for StockKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { warehouse, item } = self;
        write!(
            formatter,
            "the stock of item {item} in warehouse {warehouse}"
        )
    }
}

/// The new values that a new-order writes to a stock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StockChange {
    /// The key of the stock row.
    pub key: StockKey,
    /// S_QUANTITY.
    pub quantity: i32,
    /// S_YTD.
    pub ytd: i64,
    /// S_ORDER_CNT.
    pub order_count: u32,
    /// S_REMOTE_CNT.
    pub remote_count: u32,
}

/// Name and address of a warehouse or a district, as a payment shows them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Payee {
    /// W_NAME or D_NAME.
    pub name: FixedText<10>,
    /// The address.
    pub address: Address,
}

/// The new values that a payment writes to a customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CustomerChange<'a> {
    /// C_W_ID.
    pub warehouse: u32,
    /// C_D_ID.
    pub district: u8,
    /// C_ID.
    pub customer: u32,
    /// C_BALANCE, cents.
    pub balance: i64,
    /// C_YTD_PAYMENT, cents.
    pub ytd_payment: i64,
    /// C_PAYMENT_CNT.
    pub payment_count: u32,
    /// The new C_DATA, if it changes: customers of bad credit.
    pub data: Option<&'a FixedText<500>>,
}

/// The oldest undelivered order of a district.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UndeliveredOrder {
    /// NO_D_ID.
    pub district: u8,
    /// NO_O_ID.
    pub order: u32,
}

/// The customer and the amount of a delivered order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeliveredOrder {
    /// Its district.
    pub district: u8,
    /// O_C_ID.
    pub customer: u32,
    /// The sum of its lines' OL_AMOUNT, cents.
    pub amount: i64,
}

/// The columns of a district that consistency is checked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DistrictState {
    /// D_YTD, cents.
    pub ytd: i64,
    /// D_NEXT_O_ID.
    pub next_order: u32,
}

/// The columns of a customer that consistency is checked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CustomerState {
    /// C_ID.
    pub id: u32,
    /// C_BALANCE, cents.
    pub balance: i64,
    /// C_YTD_PAYMENT, cents.
    pub ytd_payment: i64,
}

/// The columns of a history row that consistency is checked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryState {
    /// H_C_W_ID.
    pub customer_warehouse: u32,
    /// H_C_D_ID.
    pub customer_district: u8,
    /// H_C_ID.
    pub customer: u32,
    /// H_W_ID.
    pub warehouse: u32,
    /// H_D_ID.
    pub district: u8,
    /// H_AMOUNT, cents.
    pub amount: i64,
}

/// The columns of an order that consistency is checked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderState {
    /// O_ID.
    pub id: u32,
    /// O_C_ID.
    pub customer: u32,
    /// Whether O_CARRIER_ID is set.
    pub has_carrier: bool,
    /// O_OL_CNT.
    pub lines: u8,
}

/// The columns of an order-line that consistency is checked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineState {
    /// OL_O_ID.
    pub order: u32,
    /// Whether OL_DELIVERY_D is set.
    pub is_delivered: bool,
    /// OL_AMOUNT, cents.
    pub amount: i64,
}

/// Is shown rows, one after the other.
pub type Visitor<'v, T> = &'v mut dyn FnMut(T);

/// Rows of one table, to be loaded.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "each is the table that it is named for")]
pub enum Rows<'r> {
    Warehouses(&'r [WarehouseRow]),
    Districts(&'r [DistrictRow]),
    Customers(&'r [CustomerRow]),
    Histories(&'r [HistoryRow]),
    NewOrders(&'r [NewOrderRow]),
    Orders(&'r [OrderRow]),
    OrderLines(&'r [OrderLineRow]),
    Items(&'r [ItemRow]),
    Stocks(&'r [StockRow]),
}

/// The nine tables in a database, through one session.
///
/// Every operation but [`TableLoad::create`] and [`TableLoad::finish_load`] is between a
/// `begin` and a `commit` or `abort`, which have the meaning and the rules of
/// [`trueput_engine::Session`]'s: write transactions are serialisable, or see one snapshot and lose
/// to the transaction that wrote a row first. TPC-C's own mix is serializable under either.
pub trait Tables:
    NewOrderTables
    + PaymentTables
    + OrderStatusTables
    + DeliveryTables
    + StockLevelTables
    + TableLoad
    + TableContents
    + TransactionScope
{
    /// The transactions as server functions, if the store uses them.
    fn procedures(&mut self) -> Option<&mut dyn Procedures> {
        None
    }

    /// Sets I_PRICE of an item, cents.
    fn set_price(&mut self, item: u32, price: i64) -> Result<()>;

    /// Reads the same rows by their keys, as transactions find them, and the entries of the
    /// secondary indexes for them, so that both are in the engine's cache. It is called in a read
    /// transaction.
    fn prime(&mut self, table: Table, warehouse: u32) -> Result<()> {
        self.read_table(table, warehouse).map(drop)
    }
}

/// The tables as new-order uses them, clause 2.4.2.2, in this order.
pub trait NewOrderTables {
    /// The customer who orders, with the tax of the warehouse.
    fn buyer(&mut self, district: DistrictKey, customer: u32) -> Result<BuyerState>;

    /// Reads D_NEXT_O_ID and D_TAX and raises the former by one. A store that locks takes the lock
    /// on the district here.
    fn take_order_number(&mut self, district: DistrictKey) -> Result<OrderNumber>;

    /// Inserts the row of ORDER, and that of NEW-ORDER which goes with it.
    fn insert_order(&mut self, order: &OrderRow) -> Result<()>;

    /// Reads the items of these I_IDs, which are ascending without repetition; `None` for one that
    /// is not there: the unused number of clause 2.4.1.5, which rolls the order back.
    fn items(&mut self, ids: &[u32], out: &mut Vec<Option<Item>>) -> Result<()>;

    /// Reads the stocks of these keys, which are ascending without repetition, with S_DIST_xx of
    /// `district`. A store that locks takes the locks here, in this order.
    fn stocks(&mut self, keys: &[StockKey], district: u8, out: &mut Vec<Stock>) -> Result<()>;

    /// Writes the stocks that the last [`NewOrderTables::stocks`] of this transaction has read: the
    /// same keys in the same order.
    fn update_stocks(&mut self, changes: &[StockChange]) -> Result<()>;

    /// Inserts the lines of one order, 5 to 15 of them.
    fn insert_order_lines(&mut self, lines: &[OrderLineRow]) -> Result<()>;
}

/// The tables as payment uses them, clause 2.5.2.2.
pub trait PaymentTables {
    /// Adds `amount` cents to W_YTD, and reads name and address.
    fn pay_warehouse(&mut self, warehouse: u32, amount: i64) -> Result<Payee>;

    /// Adds `amount` cents to D_YTD, and reads name and address.
    fn pay_district(&mut self, district: DistrictKey, amount: i64) -> Result<Payee>;

    /// Reads a customer into `out`; also order-status, clause 2.6.2.2.
    fn customer(
        &mut self,
        district: DistrictKey,
        who: &CustomerSelector,
        intent: ReadIntent,
        out: &mut CustomerRow,
    ) -> Result<()>;

    /// Writes the customer that the last [`PaymentTables::customer`] of this transaction has read
    /// with [`ReadIntent::Pay`].
    fn pay_customer(&mut self, change: &CustomerChange<'_>) -> Result<()>;

    /// Inserts a row of HISTORY.
    fn insert_history(&mut self, row: &HistoryRow) -> Result<()>;
}

/// The tables as order-status uses them, clause 2.6.2.2, after [`PaymentTables::customer`].
pub trait OrderStatusTables {
    /// The customer's order of the largest O_ID; `None` if there is none.
    fn last_order(&mut self, district: DistrictKey, customer: u32) -> Result<Option<OrderRow>>;

    /// Every line of an order, by OL_NUMBER.
    fn order_lines(
        &mut self,
        district: DistrictKey,
        order: u32,
        out: &mut Vec<OrderLineRow>,
    ) -> Result<()>;
}

/// The tables as delivery uses them, clause 2.7.4.2, for all districts of a warehouse in one
/// transaction.
pub trait DeliveryTables {
    /// Takes out of NEW-ORDER, in each of the ten districts, the row of the smallest NO_O_ID; a
    /// district that has none is left out of `out`. A store whose engine lets two transactions read
    /// the same row must notice that another has taken it, and answer
    /// [`trueput_engine::Error::Conflict`].
    fn take_oldest_new_orders(
        &mut self,
        warehouse: u32,
        out: &mut Vec<UndeliveredOrder>,
    ) -> Result<()>;

    /// Sets O_CARRIER_ID of these orders and OL_DELIVERY_D of their lines, and returns their
    /// customers and totals.
    fn deliver(
        &mut self,
        warehouse: u32,
        due: &[UndeliveredOrder],
        carrier: u8,
        at: i64,
        out: &mut Vec<DeliveredOrder>,
    ) -> Result<()>;

    /// Adds each amount to the customer's C_BALANCE, and 1 to C_DELIVERY_CNT.
    fn credit_deliveries(&mut self, warehouse: u32, delivered: &[DeliveredOrder]) -> Result<()>;
}

/// The tables as stock-level uses them, clause 2.8.2.2.
pub trait StockLevelTables {
    /// Counts the distinct items of the district's last 20 orders (from D_NEXT_O_ID less 20 to
    /// before D_NEXT_O_ID) that have, in this warehouse's STOCK, an S_QUANTITY below `threshold`.
    fn low_stock(&mut self, district: DistrictKey, threshold: i32) -> Result<u64>;
}

/// The load of the tables, clause 4.3.
pub trait TableLoad {
    /// Makes the tables, empty, in a database that is new. No transaction is open.
    fn create(&mut self) -> Result<()>;

    /// Puts new rows: at most some thousand per call, several calls per transaction. Returns the
    /// bytes that the store made of them: keys and values with those of its indexes, or the
    /// parameters that a SQL store sent.
    fn load(&mut self, rows: Rows<'_>) -> Result<u64>;

    /// Called once after every row is loaded, while no transaction is open: indexes that are
    /// better made late, statistics for the planner.
    fn finish_load(&mut self) -> Result<()>;
}

/// The contents of the tables, for the consistency conditions of clause 3.3.2. Each operation shows
/// rows of one district or warehouse.
pub trait TableContents {
    /// W_YTD, cents.
    fn warehouse_ytd(&mut self, warehouse: u32) -> Result<i64>;

    /// The state of a district.
    fn district_state(&mut self, district: DistrictKey) -> Result<DistrictState>;

    /// Every customer of a district.
    fn each_customer(
        &mut self,
        district: DistrictKey,
        visitor: Visitor<'_, CustomerState>,
    ) -> Result<()>;

    /// Every row of HISTORY.
    fn each_history(&mut self, visitor: Visitor<'_, HistoryState>) -> Result<()>;

    /// Every order of a district, by O_ID.
    fn each_order(&mut self, district: DistrictKey, visitor: Visitor<'_, OrderState>)
    -> Result<()>;

    /// The NO_O_ID of every new order of a district, ascending.
    fn each_new_order(&mut self, district: DistrictKey, visitor: Visitor<'_, u32>) -> Result<()>;

    /// Every order-line of a district, by OL_O_ID.
    fn each_order_line(
        &mut self,
        district: DistrictKey,
        visitor: Visitor<'_, LineState>,
    ) -> Result<()>;

    /// Reads every column of every row that a table has for a warehouse ([`Table::Item`], which is
    /// of none, and [`Table::History`], which need not be stored by warehouse: every row), and
    /// counts the rows.
    fn read_table(&mut self, table: Table, warehouse: u32) -> Result<u64>;
}
