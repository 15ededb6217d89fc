use super::*;
use trueput_record::parameter::DefaultValue;

fn parameter(name: &'static str, kind: ValueKind) -> Parameter {
    Parameter {
        name,
        summary: "",
        cost: "",
        kind,
        unit: "",
    }
}

const MIB: u64 = 1 << 20;

fn parameters() -> Vec<Parameter> {
    let bytes = |default, min, max| ValueKind::Bytes { default, min, max };
    let integer = |default, min, max| ValueKind::Integer { default, min, max };
    let period = ValueKind::Duration {
        default: DefaultValue::Word("preset"),
        min: 0.0,
        max: 60.0,
    };
    let share = ValueKind::Fraction {
        default: DefaultValue::Value(0.9),
        min: 0.0,
        max: 1.0,
    };
    let choice = ValueKind::Choice {
        default: "lz4",
        choices: &["none", "lz4", "zstd"],
    };
    let text = ValueKind::Text {
        default: "",
        grammar: "any",
        check: |_| Ok(()),
    };
    vec![
        parameter("cache", bytes(DefaultValue::Value(32 * MIB), MIB, 1 << 40)),
        parameter("growth", bytes(DefaultValue::Value(0), 0, u64::MAX)),
        parameter("hint", bytes(DefaultValue::Word("preset"), 0, 1 << 30)),
        parameter("files", integer(-1, -1, 1_000_000)),
        parameter("jobs", integer(2, 1, 16)),
        parameter("capacity", integer(200, 100, i64::MAX)),
        parameter("period", period),
        parameter("share", share),
        parameter("mmap", ValueKind::Boolean { default: false }),
        parameter("compression", choice),
        parameter("free", text),
    ]
}

fn space_of(restrictions: &Restrictions) -> Result<Space, SpaceError> {
    Space::new(&parameters(), restrictions, Box::new(|_| Ok(())))
}

fn space() -> Space {
    space_of(&Restrictions::default()).unwrap()
}

fn corner(at: f64) -> Settings {
    let space = space();
    space.settings(&vec![at; space.dimensions()])
}

#[test]
fn settings_become_a_point_and_the_same_settings_again() {
    let space = space();
    assert_eq!(space.dimensions(), 10, "a text has no axis");
    let mut random = trueput_record::random::SplitMix64::for_use(3, 0);
    for _ in 0..2000 {
        let settings = space.settings(&random.point(10));
        let again = space.settings(&space.point(&settings));
        assert_eq!(settings, again);
        assert_eq!(space.admit(&settings), Ok(settings), "each value is valid");
    }
    let default = Settings::new();
    assert_eq!(space.settings(&space.point(&default)), default);
}

#[test]
fn unbounded_ranges_are_searched_around_the_default() {
    let high = corner(1.0);
    assert_eq!(
        high["cache"],
        Value::from(3072 * MIB),
        "about a factor of 100"
    );
    assert_eq!(high["capacity"], Value::Integer(20_000));
    assert_eq!(high["growth"], Value::from(4096 * MIB), "2^20 times 4 KiB");
    assert_eq!(high["files"], Value::Integer(1_000_000));
    let low = corner(0.200_001);
    assert_eq!(
        low["growth"],
        Value::from(4096_u64),
        "the first size above 0"
    );
    assert_eq!(low["period"], Value::Float(0.001));
    assert_eq!(corner(0.0)["cache"], Value::from(MIB));
}

#[test]
fn special_values_have_a_fifth_of_their_axis() {
    for name in ["growth", "hint", "files", "period"] {
        assert!(
            !corner(0.19).contains_key(name),
            "{name} is at its special default"
        );
        assert!(corner(0.21).contains_key(name), "{name}");
    }
}

#[test]
fn values_are_readable() {
    let space = space();
    let mut random = trueput_record::random::SplitMix64::for_use(4, 0);
    for _ in 0..500 {
        let settings = space.settings(&random.point(10));
        if let Some(Value::Integer(bytes)) = settings.get("cache") {
            let significant = 64 - bytes.leading_zeros() - bytes.trailing_zeros();
            assert!(significant <= 3, "{bytes} bytes");
        }
    }
    assert_eq!(space.settings(&[0.5; 10])["share"], Value::Float(0.5));
}

#[test]
fn restrictions_bound_ranges_and_choose_parameters() {
    let bounds = Bounds {
        high: Some((8192 * MIB) as f64),
        low: None,
    };
    let restrictions = Restrictions {
        only: Some(BTreeSet::from(["cache".to_owned()])),
        bounds: BTreeMap::from([("cache".to_owned(), bounds)]),
    };
    let space = space_of(&restrictions).unwrap();
    assert_eq!(space.names().collect::<Vec<_>>(), ["cache"]);
    assert_eq!(space.settings(&[1.0])["cache"], Value::from(8192 * MIB));
}

#[test]
fn a_lower_bound_excludes_a_special_value_below_it_that_is_not_the_default() {
    let lowest = |default: f64, low: Option<f64>, high: Option<f64>| {
        let kind = ValueKind::Duration {
            default: DefaultValue::Value(default),
            min: 0.0,
            max: 100_000.0,
        };
        let restrictions = Restrictions {
            only: None,
            bounds: BTreeMap::from([("wait".to_owned(), Bounds { low, high })]),
        };
        let parameters = [parameter("wait", kind)];
        let space = Space::new(&parameters, &restrictions, Box::new(|_| Ok(()))).unwrap();
        space.settings(&[0.0]).remove("wait")
    };
    let ten = Some(Value::Float(10.0));
    assert_eq!(lowest(60.0, Some(10.0), Some(60.0)), ten);
    assert_eq!(lowest(60.0, Some(10.0), None), ten);
    let off = Some(Value::Float(0.0));
    assert_eq!(lowest(60.0, Some(0.0), Some(60.0)), off, "within");
    assert_eq!(lowest(60.0, None, Some(60.0)), off, "a cap");
    assert_eq!(lowest(0.0, Some(10.0), Some(60.0)), None, "the default");
}

#[test]
fn restrictions_that_do_not_fit_are_refused_with_a_reason() {
    let only = |name: &str| {
        let only = Some(BTreeSet::from([name.to_owned()]));
        space_of(&Restrictions {
            only,
            ..Restrictions::default()
        })
        .unwrap_err()
        .to_string()
    };
    let at_most_five = |name: &str| {
        let high = Bounds {
            low: None,
            high: Some(5.0),
        };
        let bounds = BTreeMap::from([(name.to_owned(), high)]);
        space_of(&Restrictions { only: None, bounds })
            .unwrap_err()
            .to_string()
    };
    assert!(only("cash").contains("no parameter 'cash'; there are cache,"));
    assert!(only("free").contains("'free' is a text"));
    assert!(at_most_five("cache").contains("no value is within the bounds"));
    assert!(at_most_five("mmap").contains("'mmap' has no range"));
}

#[test]
fn a_space_without_parameters_is_refused() {
    let all = parameters();
    for none in [&all[..0], &all[10..]] {
        let space = Space::new(none, &Restrictions::default(), Box::new(|_| Ok(())));
        assert_eq!(space.unwrap_err(), SpaceError::NoParameter);
    }
}
