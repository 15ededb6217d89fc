//! The input that a terminal's user keys in for each transaction (clauses 2.4.1 to 2.8.1).

use super::random::{RandomConstants, happens, last_name, uniform};
use super::rows::DISTRICTS;
use super::scale::Scale;
use super::transaction_mix::{TransactionMix, TransactionType};
use crate::fixed_text::FixedText;
use crate::generate::random::Random;

/// Selects a customer of a district, by number or by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomerSelector {
    /// The one of this C_ID.
    Number(u32),
    /// Of the customers of this C_LAST, in the order of C_FIRST, the one at n/2 rounded up,
    /// counted from 1 (clauses 2.5.2.2 and 2.6.2.2).
    LastName(FixedText<16>),
}

/// Lines of an order, at most (clause 2.4.1.3).
pub const MAX_LINES: usize = 15;

/// The shares that settings may change, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RemoteShares {
    /// Order-lines from another warehouse: 1 (clause 2.4.1.5.2).
    pub lines_percent: f64,
    /// Payments of another warehouse's customers: 15 (clause 2.5.1.2).
    pub payments_percent: f64,
}

/// A line of an order, as entered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Line {
    /// OL_I_ID.
    pub item: u32,
    /// OL_SUPPLY_W_ID.
    pub supplier: u32,
    /// OL_QUANTITY, 1 to 10.
    pub quantity: u8,
}

/// The input of a new-order (clause 2.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewOrder {
    /// W_ID.
    pub warehouse: u32,
    /// D_ID.
    pub district: u8,
    /// C_ID.
    pub customer: u32,
    lines: [Line; MAX_LINES],
    count: u8,
}

impl NewOrder {
    /// An order of these lines, of which the first 15 are taken.
    #[must_use]
    pub fn of(warehouse: u32, district: u8, customer: u32, of: &[Line]) -> Self {
        let count = of.len().min(MAX_LINES);
        let mut lines = [Line::default(); MAX_LINES];
        lines[..count].copy_from_slice(&of[..count]);
        Self {
            warehouse,
            district,
            customer,
            lines,
            count: count as u8,
        }
    }

    /// Its lines.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines[..usize::from(self.count)]
    }
}

/// The input of a payment (clause 2.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payment {
    /// W_ID.
    pub warehouse: u32,
    /// D_ID.
    pub district: u8,
    /// C_W_ID.
    pub customer_warehouse: u32,
    /// C_D_ID.
    pub customer_district: u8,
    /// C_ID or C_LAST.
    pub who: CustomerSelector,
    /// H_AMOUNT, cents: 1.00 to 5,000.00.
    pub amount: i64,
}

/// The input of an order-status (clause 2.6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderStatus {
    /// C_W_ID.
    pub warehouse: u32,
    /// C_D_ID.
    pub district: u8,
    /// C_ID or C_LAST.
    pub who: CustomerSelector,
}

/// The input of a delivery (clause 2.7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// W_ID.
    pub warehouse: u32,
    /// O_CARRIER_ID, 1 to 10.
    pub carrier: u8,
}

/// The input of a stock-level (clause 2.8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockLevel {
    /// W_ID.
    pub warehouse: u32,
    /// D_ID, the terminal's own.
    pub district: u8,
    /// The threshold, 10 to 20.
    pub threshold: i32,
}

/// The input of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "it lives on the stack, one at a time; a box would be an allocation per order"
)]
pub enum Input {
    /// Clause 2.4.
    NewOrder(NewOrder),
    /// Clause 2.5.
    Payment(Payment),
    /// Clause 2.6.
    OrderStatus(OrderStatus),
    /// Clause 2.7.
    Delivery(Delivery),
    /// Clause 2.8.
    StockLevel(StockLevel),
}

/// The users of one worker: a seed decides all that they key in.
#[derive(Debug, Clone)]
pub struct TerminalUsers {
    scale: Scale,
    remote: RemoteShares,
    constants: RandomConstants,
    /// The warehouses of the worker's terminals, of which each input draws one at random.
    homes: Vec<u32>,
    /// The district of its terminal, for stock-level.
    district: u8,
    mix: TransactionMix,
    random: Random,
}

impl TerminalUsers {
    /// The inputs of a worker. If there are at least as many workers as warehouses, each belongs to
    /// one; otherwise a worker's terminals are in several.
    #[must_use]
    pub fn new(
        scale: Scale,
        remote: RemoteShares,
        seed: u64,
        (worker, workers): (u32, u32),
    ) -> Self {
        let warehouses = scale.warehouses;
        let homes = if workers >= warehouses {
            vec![worker % warehouses + 1]
        } else {
            (1..=warehouses)
                .filter(|home| (home - 1) % workers == worker)
                .collect()
        };
        Self {
            scale,
            remote,
            constants: RandomConstants::for_run(seed, 0),
            homes,
            district: (worker / warehouses % u32::from(DISTRICTS)) as u8 + 1,
            mix: TransactionMix::default(),
            random: Random::for_worker(seed, worker, "tpcc users"),
        }
    }

    /// Returns the next input.
    pub fn next_input(&mut self) -> Input {
        let home = self.homes[self.random.below(self.homes.len() as u64) as usize];
        match self.mix.draw(&mut self.random) {
            TransactionType::NewOrder => Input::NewOrder(self.new_order(home)),
            TransactionType::Payment => Input::Payment(self.payment(home)),
            TransactionType::OrderStatus => Input::OrderStatus(OrderStatus {
                warehouse: home,
                district: self.any_district(),
                who: self.choose_customer(),
            }),
            TransactionType::Delivery => Input::Delivery(Delivery {
                warehouse: home,
                carrier: uniform(&mut self.random, 1, 10) as u8,
            }),
            TransactionType::StockLevel => Input::StockLevel(StockLevel {
                warehouse: home,
                district: self.district,
                threshold: uniform(&mut self.random, 10, 20) as i32,
            }),
        }
    }

    /// A time to think: negative exponential around `mean_ns`, at most ten times that (clause
    /// 5.2.5.4).
    pub fn think_ns(&mut self, mean_ns: u64) -> u64 {
        let mean = mean_ns as f64;
        // 1 less a number below 1 is above 0, so that the logarithm is finite.
        let drawn = -(1.0 - self.random.unit_f64()).ln() * mean;
        drawn.min(10.0 * mean) as u64
    }

    fn any_district(&mut self) -> u8 {
        uniform(&mut self.random, 1, u64::from(DISTRICTS)) as u8
    }

    /// A warehouse other than `home`; `home` if there is only one.
    fn other_warehouse(&mut self, home: u32) -> u32 {
        if self.scale.warehouses == 1 {
            return home;
        }
        let drawn = uniform(&mut self.random, 1, u64::from(self.scale.warehouses) - 1) as u32;
        if drawn >= home { drawn + 1 } else { drawn }
    }

    /// By last name in 60 of 100 cases (clauses 2.5.1.2 and 2.6.1.2).
    fn choose_customer(&mut self) -> CustomerSelector {
        let (constants, scale) = (self.constants, self.scale);
        if happens(&mut self.random, 60.0) {
            CustomerSelector::LastName(last_name(constants.name(&mut self.random, scale.names())))
        } else {
            CustomerSelector::Number(constants.customer(&mut self.random, scale.customers))
        }
    }

    fn new_order(&mut self, home: u32) -> NewOrder {
        let (constants, scale) = (self.constants, self.scale);
        let district = self.any_district();
        let customer = constants.customer(&mut self.random, scale.customers);
        let count = uniform(&mut self.random, 5, 15) as usize;
        // One in a hundred asks at last for an item that there is not (clause 2.4.1.4).
        let is_rolled_back = uniform(&mut self.random, 1, 100) == 1;
        let mut lines = [Line::default(); MAX_LINES];
        for (index, line) in lines[..count].iter_mut().enumerate() {
            let item = constants.item(&mut self.random, scale.items);
            let is_remote = happens(&mut self.random, self.remote.lines_percent);
            *line = Line {
                item: if is_rolled_back && index + 1 == count {
                    unused_item(&scale)
                } else {
                    item
                },
                supplier: if is_remote {
                    self.other_warehouse(home)
                } else {
                    home
                },
                quantity: uniform(&mut self.random, 1, 10) as u8,
            };
        }
        NewOrder::of(home, district, customer, &lines[..count])
    }

    fn payment(&mut self, home: u32) -> Payment {
        let district = self.any_district();
        let is_remote = happens(&mut self.random, self.remote.payments_percent);
        let (customer_warehouse, customer_district) = if is_remote {
            (self.other_warehouse(home), self.any_district())
        } else {
            (home, district)
        };
        Payment {
            warehouse: home,
            district,
            customer_warehouse,
            customer_district,
            who: self.choose_customer(),
            amount: uniform(&mut self.random, 100, 500_000) as i64,
        }
    }
}

/// An I_ID that no item has (clause 2.4.1.5.1).
#[must_use]
pub fn unused_item(scale: &Scale) -> u32 {
    scale.items + 1
}

#[cfg(test)]
mod tests {
    use super::super::scale::Cardinality;
    use super::*;

    const REMOTE: RemoteShares = RemoteShares {
        lines_percent: 1.0,
        payments_percent: 15.0,
    };

    fn users(worker: u32, workers: u32, warehouses: u32) -> TerminalUsers {
        let scale = Scale::new(warehouses, Cardinality::Full);
        TerminalUsers::new(scale, REMOTE, 7, (worker, workers))
    }

    fn inputs(count: usize) -> Vec<Input> {
        let mut users = users(2, 4, 4);
        (0..count).map(|_| users.next_input()).collect()
    }

    #[test]
    fn one_seed_keys_in_one_sequence() {
        assert_eq!(inputs(500), inputs(500));
        let mut other = users(3, 4, 4);
        let others: Vec<_> = (0..500).map(|_| other.next_input()).collect();
        assert_ne!(inputs(500), others);
    }

    #[test]
    fn the_shares_are_those_of_the_specification() {
        let made = inputs(230_000);
        let (mut orders, mut unused, mut lines, mut remote) = (0.0, 0.0, 0.0, 0.0);
        let (mut payments, mut away, mut by_name) = (0.0, 0.0, 0.0);
        for input in &made {
            match input {
                Input::NewOrder(order) => {
                    orders += 1.0;
                    let is_unused = |line: &&Line| line.item == 100_001;
                    unused += order.lines().iter().filter(is_unused).count() as f64;
                    lines += order.lines().len() as f64;
                    let is_remote = |line: &&Line| line.supplier != order.warehouse;
                    remote += order.lines().iter().filter(is_remote).count() as f64;
                    let mut suppliers = order.lines().iter().map(|line| line.supplier);
                    assert!(suppliers.all(|supplier| (1..=4).contains(&supplier)));
                }
                Input::Payment(payment) => {
                    payments += 1.0;
                    away += f64::from(u8::from(payment.customer_warehouse != payment.warehouse));
                    let is_named = matches!(payment.who, CustomerSelector::LastName(_));
                    by_name += f64::from(u8::from(is_named));
                }
                _ => {}
            }
        }
        assert_eq!((orders, payments), (100_000.0, 100_000.0));
        for (share, expected) in [
            (unused / orders, 0.009..0.011),
            (lines / orders, 9.95..10.05),
            (remote / lines, 0.0095..0.0105),
            (away / payments, 0.145..0.155),
            (by_name / payments, 0.59..0.61),
        ] {
            assert!(expected.contains(&share), "{share} is not in {expected:?}");
        }
    }

    #[test]
    fn ten_workers_per_warehouse_are_one_terminal_of_each_district() {
        let mut seen: Vec<_> = (0..20)
            .map(|worker| {
                let users = users(worker, 20, 2);
                (users.homes[0], users.district)
            })
            .collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 20);
    }

    #[test]
    fn fewer_workers_than_warehouses_serve_every_warehouse() {
        let mut homes: Vec<_> = (0..3)
            .flat_map(|worker| users(worker, 3, 8).homes)
            .collect();
        homes.sort_unstable();
        assert!(homes.into_iter().eq(1..=8));
    }

    #[test]
    fn times_to_think_have_their_mean_and_their_limit() {
        let mut users = users(0, 1, 1);
        let drawn: Vec<_> = (0..100_000).map(|_| users.think_ns(12_000)).collect();
        let mean = drawn.iter().sum::<u64>() / 100_000;
        assert!((11_800..12_200).contains(&mean), "{mean}");
        assert!(drawn.iter().all(|&time| time <= 120_000));
    }
}
