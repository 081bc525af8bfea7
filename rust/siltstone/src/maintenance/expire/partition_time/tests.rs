//! Every expectation is what Java 17 answers to `PartitionTimeExtractor.extract`; `None` where that throws.

use super::*;
use crate::error::ErrorKind;

fn spec(pairs: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), v.map(str::to_owned))).collect()
}

fn time(pairs: &[(&str, Option<&str>)], pattern: Option<&str>, formatter: Option<&str>) -> Option<String> {
    let times = PartitionTimes::new(pattern, formatter).unwrap();
    times.of(&spec(pairs)).map(|t| t.format("%Y-%m-%d %H:%M:%S%.f").to_string())
}

fn check(formatter: Option<&str>, cases: &[(&str, Option<&str>)]) {
    for (text, expected) in cases {
        let expected = expected.map(|at| if at.contains(' ') { at.to_owned() } else { format!("{at} 00:00:00") });
        assert_eq!(time(&[("dt", Some(text)), ("h", Some("7"))], None, formatter), expected, "{text} by {formatter:?}");
    }
}

#[test]
fn without_formatter_the_first_value_is_a_date_or_a_time_and_may_run_over() {
    check(
        None,
        &[
            ("2024-05-01", Some("2024-05-01")),
            ("02024-05-01", Some("2024-05-01")),
            ("2024-5-1 1:02:03", Some("2024-05-01 01:02:03")),
            ("2024-05-01 01:02:03.5", Some("2024-05-01 01:02:03.500")),
            ("2024-02-30", Some("2024-03-01")),
            ("2024-13-01", Some("2025-01-01")),
            ("2024-0-0", Some("2023-11-30")),
            ("2024--5-01", Some("2023-07-01")),
            ("-1-2-3", Some("-0001-02-03")),
            ("2024-05-01 25:61:61", Some("2024-05-02 02:02:01")),
            ("2024-05-01 -1:00:00", Some("2024-04-30 23:00:00")),
        ],
    );
    for text in ["20240501", "", "x", " 2024-05-01", "2024", "2024-05", "2024-005-01", "+2024-5-1", "19844"] {
        check(None, &[(text, None)]);
    }
    for time in ["T01:02:03", " ", " 01:02", " 01:02:03.", " 01:02:03.1234567890"] {
        check(None, &[(&format!("2024-05-01{time}"), None)]);
    }
}

/// The month of a partition `202405` was taken for its first day, and the current month expired by the commit that wrote it.
#[test]
fn a_formatter_without_day_or_month_says_no_time() {
    for (formatter, text) in [
        ("yyyyMM", "202405"),
        ("yyyy-MM", "2024-05"),
        ("yyyy", "2024"),
        ("MMdd", "0501"),
        ("yyyy-dd", "2024-05"),
        ("HH:mm", "10:11"),
    ] {
        check(Some(formatter), &[(text, None)]);
    }
}

#[test]
fn formatters_read_dates_as_java_does() {
    check(Some("yyyyMMdd"), &[("20240501", Some("2024-05-01")), ("2024501", None)]);
    check(Some("yyyy/M/d"), &[("2024/5/1", Some("2024-05-01")), ("2024/05/01", Some("2024-05-01"))]);
    check(
        Some("yyyy-MM-dd"),
        &[
            ("2024-02-30", Some("2024-02-29")),
            ("2024-04-31", Some("2024-04-30")),
            ("2024-02-32", None),
            ("2024-13-01", None),
            ("2024-5-01", None),
            ("24-05-01", None),
            ("12024-05-01", None),
            ("+12024-05-01", Some("+12024-05-01")),
            ("-2024-05-01", None),
            ("0000-05-01", None),
        ],
    );
    check(Some("uuuu-MM-dd"), &[("0000-05-01", Some("0000-05-01")), ("-2024-05-01", Some("-2024-05-01"))]);
    check(Some("y-M-d"), &[("2024-+5-01", None), ("-5-05-01", None), ("99999999999999999999-05-01", None)]);
    check(Some("yyy-MM-dd"), &[("024-05-01", Some("0024-05-01")), ("2024-05-01", Some("2024-05-01"))]);
    check(Some("yyMMdd"), &[("240501", Some("2024-05-01")), ("990501", Some("2099-05-01"))]);
    check(Some("yyyyMdd"), &[("2024501", None)]);
    check(Some("yyyy-DDD"), &[("2024-121", Some("2024-04-30")), ("2023-366", None)]);
    check(Some("yyyyDDD"), &[("2024121", Some("2024-04-30"))]);
    check(Some("dd-MMM-yyyy"), &[("01-May-2024", Some("2024-05-01")), ("01-may-2024", None)]);
    check(Some("yyyy-MMMM-dd"), &[("2024-May-01", Some("2024-05-01"))]);
    check(Some("EEE yyyy-MM-dd"), &[("Wed 2024-05-01", Some("2024-05-01")), ("Thu 2024-05-01", None)]);
    check(Some("EEEE"), &[("Friday", None)]);
    check(Some("yyyy年MM月dd日"), &[("2024年05月01日", Some("2024-05-01"))]);
    check(Some("yyyy-MM-dd yyyy"), &[("2024-05-01 2024", Some("2024-05-01")), ("2024-05-01 2023", None)]);
}

#[test]
fn formatters_read_times_of_day_as_java_does() {
    check(Some("yyyyMMdd HH"), &[("20240501 23", Some("2024-05-01 23:00:00")), ("20240501 24", Some("2024-05-02"))]);
    check(Some("yyyyMMdd HHmm"), &[("20240501 2400", Some("2024-05-02")), ("20240501 2401", None)]);
    check(Some("yyyyMMddHHmmssSSS"), &[("20240501233059123", Some("2024-05-01 23:30:59.123"))]);
    check(Some("yyyy-MM-dd'T'HH:mm"), &[("2024-05-01T10:11", Some("2024-05-01 10:11:00")), ("2024-05-01T10:60", None)]);
    check(Some("yyyy-MM-dd'T'HH:mm:ss"), &[("2024-05-01T10:11", None)]);
    check(Some("yyyy-MM-dd'T'HH:mm[:ss]"), &[("2024-05-01T10:11", Some("2024-05-01 10:11:00"))]);
    check(Some("yyyy-MM-dd['T'HH:mm]"), &[("2024-05-01", Some("2024-05-01")), ("2024-05-01T", None)]);
    check(Some("yyyyMMdd[HH]"), &[("20240501", Some("2024-05-01")), ("2024050110", None)]);
    check(
        Some("yyyy-MM-dd hh a"),
        &[("2024-05-01 11 PM", Some("2024-05-01 23:00:00")), ("2024-05-01 12 AM", Some("2024-05-01"))],
    );
    check(Some("yyyy-MM-dd kk"), &[("2024-05-01 24", Some("2024-05-01"))]);
    check(Some("yyyy-MM-dd A"), &[("2024-05-01 3600000", Some("2024-05-01 01:00:00"))]);
    // an hour without minutes but with seconds is no time of day: the date is left
    check(Some("yyyyMMdd HHss"), &[("20240501 2330", Some("2024-05-01"))]);
    check(Some("yyyyMMdd mm"), &[("20240501 30", Some("2024-05-01")), ("20240501 60", None)]);
    check(Some("yyyy-MM-dd hh"), &[("2024-05-01 11", Some("2024-05-01")), ("2024-05-01 13", None)]);
    check(Some("yyyy''MM'o''clock'dd"), &[("2024'05o'clock01", Some("2024-05-01"))]);
}

#[test]
fn patterns_take_values_by_name_and_nothing_is_filled_in_beside_a_null() {
    let pairs = [("y", Some("2024")), ("month", Some("05")), ("m", Some("x")), ("d", Some("01"))];
    assert_eq!(time(&pairs, Some("$y-$month-$d"), None).as_deref(), Some("2024-05-01 00:00:00"));
    let compact = [("dt", Some("20240501")), ("hour", Some("23"))];
    assert_eq!(time(&compact, Some("$dt"), Some("yyyyMMdd")).as_deref(), Some("2024-05-01 00:00:00"));
    assert_eq!(time(&compact, Some("$dt $hour"), Some("yyyyMMdd HH")).as_deref(), Some("2024-05-01 23:00:00"));
    // key by key: the first is filled in where a longer name begins with it
    let prefix = [("dt", Some("2024-05-0")), ("dt1", Some("x"))];
    assert_eq!(time(&prefix, Some("$dt1"), None).as_deref(), Some("2024-05-01 00:00:00"));
    assert_eq!(time(&[("dt", None)], None, None), None);
    // Java fills in all keys, also those that the pattern does not name
    assert_eq!(time(&[("dt", Some("2024-05-01")), ("h", None)], Some("$dt"), None), None);
    assert_eq!(time(&[("dt", Some("2024-05-01")), ("h", None)], None, None).as_deref(), Some("2024-05-01 00:00:00"));
}

#[test]
fn what_java_takes_for_no_formatter_is_refused_and_so_is_what_is_not_understood() {
    for formatter in ["yyyy-MM-ddd", "b", "yyyy'", "yyyy#MM", "{", "]", "SSSSSSSSSS", "aa"] {
        let error = PartitionTimes::new(None, Some(formatter)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidOption, "{formatter}");
        assert_eq!(error.context_value("option"), Some("partition.timestamp-formatter"));
    }
    for formatter in ["YYYY-'W'ww-e", "Gyyyy-MM-dd", "yyyy-MM-ddXXX"] {
        let error = PartitionTimes::new(None, Some(formatter)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedFeature, "{formatter}");
    }
}
