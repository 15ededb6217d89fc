//! The rows of the nine tables (clause 1.3). Money is in cents, taxes and discounts in parts of
//! ten thousand, moments in microseconds since 1970-01-01 00:00 UTC.

use crate::fixed_text::FixedText;
use crate::sql::columns::ColumnType::{
    self, Fixed, Large, Moment, Money, Number, Rate, Small, Text,
};
use crate::sql::columns::{Column, ColumnReader, ColumnValue};
use std::fmt;
use trueput_engine::{Datum, Result};

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

/// Districts of a warehouse (clause 1.2.1).
pub const DISTRICTS: u8 = 10;

/// The key of a district, and the prefix of the keys of its rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DistrictKey {
    /// The number of its warehouse, from 1.
    pub warehouse: u32,
    /// Its number within the warehouse, 1 to 10.
    pub district: u8,
}

impl DistrictKey {
    /// The key of a district of a warehouse.
    #[must_use]
    pub const fn new(warehouse: u32, district: u8) -> Self {
        Self {
            warehouse,
            district,
        }
    }

    /// The ten districts of a warehouse.
    pub fn all_of(warehouse: u32) -> impl Iterator<Item = Self> {
        (1..=DISTRICTS).map(move |district| Self::new(warehouse, district))
    }
}

impl fmt::Display for DistrictKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            warehouse,
            district,
        } = self;
        write!(formatter, "district {district} of warehouse {warehouse}")
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

impl ColumnValue for Address {
    fn push<'r>(&'r self, _: ColumnType, parameters: &mut Vec<Datum<'r>>) {
        parameters.extend([
            Datum::Text(self.street_1.as_str()),
            Datum::Text(self.street_2.as_str()),
            Datum::Text(self.city.as_str()),
            Datum::Text(self.state.as_str()),
            Datum::Text(self.zip.as_str()),
        ]);
    }

    fn read(_: ColumnType, columns: &mut ColumnReader<'_>) -> Result<Self> {
        Ok(Self {
            street_1: columns.text()?,
            street_2: columns.text()?,
            city: columns.text()?,
            state: columns.text()?,
            zip: columns.text()?,
        })
    }
}

/// A row of a table, with its columns in SQL.
pub(super) trait TableRow {
    /// The table.
    const TABLE: Table;
    /// The columns, in the order in which rows are inserted and read.
    const COLUMNS: &'static [Column];
    /// The number of leading columns that form the primary key.
    const KEY_COLUMNS: usize;

    /// Appends the values in the order of the columns.
    fn push_values<'r>(&'r self, parameters: &mut Vec<Datum<'r>>);

    /// Reads the values in the order of the columns.
    fn read_values(&mut self, columns: &mut ColumnReader<'_>) -> Result<()>;
}

/// Declares a row once: its fields, each with the column or columns of SQL that it is kept in, and
/// last the fields that are in no column.
macro_rules! table_row {
    ($(#[$about:meta])* $row:ident in $table:ident, key $key:literal {
        $($(#[$field_about:meta])* $field:ident: $type:ty =
            $column:ident $kind:expr $(, $next:ident $next_kind:expr)*;)+
    } $(and { $($(#[$extra_about:meta])* $extra:ident: $extra_type:ty;)+ })?) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $row {
            $(
                #[doc = concat!(
                    "`", stringify!($column), "`", $(", `", stringify!($next), "`",)* ".",
                )]
                $(#[$field_about])*
                pub $field: $type,
            )+
            $($($(#[$extra_about])* pub $extra: $extra_type,)+)?
        }

        impl TableRow for $row {
            const TABLE: Table = Table::$table;
            const COLUMNS: &'static [Column] = &[$(
                (stringify!($column), $kind, <$type as ColumnValue>::IS_OPTIONAL),
                $((stringify!($next), $next_kind, false),)*
            )+];
            const KEY_COLUMNS: usize = $key;

            fn push_values<'r>(&'r self, parameters: &mut Vec<Datum<'r>>) {
                $(self.$field.push($kind, parameters);)+
            }

            fn read_values(&mut self, columns: &mut ColumnReader<'_>) -> Result<()> {
                $(self.$field = columns.value($kind)?;)+
                Ok(())
            }
        }
    };
}

table_row! {
    /// A row of WAREHOUSE.
    WarehouseRow in Warehouse, key 1 {
        /// From 1.
        id: u32 = w_id Number;
        name: FixedText<10> = w_name Text(10);
        address: Address = w_street_1 Text(20), w_street_2 Text(20), w_city Text(20),
            w_state Fixed(2), w_zip Fixed(9);
        /// Parts of ten thousand.
        tax: i64 = w_tax Rate;
        /// Cents.
        ytd: i64 = w_ytd Money;
    }
}

table_row! {
    /// A row of DISTRICT.
    DistrictRow in District, key 2 {
        warehouse: u32 = d_w_id Number;
        /// 1 to 10.
        id: u8 = d_id Small;
        name: FixedText<10> = d_name Text(10);
        address: Address = d_street_1 Text(20), d_street_2 Text(20), d_city Text(20),
            d_state Fixed(2), d_zip Fixed(9);
        /// Parts of ten thousand.
        tax: i64 = d_tax Rate;
        /// Cents.
        ytd: i64 = d_ytd Money;
        next_order: u32 = d_next_o_id Number;
    }
}

table_row! {
    /// A row of CUSTOMER.
    CustomerRow in Customer, key 3 {
        warehouse: u32 = c_w_id Number;
        district: u8 = c_d_id Small;
        /// From 1.
        id: u32 = c_id Number;
        first: FixedText<16> = c_first Text(16);
        /// Always `OE`.
        middle: FixedText<2> = c_middle Fixed(2);
        last: FixedText<16> = c_last Text(16);
        address: Address = c_street_1 Text(20), c_street_2 Text(20), c_city Text(20),
            c_state Fixed(2), c_zip Fixed(9);
        phone: FixedText<16> = c_phone Fixed(16);
        since: i64 = c_since Moment;
        /// `GC` or `BC`.
        credit: FixedText<2> = c_credit Fixed(2);
        /// Cents.
        credit_limit: i64 = c_credit_lim Money;
        /// Parts of ten thousand.
        discount: i64 = c_discount Rate;
        /// Cents; it may be negative.
        balance: i64 = c_balance Money;
        /// Cents.
        ytd_payment: i64 = c_ytd_payment Money;
        payment_count: u32 = c_payment_cnt Number;
        delivery_count: u32 = c_delivery_cnt Number;
        data: FixedText<500> = c_data Text(500);
    }
}

table_row! {
    /// A row of HISTORY, which has no primary key in the specification.
    HistoryRow in History, key 0 {
        customer: u32 = h_c_id Number;
        customer_district: u8 = h_c_d_id Small;
        customer_warehouse: u32 = h_c_w_id Number;
        /// The district of the payment.
        district: u8 = h_d_id Small;
        /// The warehouse of the payment.
        warehouse: u32 = h_w_id Number;
        at: i64 = h_date Moment;
        /// Cents.
        amount: i64 = h_amount Money;
        data: FixedText<24> = h_data Text(24);
    } and {
        /// The writer of the row: 0 for the load, a worker's number plus 1 otherwise. With `number`
        /// it makes a key that no two writers share, for stores that need one.
        writer: u32;
        /// The index of the row among the writer's rows.
        number: u64;
    }
}

table_row! {
    /// A row of NEW-ORDER.
    NewOrderRow in NewOrder, key 3 {
        warehouse: u32 = no_w_id Number;
        district: u8 = no_d_id Small;
        order: u32 = no_o_id Number;
    }
}

table_row! {
    /// A row of ORDER.
    OrderRow in Order, key 3 {
        warehouse: u32 = o_w_id Number;
        district: u8 = o_d_id Small;
        /// From 1 in each district.
        id: u32 = o_id Number;
        customer: u32 = o_c_id Number;
        at: i64 = o_entry_d Moment;
        /// 1 to 10; `None` until the order is delivered.
        carrier: Option<u8> = o_carrier_id Small;
        /// 5 to 15.
        lines: u8 = o_ol_cnt Small;
        all_local: bool = o_all_local Small;
    }
}

table_row! {
    /// A row of ORDER-LINE.
    OrderLineRow in OrderLine, key 4 {
        warehouse: u32 = ol_w_id Number;
        district: u8 = ol_d_id Small;
        order: u32 = ol_o_id Number;
        /// From 1 in each order.
        number: u8 = ol_number Small;
        item: u32 = ol_i_id Number;
        supplier: u32 = ol_supply_w_id Number;
        /// `None` until the order is delivered.
        delivered_at: Option<i64> = ol_delivery_d Moment;
        quantity: u8 = ol_quantity Small;
        /// Cents.
        amount: i64 = ol_amount Money;
        district_info: FixedText<24> = ol_dist_info Fixed(24);
    }
}

table_row! {
    /// A row of ITEM.
    ItemRow in Item, key 1 {
        /// From 1.
        id: u32 = i_id Number;
        image: u32 = i_im_id Number;
        name: FixedText<24> = i_name Text(24);
        /// Cents.
        price: i64 = i_price Money;
        data: FixedText<50> = i_data Text(50);
    }
}

table_row! {
    /// A row of STOCK.
    StockRow in Stock, key 2 {
        warehouse: u32 = s_w_id Number;
        item: u32 = s_i_id Number;
        quantity: i32 = s_quantity Number;
        district_info: [FixedText<24>; 10] = s_dist_01 Fixed(24), s_dist_02 Fixed(24),
            s_dist_03 Fixed(24), s_dist_04 Fixed(24), s_dist_05 Fixed(24), s_dist_06 Fixed(24),
            s_dist_07 Fixed(24), s_dist_08 Fixed(24), s_dist_09 Fixed(24), s_dist_10 Fixed(24);
        /// A number of pieces.
        ytd: i64 = s_ytd Large;
        order_count: u32 = s_order_cnt Number;
        remote_count: u32 = s_remote_cnt Number;
        data: FixedText<50> = s_data Text(50);
    }
}

macro_rules! rows_of_districts {
    ($($row:ident: $district:ident;)+) => { $(
        impl $row {
            /// The district that the row belongs to, or is.
            #[must_use]
            pub fn district_key(&self) -> DistrictKey {
                DistrictKey::new(self.warehouse, self.$district)
            }
        }
    )+ };
}

rows_of_districts! {
    DistrictRow: id;
    CustomerRow: district;
    OrderRow: district;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count<R: TableRow + Default>() -> (usize, usize) {
        let (row, mut values) = (R::default(), Vec::new());
        row.push_values(&mut values);
        (values.len(), R::COLUMNS.len())
    }

    #[test]
    fn a_row_has_a_value_for_each_column() {
        let counts = [
            count::<WarehouseRow>(),
            count::<DistrictRow>(),
            count::<CustomerRow>(),
            count::<HistoryRow>(),
            count::<NewOrderRow>(),
            count::<OrderRow>(),
            count::<OrderLineRow>(),
            count::<ItemRow>(),
            count::<StockRow>(),
        ];
        for (values, columns) in counts {
            assert_eq!(values, columns);
        }
    }
}
