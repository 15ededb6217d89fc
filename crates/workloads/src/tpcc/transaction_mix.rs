//! The mix of transactions: shares by a deck of cards, as clause 5.2.4.2 describes it.

use crate::generate::random::Random;

/// A type of transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionType {
    /// Clause 2.4.
    NewOrder,
    /// Clause 2.5.
    Payment,
    /// Clause 2.6.
    OrderStatus,
    /// Clause 2.7.
    Delivery,
    /// Clause 2.8.
    StockLevel,
}

/// Ten new-orders, ten payments, and one of each other.
const TYPES: usize = 23;

/// The mix of one terminal. Types are drawn like cards, without being put back; when none is left,
/// the deck is shuffled again.
#[derive(Debug, Clone)]
pub struct TransactionMix {
    types: [TransactionType; TYPES],
    left: usize,
}

impl Default for TransactionMix {
    fn default() -> Self {
        let mut types = [TransactionType::NewOrder; TYPES];
        types[10..20].fill(TransactionType::Payment);
        types[20..].copy_from_slice(&[
            TransactionType::OrderStatus,
            TransactionType::Delivery,
            TransactionType::StockLevel,
        ]);
        Self { types, left: 0 }
    }
}

impl TransactionMix {
    /// Draws the type of the next transaction.
    pub fn draw(&mut self, random: &mut Random) -> TransactionType {
        if self.left == 0 {
            self.left = TYPES;
        }
        // One step of a shuffle by Fisher and Yates: any type that is left, as likely as the
        // others.
        let chosen = random.below(self.left as u64) as usize;
        self.left -= 1;
        self.types.swap(chosen, self.left);
        self.types[self.left]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_deck_has_ten_new_orders_ten_payments_and_one_of_each_other() {
        let (mut deck, mut random) = (TransactionMix::default(), Random::new(4));
        let mut orders = Vec::new();
        for _ in 0..50 {
            let drawn: Vec<_> = (0..TYPES).map(|_| deck.draw(&mut random)).collect();
            let count = |card| drawn.iter().filter(|&&one| one == card).count();
            assert_eq!(count(TransactionType::NewOrder), 10);
            assert_eq!(count(TransactionType::Payment), 10);
            assert_eq!(count(TransactionType::OrderStatus), 1);
            assert_eq!(count(TransactionType::Delivery), 1);
            assert_eq!(count(TransactionType::StockLevel), 1);
            orders.push(drawn);
        }
        orders.dedup();
        assert_eq!(orders.len(), 50, "each deck is shuffled");
    }
}
