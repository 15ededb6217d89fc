//! Figures for people: a unit, about three significant digits, thousands separated.

pub use trueput_record::text::{counted, separate, thousands};
use trueput_record::value::exact_bytes;

/// Formats a number of zero or more with three significant digits, or with every digit before the
/// point if there are more: `0.0123`, `4.57`, `45.7`, `4,567`.
///
/// ```
/// use trueput_findings::units::number;
/// assert_eq!((number(4.5678), number(45_678.9)), ("4.57".to_owned(), "45,679".to_owned()));
/// ```
#[must_use]
pub fn number(value: f64) -> String {
    let decimals = decimals_for(value);
    let text = format!("{value:.decimals$}");
    // Rounding may have reached the next power of ten, which needs one decimal fewer.
    let rounded = text.parse().unwrap_or(value);
    let decimals = decimals.min(decimals_for(rounded));
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        None => separate(&text),
        Some(_) => text,
    }
}

/// A count as a whole number, thousands separated; the median of two counts may be between them.
///
/// ```
/// use trueput_findings::units::whole;
/// assert_eq!((whole(1.0), whole(4_109_133.0)), ("1".to_owned(), "4,109,133".to_owned()));
/// ```
#[must_use]
pub fn whole(count: f64) -> String {
    separate(&format!("{count:.0}"))
}

fn decimals_for(value: f64) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let magnitude = value.abs().log10().floor() as i32;
    usize::try_from(2 - magnitude).unwrap_or(0).min(12)
}

/// A time in seconds, in the unit that suits it: `1.23 s`, `45.6 ms`, `7.89 µs`, `12 ns`.
///
/// ```
/// use trueput_findings::units::seconds;
/// assert_eq!(seconds(0.000_000_2), "200 ns");
/// assert_eq!(seconds(3.0), "3.00 s");
/// ```
#[must_use]
pub fn seconds(value_s: f64) -> String {
    if value_s < 1.0 {
        return nanoseconds(value_s * 1e9);
    }
    format!("{} s", number(value_s))
}

/// A time in nanoseconds, in the unit that suits it. Less than a nanosecond keeps its fraction;
/// nothing that took time is shown as zero.
///
/// ```
/// use trueput_findings::units::nanoseconds;
/// assert_eq!(nanoseconds(1_234.0), "1.23 µs");
/// assert_eq!(nanoseconds(999_999.0), "1.00 ms");
/// ```
#[must_use]
pub fn nanoseconds(value_ns: f64) -> String {
    // 999.5 and more would be shown as 1,000 of the smaller unit.
    const ROLL_OVER: f64 = 999.5;
    let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    let fits = |&&(_, factor): &&(&str, f64)| value_ns / factor < ROLL_OVER;
    let (unit, factor) = units.iter().find(fits).copied().unwrap_or(("s", 1e9));
    let scaled = value_ns / factor;
    if unit == "ns" && scaled.fract() == 0.0 {
        return format!("{scaled:.0} ns");
    }
    format!("{} {unit}", number(scaled))
}

/// Bytes in binary units with three significant digits: `63.2 MiB`.
#[must_use]
pub fn bytes(value: f64) -> String {
    match trueput_record::value::in_binary_unit(value) {
        (scaled, "B") => format!("{scaled:.0} B"),
        (scaled, unit) => format!("{} {unit}", number(scaled)),
    }
}

/// A part of one as per cent: `100 %`, `34.5 %`, `0.123 %`.
#[must_use]
pub fn per_cent(part: f64) -> String {
    format!("{} %", number(part * 100.0))
}

/// The value of a workload's setting: a whole number of KiB and more with its unit if the name says
/// that it is a number of bytes. `--set` reads it back.
///
/// ```
/// use trueput_findings::units::setting_value;
/// assert_eq!(setting_value("part_size", "65536"), "64KiB");
/// assert_eq!(setting_value("value_bytes", "100"), "100");
/// assert_eq!(setting_value("table_size", "65536"), "65536");
/// ```
#[must_use]
pub fn setting_value(name: &str, value: &str) -> String {
    let is_size = name.ends_with("_bytes") || SIZES.contains(&name);
    let bytes = value.parse::<u64>().ok().filter(|_| is_size);
    let text = bytes.map(exact_bytes);
    let text = text.filter(|text| text.ends_with("iB"));
    text.unwrap_or_else(|| value.to_owned())
}

/// The other settings of workloads that are numbers of bytes.
const SIZES: [&str; 5] = [
    "bytes",
    "size",
    "part_size",
    "value_size",
    "mix_max_value_size",
];

/// Formats a cache hit ratio in per cent, with enough digits that two of the misses show: `100 %`
/// if there were none, `97.1 %`, `99.972 %`.
#[must_use]
pub fn hit_ratio(part: f64) -> String {
    let missed = (1.0 - part) * 100.0;
    if missed <= 0.0 {
        return "100 %".to_owned();
    }
    let decimals = (1.0 - missed.log10().floor()).clamp(1.0, 6.0);
    format!("{:.*} %", decimals as usize, part * 100.0)
}

/// The built-in scripts of pgbench, each a kind of operation.
const SCRIPTS: [&str; 3] = ["tpcb-like", "simple-update", "select-only"];

/// The plural of an operation's kind: `updates`, `flushes`, `deliveries`. One that ends with its
/// length or a number stays as it is: `scan(20)`. So does the name of a script, which is one with
/// an underscore, or of pgbench: `oltp_read_only transactions`.
pub fn plural(kind: &str) -> String {
    if kind.contains('_') || SCRIPTS.contains(&kind) {
        return format!("{kind} transactions");
    }
    if !kind.ends_with(|last: char| last.is_alphabetic()) {
        return kind.to_owned();
    }
    match kind.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if kind.ends_with(['s', 'x', 'z']) || kind.ends_with("sh") || kind.ends_with("ch") => {
            format!("{kind}es")
        }
        _ => format!("{kind}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_missed_something_is_never_shown_as_one_that_missed_nothing() {
        assert_eq!(hit_ratio(1.0), "100 %");
        assert_eq!(hit_ratio(0.999_72), "99.972 %");
        assert_eq!(hit_ratio(0.971), "97.1 %");
        assert_eq!(hit_ratio(0.5), "50.0 %");
        assert_eq!(hit_ratio(0.0), "0.0 %");
    }

    #[test]
    fn three_significant_digits_are_kept() {
        let shown = [0.0, 0.0123, 4.5678, 45.678, 456.78, 4567.8, 9.999, 99.96];
        let shown = shown.map(number);
        assert_eq!(
            shown,
            ["0", "0.0123", "4.57", "45.7", "457", "4,568", "10.0", "100"]
        );
    }

    #[test]
    fn a_time_that_passed_is_never_shown_as_zero() {
        assert_eq!(nanoseconds(0.4), "0.400 ns");
        assert_eq!(nanoseconds(1.0), "1 ns");
        assert_eq!(nanoseconds(999.0), "999 ns");
        assert_eq!(nanoseconds(999.7), "1.00 µs");
        assert_eq!(nanoseconds(45_600.0), "45.6 µs");
        assert_eq!(nanoseconds(3.6e12), "3,600 s");
        assert_eq!(seconds(0.000_4), "400 µs");
    }

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(bytes(512.0), "512 B");
        assert_eq!(bytes(1024.0 * 1023.9), "1.00 MiB");
        assert_eq!(bytes(66_270_003.0), "63.2 MiB");
    }

    #[test]
    fn parts_are_shown_as_per_cent() {
        assert_eq!(per_cent(1.0), "100 %");
        assert_eq!(per_cent(0.3454), "34.5 %");
    }

    #[test]
    fn every_kind_has_its_plural() {
        for (one, several) in [
            ("update", "updates"),
            ("flush", "flushes"),
            ("delivery", "deliveries"),
            ("order-status", "order-statuses"),
            ("index", "indexes"),
            ("get-max", "get-maxes"),
            ("read-batch", "read-batches"),
            ("oltp_read_only", "oltp_read_only transactions"),
            ("oltp_update_index", "oltp_update_index transactions"),
            ("select-only", "select-only transactions"),
            ("tpcb-like", "tpcb-like transactions"),
            ("rolled-back new-order", "rolled-back new-orders"),
            ("scan(20)", "scan(20)"),
            ("put-1024", "put-1024"),
        ] {
            assert_eq!(plural(one), several);
        }
    }
}
