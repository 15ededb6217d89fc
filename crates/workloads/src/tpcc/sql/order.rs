//! New-order, clause 2.4.2.2, and stock-level, clause 2.8.2.2.

use super::{SqlTables, StatementKind, district_parameters, numbered_parameters};
use crate::sql::columns::{ColumnReader, number};
use crate::sql::dialect::DialectSyntax;
use crate::tpcc::rows::{DistrictKey, NewOrderRow, OrderLineRow, OrderRow};
use crate::tpcc::tables::{
    BuyerState, Item, NewOrderTables, OrderNumber, Stock, StockChange, StockKey, StockLevelTables,
};
use trueput_engine::{Datum, Error, Result};

const BUYER: &str = "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
                     WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? AND w_id = c_w_id";

const RAISE: &str = "UPDATE district SET d_next_o_id = d_next_o_id + 1 \
                     WHERE d_w_id = ? AND d_id = ?";

/// A district has one row, with nothing low as well; one that is not there has none.
const LOW_STOCK: &str = "SELECT COUNT(DISTINCT s_i_id) FROM district \
                         LEFT JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id \
                         AND ol_o_id < d_next_o_id AND ol_o_id >= d_next_o_id - 20 \
                         LEFT JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
                         AND s_quantity < ? WHERE d_w_id = ? AND d_id = ? GROUP BY d_w_id, d_id";

/// The columns of STOCK that an order changes, with their new values.
const CHANGED: [&str; 4] = ["s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt"];

/// One statement that sets each column of several stocks of a warehouse by a case for each item.
fn update_stocks(syntax: &DialectSyntax, count: usize) -> String {
    let case = format!("WHEN ? THEN {}", syntax.integer_parameter());
    let cases = vec![case.as_str(); count].join(" ");
    let set: Vec<_> = CHANGED
        .iter()
        .map(|column| format!("{column} = CASE s_i_id {cases} END"))
        .collect();
    let items = vec!["?"; count].join(", ");
    format!(
        "UPDATE stock SET {} WHERE s_w_id = ? AND s_i_id IN ({items})",
        set.join(", ")
    )
}

fn stocks(syntax: &DialectSyntax, district: u8, count: usize) -> String {
    let items = syntax.one_of("s_i_id", count);
    format!(
        "SELECT s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_dist_{district:02}, s_data \
         FROM stock WHERE s_w_id = ? AND {items} ORDER BY s_i_id{}",
        syntax.lock
    )
}

/// Locks the stocks that [`stocks`] then reads: the same parameters.
fn touch_stocks(syntax: &DialectSyntax, count: usize) -> String {
    let items = syntax.one_of("s_i_id", count);
    format!("UPDATE stock SET s_quantity = s_quantity WHERE s_w_id = ? AND {items}")
}

fn items(syntax: &DialectSyntax, count: usize) -> String {
    let items = syntax.one_of("i_id", count);
    format!("SELECT i_id, i_price, i_name, i_data FROM item WHERE {items}")
}

fn stock(columns: &mut ColumnReader<'_>) -> Result<Stock> {
    Ok(Stock {
        quantity: columns.integer()?,
        ytd: columns.integer()?,
        order_count: columns.integer()?,
        remote_count: columns.integer()?,
        district_info: columns.text()?,
        data: columns.text()?,
    })
}

impl NewOrderTables for SqlTables<'_> {
    fn buyer(&mut self, district: DistrictKey, customer: u32) -> Result<BuyerState> {
        let statement = self.fixed_statement(StatementKind::Buyer, BUYER)?;
        let parameters = numbered_parameters(district, customer);
        self.row(
            "the customer or the warehouse",
            statement,
            &parameters,
            |columns| {
                Ok(BuyerState {
                    discount: columns.rate()?,
                    last: columns.text()?,
                    credit: columns.text()?,
                    warehouse_tax: columns.rate()?,
                })
            },
        )
    }

    fn take_order_number(&mut self, district: DistrictKey) -> Result<OrderNumber> {
        let parameters = district_parameters(district);
        let read = |columns: &mut ColumnReader<'_>| {
            Ok(OrderNumber {
                order: columns.integer()?,
                district_tax: columns.rate()?,
            })
        };
        if self.syntax.has_returning {
            let raise = self.statement(StatementKind::RaiseOrder, 0, |_| {
                format!("{RAISE} RETURNING d_next_o_id - 1, d_tax")
            })?;
            return self.row("the district", raise, &parameters, read);
        }
        let (lock, updates_first) = (self.syntax.lock, self.syntax.locks_by_update);
        let raise = self.fixed_statement(StatementKind::RaiseOrder, RAISE)?;
        // Before it is raised, or after.
        let number = if updates_first {
            "d_next_o_id - 1"
        } else {
            "d_next_o_id"
        };
        let select = self.statement(StatementKind::ReadOrder, 0, |_| {
            format!("SELECT {number}, d_tax FROM district WHERE d_w_id = ? AND d_id = ?{lock}")
        })?;
        if updates_first {
            self.change("the district", 1, raise, &parameters)?;
            return self.row("the district", select, &parameters, read);
        }
        let taken = self.row("the district", select, &parameters, read)?;
        self.change("the district", 1, raise, &parameters)?;
        Ok(taken)
    }

    fn insert_order(&mut self, order: &OrderRow) -> Result<()> {
        self.insert(std::slice::from_ref(order))?;
        let new = NewOrderRow {
            warehouse: order.warehouse,
            district: order.district,
            order: order.id,
        };
        self.insert(&[new]).map(|_| ())
    }

    fn items(&mut self, ids: &[u32], out: &mut Vec<Option<Item>>) -> Result<()> {
        out.clear();
        out.resize(ids.len(), None);
        let count = self.count_of(ids.len());
        let statement = self.statement(StatementKind::Items, count, |syntax| {
            items(syntax, ids.len())
        })?;
        self.with_one_of(None, ids.iter().copied(), |tables, parameters| {
            tables.rows(statement, parameters, |columns| {
                let id: u32 = columns.integer()?;
                let item = Item {
                    price: columns.cents()?,
                    name: columns.text()?,
                    data: columns.text()?,
                };
                let asked = ids
                    .iter()
                    .zip(out.iter_mut())
                    .filter(|(asked, _)| **asked == id);
                asked.for_each(|(_, slot)| *slot = Some(item));
                Ok(())
            })
        })
    }

    fn stocks(&mut self, keys: &[StockKey], district: u8, out: &mut Vec<Stock>) -> Result<()> {
        out.clear();
        for of_warehouse in keys.chunk_by(|one, other| one.warehouse == other.warehouse) {
            let Some(first) = of_warehouse.first() else {
                continue;
            };
            let (count, before) = (of_warehouse.len(), out.len());
            let size = self.count_of(count);
            let which = StatementKind::Stocks.of_district(district);
            let statement =
                self.statement(which, size, |syntax| stocks(syntax, district, count))?;
            let items = of_warehouse.iter().map(|key| key.item);
            let warehouse = Some(number(first.warehouse));
            self.with_one_of(warehouse, items, |tables, parameters| {
                if tables.syntax.locks_by_update {
                    let touch = tables.statement(StatementKind::TouchStocks, size, |syntax| {
                        touch_stocks(syntax, count)
                    })?;
                    tables.change("the stocks", count, touch, parameters)?;
                }
                tables.rows(statement, parameters, |columns| {
                    let item: u32 = columns.integer()?;
                    let asked = of_warehouse.get(out.len() - before);
                    if asked.is_none_or(|asked| asked.item != item) {
                        return Err(Error::engine("a stock is not there"));
                    }
                    out.push(stock(columns)?);
                    Ok(())
                })
            })?;
            if out.len() - before != count {
                return Err(Error::engine("a stock is not there"));
            }
        }
        Ok(())
    }

    fn update_stocks(&mut self, changes: &[StockChange]) -> Result<()> {
        for of_warehouse in changes.chunk_by(|one, other| one.key.warehouse == other.key.warehouse)
        {
            let Some(first) = of_warehouse.first() else {
                continue;
            };
            let count = of_warehouse.len();
            let statement = self.statement(StatementKind::UpdateStocks, count, |syntax| {
                update_stocks(syntax, count)
            })?;
            let mut parameters = self.parameters.take();
            let values: [fn(&StockChange) -> Datum<'static>; CHANGED.len()] = [
                |change| number(change.quantity),
                |change| number(change.ytd),
                |change| number(change.order_count),
                |change| number(change.remote_count),
            ];
            for value in values {
                for change in of_warehouse {
                    parameters.extend([number(change.key.item), value(change)]);
                }
            }
            parameters.push(number(first.key.warehouse));
            parameters.extend(of_warehouse.iter().map(|change| number(change.key.item)));
            self.change("the stocks", count, statement, &parameters)?;
            self.parameters.put_back(parameters);
        }
        Ok(())
    }

    fn insert_order_lines(&mut self, lines: &[OrderLineRow]) -> Result<()> {
        self.insert(lines).map(|_| ())
    }
}

impl StockLevelTables for SqlTables<'_> {
    fn low_stock(&mut self, district: DistrictKey, threshold: i32) -> Result<u64> {
        let statement = self.fixed_statement(StatementKind::LowStock, LOW_STOCK)?;
        let [warehouse, district] = district_parameters(district);
        let parameters = [number(threshold), warehouse, district];
        self.row("the district", statement, &parameters, |columns| {
            columns.integer()
        })
    }
}

impl SqlTables<'_> {
    /// The number of parameters in a condition of [`DialectSyntax::one_of`].
    fn count_of(&self, numbers: usize) -> usize {
        if self.syntax.has_arrays { 1 } else { numbers }
    }

    /// Calls `body` with parameters: `first`, and those of a condition of
    /// [`DialectSyntax::one_of`] for these numbers.
    fn with_one_of<T>(
        &mut self,
        first: Option<Datum<'static>>,
        these: impl Iterator<Item = u32>,
        body: impl FnOnce(&mut Self, &[Datum<'_>]) -> Result<T>,
    ) -> Result<T> {
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        numbers.extend(these.map(i64::from));
        let mut parameters = self.parameters.take();
        parameters.extend(first);
        if self.syntax.has_arrays {
            parameters.push(Datum::Integers(&numbers));
        } else {
            parameters.extend(numbers.iter().map(|number| Datum::Integer(*number)));
        }
        let done = body(self, &parameters);
        self.parameters.put_back(parameters);
        self.numbers = numbers;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::syntax;
    use trueput_engine::Dialect;

    #[test]
    fn the_stocks_of_an_order_are_read_in_one_statement() {
        let text = |dialect| stocks(syntax(dialect), 3, 2);
        let read = "SELECT s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_dist_03, s_data \
                    FROM stock WHERE s_w_id = ? AND ";
        let mariadb = format!("{read}s_i_id IN (?, ?) ORDER BY s_i_id FOR UPDATE");
        assert_eq!(text(Dialect::Mariadb), mariadb);
        let postgresql = format!("{read}s_i_id = ANY(?) ORDER BY s_i_id FOR UPDATE");
        assert_eq!(text(Dialect::Postgresql), postgresql);
        let unlocked = format!("{read}s_i_id IN (?, ?) ORDER BY s_i_id");
        for dialect in [Dialect::Sqlite, Dialect::Informix, Dialect::Iris] {
            assert_eq!(text(dialect), unlocked);
        }
    }

    #[test]
    fn the_stocks_of_an_order_are_written_in_one_statement() {
        let text = |dialect| update_stocks(syntax(dialect), 1);
        assert_eq!(
            text(Dialect::Sqlite),
            "UPDATE stock SET s_quantity = CASE s_i_id WHEN ? THEN ? END, \
             s_ytd = CASE s_i_id WHEN ? THEN ? END, s_order_cnt = CASE s_i_id WHEN ? THEN ? END, \
             s_remote_cnt = CASE s_i_id WHEN ? THEN ? END WHERE s_w_id = ? AND s_i_id IN (?)"
        );
        assert!(text(Dialect::Mariadb).contains("WHEN ? THEN CAST(? AS SIGNED) END"));
        for dialect in [Dialect::Postgresql, Dialect::Informix, Dialect::Iris] {
            assert!(text(dialect).contains("WHEN ? THEN CAST(? AS INTEGER) END"));
        }
    }
}
