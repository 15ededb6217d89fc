//! Keys: a byte that names the table or index, and the columns of its key in big-endian order, so
//! that the rows of a district are together in the order of their numbers. The layout is Silo's (Tu
//! and others, "Speedy Transactions in Multicore In-Memory Databases", SOSP 2013).

use crate::tpcc::rows::DistrictKey;
use trueput_engine::KeyRange;
use trueput_engine::key::KeyBuffer;

/// The first byte of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum KeySpace {
    /// WAREHOUSE without W_YTD: (w).
    Warehouse = 1,
    /// W_YTD: (w). Apart, so that new-orders, which read the tax, do not meet payments: the
    /// vertical partitioning that clause 1.4.4 allows.
    WarehouseYtd,
    /// DISTRICT without D_YTD: (w, d).
    District,
    /// D_YTD: (w, d).
    DistrictYtd,
    /// CUSTOMER: (w, d, c).
    Customer,
    /// Index of customers by name: (w, d, last, first, c).
    CustomerName,
    /// HISTORY: (writer, number).
    History,
    /// NEW-ORDER: (w, d, o).
    NewOrder,
    /// ORDER: (w, d, o).
    Order,
    /// Index of orders by customer: (w, d, c, o).
    OrderCustomer,
    /// ORDER-LINE: (w, d, o, number).
    OrderLine,
    /// ITEM: (i).
    Item,
    /// STOCK: (w, i).
    Stock,
}

/// Starts a key of a table that belongs to warehouses.
pub(super) fn warehouse_key(
    key: &mut KeyBuffer,
    space: KeySpace,
    warehouse: u32,
) -> &mut KeyBuffer {
    key.clear().u8(space as u8).u32(warehouse)
}

/// Starts a key of a table that belongs to districts.
pub(super) fn district_key(
    key: &mut KeyBuffer,
    space: KeySpace,
    district: DistrictKey,
) -> &mut KeyBuffer {
    warehouse_key(key, space, district.warehouse).u8(district.district)
}

/// Starts a key that is of no warehouse.
pub(super) fn global_key(key: &mut KeyBuffer, space: KeySpace) -> &mut KeyBuffer {
    key.clear().u8(space as u8)
}

/// Every key that starts with a prefix, as a low and a high end.
#[derive(Debug, Clone)]
pub(super) struct KeyPrefix {
    lower: KeyBuffer,
    upper: Vec<u8>,
}

impl KeyPrefix {
    pub(super) fn new() -> Self {
        Self {
            lower: KeyBuffer::new(),
            upper: Vec::with_capacity(64),
        }
    }

    /// The prefix, to be written; [`KeyPrefix::range`] follows.
    pub(super) fn write(&mut self) -> &mut KeyBuffer {
        &mut self.lower
    }

    /// The keys with that prefix. The spaces' bytes are small, so there is a key above them all.
    pub(super) fn range(&mut self) -> KeyRange<'_> {
        self.upper.clear();
        self.upper.extend_from_slice(self.lower.as_bytes());
        while let Some(last) = self.upper.pop() {
            if last < u8::MAX {
                self.upper.push(last + 1);
                break;
            }
        }
        KeyRange::between(self.lower.as_bytes(), &self.upper)
    }
}

/// The number in the last four bytes of a key.
pub(super) fn last_u32(key: &[u8]) -> Option<u32> {
    key.last_chunk().copied().map(u32::from_be_bytes)
}

/// O_ID and OL_NUMBER of a key of [`KeySpace::OrderLine`].
pub(super) fn order_and_line(key: &[u8]) -> Option<(u32, u8)> {
    let (line, order) = key.split_last()?;
    Some((last_u32(order)?, *line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: DistrictKey = DistrictKey::new(u32::MAX, u8::MAX);

    #[test]
    fn a_prefix_covers_its_continuations_and_nothing_else() {
        let (mut prefix, mut key) = (KeyPrefix::new(), KeyBuffer::new());
        district_key(prefix.write(), KeySpace::Order, LAST);
        let inside = district_key(&mut key, KeySpace::Order, LAST).u32(9);
        let inside = inside.as_bytes().to_vec();
        let above = warehouse_key(&mut key, KeySpace::OrderCustomer, 0);
        let above = above.as_bytes().to_vec();
        let range = prefix.range();
        assert!(range.admits_from_below(&inside) && range.admits_from_above(&inside));
        assert!(!range.admits_from_above(&above));
    }

    #[test]
    fn a_name_is_no_prefix_of_a_longer_one() {
        let (mut prefix, mut key) = (KeyPrefix::new(), KeyBuffer::new());
        district_key(prefix.write(), KeySpace::CustomerName, LAST).bytes(b"BAR");
        let longer = district_key(&mut key, KeySpace::CustomerName, LAST).bytes(b"BARBAR");
        let longer = longer.as_bytes().to_vec();
        let range = prefix.range();
        assert!(!(range.admits_from_below(&longer) && range.admits_from_above(&longer)));
    }
}
