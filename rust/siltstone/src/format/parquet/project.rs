//! Which leaves of a file hold the wanted columns, found by name.

use std::collections::HashMap;

use parquet::{
    file::metadata::{ColumnChunkMetaData, ParquetMetaData},
    schema::types::{Type, TypePtr},
};

use crate::types::{DataField, DataType, TypeKind};

/// Leaf positions of the wanted columns, and for each column whether the file has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Projection {
    pub(crate) leaves: Vec<usize>,
    pub(crate) present: Vec<bool>,
}

/// Finds `wanted` among the columns of `root`. Of a ROW only the wanted fields are taken, or one to know which rows
/// are null.
pub(crate) fn project(root: &Type, wanted: &[DataField]) -> Projection {
    let mut projection = Projection::default();
    let mut columns: HashMap<&str, (&TypePtr, usize)> = HashMap::new();
    let mut leaf = 0;
    for node in children(root) {
        // of columns of one name the first counts
        columns.entry(node.name()).or_insert((node, leaf));
        leaf += leaf_count(node);
    }
    for field in wanted {
        match columns.get(field.name.as_str()) {
            Some((node, first_leaf)) => {
                let first_leaf = *first_leaf;
                select(node, first_leaf, &field.data_type, &mut projection.leaves);
                projection.present.push(true);
            }
            None => projection.present.push(false),
        }
    }
    projection.leaves.sort_unstable();
    projection.leaves.dedup();
    projection
}

/// A leaf whose pages count the rows of a file when no wanted column is in it, preferably one without lists and of few bytes;
/// `None` for a file without columns. What a footer says of its rows alone is no number to make rows by.
pub(crate) fn counting_leaf(metadata: &ParquetMetaData) -> Option<usize> {
    let bytes = |leaf: usize| {
        let chunks = metadata.row_groups().iter().filter_map(|group| group.columns().get(leaf));
        chunks.map(ColumnChunkMetaData::compressed_size).fold(0, i64::saturating_add)
    };
    let leaves = metadata.file_metadata().schema_descr().columns().iter().enumerate();
    leaves.min_by_key(|(leaf, column)| (column.max_rep_level() > 0, bytes(*leaf))).map(|(leaf, _)| leaf)
}

/// The child of this name and the position of its first leaf.
fn child<'a>(group: &'a Type, first_leaf: usize, name: &str) -> Option<(&'a TypePtr, usize)> {
    let mut leaf = first_leaf;
    for node in children(group) {
        if node.name() == name {
            return Some((node, leaf));
        }
        leaf += leaf_count(node);
    }
    None
}

fn children(node: &Type) -> &[TypePtr] {
    if node.is_group() { node.get_fields() } else { &[] }
}

fn leaf_count(node: &Type) -> usize {
    if node.is_group() { children(node).iter().map(|c| leaf_count(c)).sum() } else { 1 }
}

fn select(node: &Type, first_leaf: usize, t: &DataType, leaves: &mut Vec<usize>) {
    let all = first_leaf..first_leaf + leaf_count(node);
    match &t.kind {
        TypeKind::Row(fields) if node.is_group() => {
            let before = leaves.len();
            for field in fields {
                if let Some((node, leaf)) = child(node, first_leaf, &field.name) {
                    select(node, leaf, &field.data_type, leaves);
                }
            }
            if leaves.len() == before {
                select_smallest(node, first_leaf, leaves);
            }
        }
        TypeKind::Array(element) => match (list_element(node), &element.kind) {
            (Some(node), TypeKind::Row(_) | TypeKind::Array(_) | TypeKind::Map(..)) => {
                select(node, first_leaf, element, leaves);
            }
            _ => leaves.extend(all),
        },
        TypeKind::Map(_, value) => match map_entry(node) {
            Some([key, of_value]) => {
                let keys = leaf_count(key);
                leaves.extend(first_leaf..first_leaf + keys);
                select(of_value, first_leaf + keys, value, leaves);
            }
            _ => leaves.extend(all),
        },
        _ => leaves.extend(all),
    }
}

/// A leaf outside of lists and maps if there is one: it says which rows are null without decoding much.
fn select_smallest(node: &Type, first_leaf: usize, leaves: &mut Vec<usize>) {
    let mut leaf = first_leaf;
    for node in children(node) {
        if node.is_primitive() {
            leaves.push(leaf);
            return;
        }
        leaf += leaf_count(node);
    }
    leaves.extend(first_leaf..first_leaf + leaf_count(node));
}

/// The element of a list in the three-level form; `None` for the older forms, which are then taken whole.
fn list_element(list: &Type) -> Option<&Type> {
    let [repeated] = children(list) else { return None };
    let [element] = children(repeated) else { return None };
    let one_tuple = repeated.name() == "array" || repeated.name() == format!("{}_tuple", list.name());
    (!one_tuple).then_some(element)
}

fn map_entry(map: &Type) -> Option<&[TypePtr; 2]> {
    let [entry] = children(map) else { return None };
    children(entry).try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::parquet::parquet_schema;

    fn field(id: i32, name: &str, kind: TypeKind) -> DataField {
        DataField::new(id, name, DataType::new(kind))
    }

    fn array(kind: TypeKind) -> TypeKind {
        TypeKind::Array(Box::new(DataType::new(kind)))
    }

    #[test]
    fn only_wanted_leaves_are_taken() {
        let point =
            |fields: &[&str]| TypeKind::Row(fields.iter().zip(10..).map(|(n, i)| field(i, n, TypeKind::Int)).collect());
        let entry = |value| TypeKind::Map(Box::new(DataType::not_null(TypeKind::Int)), Box::new(DataType::new(value)));
        let stored = [
            field(0, "a", TypeKind::Int),
            field(1, "r", point(&["x", "y", "z"])),
            field(2, "l", array(point(&["x", "y"]))),
            field(3, "m", entry(point(&["x", "y"]))),
            field(4, "b", TypeKind::Int),
        ];
        let schema = parquet_schema(&stored).unwrap();
        let leaves = |wanted: &[DataField]| project(schema.root_schema(), wanted).leaves;
        assert_eq!(leaves(&[field(4, "b", TypeKind::Int), field(0, "a", TypeKind::Int)]), [0, 9]);
        assert_eq!(leaves(&[field(1, "r", point(&["z"]))]), [3]);
        assert_eq!(leaves(&[field(1, "r", point(&["new"]))]), [1]);
        assert_eq!(leaves(&[field(2, "l", array(point(&["y"])))]), [5]);
        assert_eq!(leaves(&[field(3, "m", entry(point(&["y"])))]), [6, 8]);
        let missing = project(schema.root_schema(), &[field(9, "c", TypeKind::Int), stored[0].clone()]);
        assert_eq!((missing.leaves, missing.present), (vec![0], vec![false, true]));
    }
}
