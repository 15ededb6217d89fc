//! Keys and their decoding.

use proptest::prelude::*;
use trueput_workloads::generate::key::{KeyBuffer, KeyError, KeyFormat};

fn key(format: KeyFormat, item: u64) -> Vec<u8> {
    format.write(item, &mut KeyBuffer::default()).to_vec()
}

fn text(format: KeyFormat, item: u64) -> String {
    String::from_utf8(key(format, item)).unwrap()
}

#[test]
fn plain_keys_are_those_of_printf() {
    let format = KeyFormat::plain(16).unwrap();
    assert_eq!(text(format, 0), "0000000000000000");
    assert_eq!(text(format, 255), "00000000000000ff");
    assert_eq!(text(format, u64::MAX), "ffffffffffffffff");
    let wide = text(KeyFormat::plain(1_000).unwrap(), 0xbeef);
    assert_eq!(wide, format!("{:01$x}", 0xbeef, 1_000));
}

#[test]
fn short_plain_keys_are_binary_with_the_highest_byte_first() {
    let format = KeyFormat::plain(8).unwrap();
    assert_eq!(key(format, 0x0102), [0, 0, 0, 0, 0, 0, 1, 2]);
    let format = KeyFormat::plain(10).unwrap();
    assert_eq!(
        key(format, u64::MAX),
        [0, 0, 255, 255, 255, 255, 255, 255, 255, 255]
    );
}

#[test]
fn ycsb_keys_are_those_of_ycsb() {
    // The first keys that any load of YCSB writes.
    let format = KeyFormat::ycsb_hashed(1).unwrap();
    assert_eq!(text(format, 0), "user6284781860667377211");
    assert_eq!(text(format, 1), "user8517097267634966620");
    assert_eq!(text(format, 2), "user1820151046732198393");
    let format = KeyFormat::ycsb_hashed(24).unwrap();
    assert_eq!(text(format, 0), "user000006284781860667377211");
    let format = KeyFormat::ycsb_ordered(1).unwrap();
    assert_eq!(
        (text(format, 0), text(format, 70)),
        ("user0".into(), "user70".into())
    );
    let format = KeyFormat::ycsb_ordered(5).unwrap();
    assert_eq!(text(format, 7), "user00007");
    assert_eq!(text(format, 1_234_567), "user1234567");
}

#[test]
fn a_buffer_keeps_nothing_of_the_key_before() {
    let mut buffer = KeyBuffer::default();
    let wide = KeyFormat::plain(40).unwrap();
    wide.write(u64::MAX, &mut buffer);
    KeyFormat::plain(9).unwrap().write(u64::MAX, &mut buffer);
    assert_eq!(wide.write(1, &mut buffer), key(wide, 1));
}

#[test]
fn keys_of_other_formats_do_not_decode() {
    let hex = KeyFormat::plain(16).unwrap();
    let wide = KeyFormat::plain(20).unwrap();
    let binary = KeyFormat::plain(10).unwrap();
    let ordered = KeyFormat::ycsb_ordered(5).unwrap();
    assert_eq!(hex.read(b"00000000000000ff"), Some(255));
    for strange in [
        "00000000000000fg",
        "00000000000000FF",
        "ff",
        "",
        "+000000000000001",
    ] {
        assert_eq!(hex.read(strange.as_bytes()), None, "{strange}");
    }
    assert_eq!(wide.read(b"10000000000000000000"), None);
    assert_eq!(binary.read(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), None);
    assert_eq!(ordered.read(b"user00007"), Some(7));
    for strange in [
        "user7",
        "user000007",
        "user",
        "User00007",
        "user0000x",
        "user99999999999999999999",
    ] {
        assert_eq!(ordered.read(strange.as_bytes()), None, "{strange}");
    }
    assert_eq!(
        KeyFormat::ycsb_hashed(1)
            .unwrap()
            .read(b"user6284781860667377211"),
        None
    );
}

#[test]
fn widths_that_cannot_be_made_are_refused() {
    for given in [0, 7, 1_001] {
        assert_eq!(KeyFormat::plain(given), Err(KeyError::Width { given }));
    }
    let message = KeyFormat::plain(7).unwrap_err().to_string();
    assert_eq!(
        message,
        "keys of 7 bytes cannot be made; give 8 to 1000 bytes"
    );
    assert_eq!(
        KeyFormat::ycsb_ordered(997),
        Err(KeyError::Padding { given: 997 })
    );
    let widest = KeyFormat::ycsb_ordered(996).unwrap();
    assert_eq!(key(widest, 3).len(), 1_000);
}

#[test]
fn a_format_knows_whether_its_keys_sort_as_items() {
    assert!(KeyFormat::plain(8).unwrap().sorts_as_items(u64::MAX));
    assert!(!KeyFormat::ycsb_hashed(1).unwrap().sorts_as_items(1_000));
    let ordered = KeyFormat::ycsb_ordered(3).unwrap();
    assert!(ordered.sorts_as_items(1_000));
    assert!(!ordered.sorts_as_items(1_001));
    assert!(key(ordered, 1_000) < key(ordered, 999));
}

fn readable() -> impl Strategy<Value = KeyFormat> {
    prop_oneof![
        (8_usize..=64).prop_map(|bytes| KeyFormat::plain(bytes).unwrap()),
        (0_usize..=30).prop_map(|digits| KeyFormat::ycsb_ordered(digits).unwrap()),
    ]
}

proptest! {
    #[test]
    fn keys_decode_to_their_items(format in readable(), item: u64, shift in 0_u32..64) {
        let item = item >> shift;
        let key = key(format, item);
        prop_assert_eq!(format.read(&key), Some(item));
        prop_assert!(key.len() <= format.longest());
    }

    #[test]
    fn plain_keys_sort_as_their_items(bytes in 8_usize..=40, a: u64, b: u64) {
        let format = KeyFormat::plain(bytes).unwrap();
        prop_assert_eq!(a.cmp(&b), key(format, a).cmp(&key(format, b)));
    }

    #[test]
    fn what_decodes_is_what_would_be_written(
        format in readable(),
        key_bytes in proptest::collection::vec(
            proptest::sample::select(&b"\x00019auser"[..]),
            0..24,
        ),
    ) {
        if let Some(item) = format.read(&key_bytes) {
            prop_assert_eq!(key(format, item), key_bytes);
        }
    }

    #[test]
    fn hashed_keys_are_no_longer_than_said(item: u64, digits in 0_usize..30) {
        let format = KeyFormat::ycsb_hashed(digits).unwrap();
        prop_assert!(key(format, item).len() <= format.longest());
    }
}
