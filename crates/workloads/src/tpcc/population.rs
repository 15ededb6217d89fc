//! The rows of the initial population (clause 4.3.3.1).

use super::random::{
    RandomConstants, address, data, digits, happens, last_name, letters, permutation, uniform,
};
use super::rows::{
    CustomerRow, DISTRICTS, DistrictRow, HistoryRow, ItemRow, NewOrderRow, OrderLineRow, OrderRow,
    StockRow, WarehouseRow,
};
use super::scale::Scale;
use crate::fixed_text::FixedText;
use crate::generate::random::Random;

/// 2026-01-01 00:00 UTC. The load takes one date for all rows, so that a seed decides every byte.
pub const LOADED_AT: i64 = 1_767_225_600_000_000;

/// A part of ten thousand from 0 to 2000: W_TAX and D_TAX.
fn tax(random: &mut Random) -> i64 {
    uniform(random, 0, 2_000) as i64
}

/// A row of ITEM.
pub fn item(random: &mut Random, id: u32) -> ItemRow {
    ItemRow {
        id,
        image: uniform(random, 1, 10_000) as u32,
        name: letters(random, 14, 24),
        price: uniform(random, 100, 10_000) as i64,
        data: data(random),
    }
}

/// A row of WAREHOUSE; its year-to-date is the sum of its districts' (full: 300,000.00).
pub fn warehouse(random: &mut Random, scale: &Scale, id: u32) -> WarehouseRow {
    WarehouseRow {
        id,
        name: letters(random, 6, 10),
        address: address(random),
        tax: tax(random),
        ytd: district_ytd(scale) * i64::from(DISTRICTS),
    }
}

/// The payments of the district's customers: 10.00 each (full: 30,000.00).
fn district_ytd(scale: &Scale) -> i64 {
    i64::from(scale.customers) * 1_000
}

/// A row of STOCK.
pub fn stock(random: &mut Random, warehouse: u32, item: u32) -> StockRow {
    StockRow {
        warehouse,
        item,
        quantity: uniform(random, 10, 100) as i32,
        district_info: std::array::from_fn(|_| letters(random, 24, 24)),
        ytd: 0,
        order_count: 0,
        remote_count: 0,
        data: data(random),
    }
}

/// A row of DISTRICT.
pub fn district(random: &mut Random, scale: &Scale, warehouse: u32, id: u8) -> DistrictRow {
    DistrictRow {
        warehouse,
        id,
        name: letters(random, 6, 10),
        address: address(random),
        tax: tax(random),
        ytd: district_ytd(scale),
        next_order: scale.customers + 1,
    }
}

/// A row of CUSTOMER: the first thousand of a district have the names 0 to 999, the others names of
/// NURand(255, 0, 999) with the load's C.
pub fn customer(
    random: &mut Random,
    constants: &RandomConstants,
    scale: &Scale,
    (warehouse, district, id): (u32, u8, u32),
) -> CustomerRow {
    let name = match id {
        1..=1_000 => id - 1,
        _ => constants.name(random, scale.names()),
    };
    CustomerRow {
        warehouse,
        district,
        id,
        first: letters(random, 8, 16),
        middle: FixedText::cut("OE"),
        last: last_name(name),
        address: address(random),
        phone: digits(random, 16),
        since: LOADED_AT,
        credit: FixedText::cut(if happens(random, 10.0) { "BC" } else { "GC" }),
        credit_limit: 5_000_000,
        discount: uniform(random, 0, 5_000) as i64,
        balance: -1_000,
        ytd_payment: 1_000,
        payment_count: 1,
        delivery_count: 0,
        data: letters(random, 300, 500),
    }
}

/// The one row of HISTORY that each customer has.
pub fn history(random: &mut Random, customer: &CustomerRow, number: u64) -> HistoryRow {
    HistoryRow {
        writer: 0,
        number,
        customer_warehouse: customer.warehouse,
        customer_district: customer.district,
        customer: customer.id,
        warehouse: customer.warehouse,
        district: customer.district,
        at: LOADED_AT,
        amount: 1_000,
        data: letters(random, 12, 24),
    }
}

/// The orders of a district with their lines, and the new-orders among them.
#[derive(Debug, Default)]
pub struct Orders {
    /// ORDER.
    pub orders: Vec<OrderRow>,
    /// ORDER-LINE.
    pub lines: Vec<OrderLineRow>,
    /// NEW-ORDER.
    pub new_orders: Vec<NewOrderRow>,
}

/// Every order of a district: one of each customer, in random order; the last three tenths are not
/// delivered yet.
pub fn orders(random: &mut Random, scale: &Scale, warehouse: u32, district: u8) -> Orders {
    let mut made = Orders::default();
    let customers = permutation(random, scale.customers);
    for (id, customer) in (1..).zip(customers) {
        let is_new = scale.undelivered().contains(&id);
        let lines = uniform(random, 5, 15) as u8;
        let carrier = uniform(random, 1, 10) as u8;
        made.orders.push(OrderRow {
            warehouse,
            district,
            id,
            customer,
            at: LOADED_AT,
            carrier: (!is_new).then_some(carrier),
            lines,
            all_local: true,
        });
        for number in 1..=lines {
            let undelivered_amount = uniform(random, 1, 999_999) as i64;
            made.lines.push(OrderLineRow {
                warehouse,
                district,
                order: id,
                number,
                item: uniform(random, 1, u64::from(scale.items)) as u32,
                supplier: warehouse,
                delivered_at: (!is_new).then_some(LOADED_AT),
                quantity: 5,
                amount: if is_new { undelivered_amount } else { 0 },
                district_info: letters(random, 24, 24),
            });
        }
        if is_new {
            made.new_orders.push(NewOrderRow {
                warehouse,
                district,
                order: id,
            });
        }
    }
    made
}
