//! The rows of the nine tables (clause 1.3). Money is in cents, taxes and discounts in parts of
//! ten thousand, moments in microseconds since 1970-01-01 00:00 UTC.

use super::text::FixedText;

/// A table of clause 1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// WAREHOUSE.
    Warehouse,
    /// DISTRICT.
    District,
    /// CUSTOMER.
    Customer,
    /// HISTORY.
    History,
    /// NEW-ORDER.
    NewOrder,
    /// ORDER.
    Order,
    /// ORDER-LINE.
    OrderLine,
    /// ITEM, the one table that no warehouse owns.
    Item,
    /// STOCK.
    Stock,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 9] = [
        Self::Warehouse,
        Self::District,
        Self::Customer,
        Self::History,
        Self::NewOrder,
        Self::Order,
        Self::OrderLine,
        Self::Item,
        Self::Stock,
    ];

    /// Its name, as the specification writes it, in lower case with underscores.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Warehouse => "warehouse",
            Self::District => "district",
            Self::Customer => "customer",
            Self::History => "history",
            Self::NewOrder => "new_order",
            Self::Order => "orders",
            Self::OrderLine => "order_line",
            Self::Item => "item",
            Self::Stock => "stock",
        }
    }
}

/// The five columns of an address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is the column that it is named for")]
pub struct Address {
    pub street_1: FixedText<20>,
    pub street_2: FixedText<20>,
    pub city: FixedText<20>,
    pub state: FixedText<2>,
    pub zip: FixedText<9>,
}

/// A row of WAREHOUSE.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WarehouseRow {
    /// W_ID, from 1.
    pub id: u32,
    /// W_NAME.
    pub name: FixedText<10>,
    /// W_STREET_1 to W_ZIP.
    pub address: Address,
    /// W_TAX, parts of ten thousand.
    pub tax: i64,
    /// W_YTD, cents.
    pub ytd: i64,
}

/// A row of DISTRICT.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DistrictRow {
    /// D_W_ID.
    pub warehouse: u32,
    /// D_ID, 1 to 10.
    pub id: u8,
    /// D_NAME.
    pub name: FixedText<10>,
    /// D_STREET_1 to D_ZIP.
    pub address: Address,
    /// D_TAX, parts of ten thousand.
    pub tax: i64,
    /// D_YTD, cents.
    pub ytd: i64,
    /// D_NEXT_O_ID.
    pub next_order: u32,
}

/// A row of CUSTOMER.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CustomerRow {
    /// C_W_ID.
    pub warehouse: u32,
    /// C_D_ID.
    pub district: u8,
    /// C_ID, from 1.
    pub id: u32,
    /// C_FIRST.
    pub first: FixedText<16>,
    /// C_MIDDLE, always `OE`.
    pub middle: FixedText<2>,
    /// C_LAST.
    pub last: FixedText<16>,
    /// C_STREET_1 to C_ZIP.
    pub address: Address,
    /// C_PHONE.
    pub phone: FixedText<16>,
    /// C_SINCE.
    pub since: i64,
    /// C_CREDIT, `GC` or `BC`.
    pub credit: FixedText<2>,
    /// C_CREDIT_LIM, cents.
    pub credit_limit: i64,
    /// C_DISCOUNT, parts of ten thousand.
    pub discount: i64,
    /// C_BALANCE, cents; it may be negative.
    pub balance: i64,
    /// C_YTD_PAYMENT, cents.
    pub ytd_payment: i64,
    /// C_PAYMENT_CNT.
    pub payment_count: u32,
    /// C_DELIVERY_CNT.
    pub delivery_count: u32,
    /// C_DATA.
    pub data: FixedText<500>,
}

/// A row of HISTORY, which has no primary key in the specification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HistoryRow {
    /// Who wrote it: 0 for the load, a worker's number plus 1 otherwise. With `number` it makes a
    /// key that no two writers share, for stores that need one.
    pub writer: u32,
    /// Which of the writer's rows it is.
    pub number: u64,
    /// H_C_W_ID.
    pub customer_warehouse: u32,
    /// H_C_D_ID.
    pub customer_district: u8,
    /// H_C_ID.
    pub customer: u32,
    /// H_W_ID, where the payment was made.
    pub warehouse: u32,
    /// H_D_ID, where the payment was made.
    pub district: u8,
    /// H_DATE.
    pub at: i64,
    /// H_AMOUNT, cents.
    pub amount: i64,
    /// H_DATA.
    pub data: FixedText<24>,
}

/// A row of NEW-ORDER.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NewOrderRow {
    /// NO_W_ID.
    pub warehouse: u32,
    /// NO_D_ID.
    pub district: u8,
    /// NO_O_ID.
    pub order: u32,
}

/// A row of ORDER.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OrderRow {
    /// O_W_ID.
    pub warehouse: u32,
    /// O_D_ID.
    pub district: u8,
    /// O_ID, from 1 in each district.
    pub id: u32,
    /// O_C_ID.
    pub customer: u32,
    /// O_ENTRY_D.
    pub at: i64,
    /// O_CARRIER_ID, 1 to 10; `None` until the order is delivered.
    pub carrier: Option<u8>,
    /// O_OL_CNT, 5 to 15.
    pub lines: u8,
    /// O_ALL_LOCAL.
    pub all_local: bool,
}

/// A row of ORDER-LINE.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OrderLineRow {
    /// OL_W_ID.
    pub warehouse: u32,
    /// OL_D_ID.
    pub district: u8,
    /// OL_O_ID.
    pub order: u32,
    /// OL_NUMBER, from 1 in each order.
    pub number: u8,
    /// OL_I_ID.
    pub item: u32,
    /// OL_SUPPLY_W_ID.
    pub supplier: u32,
    /// OL_DELIVERY_D; `None` until the order is delivered.
    pub delivered_at: Option<i64>,
    /// OL_QUANTITY.
    pub quantity: u8,
    /// OL_AMOUNT, cents.
    pub amount: i64,
    /// OL_DIST_INFO.
    pub district_info: FixedText<24>,
}

/// A row of ITEM.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ItemRow {
    /// I_ID, from 1.
    pub id: u32,
    /// I_IM_ID.
    pub image: u32,
    /// I_NAME.
    pub name: FixedText<24>,
    /// I_PRICE, cents.
    pub price: i64,
    /// I_DATA.
    pub data: FixedText<50>,
}

/// A row of STOCK.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StockRow {
    /// S_W_ID.
    pub warehouse: u32,
    /// S_I_ID.
    pub item: u32,
    /// S_QUANTITY.
    pub quantity: i32,
    /// S_DIST_01 to S_DIST_10.
    pub district_info: [FixedText<24>; 10],
    /// S_YTD, a number of pieces.
    pub ytd: i64,
    /// S_ORDER_CNT.
    pub order_count: u32,
    /// S_REMOTE_CNT.
    pub remote_count: u32,
    /// S_DATA.
    pub data: FixedText<50>,
}
