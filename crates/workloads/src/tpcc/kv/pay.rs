//! Records of payment and delivery.

use super::codec::StoredRow;
use super::keys::{self, KeySpace, district_key, warehouse_key};
use super::{KeyValue, codec, damaged, missing};
use crate::fixed_text::FixedText;
use crate::tpcc::input::CustomerSelector;
use crate::tpcc::rows::{
    CustomerRow, DistrictKey, DistrictRow, HistoryRow, OrderRow, WarehouseRow,
};
use crate::tpcc::tables::{
    CustomerChange, DeliveredOrder, DeliveryTables, Payee, PaymentTables, ReadIntent,
    UndeliveredOrder,
};
use codec::customer_at::{BALANCE, DELIVERY_COUNT, PAYMENT_COUNT, YTD_PAYMENT};
use std::ops::ControlFlow;
use trueput_engine::{Direction, Error, Result};

impl PaymentTables for KeyValue<'_> {
    fn pay_warehouse(&mut self, warehouse: u32, amount: i64) -> Result<Payee> {
        warehouse_key(&mut self.key, KeySpace::WarehouseYtd, warehouse);
        self.add_to_sum("W_YTD", amount)?;
        warehouse_key(&mut self.key, KeySpace::Warehouse, warehouse);
        let named = format_args!("warehouse {warehouse}");
        let decode = |value: &[u8]| codec::decode(WarehouseRow::default(), value);
        let row = self.read_existing(named, decode)?;
        Ok(Payee {
            name: row.name,
            address: row.address,
        })
    }

    fn pay_district(&mut self, district: DistrictKey, amount: i64) -> Result<Payee> {
        district_key(&mut self.key, KeySpace::DistrictYtd, district);
        self.add_to_sum("D_YTD", amount)?;
        district_key(&mut self.key, KeySpace::District, district);
        let decode = |value: &[u8]| codec::decode(DistrictRow::default(), value);
        let row = self.read_existing(district, decode)?;
        Ok(Payee {
            name: row.name,
            address: row.address,
        })
    }

    fn customer(
        &mut self,
        district: DistrictKey,
        who: &CustomerSelector,
        _intent: ReadIntent,
        out: &mut CustomerRow,
    ) -> Result<()> {
        let id = match who {
            CustomerSelector::Number(id) => *id,
            CustomerSelector::LastName(last) => self.middle_of_name(district, last)?,
        };
        let (key, kept) = &mut self.customer;
        district_key(key, KeySpace::Customer, district).u32(id);
        let found = self.session.get(key.as_bytes(), &mut |value| {
            kept.clear();
            kept.extend_from_slice(value);
        })?;
        let named = format_args!("customer {id} of {district}");
        if !found {
            return Err(missing(named));
        }
        (out.warehouse, out.district, out.id) = (district.warehouse, district.district, id);
        out.decode(kept).ok_or_else(|| damaged(named))
    }

    fn pay_customer(&mut self, change: &CustomerChange<'_>) -> Result<()> {
        let (key, kept) = &mut self.customer;
        codec::patch(kept, BALANCE, change.balance.to_le_bytes())
            .and_then(|()| codec::patch(kept, YTD_PAYMENT, change.ytd_payment.to_le_bytes()))
            .and_then(|()| codec::patch(kept, PAYMENT_COUNT, change.payment_count.to_le_bytes()))
            .and_then(|()| match change.data {
                Some(data) => codec::replace_customer_data(kept, data),
                None => Some(()),
            })
            .ok_or_else(|| damaged("the customer who pays"))?;
        self.session.put(key.as_bytes(), kept)
    }

    fn insert_history(&mut self, row: &HistoryRow) -> Result<()> {
        self.put_row(row)
    }
}

impl DeliveryTables for KeyValue<'_> {
    fn take_oldest_new_orders(
        &mut self,
        warehouse: u32,
        out: &mut Vec<UndeliveredOrder>,
    ) -> Result<()> {
        out.clear();
        for district in DistrictKey::all_of(warehouse) {
            district_key(self.prefix.write(), KeySpace::NewOrder, district);
            let mut oldest = None;
            let range = self.prefix.range();
            self.session
                .scan(range, Direction::Forward, &mut |key, _| {
                    oldest = keys::last_u32(key);
                    ControlFlow::Break(())
                })?;
            let Some(order) = oldest else {
                continue;
            };
            district_key(&mut self.key, KeySpace::NewOrder, district).u32(order);
            // Engines that lock on reads but not on scans take the lock here, and then notice
            // whether another delivery was faster.
            if !self.session.get(self.key.as_bytes(), &mut |_| {})? {
                let reason = "another delivery has taken the order";
                return Err(Error::Conflict(reason.to_owned()));
            }
            self.session.delete(self.key.as_bytes())?;
            out.push(UndeliveredOrder {
                district: district.district,
                order,
            });
        }
        Ok(())
    }

    fn deliver(
        &mut self,
        warehouse: u32,
        due: &[UndeliveredOrder],
        carrier: u8,
        at: i64,
        out: &mut Vec<DeliveredOrder>,
    ) -> Result<()> {
        out.clear();
        for due in due {
            let district = DistrictKey::new(warehouse, due.district);
            out.push(self.deliver_one(district, due.order, carrier, at)?);
        }
        Ok(())
    }

    fn credit_deliveries(&mut self, warehouse: u32, delivered: &[DeliveredOrder]) -> Result<()> {
        delivered
            .iter()
            .try_for_each(|one| self.credit(warehouse, one))
    }
}

impl KeyValue<'_> {
    /// Of the customers of a name, in the order of C_FIRST, the one at n/2 rounded up.
    fn middle_of_name(&mut self, district: DistrictKey, last: &FixedText<16>) -> Result<u32> {
        district_key(self.prefix.write(), KeySpace::CustomerName, district).bytes(last.as_bytes());
        let mut ids = std::mem::take(&mut self.numbers);
        ids.clear();
        let mut push = |id| ids.push(id);
        let read = self.visit_table("CUSTOMER", &mut push, |key, _| keys::last_u32(key));
        self.numbers = ids;
        read?;
        let middle = self.numbers.len().div_ceil(2).checked_sub(1);
        let id = middle.and_then(|index| self.numbers.get(index)).copied();
        id.ok_or_else(|| Error::engine(format!("no customer of {district} is called {last}")))
    }

    /// Marks one order as delivered.
    fn deliver_one(
        &mut self,
        district: DistrictKey,
        order: u32,
        carrier: u8,
        at: i64,
    ) -> Result<DeliveredOrder> {
        let named = format_args!("order {order} of {district}");
        district_key(&mut self.key, KeySpace::Order, district).u32(order);
        self.fetch_existing(named)?;
        let row = codec::decode(OrderRow::default(), &self.value);
        let row = row.ok_or_else(|| damaged(named))?;
        codec::patch(&mut self.value, codec::CARRIER_AT, [carrier])
            .ok_or_else(|| damaged(named))?;
        self.store()?;
        Ok(DeliveredOrder {
            district: district.district,
            customer: row.customer,
            amount: self.deliver_lines(district, order, at)?,
        })
    }

    /// Sets OL_DELIVERY_D of an order's lines; the sum of their amounts.
    fn deliver_lines(&mut self, district: DistrictKey, order: u32, at: i64) -> Result<i64> {
        district_key(self.prefix.write(), KeySpace::OrderLine, district).u32(order);
        let (lines, mut amount, mut whole) = (&mut self.lines, 0, true);
        lines.clear();
        let range = self.prefix.range();
        self.session
            .scan(range, Direction::Forward, &mut |key, value| {
                match keys::order_and_line(key).zip(codec::line_state(value)) {
                    Some(((_, number), (_, of_line, _))) => {
                        amount += of_line;
                        lines.keep(number, value);
                    }
                    None => whole = false,
                }
                ControlFlow::Continue(())
            })?;
        for index in 0..self.lines.len() {
            let Some((number, value)) = self.lines.get_mut(index) else {
                break;
            };
            whole &= codec::patch(value, codec::DELIVERED_AT, at.to_le_bytes()).is_some();
            district_key(&mut self.key, KeySpace::OrderLine, district)
                .u32(order)
                .u8(number);
            self.session.put(self.key.as_bytes(), value)?;
        }
        if whole {
            Ok(amount)
        } else {
            Err(damaged("ORDER-LINE"))
        }
    }

    /// Adds the total of the delivered order to the customer's balance.
    fn credit(&mut self, warehouse: u32, delivered: &DeliveredOrder) -> Result<()> {
        let DeliveredOrder {
            district,
            customer,
            amount,
        } = *delivered;
        let district = DistrictKey::new(warehouse, district);
        let named = format_args!("customer {customer} of {district}");
        district_key(&mut self.key, KeySpace::Customer, district).u32(customer);
        self.fetch_existing(named)?;
        let balance = codec::peek(&self.value, BALANCE).map(i64::from_le_bytes);
        let count = codec::peek(&self.value, DELIVERY_COUNT).map(u32::from_le_bytes);
        let (balance, count) = balance.zip(count).ok_or_else(|| damaged(named))?;
        codec::patch(&mut self.value, BALANCE, (balance + amount).to_le_bytes())
            .and_then(|()| codec::patch(&mut self.value, DELIVERY_COUNT, (count + 1).to_le_bytes()))
            .ok_or_else(|| damaged(named))?;
        self.store()
    }
}
