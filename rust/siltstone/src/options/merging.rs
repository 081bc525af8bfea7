//! Options of merge engines whose keys or values name columns (semantics b.4 and b.5).

use std::collections::BTreeMap;

use super::catalogue::column_of_field_option;
use super::values::parse_list;

/// `fields.<s1>[,<s2>...].sequence-group = c1,c2,...`: the fields `s` protect the columns `c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceGroup {
    /// The option's key.
    pub option: String,
    /// Sequence fields, compared in this order.
    pub sequence: Vec<String>,
    /// The columns that they protect.
    pub columns: Vec<String>,
}

impl SequenceGroup {
    /// Whether a column belongs to the group; its sequence fields do.
    pub fn has(&self, column: &str) -> bool {
        self.sequence.iter().chain(&self.columns).any(|name| name == column)
    }
}

/// The sequence groups of a table's options, by option key (`PartialUpdateMergeFunction.Factory`).
pub fn sequence_groups(options: &BTreeMap<String, String>) -> Vec<SequenceGroup> {
    let group = |(key, value): (&String, &String)| {
        let sequence = column_of_field_option(key, "sequence-group")?;
        Some(SequenceGroup { option: key.clone(), sequence: parse_list(sequence), columns: parse_list(value) })
    };
    options.iter().filter_map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_one_or_several_sequence_fields() {
        let options = BTreeMap::from([
            ("fields.g_1.sequence-group".to_owned(), "a,b".to_owned()),
            ("fields.g_2, g_3.sequence-group".to_owned(), " c".to_owned()),
            ("fields.a.aggregate-function".to_owned(), "sum".to_owned()),
        ]);
        let groups = sequence_groups(&options);
        let of = |group: &SequenceGroup| (group.sequence.join("|"), group.columns.join("|"));
        assert_eq!(
            groups.iter().map(of).collect::<Vec<_>>(),
            [("g_1".to_owned(), "a|b".to_owned()), ("g_2|g_3".to_owned(), "c".to_owned())]
        );
        assert!(groups.iter().any(|g| g.has("g_3")) && !groups.iter().any(|g| g.has("d")));
    }
}
