//! How a row of the list of options becomes a field: the macro that declares both, and the readers of values.

use std::collections::BTreeMap;
use std::time::Duration;

use super::known::{Known, column_of_field_option};
use super::values::{invalid, parse_bool, parse_duration, parse_level_map, parse_list, parse_size};
use crate::error::{Error, Result};

/// Declares options: `"key": Kind, more of Known => field: Type = value;`. The value is read by the name in front of the
/// rows, which knows the key and its aliases; it may use the fields of rows above.
macro_rules! core_options {
    (@known $key:literal, $kind:ident $(($values:expr))? $(, $more:ident $(($arg:expr))?)*) => {{
        use super::known::{Class, Kind, row};
        row($key, Kind::$kind $(($values))?, Class::Honoured)$(.$more($($arg)?))*
    }};
    ($reader:ident; $(
        $(#[$doc:meta])* $key:literal: $kind:ident $(($values:expr))? $(, $more:ident $(($arg:expr))?)*
            => $name:ident: $type:ty = $value:expr;
    )+) => {
        /// Every option that siltstone acts on, with Paimon's defaults filled in. `raw` keeps all of them as text.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::struct_excessive_bools, reason = "one field per option, and many options are flags")]
        pub struct CoreOptions {
            /// All options as they stand in the schema (and, over them, the dynamic ones).
            pub raw: BTreeMap<String, String>,
            /// `parquet.*` with their full names.
            pub parquet: BTreeMap<String, String>,
            /// `fields.<column>.stats-mode`
            pub field_stats_mode: BTreeMap<String, String>,
            $(#[doc = concat!("`", $key, "`")] $(#[doc = ""] #[$doc])* pub $name: $type,)+
        }

        /// What the rows say about their options, without the fields.
        pub(super) const WITH_FIELD: &[super::known::Known] =
            &[$(core_options!(@known $key, $kind $(($values))? $(, $more $(($arg))?)*)),+];

        impl CoreOptions {
            /// Parses options; a value that is not of its option's form is an `InvalidOption` that names the key.
            #[allow(clippy::too_many_lines, reason = "one line per option")]
            pub fn parse(options: &BTreeMap<String, String>) -> Result<Self> {
                $(
                    let $reader = {
                        const KNOWN: super::known::Known =
                            core_options!(@known $key, $kind $(($values))? $(, $more $(($arg))?)*);
                        super::reader::Reader { options, known: &KNOWN }
                    };
                    let $name: $type = $value;
                )+
                Ok(Self {
                    raw: options.clone(),
                    parquet: with_prefix(options, "parquet."),
                    field_stats_mode: per_field(options, "stats-mode"),
                    $($name,)+
                })
            }
        }
    };
}
pub(super) use core_options;

pub(super) fn lower(map: BTreeMap<i32, String>) -> BTreeMap<i32, String> {
    map.into_iter().map(|(k, v)| (k, v.to_ascii_lowercase())).collect()
}

/// Any integer type, at least `least`.
pub(super) fn integer<T>(text: &str, least: T) -> Result<T>
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    let value = text.trim().parse::<T>().map_err(|_| invalid(text, "a whole number in range"))?;
    if value < least { Err(invalid(text, &format!("a whole number of at least {least}"))) } else { Ok(value) }
}

/// A size that something can be divided by.
pub(super) fn parse_target_size(text: &str) -> Result<u64> {
    match parse_size(text)? {
        0 => Err(invalid(text, "a size of at least 1 byte")),
        size => Ok(size),
    }
}

/// Java keeps the numbers of dynamic buckets in 15 bits.
pub(super) fn parse_max_buckets(text: &str) -> Result<Option<u16>> {
    match text.trim().parse::<i32>() {
        Ok(-1) => Ok(None),
        Ok(most @ 1..=32_767) => Ok(u16::try_from(most).ok()),
        _ => Err(invalid(text, "-1 or a number of buckets from 1 to 32767")),
    }
}

/// As many as there may be buckets.
pub(super) fn parse_assigners(text: &str) -> Result<u32> {
    let number = text.trim().parse::<u32>().ok().filter(|number| (1..=32_767).contains(number));
    number.ok_or_else(|| invalid(text, "a number from 1 to 32767"))
}

pub(super) fn parse_ratio(text: &str) -> Result<f64> {
    let ratio = text.trim().parse::<f64>().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    ratio.ok_or_else(|| invalid(text, "a number from 0 to 1"))
}

/// All options that begin with a prefix.
pub(super) fn with_prefix(options: &BTreeMap<String, String>, prefix: &str) -> BTreeMap<String, String> {
    options.iter().filter(|(k, _)| k.starts_with(prefix)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// `fields.<column>.<suffix>` → column to value.
pub(super) fn per_field(options: &BTreeMap<String, String>, suffix: &str) -> BTreeMap<String, String> {
    let of = |key| column_of_field_option(key, suffix).map(str::to_owned);
    options.iter().filter_map(|(k, v)| Some((of(k)?, v.clone()))).collect()
}

/// Reads the value of one option, and puts its key into every error.
pub(super) struct Reader<'a> {
    pub(super) options: &'a BTreeMap<String, String>,
    pub(super) known: &'a Known,
}

impl<'a> Reader<'a> {
    fn raw(&self) -> Option<&'a str> {
        let keys = std::iter::once(self.known.key).chain(self.known.aliases.iter().copied());
        keys.map(|key| self.options.get(key)).find_map(|text| text.map(String::as_str))
    }

    pub(super) fn maybe<T>(&self, parse: impl Fn(&str) -> Result<T>) -> Result<Option<T>> {
        let named = |e: Error| e.with("option", self.known.key);
        self.raw().map(|text| parse(text).map_err(named)).transpose()
    }

    pub(super) fn parsed<T>(&self, default: T, parse: impl Fn(&str) -> Result<T>) -> Result<T> {
        Ok(self.maybe(parse)?.unwrap_or(default))
    }

    pub(super) fn bool(&self, default: bool) -> Result<bool> {
        self.parsed(default, parse_bool)
    }

    pub(super) fn int(&self, default: i32) -> Result<i32> {
        self.parsed(default, |t| integer(t, i32::MIN))
    }

    pub(super) fn long(&self, default: u64) -> Result<u64> {
        self.parsed(default, |t| integer(t, 0))
    }

    pub(super) fn at_least<T>(&self, default: T, least: T) -> Result<T>
    where
        T: std::str::FromStr + PartialOrd + std::fmt::Display + Copy,
    {
        self.parsed(default, |t| integer(t, least))
    }

    pub(super) fn double(&self, default: f64) -> Result<f64> {
        self.parsed(default, |t| t.trim().parse::<f64>().map_err(|_| invalid(t, "a number")))
    }

    pub(super) fn size(&self, default: u64) -> Result<u64> {
        self.parsed(default, parse_size)
    }

    pub(super) fn duration(&self, default: Duration) -> Result<Duration> {
        self.parsed(default, parse_duration)
    }

    pub(super) fn levels(&self) -> Result<BTreeMap<i32, String>> {
        Ok(self.maybe(parse_level_map)?.unwrap_or_default())
    }

    pub(super) fn text(&self, default: &str) -> String {
        self.raw().unwrap_or(default).to_owned()
    }

    pub(super) fn optional(&self) -> Option<String> {
        self.raw().map(str::to_owned)
    }

    pub(super) fn list(&self) -> Vec<String> {
        self.raw().map(parse_list).unwrap_or_default()
    }
}
