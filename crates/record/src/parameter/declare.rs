//! The macros that declare parameters, and the items that their expansions use.

use crate::Value;

/// A type that the field of a declared parameter can have.
pub trait FromValue: Sized {
    /// Converts the value to this type; `None` if it has another type or is out of range.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! whole_numbers {
    ($($number:ty),+) => {
        $(impl FromValue for $number {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::Integer(number) => Self::try_from(*number).ok(),
                    // Numbers beyond i64 are kept as text.
                    Value::Text(digits) => digits.parse().ok(),
                    _ => None,
                }
            }
        })+
    };
}

whole_numbers!(i32, i64, u8, u16, u32, u64, usize);

impl FromValue for bool {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Boolean(is_on) => Some(*is_on),
            _ => None,
        }
    }
}

impl FromValue for f64 {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Float(number) => Some(*number),
            _ => None,
        }
    }
}

/// Returns the value as its type, or `None` for the word that stands for no value.
#[must_use]
pub fn value_or<T: FromValue>(value: &Value, word: &str) -> Option<Option<T>> {
    match value {
        Value::Text(text) if text == word => Some(None),
        value => T::from_value(value).map(Some),
    }
}

/// Returns the value as one of these words.
#[must_use]
pub fn word_of(value: &Value, words: &[&'static str]) -> Option<&'static str> {
    match value {
        Value::Text(text) => words.iter().copied().find(|word| word == text),
        _ => None,
    }
}

/// Declares an enum of the words that a parameter takes. `WORDS` lists them, `ALL` the variants,
/// and `word` is the word of a variant, which is also how it is displayed. The type can be in a
/// `Choice<…>` of [`parameters!`](crate::parameters).
///
/// ```
/// trueput_record::choices! {
///     /// Where the log is.
///     enum LogDirectory {
///         /// With the data.
///         Beside = "beside",
///         /// In a folder of its own.
///         Apart = "log",
///     }
/// }
/// assert_eq!(LogDirectory::WORDS, ["beside", "log"]);
/// assert_eq!(LogDirectory::Apart.word(), "log");
/// ```
#[macro_export]
macro_rules! choices {
    (
        $(#[$meta:meta])*
        $visible:vis enum $name:ident {
            $($(#[$about:meta])* $variant:ident = $word:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $visible enum $name {
            $($(#[$about])* $variant),+
        }

        impl $name {
            /// The words, in the order of the variants.
            $visible const WORDS: &'static [&'static str] = &[$($word),+];

            /// Every variant.
            $visible const ALL: [Self; Self::WORDS.len()] = [$(Self::$variant),+];

            /// Its word.
            #[must_use]
            $visible const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.word())
            }
        }

        impl $crate::parameter::FromValue for $name {
            fn from_value(value: &$crate::Value) -> Option<Self> {
                $crate::parameter::word_of(value, Self::WORDS).and_then(|word| match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                })
            }
        }
    };
}

/// Declares parameters once: as the fields of a typed struct, and as a list of
/// [`Parameter`](crate::parameter::Parameter)s.
///
/// A field's documentation is the parameter's summary. A name that is no Rust identifier follows
/// `as`. A kind is one of
///
/// - `Bytes = 1 GiB in 1 MiB..=1 TiB` (a `u64`), or `Option<Bytes> or "none" in 1 MiB..` where a
///   word is the default
/// - `Integer = 5 in 0..=100`, or `in 1..` without an upper limit (a `u64`; `Integer<u32>` is a
///   `u32`)
/// - `Fraction = 0.9 in 0.0..=1.0` (an `f64`), or `Option<Fraction> in 0.0..=1.0` where another
///   parameter stands in for the default
/// - `Duration = 10.0 s in 1.0 ms..=1.0 h` (an `f64` of seconds), or `Option<Duration> or "none" in
///   1.0 ms..=1.0 h`
/// - `Boolean = true`
/// - `Choice = "a" of ["a", "b"]` (a `&'static str`), or `Choice<Mode> = Fast` for an enum of
///   [`choices!`](crate::choices)
/// - `Text<Type> = "default" by parse as "its grammar"`, where `parse` makes a `Type` of a `&str`;
///   the struct of parameters takes no such type that is not `Copy`
///
/// and may be followed by `unit "…"` and `cost "…"`, in this order. A range can name constants, in
/// parentheses where it is more than a name. A default out of its range does not compile.
///
/// The struct has `PARAMETERS`, `Default`, and `From<&ParameterValues>`, which takes the default
/// where the values have no such parameter.
///
/// ```
/// use trueput_record::parameter::{ParameterValues, resolve};
///
/// trueput_record::parameters! {
///     /// The knobs of an engine.
///     struct Knobs {
///         /// Memory for cached pages.
///         cache_size: Bytes = 1 GiB in 1 MiB..=1 TiB, cost "memory of the host",
///         /// Sessions.
///         readers: Integer<u32> = 126 in 1..=65_536, unit "sessions",
///     }
/// }
///
/// let given = [("cache_size".to_owned(), "2MiB".into())].into();
/// let values = resolve("toy", Knobs::PARAMETERS, &given)?;
/// let knobs = Knobs::from(&values);
/// assert_eq!((knobs.cache_size, knobs.readers), (2 << 20, 126));
/// # Ok::<_, trueput_record::parameter::ParameterError>(())
/// ```
#[macro_export]
macro_rules! parameters {
    // One field after the other is brought to the same shape, which `@emit` then turns into items:
    // {[documentation] field name} {type, default, kind, how to read it} unit cost
    (@field $head:tt $done:tt $(#[doc = $doc:literal])+ $field:ident : $($rest:tt)+) => {
        $crate::parameters!(
            @kind $head $done {[$($doc)+] $field (stringify!($field))} $($rest)+
        );
    };
    (@field $head:tt $done:tt $(#[doc = $doc:literal])+ $field:ident as $name:literal :
        $($rest:tt)+) => {
        $crate::parameters!(@kind $head $done {[$($doc)+] $field ($name)} $($rest)+);
    };

    (@kind $head:tt $done:tt $field:tt Bytes = $default:tt $default_unit:ident
        in $min:tt $min_unit:ident ..= $max:tt $max_unit:ident $($rest:tt)*) => {
        $crate::parameters! { @end $head $done $field {
            (u64)
            ($default * $crate::parameter::unit::$default_unit)
            ($crate::parameter::ValueKind::Bytes {
                default: $crate::parameter::DefaultValue::Value(
                    $default * $crate::parameter::unit::$default_unit
                ),
                min: $min * $crate::parameter::unit::$min_unit,
                max: $max * $crate::parameter::unit::$max_unit,
            })
            ($crate::parameter::FromValue::from_value)
        } "bytes" $($rest)* }
    };
    (@kind $head:tt $done:tt $field:tt Option<Bytes> or $word:literal in $min:tt $min_unit:ident ..
        $($rest:tt)*) => {
        $crate::parameters! { @end $head $done $field {
            (Option<u64>)
            (None)
            ($crate::parameter::ValueKind::Bytes {
                default: $crate::parameter::DefaultValue::Word($word),
                min: $min * $crate::parameter::unit::$min_unit,
                max: u64::MAX,
            })
            (|value: &$crate::Value| $crate::parameter::value_or(value, $word))
        } "bytes" $($rest)* }
    };
    (@kind $head:tt $done:tt $field:tt Duration = $default:tt $default_unit:ident
        in $min:tt $min_unit:ident ..= $max:tt $max_unit:ident $($rest:tt)*) => {
        $crate::parameters! { @end $head $done $field {
            (f64)
            ($default * $crate::parameter::unit::$default_unit)
            ($crate::parameter::ValueKind::Duration {
                default: $crate::parameter::DefaultValue::Value(
                    $default * $crate::parameter::unit::$default_unit
                ),
                min: $min * $crate::parameter::unit::$min_unit,
                max: $max * $crate::parameter::unit::$max_unit,
            })
            ($crate::parameter::FromValue::from_value)
        } "s" $($rest)* }
    };
    (@kind $head:tt $done:tt $field:tt Option<Duration> or $word:literal
        in $min:tt $min_unit:ident ..= $max:tt $max_unit:ident $($rest:tt)*) => {
        $crate::parameters! { @end $head $done $field {
            (Option<f64>)
            (None)
            ($crate::parameter::ValueKind::Duration {
                default: $crate::parameter::DefaultValue::Word($word),
                min: $min * $crate::parameter::unit::$min_unit,
                max: $max * $crate::parameter::unit::$max_unit,
            })
            (|value: &$crate::Value| $crate::parameter::value_or(value, $word))
        } "s" $($rest)* }
    };
    (@kind $head:tt $done:tt $field:tt Integer = $($rest:tt)+) => {
        $crate::parameters! { @kind $head $done $field Integer<u64> = $($rest)+ }
    };
    (@kind $head:tt $done:tt $field:tt Integer<$type:ty> = $default:tt in $min:tt ..= $max:tt
        $($rest:tt)*) => {
        $crate::parameters! { @end $head $done $field {
            ($type)
            ($default)
            ({
                const RANGE: [i64; 2] = [$min, $max];
                const { assert!(RANGE[0] as i128 >= <$type>::MIN as i128) };
                const { assert!(RANGE[1] as i128 <= <$type>::MAX as i128) };
                $crate::parameter::ValueKind::Integer {
                    default: $default,
                    min: RANGE[0],
                    max: RANGE[1],
                }
            })
            ($crate::parameter::FromValue::from_value)
        } "" $($rest)* }
    };
    (@kind $head:tt $done:tt $field:tt Integer<$type:ty> = $default:tt in $min:tt ..
        $($rest:tt)*) => {
        $crate::parameters! {
            @kind $head $done $field Integer<$type> = $default in $min ..= (i64::MAX) $($rest)*
        }
    };
    (@kind $head:tt $done:tt $field:tt Fraction = $default:tt in $min:tt ..= $max:tt
        $($rest:tt)*) => {
        $crate::parameters! { @end $head $done $field {
            (f64)
            ($default)
            ($crate::parameter::ValueKind::Fraction {
                default: $crate::parameter::DefaultValue::Value($default),
                min: $min,
                max: $max,
            })
            ($crate::parameter::FromValue::from_value)
        } "" $($rest)* }
    };
    (@kind $head:tt $done:tt $field:tt Option<Fraction> in $min:tt ..= $max:tt
        $($rest:tt)*) => {
        $crate::parameters! { @end $head $done $field {
            (Option<f64>)
            (None)
            ($crate::parameter::ValueKind::Fraction {
                default: $crate::parameter::DefaultValue::Word($crate::parameter::PRESET),
                min: $min,
                max: $max,
            })
            (|value: &$crate::Value| $crate::parameter::value_or(value, $crate::parameter::PRESET))
        } "" $($rest)* }
    };
    (@kind $head:tt $done:tt $field:tt Boolean = $default:literal $($rest:tt)*) => {
        $crate::parameters! { @end $head $done $field {
            (bool)
            ($default)
            ($crate::parameter::ValueKind::Boolean { default: $default })
            ($crate::parameter::FromValue::from_value)
        } "" $($rest)* }
    };
    (@kind $head:tt $done:tt $field:tt Choice = $default:literal of $words:tt $($rest:tt)*) => {
        $crate::parameters! { @end $head $done $field {
            (&'static str)
            ($default)
            ($crate::parameter::ValueKind::Choice { default: $default, choices: &$words })
            (|value: &$crate::Value| $crate::parameter::word_of(value, &$words))
        } "" $($rest)* }
    };
    (@kind $head:tt $done:tt $field:tt Choice<$type:ty> = $default:ident $($rest:tt)*) => {
        $crate::parameters! { @end $head $done $field {
            ($type)
            (<$type>::$default)
            ($crate::parameter::ValueKind::Choice {
                default: <$type>::$default.word(),
                choices: <$type>::WORDS,
            })
            ($crate::parameter::FromValue::from_value)
        } "" $($rest)* }
    };

    (@kind $head:tt $done:tt $field:tt Text<$type:ty> = $default:literal by $parse:path as
        $grammar:literal $($rest:tt)*) => {
        $crate::parameters! { @end $head $done $field {
            ($type)
            ($parse($default).unwrap_or_default())
            ($crate::parameter::ValueKind::Text {
                default: $default,
                grammar: $grammar,
                check: |text: &str| match $parse(text) {
                    Ok::<$type, _>(_) => Ok(()),
                    Err(error) => Err(error.into()),
                },
            })
            (|value: &$crate::Value| $parse(&value.to_string()).ok())
        } "" $($rest)* }
    };

    // Expands one part of a declaration, for macros that declare something other than a struct.
    (@part $part:tt $field:tt { $($kind:tt)+ }) => {
        $crate::parameters!(@kind $part [] $field $($kind)+)
    };
    (@end {type} [] {} {($type:ty) $default:tt $kind:tt $read:tt} $($rest:tt)+) => { $type };
    (@end {default} [] {} {$type:tt $default:tt $kind:tt $read:tt} $($rest:tt)+) => { $default };
    (@end {reader} [] {} {$type:tt $default:tt $kind:tt $read:tt} $($rest:tt)+) => { $read };
    (@end {parameter} [] {[$($doc:literal)+] $name:tt}
        {$type:tt $default:tt $kind:tt $read:tt} $usual:literal
        $(, unit $unit:literal)? $(, cost $cost:literal)?) => {
        $crate::parameter::Parameter {
            name: $name,
            summary: concat!($($doc),+).trim_ascii(),
            cost: [$($cost,)? ""][0],
            kind: $kind,
            unit: [$($unit,)? $usual][0],
        }
    };

    (@end $head:tt [$($done:tt)*] $field:tt $kind:tt $usual:literal
        $(, unit $unit:literal)? $(, cost $cost:literal)? $(,)?) => {
        $crate::parameters!(
            @emit $head $($done)* {$field $kind {$usual $(, unit $unit)? $(, cost $cost)?}}
        );
    };
    // Every field begins with its documentation.
    (@end $head:tt [$($done:tt)*] $field:tt $kind:tt $usual:literal
        $(, unit $unit:literal)? $(, cost $cost:literal)? , # $($rest:tt)+) => {
        $crate::parameters!(
            @field $head
            [$($done)* {$field $kind {$usual $(, unit $unit)? $(, cost $cost)?}}]
            # $($rest)+
        );
    };

    (@emit { $(#[$meta:meta])* $visible:vis struct $struct:ident }
        $({
            {[$($doc:literal)+] $field:ident $name:tt}
            {($type:ty) $default:tt $kind:tt $read:tt}
            {$($rest:tt)+}
        })+) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        $visible struct $struct {
            $($(#[doc = $doc])+ $visible $field: $type,)+
        }

        impl $struct {
            /// Their descriptions, in the order of the fields.
            $visible const PARAMETERS: &'static [$crate::parameter::Parameter] = &[
                $($crate::parameters!(
                    @end {parameter} [] {[$($doc)+] $name}
                    {($type) $default $kind $read} $($rest)+
                ),)+
            ];
        }

        const _: () = {
            let mut at = 0;
            while at < $struct::PARAMETERS.len() {
                let kind = &$struct::PARAMETERS[at].kind;
                assert!(kind.is_consistent(), "a default is out of its range");
                at += 1;
            }
        };

        impl Default for $struct {
            fn default() -> Self {
                Self {
                    $($field: $default,)+
                }
            }
        }

        impl From<&$crate::parameter::ParameterValues> for $struct {
            fn from(values: &$crate::parameter::ParameterValues) -> Self {
                Self {
                    $($field: {
                        let read = values.get($name).and_then($read);
                        // A run must record the value that it uses.
                        debug_assert!(
                            read.is_some() || values.get($name).is_none(),
                            "{} has a value of another type",
                            $name
                        );
                        read.unwrap_or($default)
                    },)+
                }
            }
        }
    };

    ($(#[$meta:meta])* $visible:vis struct $struct:ident { $($fields:tt)+ }) => {
        $crate::parameters!(@field { $(#[$meta])* $visible struct $struct } [] $($fields)+);
    };
}
