//! Is this key an option at all, and is this a value it can have?

use std::collections::BTreeMap;

use super::catalogue::{Class, FIELD_OPTIONS, Kind, Known, column_of_field_option, find, options};
use super::values::{invalid, parse_bool, parse_duration, parse_level_map, parse_size};
use crate::error::{Error, ErrorKind, Result};

/// Below this likeness a foreign key is not taken for a misspelt option.
const ALIKE: f64 = 0.93;
/// From this likeness on a known option is what somebody may have meant.
const SIMILAR: f64 = 0.6;

/// Checks keys and values of options that a user sets. Foreign keys (`my.owner`) pass untouched.
pub fn check_known(options: &BTreeMap<String, String>) -> Result<()> {
    for (key, value) in options {
        match find(key) {
            Some(known) if known.class == Class::RefusedToSet => return Err(refused_to_set(&known, key, value)),
            Some(known) => check_value(&known, key, value)?,
            None => unknown_option(key).map_or(Ok(()), Err)?,
        }
    }
    Ok(())
}

/// Checks keys that a user gives for one handle of a table, beside [`check_known`]: what is no option would do nothing there.
/// In the stored options of a table such keys say something to other programs; those may be given again as they are.
pub fn check_known_here(stored: &BTreeMap<String, String>, given: &BTreeMap<String, String>) -> Result<()> {
    check_known(given)?;
    let unknown = given.iter().find(|(key, value)| find(key).is_none() && stored.get(*key) != Some(*value));
    let Some((key, _)) = unknown else { return Ok(()) };
    let message = format!("'{key}' is not an option of Paimon tables, it would do nothing");
    let error = Error::new(ErrorKind::UnknownOption, message).with("option", key);
    Err(match nearest(key) {
        Some((name, likeness)) if likeness > SIMILAR => error.hint(format!("did you mean '{name}'?")),
        _ => error
            .hint("keys of other programs can be stored in a table (create_table, alter), not given for one handle"),
    })
}

/// The error for an option that would do nothing here, or that is a misspelt other one.
fn refused_to_set(known: &Known, key: &str, value: &str) -> Error {
    // behind a # is a column
    let another = |(name, likeness): (String, f64)| likeness >= ALIKE && !name.eq_ignore_ascii_case(key);
    let misspelt = known.key != key && !key.contains('#') && nearest(key).is_some_and(another);
    if let (true, Some(error)) = (misspelt, unknown_option(key)) {
        return error;
    }
    let error = Error::unsupported(format!("the table option '{key}' = '{value}'")).with("option", key);
    error.hint("leave the option out, it would do nothing; tables that have it can be used")
}

/// The error for an unknown key that lies in one of Paimon's namespaces or looks like a misspelt option.
pub fn unknown_option(key: &str) -> Option<Error> {
    let near = nearest(key);
    if !in_namespace(key) && near.as_ref().is_none_or(|(_, likeness)| *likeness < ALIKE) {
        return None;
    }
    let error = Error::new(ErrorKind::UnknownOption, format!("'{key}' is not an option of Paimon tables"));
    let error = error.with("option", key);
    Some(match near {
        Some((name, likeness)) if likeness > 0.8 => error.hint(format!("did you mean '{name}'?")),
        _ => {
            let near =
                nearest_of_family(key).map(|name| format!("the nearest option is '{name}'; ")).unwrap_or_default();
            error.hint(format!("{near}keys outside Paimon's namespaces, such as 'my.key', are kept as they are"))
        }
    })
}

/// The known key most like `key` of those that begin with the same word.
fn nearest_of_family(key: &str) -> Option<String> {
    let lower = key.to_ascii_lowercase();
    let (first, _) = lower.split_once('.')?;
    let is_family = |name: &str| name.split_once('.').is_some_and(|(word, _)| word == first);
    let of_family = scored(&lower).into_iter().filter(|(name, _)| is_family(name));
    of_family.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, _)| name)
}

/// Whether the key's first word opens a family of Paimon's options (`compaction.`, `fields.`, `siltstone.`, ...).
fn in_namespace(key: &str) -> bool {
    let Some((first, _)) = key.split_once('.') else { return false };
    let family = |known: &&Known| known.key.split_once('.').is_some_and(|(word, _)| word == first);
    first == "fields" || first == "siltstone" || options().any(|known| family(&known))
}

/// The known key most like `key`, and how alike (0 to 1).
fn nearest(key: &str) -> Option<(String, f64)> {
    scored(&key.to_ascii_lowercase()).into_iter().max_by(|a, b| a.1.total_cmp(&b.1))
}

/// All known keys, and how alike they are to this one.
fn scored(lower: &str) -> Vec<(String, f64)> {
    let names = options().map(|known| known.key.to_owned());
    let column = lower.strip_prefix("fields.").and_then(|rest| rest.rsplit_once('.')).map(|(column, _)| column);
    let of_fields = FIELD_OPTIONS.iter().filter_map(|known| Some(format!("fields.{}.{}", column?, known.key)));
    let scored = names.chain(of_fields).map(|name| {
        let likeness = likeness(lower, &name);
        (name, likeness)
    });
    scored.collect()
}

fn likeness(a: &str, b: &str) -> f64 {
    if a.replace(['_', '.'], "-") == b.replace(['_', '.'], "-") {
        return 1.0;
    }
    // a swapped or missing letter of a long key is one step; short foreign words are not taken for options
    let steps = strsim::damerau_levenshtein(a, b);
    let length = a.chars().count().max(b.chars().count());
    match (steps, length) {
        (0, _) => 1.0,
        (1, 5..) | (2, 10..) => 0.95,
        _ => strsim::normalized_damerau_levenshtein(a, b).min(0.92),
    }
}

/// Whether `value` has the form that the option wants.
pub fn check_value(known: &Known, key: &str, value: &str) -> Result<()> {
    let number = |ok: bool, what: &str| if ok { Ok(()) } else { Err(invalid(value, what)) };
    let text = match known.kind {
        // Java takes these as they are written
        Kind::Bool | Kind::Int | Kind::Long => value,
        _ => value.trim(),
    };
    let checked = match known.kind {
        Kind::Text => Ok(()),
        Kind::Bool if text.trim() != text => Err(invalid(value, "true or false")),
        Kind::Bool => parse_bool(text).map(drop),
        Kind::Int => number(text.parse::<i32>().is_ok(), "a whole number"),
        Kind::Long => number(text.parse::<i64>().is_ok(), "a whole number"),
        Kind::Double => number(text.parse::<f64>().is_ok(), "a number"),
        Kind::Size => parse_size(text).map(drop),
        Kind::Duration => parse_duration(text).map(drop),
        Kind::Levels => parse_level_map(text).map(drop),
        Kind::Enum(allowed) => {
            // Java compares the whole text, without regard to case
            number(allowed.iter().any(|known| known.eq_ignore_ascii_case(value)), "a value of this option")
                .map_err(|e| e.hint(format!("use one of: {}", allowed.join(", "))))
        }
    };
    checked.map_err(|e| match column_of_field_option(key, known.key) {
        Some(column) => e.with("column", column).with("option", key),
        None => e.with("option", key),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(key: &str, value: &str) -> Result<()> {
        check_known(&BTreeMap::from([(key.to_owned(), value.to_owned())]))
    }

    #[test]
    fn misspelt_options_get_a_did_you_mean() {
        for (wrong, right) in [
            ("buckets", "bucket"),
            ("bukcet-key", "bucket-key"),
            ("merge_engine", "merge-engine"),
            ("sequnce.field", "sequence.field"),
            ("compaction.min.filenum", "compaction.min.file-num"),
            ("fields.price.aggregate-func", "fields.price.aggregate-function"),
            ("siltstone.snyc", "siltstone.sync"),
            ("Write-Only", "write-only"),
        ] {
            let error = check(wrong, "x").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnknownOption, "{wrong}");
            assert_eq!(error.hint_text(), Some(format!("did you mean '{right}'?").as_str()), "{wrong}");
        }
    }

    #[test]
    fn unknown_keys_in_a_namespace_of_paimon_are_errors() {
        for key in ["compaction.magic", "fields.x.y", "siltstone.turbo", "snapshot.keep"] {
            let error = check(key, "1").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnknownOption, "{key}");
            // the page of options says that the nearest one is named, with this very example
            let (family, hint) = (key.split('.').next().unwrap(), error.hint_text().unwrap());
            assert!(hint.contains(&format!("'{family}.")), "{hint}");
        }
    }

    #[test]
    fn options_that_would_do_nothing_are_refused_by_name() {
        for key in ["parquet.bloom.filter.enabled#v", "parquet.statistics.enabled", "parquet.magic", "scan.partitions"]
        {
            let error = check(key, "true").unwrap_err();
            assert_eq!((error.kind(), error.context_value("option")), (ErrorKind::UnsupportedFeature, Some(key)));
        }
        let error = check("parquet.blocks.size", "1").unwrap_err();
        assert_eq!(
            (error.kind(), error.hint_text()),
            (ErrorKind::UnknownOption, Some("did you mean 'parquet.block.size'?"))
        );
        check("parquet.enable.dictionary#v", "false").unwrap();
    }

    #[test]
    fn foreign_keys_pass() {
        for key in ["my.owner", "owner", "team", "provider", "comment", "dlf.region", "x", "hive.serde"] {
            check(key, "anything").unwrap();
        }
    }

    #[test]
    fn keys_that_are_no_option_are_kept_in_a_table_but_not_taken_for_a_handle() {
        let of = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let here = |key: &str| check_known_here(&of("my.owner", "ann"), &of(key, "ann"));
        here("my.owner").unwrap();
        here("commit.user-prefix").unwrap();
        for (key, hint) in [
            ("snapshot-id", "did you mean 'scan.snapshot-id'?"),
            ("writeonly", "did you mean 'write-only'?"),
            ("tag-name", "did you mean 'scan.tag-name'?"),
            (
                "owner",
                "keys of other programs can be stored in a table (create_table, alter), not given for one handle",
            ),
        ] {
            let error = here(key).unwrap_err();
            assert_eq!((error.kind(), error.context_value("option")), (ErrorKind::UnknownOption, Some(key)));
            assert_eq!(error.hint_text(), Some(hint), "{key}");
        }
        // another value of a stored key would do nothing, too
        let error = check_known_here(&of("my.owner", "ann"), &of("my.owner", "bob")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownOption);
    }

    #[test]
    fn values_must_have_the_form_of_their_option() {
        for (key, value) in [
            ("bucket", "4x"),
            ("write-only", "1"),
            ("target-file-size", "x"),
            ("merge-engine", "best"),
            ("merge-engine", "partial_update"),
            ("merge-engine", " aggregation"),
            ("spill-compression", "nope"),
            ("spill-compression", "snappy"),
            ("lookup.cache-spill-compression", ""),
            ("sort-engine", "loser_tree"),
            ("metastore.tag-to-partition.preview", "daily"),
            ("ignore-delete", " true"),
            ("fields.v.distinct", "true "),
            ("num-sorted-run.compaction-trigger", " 3"),
            ("bucket", "1 "),
        ] {
            let error = check(key, value).unwrap_err();
            assert_eq!((error.kind(), error.context_value("option")), (ErrorKind::InvalidOption, Some(key)));
        }
        let error = check("fields.v.count-limit", "x").unwrap_err();
        assert_eq!(
            (error.context_value("option"), error.context_value("column")),
            (Some("fields.v.count-limit"), Some("v"))
        );
        check("merge-engine", "Partial-Update").unwrap();
        check("tag.period-formatter", "without_dashes").unwrap();
        check("snapshot.time-retained", "1 h").unwrap();
    }
}
