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

    #[test]
    fn where_nothing_was_done_there_is_no_line() {
        assert_eq!(words(&Report::default().with("created", json!([]))), None);
    }
}
