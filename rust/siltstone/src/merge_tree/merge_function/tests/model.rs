//! Merging record by record, written from chapter b of the semantics without a look at the engines.
#![allow(clippy::match_same_arms, reason = "one arm for each rule of the specification")]

use std::cmp::Ordering;

use super::*;
use crate::{merge_tree::testing::model_order, options::sequence_groups};

/// A value that the model could not compute: the engine must fail as well.
#[derive(Debug)]
pub(in super::super) struct Impossible;

type Step<T> = std::result::Result<T, Impossible>;

/// A function with the state beside its value.
struct Function {
    name: String,
    ignore_retract: bool,
    initialized: bool,
}

impl Function {
    fn agg(&mut self, acc: Datum, input: Datum) -> Step<Datum> {
        let both = !acc.is_null() && !input.is_null();
        Ok(match self.name.as_str() {
            "primary-key" | "last_value" => input,
            "last_non_null_value" if input.is_null() => acc,
            "last_non_null_value" => input,
            "first_value" if self.initialized => acc,
            "first_value" => {
                self.initialized = true;
                input
            }
            "first_non_null_value" if self.initialized || input.is_null() => acc,
            "first_non_null_value" => {
                self.initialized = true;
                input
            }
            _ if !both => {
                if acc.is_null() {
                    input
                } else {
                    acc
                }
            }
            "sum" => number(acc, input, i128::checked_add, |a, b| a + b)?,
            "product" => number(acc, input, i128::checked_mul, |a, b| a * b)?,
            "max" if model_order(&acc, &input) == Ordering::Less => input,
            "max" => acc,
            "min" if model_order(&acc, &input) == Ordering::Less => acc,
            "min" => input,
            "bool_and" => logic(acc, input, |a, b| a && b),
            "bool_or" => logic(acc, input, |a, b| a || b),
            other => panic!("not modelled: {other}"),
        })
    }

    fn retract(&mut self, acc: Datum, input: Datum) -> Step<Datum> {
        if self.ignore_retract {
            return Ok(acc);
        }
        Ok(match self.name.as_str() {
            "primary-key" => input,
            "last_value" => Datum::Null,
            "last_non_null_value" if input.is_null() => acc,
            "last_non_null_value" => Datum::Null,
            "sum" | "product" if input.is_null() => acc,
            "sum" if acc.is_null() => number(zero(&input), input, i128::checked_sub, |_, b| -b)?,
            "sum" => number(acc, input, i128::checked_sub, |a, b| a - b)?,
            "product" if acc.is_null() => acc,
            "product" => number(acc, input, i128::checked_div, |a, b| a / b)?,
            _ => return Err(Impossible),
        })
    }
}

fn zero(like: &Datum) -> Datum {
    match like {
        Datum::Int(_) => Datum::Int(0),
        Datum::BigInt(_) => Datum::BigInt(0),
        Datum::Decimal(_) => Datum::Decimal(0),
        _ => Datum::Double(0.0),
    }
}

fn number(
    a: Datum,
    b: Datum,
    exact: impl Fn(i128, i128) -> Option<i128>,
    float: impl Fn(f64, f64) -> f64,
) -> Step<Datum> {
    let exact = |a: i128, b: i128| exact(a, b).ok_or(Impossible);
    Ok(match (a, b) {
        (Datum::Int(a), Datum::Int(b)) => {
            Datum::Int(i32::try_from(exact(a.into(), b.into())?).map_err(|_| Impossible)?)
        }
        (Datum::BigInt(a), Datum::BigInt(b)) => {
            Datum::BigInt(i64::try_from(exact(a.into(), b.into())?).map_err(|_| Impossible)?)
        }
        // DECIMAL(20, 0) only
        (Datum::Decimal(a), Datum::Decimal(b)) => match exact(a, b)? {
            sum if sum.abs() < 10_i128.pow(20) => Datum::Decimal(sum),
            _ => Datum::Null,
        },
        (Datum::Double(a), Datum::Double(b)) => Datum::Double(float(a, b)),
        other => panic!("not modelled: {other:?}"),
    })
}

fn logic(a: Datum, b: Datum, f: impl Fn(bool, bool) -> bool) -> Datum {
    match (a, b) {
        (Datum::Boolean(a), Datum::Boolean(b)) => Datum::Boolean(f(a, b)),
        other => panic!("not modelled: {other:?}"),
    }
}

/// The function of each column by the options, or none.
fn functions(table: &Table, default: Option<&str>) -> Vec<Option<Function>> {
    let options = &table.options.raw;
    let function = |field: &DataField| {
        let own = options.get(&format!("fields.{}.aggregate-function", field.name)).map(String::as_str);
        let ignore = options.get(&format!("fields.{}.ignore-retract", field.name));
        let common = options.get("fields.default-aggregate-function").map(String::as_str);
        let is_sequence = default.is_some() && table.options.sequence_fields.contains(&field.name);
        let name = match field.name.as_str() {
            "k" => Some("primary-key"),
            _ if is_sequence => Some("last_value"),
            _ => own.or(common).or(default),
        }?;
        let ignore_retract = ignore.is_some_and(|text| text == "true");
        Some(Function { name: name.to_owned(), ignore_retract, initialized: false })
    };
    table.layout.fields.iter().map(function).collect()
}

/// Merges the records of one key by the table's engine.
pub(in super::super) fn merged(table: &Table, records: &[Record]) -> Step<Record> {
    match table.options.merge_engine {
        MergeEngine::Aggregation => aggregated(table, records),
        MergeEngine::PartialUpdate => updated(table, records),
        other => panic!("not modelled: {other:?}"),
    }
}

fn is_retract(record: &Record) -> bool {
    record.kind == 1 || record.kind == 3
}

fn is_true(table: &Table, option: &str) -> bool {
    table.options.raw.get(option).is_some_and(|text| text == "true")
}

fn aggregated(table: &Table, records: &[Record]) -> Step<Record> {
    let removes = is_true(table, "aggregation.remove-record-on-delete");
    let mut functions = functions(table, Some("last_non_null_value"));
    let mut row = vec![Datum::Null; table.layout.fields.len()];
    let mut deleted = false;
    for record in records {
        deleted = removes && record.kind == 3;
        if deleted {
            row.clone_from(&record.fields);
            continue;
        }
        for ((acc, input), function) in row.iter_mut().zip(&record.fields).zip(&mut functions) {
            let function = function.as_mut().unwrap();
            *acc = if is_retract(record) {
                function.retract(acc.clone(), input.clone())?
            } else {
                function.agg(acc.clone(), input.clone())?
            };
        }
    }
    let sequence = records.last().unwrap().sequence;
    Ok(Record { fields: row, sequence, kind: if deleted { 3 } else { 0 } })
}

/// State of a key under partial-update.
struct Updating<'a> {
    table: &'a Table,
    /// for each column the sequence fields of its group
    groups: Vec<Option<Vec<usize>>>,
    functions: Vec<Option<Function>>,
    removing: Vec<usize>,
    row: Vec<Datum>,
    delete_row: bool,
    meet_insert: bool,
    filled: bool,
    sequence: i64,
}

fn updated(table: &Table, records: &[Record]) -> Step<Record> {
    let at = |name: &String| table.layout.fields.iter().position(|f| f.name == *name).unwrap();
    let mut groups = vec![None; table.layout.fields.len()];
    let mut functions = functions(table, None);
    functions[0] = None;
    for group in sequence_groups(&table.options.raw) {
        let sequence: Vec<usize> = group.sequence.iter().map(at).collect();
        for column in group.sequence.iter().chain(&group.columns).map(at) {
            groups[column] = Some(sequence.clone());
        }
        for &column in &sequence {
            functions[column] = None;
        }
    }
    let removing = table.options.raw.get("partial-update.remove-record-on-sequence-group");
    let removing = removing.map(|list| list.split(',').map(|name| at(&name.to_owned())).collect()).unwrap_or_default();
    let row = vec![Datum::Null; groups.len()];
    let sequence = records.last().unwrap().sequence;
    let mut state = Updating {
        table,
        groups,
        functions,
        removing,
        row,
        delete_row: false,
        meet_insert: false,
        filled: false,
        sequence,
    };
    for record in records {
        state.delete_row = false;
        if is_retract(record) {
            state.retract(record)?;
            continue;
        }
        state.sequence = record.sequence;
        state.insert(record)?;
        state.meet_insert = true;
        state.filled = true;
    }
    let kind = if state.delete_row || !state.meet_insert { 3 } else { 0 };
    Ok(Record { fields: state.row, sequence: state.sequence, kind })
}

impl Updating<'_> {
    /// `None`: all sequence fields are null; else whether the record is not older than the row.
    fn is_new(&self, record: &Record, sequence: &[usize]) -> Option<bool> {
        if sequence.iter().all(|&s| record.fields[s].is_null()) {
            return None;
        }
        let orders = sequence.iter().map(|&s| model_order(&record.fields[s], &self.row[s]));
        Some(orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal) != Ordering::Less)
    }

    fn insert(&mut self, record: &Record) -> Step<()> {
        for column in 0..self.row.len() {
            let input = record.fields[column].clone();
            let acc = self.row[column].clone();
            let Some(sequence) = self.groups[column].clone() else {
                match &mut self.functions[column] {
                    Some(function) => self.row[column] = function.agg(acc, input)?,
                    None if !input.is_null() => self.row[column] = input,
                    None => {}
                }
                continue;
            };
            let Some(new) = self.is_new(record, &sequence) else { continue };
            match (new, &mut self.functions[column]) {
                (true, _) if sequence.contains(&column) => {
                    for &s in &sequence {
                        self.row[s] = record.fields[s].clone();
                    }
                }
                (true, None) => self.row[column] = input,
                (true, Some(function)) => self.row[column] = function.agg(acc, input)?,
                (false, None) => {}
                (false, Some(function)) => self.row[column] = function.agg(input, acc)?,
            }
        }
        Ok(())
    }

    fn retract(&mut self, record: &Record) -> Step<()> {
        if !self.filled {
            self.row.clone_from(&record.fields);
            self.filled = true;
        }
        if self.table.options.ignore_delete {
            return Ok(());
        }
        self.sequence = record.sequence;
        if self.groups.iter().any(Option::is_some) {
            return self.retract_groups(record);
        }
        if is_true(self.table, "partial-update.remove-record-on-delete") {
            if record.kind == 3 {
                self.delete_row = true;
                self.row.clone_from(&record.fields);
            }
            return Ok(());
        }
        Err(Impossible)
    }

    fn retract_groups(&mut self, record: &Record) -> Step<()> {
        for column in 0..self.row.len() {
            let Some(sequence) = self.groups[column].clone() else { continue };
            let Some(new) = self.is_new(record, &sequence) else { continue };
            let (input, acc) = (record.fields[column].clone(), self.row[column].clone());
            match (new, &mut self.functions[column]) {
                (true, _) if sequence.contains(&column) => {
                    for &s in &sequence {
                        if record.kind == 3 && self.removing.contains(&s) {
                            self.delete_row = true;
                            self.row.clone_from(&record.fields);
                            return Ok(());
                        }
                        self.row[s] = record.fields[s].clone();
                    }
                }
                (true, None) => self.row[column] = Datum::Null,
                (_, Some(function)) => self.row[column] = function.retract(acc, input)?,
                (false, None) => {}
            }
        }
        Ok(())
    }
}
