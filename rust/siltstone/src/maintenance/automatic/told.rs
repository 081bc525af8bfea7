//! What upkeep after a commit came to: a line on the logger `siltstone.upkeep` where it made or deleted something.

use serde_json::Value;

use crate::{cleanup::Report, io::TableContext};

/// Names of a topic that a line has; of more it has the number.
const NAMED: usize = 5;

/// Tells what was done; nothing where there was nothing to do.
pub(super) fn tell(ctx: &TableContext, what: &str, report: &Report) {
    if let Some(done) = words(report) {
        tracing::info!(target: "siltstone::upkeep", table = ctx.name, "{what} after a commit: {done}");
    }
}

/// The partitions that a report has dropped, in words: their rows are gone for readers, so it is a note, too.
pub(super) fn partitions_gone(report: &Report) -> Option<String> {
    let topic = |name: &str| report.details.get(name).and_then(Value::as_array).filter(|values| !values.is_empty());
    let gone = topic("partitions")?;
    let named: Vec<&str> = gone.iter().take(NAMED).filter_map(Value::as_str).collect();
    let more = match gone.len().saturating_sub(named.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let made: Vec<String> = topic("snapshots").into_iter().flatten().map(Value::to_string).collect();
    Some(format!(
        "partitions were older than partition.expiration-time and were dropped after the commit, with their rows, by snapshot {}: {}{more}",
        made.join(", "),
        named.join(", ")
    ))
}

/// What a report has done, in words.
fn words(report: &Report) -> Option<String> {
    let mut parts: Vec<String> = report.details.iter().filter_map(|(topic, value)| listed(topic, value)).collect();
    let (files, bytes) = report.by_kind().values().fold((0, 0_u64), |sum, kind| (sum.0 + kind.0, sum.1 + kind.1));
    if files > 0 {
        parts.push(format!("deleted {files} files of {bytes} bytes"));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The names of a topic, such as of tags that were made.
fn listed(topic: &str, value: &Value) -> Option<String> {
    let names = value.as_array().filter(|names| !names.is_empty())?;
    if names.len() > NAMED {
        return Some(format!("{topic}: {}", names.len()));
    }
    let names: Vec<String> =
        names.iter().map(|name| name.as_str().map_or_else(|| name.to_string(), str::to_owned)).collect();
    Some(format!("{topic} {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_names_what_was_done_and_counts_what_is_many() {
        let report = Report::default().with("created", json!(["2024-05-01"])).with("snapshots", json!([1, 2]));
        assert_eq!(words(&report).as_deref(), Some("created 2024-05-01, snapshots 1, 2"));
        let many = Report::default().with("snapshots", json!([1, 2, 3, 4, 5, 6]));
        assert_eq!(words(&many).as_deref(), Some("snapshots: 6"));
    }

    /// A load of 30 days left the 7 that were young enough, and its report said nothing.
    #[test]
    fn partitions_that_were_dropped_are_named_and_counted() {
        let of = |days: &[&str]| Report::default().with("partitions", json!(days)).with("snapshots", json!([2]));
        assert_eq!(partitions_gone(&of(&[])), None);
        let two = partitions_gone(&of(&["d=1", "d=2"])).unwrap();
        assert!(two.ends_with("with their rows, by snapshot 2: d=1, d=2"), "{two}");
        let many = partitions_gone(&of(&["d=1", "d=2", "d=3", "d=4", "d=5", "d=6", "d=7"])).unwrap();
        assert!(many.ends_with("d=1, d=2, d=3, d=4, d=5 and 2 more"), "{many}");
    }

    #[test]
    fn where_nothing_was_done_there_is_no_line() {
        assert_eq!(words(&Report::default().with("created", json!([]))), None);
    }
}
