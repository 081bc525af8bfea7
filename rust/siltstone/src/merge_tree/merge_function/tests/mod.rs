//! Engines against a model that merges record by record, and the cases of the requirements.

mod cases;
mod model;
mod older;
mod pieces;
mod properties;

use std::{collections::BTreeMap, sync::Arc};

use super::*;
use crate::{
    merge_tree::{
        merge::{MergeOptions, merge},
        testing::{self, Record},
    },
    options::CoreOptions,
    row::Datum,
    schema::TableSchema,
    types::{DataField, parse_type},
};

/// A table of one key column `k INT` and more columns.
pub(super) struct Table {
    pub(super) schema: TableSchema,
    pub(super) options: CoreOptions,
    pub(super) layout: KvLayout,
}

impl Table {
    pub(super) fn new(engine: &str, columns: &[(&str, &str)], options: &[(&str, &str)]) -> Self {
        let mut all: BTreeMap<String, String> =
            options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        all.insert("merge-engine".to_owned(), engine.to_owned());
        let columns = [&[("k", "INT NOT NULL")], columns].concat();
        let field =
            |(id, (name, data_type)): (i32, &(&str, &str))| DataField::new(id, *name, parse_type(data_type).unwrap());
        let fields: Vec<DataField> = (0..).zip(&columns).map(field).collect();
        let schema = TableSchema {
            id: 0,
            highest_field_id: 100,
            fields: fields.clone(),
            partition_keys: Vec::new(),
            primary_keys: vec!["k".to_owned()],
            options: all.clone(),
            comment: None,
            time_millis: 0,
            pending: None,
        };
        let options = CoreOptions::parse(&all).unwrap();
        let at = |name: &String| fields.iter().position(|f| f.name == *name).unwrap();
        let layout = KvLayout {
            sequence: options.sequence_fields.iter().map(at).collect(),
            sequence_descending: options.sequence_descending(),
            fields,
            key: vec![0],
        };
        Self { schema, options, layout }
    }

    pub(super) fn engine(&self) -> Arc<dyn MergeFunction> {
        of_spec(
            RecordNames::of_layout("db.t", &self.layout),
            &EngineSpec::of(&self.schema, &self.options).unwrap(),
            &self.layout,
        )
        .unwrap()
    }

    /// The same table with some of its columns only.
    pub(super) fn projected(&self, columns: &[&str]) -> Self {
        let fields: Vec<DataField> = columns.iter().map(|name| self.schema.field(name).unwrap().clone()).collect();
        let layout = KvLayout { fields, ..self.layout.clone() };
        Self { schema: self.schema.clone(), options: self.options.clone(), layout }
    }

    /// Merges sorted runs.
    pub(super) fn merged(&self, runs: &[Vec<Record>], drop_deletes: bool) -> Result<Vec<Record>> {
        self.merged_by(7, runs, drop_deletes)
    }

    /// Merges sorted runs into batches of so many rows; four times as many records of one key are put together.
    pub(super) fn merged_by(&self, batch_rows: usize, runs: &[Vec<Record>], drop_deletes: bool) -> Result<Vec<Record>> {
        let inputs = runs.iter().map(|run| testing::stream(&self.layout, run, 5)).collect();
        let options = MergeOptions { batch_rows, drop_deletes, unique_inputs: false, ..MergeOptions::default() };
        let mut all = Vec::new();
        for batch in merge(inputs, &self.layout, self.engine(), options)? {
            all.extend(testing::records(&self.layout, &batch?));
        }
        Ok(all)
    }

    /// Merges records of one key in one step, as given; a single one is shown to the engine, too.
    pub(super) fn asked(&self, records: &[Record]) -> Result<Record> {
        let batch = testing::batch(&self.layout, records);
        let rows: Vec<(usize, usize)> = (0..records.len()).map(|row| (0, row)).collect();
        let groups = Groups {
            sources: &[batch],
            inputs: &[0],
            rows: &rows,
            ends: &[rows.len()],
            pass_single: false,
            carried: None,
        };
        let computed = self.engine().merge(&groups)?;
        Ok(testing::records(&self.layout, &computed.rows).remove(0))
    }

    /// As [`Table::asked`], piece by piece: so many records are put together, then so many more, over and over.
    pub(super) fn in_pieces(&self, records: &[Record], sizes: &[usize]) -> Result<Record> {
        let engine = self.engine();
        let mut carried: Option<Carried> = None;
        let mut rest = records;
        for size in sizes.iter().cycle() {
            let least = if carried.is_some() { 1 } else { 2 };
            let (piece, after) = rest.split_at(rest.len().min(least.max(*size)));
            rest = after;
            let mut sources = vec![testing::batch(&self.layout, piece)];
            sources.extend(carried.as_ref().map(|carried| carried.batch().clone()));
            let first = carried.as_ref().map(|_| (1, 0));
            let rows: Vec<(usize, usize)> = first.into_iter().chain((0..piece.len()).map(|row| (0, row))).collect();
            let groups = Groups {
                sources: &sources,
                inputs: &[0, usize::MAX],
                rows: &rows,
                ends: &[rows.len()],
                pass_single: carried.is_some(),
                carried: carried.as_ref(),
            };
            if rest.is_empty() && (piece.len() < *size || rows.len() < 2) {
                let computed = engine.merge(&groups)?;
                return Ok(testing::records(&self.layout, &computed.rows).remove(0));
            }
            carried = engine.fold(&groups)?;
            assert!(carried.is_some());
        }
        unreachable!("without sizes")
    }

    /// Merges rows of key 1 in the order given, in one step; kinds are +I, -U, +U, -D. `None`: no row is left.
    pub(super) fn rows(&self, rows: &[(&str, Vec<Datum>)]) -> Result<Option<Vec<Datum>>> {
        let records: Vec<Record> = (1..).zip(rows).map(|(sequence, (kind, row))| record(kind, row, sequence)).collect();
        let in_one = self.merged(std::slice::from_ref(&records), true);
        // one commit for each row, merged by a read
        let runs: Vec<Vec<Record>> = records.into_iter().map(|record| vec![record]).collect();
        let in_runs = self.merged(&runs, true);
        match (in_one, in_runs) {
            (Ok(a), Ok(b)) => {
                assert_eq!(a, b);
                Ok(a.into_iter().next().map(|record| record.fields[1..].to_vec()))
            }
            (Err(a), Err(b)) => {
                assert_eq!(a.to_string(), b.to_string());
                Err(a)
            }
            (a, b) => panic!("one step: {a:?}, one run for each row: {b:?}"),
        }
    }
}

pub(super) fn record(kind: &str, row: &[Datum], sequence: i64) -> Record {
    let kind = crate::row::RowKind::parse(kind).unwrap().to_byte();
    Record { fields: [&[Datum::Int(1)], row].concat(), sequence, kind }
}

pub(super) fn int(value: impl Into<Option<i32>>) -> Datum {
    value.into().map_or(Datum::Null, Datum::Int)
}

pub(super) fn text(value: &str) -> Datum {
    Datum::String(value.to_owned())
}
