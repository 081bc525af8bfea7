use std::collections::BTreeMap;

use super::*;
use crate::row::{BinaryRow, Datum};

fn text(text: &str) -> Datum {
    Datum::String(text.into())
}

fn truncated(n: usize, min: Datum, max: Datum) -> (Datum, Datum) {
    let stats = StatsMode::Truncate(n).apply_mode(ColumnStats { min, max, null_count: Some(3) });
    assert_eq!(stats.null_count, Some(3));
    (stats.min, stats.max)
}

#[test]
fn bounds_are_cut_by_code_points_and_the_maximum_is_raised() {
    let same = "0123456789abcdef";
    assert_eq!(truncated(16, text(same), text(same)), (text(same), text(same)));
    let long = "0123456789abcdefg";
    assert_eq!(truncated(16, text(long), text(long)), (text(same), text("0123456789abcdeg")));
    let han = "中".repeat(20);
    let raised = format!("{}{}", "中".repeat(15), '\u{4e2e}');
    assert_eq!(truncated(16, text(&han), text(&han)), (text(&"中".repeat(16)), text(&raised)));
}

#[test]
fn a_maximum_that_cannot_be_raised_gives_up_both_bounds() {
    let top = "\u{10ffff}".repeat(17);
    assert_eq!(truncated(16, text("a"), text(&top)), (Datum::Null, Datum::Null));
    let bytes = Datum::Bytes(vec![0xff; 17]);
    assert_eq!(truncated(16, Datum::Bytes(vec![0]), bytes), (Datum::Null, Datum::Null));
    let bytes = Datum::Bytes(vec![1, 0xff, 0xff]);
    assert_eq!(truncated(2, Datum::Bytes(vec![1, 2, 3]), bytes), (Datum::Bytes(vec![1, 2]), Datum::Bytes(vec![2])));
}

#[test]
fn raising_a_character_skips_the_surrogates() {
    // Java writes `a?` here, which is below the values
    assert_eq!(truncated(2, text("a"), text("a\u{d7ff}z")).1, text("a\u{e000}"));
}

#[test]
fn modes_are_read_in_any_case_and_nonsense_is_refused() {
    assert_eq!(StatsMode::parse("Truncate(7)").unwrap(), StatsMode::Truncate(7));
    assert_eq!(StatsMode::parse("NONE").unwrap(), StatsMode::None);
    for wrong in ["", "truncate", "truncate(0)", "truncate(-1)", "truncate(x)", "some"] {
        assert!(StatsMode::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_mode_of_a_column_is_decided_in_order() {
    let rules = StatsModeRules {
        default: StatsMode::Full,
        per_column: BTreeMap::from([("b".to_owned(), StatsMode::Counts)]),
        keep_first_n: 2,
        system_columns: true,
    };
    let system = |name: &str| name.starts_with('_');
    let names = ["_KEY_a", "_SEQUENCE_NUMBER", "a", "b", "c", "d"];
    let modes = stats_modes(&rules, &names, &system);
    let long = StatsMode::Truncate(128);
    assert_eq!(modes, [long, long, StatsMode::Full, StatsMode::Counts, StatsMode::Full, StatsMode::None]);
    let avro = StatsModeRules { system_columns: false, ..rules };
    let modes = stats_modes(&avro, &names, &system);
    assert_eq!(modes[..2], [StatsMode::Full, StatsMode::Full]);
    assert_eq!(modes[2], StatsMode::None);
}

#[test]
fn rules_come_from_the_options_of_the_level() {
    let options = [
        ("metadata.stats-mode", "counts"),
        ("metadata.stats-mode.per.level", "0:none"),
        ("changelog-file.stats-mode", "full"),
        ("fields.a.stats-mode", "truncate(5)"),
        ("metadata.stats-keep-first-n-columns", "3"),
    ];
    let options = options.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let options = crate::options::CoreOptions::parse(&options).unwrap();
    let rules = |level, changelog| StatsModeRules::from_options(&options, Some(level), changelog).unwrap();
    assert_eq!(rules(0, false).default, StatsMode::None);
    assert_eq!(rules(1, false).default, StatsMode::Counts);
    assert_eq!(rules(0, true).default, StatsMode::Full);
    assert_eq!(rules(0, true).per_column["a"], StatsMode::Truncate(5));
    assert_eq!(rules(0, true).keep_first_n, 3);
}

#[test]
fn empty_statistics_decode_as_unknown() {
    let types = [crate::types::DataType::new(crate::types::TypeKind::Int)];
    assert_eq!(decode_stats(&SimpleStats::empty(), &types).unwrap(), [ColumnStats::unknown()]);
    assert_eq!(encode_stats(&[], &[]).unwrap(), SimpleStats::empty());
    let two = encode_stats(&[types[0].clone(), types[0].clone()], &[ColumnStats::unknown(), ColumnStats::unknown()]);
    assert!(decode_stats(&two.unwrap(), &types).is_err());
}

#[test]
fn columns_that_name_the_same_bytes_are_damage() {
    let types = [1, 2].map(|_| crate::types::DataType::new(crate::types::TypeKind::VarChar(99)));
    let texts = ["x".repeat(32), String::new()].map(Datum::String);
    let mut row = BinaryRow::from_datums(&types, &texts).unwrap().to_serialized();
    let first: [u8; 8] = row[12..20].try_into().unwrap();
    row[20..28].copy_from_slice(&first);
    let stats = StatsFields { min_values: row.clone(), max_values: row, null_counts: vec![None, None] }.into();
    let names = ["a".to_owned(), "b".to_owned()];
    assert!(decode_stats(&stats, &types).unwrap_err().to_string().contains("the same bytes"));
    assert!(decode_stats_for(&stats, Some(&names), &["a", "b"], &types).is_err());
    // a single column is what pruning asks for
    assert!(decode_stats_for(&stats, Some(&names), &["b"], &types).is_ok());
}
