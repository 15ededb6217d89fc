//! The bench on which transactional storage is measured.

fn main() {}
