//! The mix of transactions: a deck of cards, as clause 5.2.4.2 describes it.

use crate::generate::random::Random;

/// A type of transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Card {
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
const CARDS: usize = 23;

/// A terminal's deck. Cards are drawn without being put back; an empty deck is shuffled anew.
#[derive(Debug, Clone)]
pub struct Deck {
    cards: [Card; CARDS],
    left: usize,
}

impl Default for Deck {
    fn default() -> Self {
        let mut cards = [Card::NewOrder; CARDS];
        cards[10..20].fill(Card::Payment);
        cards[20..].copy_from_slice(&[Card::OrderStatus, Card::Delivery, Card::StockLevel]);
        Self { cards, left: 0 }
    }
}

impl Deck {
    /// The next card.
    pub fn draw(&mut self, random: &mut Random) -> Card {
        if self.left == 0 {
            self.left = CARDS;
        }
        // One step of a shuffle by Fisher and Yates: any card that is left, as likely as the others.
        let chosen = random.below(self.left as u64) as usize;
        self.left -= 1;
        self.cards.swap(chosen, self.left);
        self.cards[self.left]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_deck_has_ten_new_orders_ten_payments_and_one_of_each_other() {
        let (mut deck, mut random) = (Deck::default(), Random::new(4));
        let mut orders = Vec::new();
        for _ in 0..50 {
            let drawn: Vec<_> = (0..CARDS).map(|_| deck.draw(&mut random)).collect();
            let count = |card| drawn.iter().filter(|&&one| one == card).count();
            assert_eq!(count(Card::NewOrder), 10);
            assert_eq!(count(Card::Payment), 10);
            assert_eq!(count(Card::OrderStatus), 1);
            assert_eq!(count(Card::Delivery), 1);
            assert_eq!(count(Card::StockLevel), 1);
            orders.push(drawn);
        }
        orders.dedup();
        assert_eq!(orders.len(), 50, "each deck is shuffled");
    }
}
