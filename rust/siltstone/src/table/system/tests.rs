use std::time::Duration;

use super::{tags::iso_duration, text::object_text};
use crate::{
    row::Datum,
    types::{DataType, TypeKind},
};

#[test]
fn durations_print_as_java_prints_them() {
    let texts: Vec<String> = [0, 1, 60, 3_661, 86_400, 90_061]
        .into_iter()
        .map(|s| iso_duration(Duration::from_secs(s)))
        .chain([iso_duration(Duration::from_millis(1_500))])
        .collect();
    assert_eq!(texts, ["PT0S", "PT1S", "PT1M", "PT1H1M1S", "PT24H", "PT25H1M1S", "PT1.5S"]);
}

#[test]
fn timestamps_print_as_javas_objects() {
    let kind = DataType::new(TypeKind::Timestamp(9));
    let text = |millis, nanos_of_milli| object_text(&Datum::Timestamp { millis, nanos_of_milli }, &kind);
    assert_eq!(text(0, 0), "1970-01-01T00:00");
    assert_eq!(text(1_000, 0), "1970-01-01T00:00:01");
    assert_eq!(text(1, 0), "1970-01-01T00:00:00.001");
    assert_eq!(text(-1, 1_000), "1969-12-31T23:59:59.999001");
    assert_eq!(text(0, 1), "1970-01-01T00:00:00.000000001");
}
