//! Columns of a row, taken one after the other, and rows as parameters.

use crate::tpcc::rows::{
    Address, CustomerRow, DistrictRow, HistoryRow, ItemRow, NewOrderRow, OrderLineRow, OrderRow,
    StockRow, Table, WarehouseRow,
};
use crate::tpcc::text::FixedText;
use trueput_engine::{Datum, Error, Result};

/// Digits of money behind the point.
const MONEY_SCALE: u8 = 2;
/// Digits of taxes and discounts behind the point.
const RATE_SCALE: u8 = 4;

/// Money as a parameter, from cents.
pub(super) fn money(cents: i64) -> Datum<'static> {
    Datum::Decimal {
        units: cents,
        scale: MONEY_SCALE,
    }
}

fn rate(parts: i64) -> Datum<'static> {
    Datum::Decimal {
        units: parts,
        scale: RATE_SCALE,
    }
}

/// A whole number as a parameter.
pub(super) fn number(number: impl Into<i64>) -> Datum<'static> {
    Datum::Integer(number.into())
}

/// The columns of a row that are still to be taken.
pub(super) struct ColumnReader<'r>(pub(super) &'r [Datum<'r>]);

impl<'r> ColumnReader<'r> {
    fn take(&mut self) -> Result<Datum<'r>> {
        let (first, rest) = self
            .0
            .split_first()
            .ok_or_else(|| wrong("no column", None))?;
        self.0 = rest;
        Ok(*first)
    }

    /// A number with `scale` digits behind the point, in units of the last of them. An engine
    /// without decimals has kept it so.
    fn units(&mut self, wanted: u8) -> Result<i64> {
        match self.take()? {
            Datum::Integer(number) => Ok(number),
            Datum::Decimal { units, scale } => rescale(units, scale, wanted),
            other => Err(wrong("a number", Some(other))),
        }
    }

    /// A whole number.
    pub(super) fn whole<T: TryFrom<i64>>(&mut self) -> Result<T> {
        let found = self.units(0)?;
        T::try_from(found).map_err(|_| wrong("a smaller number", Some(Datum::Integer(found))))
    }

    /// A whole number, or nothing.
    pub(super) fn optional_integer<T: TryFrom<i64>>(&mut self) -> Result<Option<T>> {
        if let Some((Datum::Null, rest)) = self.0.split_first() {
            self.0 = rest;
            return Ok(None);
        }
        self.whole().map(Some)
    }

    /// Money, in cents.
    pub(super) fn cents(&mut self) -> Result<i64> {
        self.units(MONEY_SCALE)
    }

    /// A tax or a discount, in parts of ten thousand.
    pub(super) fn rate(&mut self) -> Result<i64> {
        self.units(RATE_SCALE)
    }

    /// Text.
    pub(super) fn text<const N: usize>(&mut self) -> Result<FixedText<N>> {
        match self.take()? {
            Datum::Text(text) => {
                FixedText::new(text).ok_or_else(|| wrong("shorter text", Some(Datum::Text(text))))
            }
            other => Err(wrong("text", Some(other))),
        }
    }

    /// A moment, or nothing.
    pub(super) fn optional_moment(&mut self) -> Result<Option<i64>> {
        match self.take()? {
            Datum::Null => Ok(None),
            Datum::Integer(moment) | Datum::Timestamp(moment) => Ok(Some(moment)),
            other => Err(wrong("a moment", Some(other))),
        }
    }

    /// A moment.
    pub(super) fn moment(&mut self) -> Result<i64> {
        self.optional_moment()?
            .ok_or_else(|| wrong("a moment", Some(Datum::Null)))
    }

    /// An address.
    pub(super) fn address(&mut self) -> Result<Address> {
        Ok(Address {
            street_1: self.text()?,
            street_2: self.text()?,
            city: self.text()?,
            state: self.text()?,
            zip: self.text()?,
        })
    }
}

fn rescale(units: i64, scale: u8, wanted: u8) -> Result<i64> {
    let power = |digits: u8| 10_i64.checked_pow(u32::from(digits));
    let found = || {
        wrong(
            "a decimal of that scale",
            Some(Datum::Decimal { units, scale }),
        )
    };
    if scale <= wanted {
        let factor = power(wanted - scale);
        return factor
            .and_then(|factor| units.checked_mul(factor))
            .ok_or_else(found);
    }
    match power(scale - wanted) {
        Some(divisor) if units % divisor == 0 => Ok(units / divisor),
        _ => Err(found()),
    }
}

#[cold]
fn wrong(expected: &str, found: Option<Datum<'_>>) -> Error {
    Error::engine(match found {
        Some(found) => format!("a column should be {expected} and is {found:?}"),
        None => format!("a row has {expected} left"),
    })
}

/// A row of a table, as the parameters of its insert.
pub(super) trait TableRow {
    const TABLE: Table;

    /// Appends the values in the order of the table's columns.
    fn values<'r>(&'r self, out: &mut Vec<Datum<'r>>);
}

fn address<'r>(address: &'r Address) -> [Datum<'r>; 5] {
    [
        Datum::Text(address.street_1.as_str()),
        Datum::Text(address.street_2.as_str()),
        Datum::Text(address.city.as_str()),
        Datum::Text(address.state.as_str()),
        Datum::Text(address.zip.as_str()),
    ]
}

impl TableRow for WarehouseRow {
    const TABLE: Table = Table::Warehouse;

    fn values<'r>(&'r self, out: &mut Vec<Datum<'r>>) {
        out.extend([number(self.id), Datum::Text(self.name.as_str())]);
        out.extend(address(&self.address));
        out.extend([rate(self.tax), money(self.ytd)]);
    }
}

impl TableRow for DistrictRow {
    const TABLE: Table = Table::District;

    fn values<'r>(&'r self, out: &mut Vec<Datum<'r>>) {
        out.extend([number(self.warehouse), number(self.id)]);
        out.push(Datum::Text(self.name.as_str()));
        out.extend(address(&self.address));
        out.extend([rate(self.tax), money(self.ytd), number(self.next_order)]);
    }
}

impl TableRow for CustomerRow {
    const TABLE: Table = Table::Customer;

    fn values<'r>(&'r self, out: &mut Vec<Datum<'r>>) {
        out.extend([
            number(self.warehouse),
            number(self.district),
            number(self.id),
        ]);
        out.push(Datum::Text(self.first.as_str()));
        out.push(Datum::Text(self.middle.as_str()));
        out.push(Datum::Text(self.last.as_str()));
        out.extend(address(&self.address));
        out.extend([
            Datum::Text(self.phone.as_str()),
            Datum::Timestamp(self.since),
            Datum::Text(self.credit.as_str()),
            money(self.credit_limit),
            rate(self.discount),
            money(self.balance),
            money(self.ytd_payment),
            number(self.payment_count),
            number(self.delivery_count),
            Datum::Text(self.data.as_str()),
        ]);
    }
}

impl TableRow for HistoryRow {
    const TABLE: Table = Table::History;

    fn values<'r>(&'r self, out: &mut Vec<Datum<'r>>) {
        out.extend([
            number(self.customer),
            number(self.customer_district),
            number(self.customer_warehouse),
            number(self.district),
            number(self.warehouse),
            Datum::Timestamp(self.at),
            money(self.amount),
            Datum::Text(self.data.as_str()),
        ]);
    }
}

impl TableRow for NewOrderRow {
    const TABLE: Table = Table::NewOrder;

    fn values<'r>(&'r self, out: &mut Vec<Datum<'r>>) {
        out.extend([
            number(self.warehouse),
            number(self.district),
            number(self.order),
        ]);
    }
}

impl TableRow for OrderRow {
    const TABLE: Table = Table::Order;

    fn values<'r>(&'r self, out: &mut Vec<Datum<'r>>) {
        out.extend([
            number(self.warehouse),
            number(self.district),
            number(self.id),
            number(self.customer),
            Datum::Timestamp(self.at),
            self.carrier.map_or(Datum::Null, number),
            number(self.lines),
            number(self.all_local),
        ]);
    }
}

impl TableRow for OrderLineRow {
    const TABLE: Table = Table::OrderLine;

    fn values<'r>(&'r self, out: &mut Vec<Datum<'r>>) {
        out.extend([
            number(self.warehouse),
            number(self.district),
            number(self.order),
            number(self.number),
            number(self.item),
            number(self.supplier),
            self.delivered_at.map_or(Datum::Null, Datum::Timestamp),
            number(self.quantity),
            money(self.amount),
            Datum::Text(self.district_info.as_str()),
        ]);
    }
}

impl TableRow for ItemRow {
    const TABLE: Table = Table::Item;

    fn values<'r>(&'r self, out: &mut Vec<Datum<'r>>) {
        out.extend([
            number(self.id),
            number(self.image),
            Datum::Text(self.name.as_str()),
            money(self.price),
            Datum::Text(self.data.as_str()),
        ]);
    }
}

impl TableRow for StockRow {
    const TABLE: Table = Table::Stock;

    fn values<'r>(&'r self, out: &mut Vec<Datum<'r>>) {
        out.extend([
            number(self.warehouse),
            number(self.item),
            number(self.quantity),
        ]);
        out.extend(
            self.district_info
                .iter()
                .map(|info| Datum::Text(info.as_str())),
        );
        out.extend([
            number(self.ytd),
            number(self.order_count),
            number(self.remote_count),
            Datum::Text(self.data.as_str()),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::columns;
    use super::*;

    fn count<R: TableRow + Default>() -> (usize, usize) {
        let (row, mut values) = (R::default(), Vec::new());
        row.values(&mut values);
        (values.len(), columns(R::TABLE).len())
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

    #[test]
    fn numbers_are_taken_in_their_own_unit_and_nothing_is_rounded() {
        let decimal = |units, scale| Datum::Decimal { units, scale };
        let row = [
            decimal(5, 0),
            decimal(1230, 3),
            Datum::Integer(7),
            decimal(1234, 4),
        ];
        let mut columns = ColumnReader(&row);
        assert_eq!(columns.cents(), Ok(500));
        assert_eq!(columns.cents(), Ok(123));
        assert_eq!(columns.cents(), Ok(7));
        assert_eq!(columns.rate(), Ok(1234));
        assert!(columns.cents().is_err(), "there is none left");
        assert!(ColumnReader(&[decimal(1234, 3)]).cents().is_err());
        assert!(ColumnReader(&[Datum::Integer(300)]).whole::<u8>().is_err());
        assert_eq!(
            ColumnReader(&[Datum::Null]).optional_integer::<u8>(),
            Ok(None)
        );
    }
}
