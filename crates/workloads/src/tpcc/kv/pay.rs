//! Records of payment and delivery.

use super::keys::{self, KeySpace, district_key, global_key, name, warehouse_key};
use super::{KeyValue, codec, damaged, missing};
use crate::tpcc::input::CustomerSelector;
use crate::tpcc::rows::{CustomerRow, HistoryRow};
use crate::tpcc::scale::DISTRICTS;
use crate::tpcc::tables::{
    CustomerChange, DeliveredOrder, DeliveryTables, Payee, PaymentTables, ReadIntent,
    UndeliveredOrder,
};
use crate::tpcc::text::FixedText;
use codec::customer_at::{BALANCE, DELIVERY_COUNT, PAYMENT_COUNT, YTD_PAYMENT};
use std::ops::ControlFlow;
use trueput_engine::{Direction, Error, Result};

impl PaymentTables for KeyValue<'_> {
    fn pay_warehouse(&mut self, warehouse: u32, amount: i64) -> Result<Payee> {
        warehouse_key(&mut self.key, KeySpace::WarehouseYtd, warehouse);
        self.add_to_sum("W_YTD", amount)?;
        warehouse_key(&mut self.key, KeySpace::Warehouse, warehouse);
        let row = self.read("WAREHOUSE", |value| codec::warehouse(warehouse, value))?;
        let row = row.ok_or_else(|| missing("the row", warehouse, 0, 0))?;
        Ok(Payee {
            name: row.name,
            address: row.address,
        })
    }

    fn pay_district(&mut self, warehouse: u32, district: u8, amount: i64) -> Result<Payee> {
        district_key(&mut self.key, KeySpace::DistrictYtd, warehouse, district);
        self.add_to_sum("D_YTD", amount)?;
        district_key(&mut self.key, KeySpace::District, warehouse, district);
        let decode = |value: &[u8]| codec::district(warehouse, district, value);
        let row = self.read("DISTRICT", decode)?;
        let row = row.ok_or_else(|| missing("the row", warehouse, district, 0))?;
        Ok(Payee {
            name: row.name,
            address: row.address,
        })
    }

    fn customer(
        &mut self,
        warehouse: u32,
        district: u8,
        who: &CustomerSelector,
        _intent: ReadIntent,
        out: &mut CustomerRow,
    ) -> Result<()> {
        let id = match who {
            CustomerSelector::Number(id) => *id,
            CustomerSelector::LastName(last) => self.middle_of_name(warehouse, district, last)?,
        };
        let (key, kept) = &mut self.customer;
        district_key(key, KeySpace::Customer, warehouse, district).u32(id);
        let found = self.session.get(key.as_bytes(), &mut |value| {
            kept.clear();
            kept.extend_from_slice(value);
        })?;
        if !found {
            return Err(missing("customer", warehouse, district, id));
        }
        (out.warehouse, out.district, out.id) = (warehouse, district, id);
        codec::customer(kept, out).ok_or_else(|| damaged("CUSTOMER"))
    }

    fn pay_customer(&mut self, change: &CustomerChange<'_>) -> Result<()> {
        let (key, kept) = &mut self.customer;
        codec::patch(kept, BALANCE, change.balance.to_le_bytes())
            .and_then(|()| codec::patch(kept, YTD_PAYMENT, change.ytd_payment.to_le_bytes()))
            .and_then(|()| codec::patch(kept, PAYMENT_COUNT, change.payment_count.to_le_bytes()))
            .ok_or_else(|| damaged("CUSTOMER"))?;
        if let Some(data) = change.data {
            codec::replace_customer_data(kept, data).ok_or_else(|| damaged("CUSTOMER"))?;
        }
        self.session.put(key.as_bytes(), kept)
    }

    fn insert_history(&mut self, row: &HistoryRow) -> Result<()> {
        global_key(&mut self.key, KeySpace::History)
            .u32(row.writer)
            .u64(row.number);
        codec::put_history(row, &mut self.value);
        self.store()
    }
}

impl DeliveryTables for KeyValue<'_> {
    fn take_oldest_new_orders(
        &mut self,
        warehouse: u32,
        out: &mut Vec<UndeliveredOrder>,
    ) -> Result<()> {
        out.clear();
        for district in 1..=DISTRICTS {
            district_key(self.prefix.write(), KeySpace::NewOrder, warehouse, district);
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
            district_key(&mut self.key, KeySpace::NewOrder, warehouse, district).u32(order);
            // Engines that lock what is read and not what is scanned take the lock here, and then
            // see whether another delivery has been faster.
            if !self.session.get(self.key.as_bytes(), &mut |_| {})? {
                let why = "another delivery has taken the order";
                return Err(Error::Conflict(why.to_owned()));
            }
            self.session.delete(self.key.as_bytes())?;
            out.push(UndeliveredOrder { district, order });
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
        for &due in due {
            out.push(self.deliver_one(warehouse, due, carrier, at)?);
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
    fn middle_of_name(
        &mut self,
        warehouse: u32,
        district: u8,
        last: &FixedText<16>,
    ) -> Result<u32> {
        district_key(
            self.prefix.write(),
            KeySpace::CustomerName,
            warehouse,
            district,
        );
        name(self.prefix.write(), last.as_bytes());
        let mut ids = std::mem::take(&mut self.numbers);
        ids.clear();
        let mut push = |id| ids.push(id);
        let read = self.each("CUSTOMER", &mut push, |key, _| keys::last_u32(key));
        self.numbers = ids;
        read?;
        let middle = self.numbers.len().div_ceil(2);
        middle
            .checked_sub(1)
            .and_then(|index| self.numbers.get(index).copied())
            .ok_or_else(|| {
                Error::engine(format!(
                    "no customer of district {district} of warehouse {warehouse} is called {last}"
                ))
            })
    }

    /// Marks one order as delivered.
    pub(super) fn deliver_one(
        &mut self,
        warehouse: u32,
        due: UndeliveredOrder,
        carrier: u8,
        at: i64,
    ) -> Result<DeliveredOrder> {
        let UndeliveredOrder { district, order } = due;
        district_key(&mut self.key, KeySpace::Order, warehouse, district).u32(order);
        if !self.fetch()? {
            return Err(missing("order", warehouse, district, order));
        }
        let row = codec::order(warehouse, district, order, &self.value);
        let row = row.ok_or_else(|| damaged("ORDER"))?;
        codec::patch(&mut self.value, codec::CARRIER_AT, [carrier])
            .ok_or_else(|| damaged("ORDER"))?;
        self.store()?;
        let amount = self.deliver_lines(warehouse, due, at)?;
        Ok(DeliveredOrder {
            district,
            customer: row.customer,
            amount,
        })
    }

    /// Sets OL_DELIVERY_D of an order's lines; the sum of their amounts.
    fn deliver_lines(&mut self, warehouse: u32, due: UndeliveredOrder, at: i64) -> Result<i64> {
        let UndeliveredOrder { district, order } = due;
        district_key(
            self.prefix.write(),
            KeySpace::OrderLine,
            warehouse,
            district,
        )
        .u32(order);
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
            district_key(&mut self.key, KeySpace::OrderLine, warehouse, district)
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

    /// Adds what was delivered to the customer's balance.
    pub(super) fn credit(&mut self, warehouse: u32, delivered: &DeliveredOrder) -> Result<()> {
        let DeliveredOrder {
            district,
            customer,
            amount,
        } = *delivered;
        district_key(&mut self.key, KeySpace::Customer, warehouse, district).u32(customer);
        if !self.fetch()? {
            return Err(missing("customer", warehouse, district, customer));
        }
        let balance = codec::peek(&self.value, BALANCE).map(i64::from_le_bytes);
        let count = codec::peek(&self.value, DELIVERY_COUNT).map(u32::from_le_bytes);
        let (balance, count) = balance.zip(count).ok_or_else(|| damaged("CUSTOMER"))?;
        codec::patch(&mut self.value, BALANCE, (balance + amount).to_le_bytes())
            .and_then(|()| codec::patch(&mut self.value, DELIVERY_COUNT, (count + 1).to_le_bytes()))
            .ok_or_else(|| damaged("CUSTOMER"))?;
        self.store()
    }
}
