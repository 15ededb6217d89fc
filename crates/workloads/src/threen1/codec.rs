//! The encodings of numbers and steps in the step table: as integers, or as words in ten languages.
//! Neither allocates.

use trueput_engine::key::MAX_KEY_BYTES;

/// The largest number that the step table can hold: the first byte of its keys stays below `80`,
/// far from the workload's other records.
pub const MAX_STORABLE: u64 = (1 << 63) - 1;

/// The words of the digits 0 to 9, the original's way to show arbitrary strings.
pub const WORDS: [&str; 10] = [
    "zero",
    "eins",
    "deux",
    "tres",
    "quattro",
    "пять",
    "ستة",
    "सात",
    "捌",
    "ஒன்பது",
];

/// Room for one key or value under construction.
#[derive(Debug, Clone)]
pub struct CodecBuffer([u8; MAX_KEY_BYTES]);

impl Default for CodecBuffer {
    fn default() -> Self {
        Self([0; MAX_KEY_BYTES])
    }
}

/// A way to write the step table's keys and values.
pub trait Codec {
    /// The key of a number.
    fn number(number: u64, buffer: &mut CodecBuffer) -> &[u8];

    /// The value for a count of steps.
    fn steps(steps: u32, buffer: &mut CodecBuffer) -> &[u8];

    /// The number of a key, if it is one that [`Codec::number`] makes.
    fn read_number(key: &[u8]) -> Option<u64>;

    /// The steps of a value, if it is one that [`Codec::steps`] makes.
    fn read_steps(value: &[u8]) -> Option<u32>;

    /// Keys that cut the step table into some hundreds of pieces of like size, ascending.
    fn cuts() -> Vec<Vec<u8>>;
}

/// Keys of eight bytes and values of four, both big-endian.
#[derive(Debug, Clone, Copy)]
pub struct IntegerCodec;

impl Codec for IntegerCodec {
    fn number(number: u64, buffer: &mut CodecBuffer) -> &[u8] {
        let key = &mut buffer.0[..8];
        key.copy_from_slice(&number.to_be_bytes());
        key
    }

    fn steps(steps: u32, buffer: &mut CodecBuffer) -> &[u8] {
        let value = &mut buffer.0[..4];
        value.copy_from_slice(&steps.to_be_bytes());
        value
    }

    fn read_number(key: &[u8]) -> Option<u64> {
        let number = u64::from_be_bytes(key.try_into().ok()?);
        (1..=MAX_STORABLE).contains(&number).then_some(number)
    }

    fn read_steps(value: &[u8]) -> Option<u32> {
        Some(u32::from_be_bytes(value.try_into().ok()?))
    }

    fn cuts() -> Vec<Vec<u8>> {
        let eighths = |power: u32| (8..16_u64).map(move |eighth| eighth << power);
        (0..60)
            .flat_map(eighths)
            .map(|number| number.to_be_bytes().to_vec())
            .collect()
    }
}

/// Each decimal digit is a word of [`WORDS`]; one space is between words.
#[derive(Debug, Clone, Copy)]
pub struct WordCodec;

impl Codec for WordCodec {
    fn number(number: u64, buffer: &mut CodecBuffer) -> &[u8] {
        spell(number, buffer)
    }

    fn steps(steps: u32, buffer: &mut CodecBuffer) -> &[u8] {
        spell(steps.into(), buffer)
    }

    fn read_number(key: &[u8]) -> Option<u64> {
        unspell(key).filter(|number| (1..=MAX_STORABLE).contains(number))
    }

    fn read_steps(value: &[u8]) -> Option<u32> {
        unspell(value)?.try_into().ok()
    }

    fn cuts() -> Vec<Vec<u8>> {
        let mut buffer = CodecBuffer::default();
        let mut cuts: Vec<_> = (100..1_000)
            .map(|n| spell(n, &mut buffer).to_vec())
            .collect();
        cuts.sort();
        cuts
    }
}

fn spell(mut number: u64, buffer: &mut CodecBuffer) -> &[u8] {
    // 20 digits are the most that 64 bits have; the longest word has 18 bytes.
    let mut digits = [0_u8; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    let mut length = 0;
    for &digit in &digits[first..] {
        let word = WORDS[usize::from(digit)].as_bytes();
        buffer.0[length..length + word.len()].copy_from_slice(word);
        length += word.len();
        buffer.0[length] = b' ';
        length += 1;
    }
    &buffer.0[..length - 1]
}

fn unspell(text: &[u8]) -> Option<u64> {
    if text != WORDS[0].as_bytes() && text.starts_with(WORDS[0].as_bytes()) {
        return None;
    }
    let mut number = 0_u64;
    for word in text.split(|&byte| byte == b' ') {
        let digit = WORDS.iter().position(|known| known.as_bytes() == word)?;
        number = number.checked_mul(10)?.checked_add(digit as u64)?;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn round_trips<C: Codec>(number: u64, steps: u32) {
        let mut buffer = CodecBuffer::default();
        assert_eq!(C::read_number(C::number(number, &mut buffer)), Some(number));
        assert_eq!(C::read_steps(C::steps(steps, &mut buffer)), Some(steps));
    }

    proptest! {
        #[test]
        fn every_number_and_step_reads_back(number in 1..=MAX_STORABLE, steps: u32) {
            round_trips::<IntegerCodec>(number, steps);
            round_trips::<WordCodec>(number, steps);
        }

        #[test]
        fn integer_keys_are_ordered_like_their_numbers(a: u64, b: u64) {
            let (mut left, mut right) = (CodecBuffer::default(), CodecBuffer::default());
            let keys = (IntegerCodec::number(a, &mut left), IntegerCodec::number(b, &mut right));
            prop_assert_eq!(keys.0.cmp(keys.1), a.cmp(&b));
        }

        #[test]
        fn what_is_read_is_written_the_same(bytes in vec(any::<u8>(), 0..12)) {
            let mut buffer = CodecBuffer::default();
            if let Some(number) = IntegerCodec::read_number(&bytes) {
                prop_assert_eq!(IntegerCodec::number(number, &mut buffer), &bytes[..]);
            }
            prop_assert_eq!(WordCodec::read_number(&bytes), None);
        }
    }

    #[test]
    fn each_digit_is_its_word() {
        let mut buffer = CodecBuffer::default();
        let all = "eins deux tres quattro пять ستة सात 捌 ஒன்பது zero";
        assert_eq!(
            WordCodec::number(1_234_567_890, &mut buffer),
            all.as_bytes()
        );
        assert_eq!(WordCodec::steps(0, &mut buffer), b"zero");
    }

    #[test]
    fn the_longest_key_stays_within_every_engines_limit() {
        let mut buffer = CodecBuffer::default();
        assert!(WordCodec::number(8_999_999_999_999_999_999, &mut buffer).len() <= 380);
        assert_eq!(
            spell(u64::MAX, &mut buffer)
                .split(|&byte| byte == b' ')
                .count(),
            20
        );
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "",
            "zero",
            "eins  deux",
            "eins ",
            " eins",
            "zero eins",
            "one",
            "eins,deux",
        ] {
            assert_eq!(WordCodec::read_number(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(WordCodec::read_steps("zero eins".as_bytes()), None);
        assert_eq!(IntegerCodec::read_number(&[0; 8]), None);
        assert_eq!(IntegerCodec::read_number(&[0xFF; 8]), None);
        assert_eq!(IntegerCodec::read_number(&[1; 7]), None);
        assert_eq!(IntegerCodec::read_steps(&[1; 5]), None);
    }

    #[test]
    fn cuts_ascend() {
        assert!(IntegerCodec::cuts().is_sorted_by(|a, b| a < b));
        assert!(WordCodec::cuts().is_sorted_by(|a, b| a < b));
    }
}
