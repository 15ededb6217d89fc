//! Unit tests of parameters and of the macros that declare them.

use super::*;

crate::choices! {
    /// A mode.
    enum Mode {
        /// Safe.
        Slow = "slow",
        /// Unsafe.
        Fast = "fast",
    }
}

/// The largest level.
const TOP: i64 = 9;

crate::parameters! {
    /// The knobs of a toy.
    struct Toy {
        /// Memory for pages.
        cache_size: Bytes = 1 MiB in 1 KiB..=1 GiB,
        /// How.
        mode: Choice<Mode> = Slow, cost "safety",
        /// The last one. It is a number without an
        /// upper limit.
        finish: Integer = 1 in 1.., unit "starts",
        /// From below zero.
        level: Integer<i32> = (-1) in (-1)..=TOP,
        /// How much.
        share: Fraction = 0.5 in 0.0..=1.0, unit "%", cost "the rest",
        /// How much, or as another parameter says.
        other_share as "other.share": Option<Fraction> in 0.0..=1.0,
        /// Whether.
        flag: Boolean = true,
        /// How long.
        pause: Duration = 1.5 s in 1.0 ms..=1.0 h,
        /// How long, or not at all.
        timeout: Option<Duration> or "never" in 1.0 ms..=1.0 min,
        /// At most so much.
        limit: Option<Bytes> or "none" in 1 KiB..,
        /// In seconds between the beats.
        beat: Text<u8> = "3" by beat as "numbers of dots",
        /// Written to the file.
        page as "page=": Choice = "4096" of ["512", "4096"], unit "bytes",
    }
}

/// The number of dots, or the digit itself.
fn beat(text: &str) -> Result<u8, BeatError> {
    let dots = || text.bytes().all(|byte| byte == b'.').then_some(text.len());
    let beat = text.parse().ok().or_else(|| u8::try_from(dots()?).ok());
    beat.ok_or_else(|| BeatError(text.to_owned()))
}

#[derive(Debug, thiserror::Error)]
#[error("'{0}' is no beat; write dots")]
struct BeatError(String);

fn refusal(name: &str, value: impl Into<Value>) -> String {
    toy(name, value).unwrap_err().to_string()
}

fn toy(name: &str, value: impl Into<Value>) -> Result<Toy, ParameterError> {
    let given = [(name.to_owned(), value.into())].into();
    let values = resolve("toy", Toy::PARAMETERS, &given)?;
    // Recorded values are resolved again when the trial runs.
    let again = resolve("toy", Toy::PARAMETERS, values.as_settings())?;
    assert_eq!(again, values);
    Ok(Toy::from(&values))
}

#[test]
fn a_plan_that_says_nothing_has_the_defaults() {
    let values = resolve("toy", Toy::PARAMETERS, &Settings::new()).unwrap();
    let expected = Toy {
        cache_size: 1 << 20,
        mode: Mode::Slow,
        finish: 1,
        level: -1,
        share: 0.5,
        other_share: None,
        flag: true,
        pause: 1.5,
        timeout: None,
        limit: None,
        beat: 3,
        page: "4096",
    };
    assert_eq!(Toy::from(&values), expected);
    assert_eq!(Toy::default(), expected);
    assert_eq!(Toy::from(&ParameterValues::default()), expected);
}

#[test]
fn a_declaration_describes_itself() {
    let described: Vec<_> = Toy::PARAMETERS
        .iter()
        .map(|one| {
            let words = [one.kind.default_text(), one.kind.range()];
            format!("{} {} {} {}", one.name, words.join(" "), one.unit, one.cost)
        })
        .collect();
    let expected = [
        "cache_size 1 MiB 1 KiB to 1 GiB bytes ",
        "mode slow slow, fast  safety",
        "finish 1 1 or more starts ",
        "level -1 -1 to 9  ",
        "share 0.5 0 to 1 % the rest",
        "other.share preset 0 to 1, or preset  ",
        "flag on on, off  ",
        "pause 1.5s 1ms to 1h s ",
        "timeout never 1ms to 1m, or never s ",
        "limit none 1 KiB or more, or none bytes ",
        "beat 3 numbers of dots  ",
        "page= 4096 512, 4096 bytes ",
    ];
    assert_eq!(described, expected);
    let summary = "The last one. It is a number without an upper limit.";
    assert_eq!(Toy::PARAMETERS[2].summary, summary);
}

#[test]
fn given_values_come_as_their_types() {
    assert_eq!(toy("cache_size", "2MiB").unwrap().cache_size, 2 << 20);
    assert_eq!(toy("mode", "fast").unwrap().mode, Mode::Fast);
    assert_eq!(toy("level", 9_i64).unwrap().level, 9);
    assert!(!toy("flag", false).unwrap().flag);
    assert_eq!(toy("page=", 512_i64).unwrap().page, "512");
    assert_eq!(Mode::ALL.map(Mode::word), Mode::WORDS);
}

#[test]
fn a_whole_number_may_be_written_with_an_exponent_and_a_fraction_is_none() {
    let finish = |text: &str| toy("finish", Value::parse(text)).map(|toy| toy.finish);
    assert_eq!(finish("1e6").unwrap(), 1_000_000);
    for wrong in ["1.5", "1e300", "inf", "nan", "-1e3"] {
        assert!(finish(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_number_that_is_too_large_is_refused_as_it_was_typed() {
    for (name, typed) in [
        ("finish", "18446744073709551615"),
        ("level", "-99999999999999999999"),
        ("share", "99999999999999999999"),
        ("cache_size", "99999999999999999999"),
    ] {
        let said = refusal(name, Value::parse(typed));
        assert!(said.contains(typed), "{said}");
    }
    let said = refusal("finish", Value::parse("18446744073709551615"));
    assert!(said.contains(" is out of range (at most "), "{said}");
    // Control: a text of a plan that only looks like a number.
    assert!(refusal("finish", "7").contains("'7' is not a whole number"));
}

#[test]
fn a_fraction_may_be_whole_and_without_a_default_another_setting_decides() {
    let other = |text: &str| toy("other.share", Value::parse(text)).map(|toy| toy.other_share);
    assert_eq!(other("preset").unwrap(), None);
    assert_eq!(other("1").unwrap(), Some(1.0));
    assert_eq!(other("0.95").unwrap(), Some(0.95));
    for wrong in ["1.5", "-0.1", "nan", "half", "on"] {
        assert!(other(wrong).is_err(), "{wrong}");
    }
    assert!(toy("share", "preset").is_err());
}

#[test]
fn a_duration_has_a_unit_and_where_a_word_is_the_default_0_stands_for_it() {
    let pause = |text: &str| toy("pause", text).unwrap().pause;
    assert_eq!((pause("20ms"), pause("2m")), (0.02, 120.0));
    assert_eq!(toy("pause", 3_i64).unwrap().pause, 3.0);
    for wrong in ["0", "2h", "soon", "never"] {
        assert!(refusal("pause", wrong).contains(wrong), "{wrong}");
    }
    let timeout = |text: &str| toy("timeout", text).unwrap().timeout;
    assert_eq!((timeout("0"), timeout("never")), (None, None));
    assert_eq!(timeout("0.25"), Some(0.25));
    let far = refusal("timeout", "2m");
    assert_eq!(far, "toy.timeout: 2m is out of range (1ms to 1m, or never)");
}

#[test]
fn a_word_stands_for_no_size_and_a_text_is_held_against_its_grammar() {
    let limit = |text: &str| toy("limit", text).map(|toy| toy.limit);
    assert_eq!(limit("none").unwrap(), None);
    assert_eq!(limit("2KiB").unwrap(), Some(2_048));
    assert!(limit("1").is_err() && limit("never").is_err());
    let beat = |text: &str| toy("beat", text).unwrap().beat;
    assert_eq!((beat("...."), beat("7")), (4, 7));
    let wrong = refusal("beat", "x");
    assert_eq!(wrong, "toy.beat: 'x' is no beat; write dots");
}

#[test]
fn an_unknown_parameter_names_the_nearest() {
    let error = refusal("cache_sise", 1_i64);
    assert!(error.contains("did you mean 'cache_size'"), "{error}");
}

#[test]
fn a_value_out_of_range_or_of_the_wrong_type_is_refused_with_the_range() {
    let far = refusal("cache_size", "2TiB");
    assert_eq!(far, "toy.cache_size: 2TiB is out of range (1 KiB to 1 GiB)");
    let odd = refusal("mode", "fsat");
    assert!(odd.contains("did you mean 'fast'"), "{odd}");
    assert!(toy("cache_size", true).is_err());
}

#[test]
fn a_default_out_of_its_range_is_inconsistent() {
    let whole = |default| ValueKind::Integer {
        default,
        min: 1,
        max: 5,
    };
    assert!(whole(5).is_consistent() && !whole(6).is_consistent());
    use DefaultValue::{Value, Word};
    let share = |default| ValueKind::Fraction {
        default,
        min: 0.0,
        max: 1.0,
    };
    assert!(share(Word(PRESET)).is_consistent() && !share(Value(1.5)).is_consistent());
}

#[test]
fn a_choice_may_be_on_or_off() {
    let kind = ValueKind::Choice {
        default: "auto",
        choices: &["auto", "on", "off"],
    };
    for word in ["on", "off"] {
        assert_eq!(kind.read(word).unwrap(), Value::from(word));
    }
}
