//! Statistics of a data file as bounds of the table's columns.
//!
//! A file's statistics are named and typed by the schema it was written with; columns are found by field id. A column
//! that the file does not have is null in all its rows. Bounds of another type are used only where the cast that the
//! reader applies keeps order: it is applied to them, too. The length and precision of the old type say nothing about
//! what is stored: texts may be longer, decimals may have more digits, times more digits of a second.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    cast::cast_datum,
    error::Result,
    io::{RowGroup, TableContext, by_embedded_index},
    manifest::{DataFileMeta, ManifestEntry},
    predicate::{ColumnBounds, Predicate, may_match},
    row::{Datum, bounds_as_read},
    schema::TableSchema,
    stats::{ColumnStats, SimpleStats, StatsReader},
    types::{DataField, DataType, TypeKind},
};

/// Tests files against conditions; remembers the schemas of files.
pub(super) struct FileTester<'a> {
    ctx: &'a TableContext,
    schemas: Mutex<HashMap<i64, Arc<TableSchema>>>,
}

impl<'a> FileTester<'a> {
    pub(super) fn new(ctx: &'a TableContext) -> Self {
        Self { ctx, schemas: Mutex::new(HashMap::new()) }
    }

    /// Whether rows of the file may satisfy a condition over key columns, by `_KEY_STATS`.
    pub(super) fn may_match_key(&self, entry: &ManifestEntry, condition: &Predicate) -> Result<bool> {
        let schema = self.schema(entry.file.schema_id)?;
        let names = schema.trimmed_primary_keys();
        Ok(self.test(&entry.file, &entry.file.key_stats, &schema, &names, condition))
    }

    /// Whether rows of the file may satisfy a condition over any columns, by `_VALUE_STATS` and the index in the entry.
    pub(super) fn may_match_value(&self, entry: &ManifestEntry, condition: &Predicate) -> Result<bool> {
        self.may_match_file(&entry.file, condition)
    }

    fn may_match_file(&self, file: &DataFileMeta, condition: &Predicate) -> Result<bool> {
        let schema = self.schema(file.schema_id)?;
        let names = file.stats_columns(&schema);
        if !self.test(file, &file.value_stats, &schema, &names, condition) {
            return Ok(false);
        }
        let found = by_embedded_index(self.ctx, file, &schema.fields, condition);
        Ok(!found.map_err(|e| e.with("table", &self.ctx.name))?.is_none())
    }

    fn schema(&self, id: i64) -> Result<Arc<TableSchema>> {
        if let Some(schema) = self.schemas.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return Ok(Arc::clone(schema));
        }
        let schema = self.ctx.schemas.get(id)?;
        self.schemas.lock().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&schema));
        Ok(schema)
    }

    /// Whether rows whose columns lie in several files may satisfy a condition: the newest file with a column tells of it.
    pub(super) fn may_match_group(&self, group: &RowGroup, condition: &Predicate) -> Result<bool> {
        if let Some(only) = group.only_file() {
            return self.may_match_file(only, condition);
        }
        let mut told = Vec::new();
        for file in &group.files {
            told.push((file, self.schema(file.schema_id)?));
        }
        let bounds = |column: &str| {
            let wanted = self.ctx.schema.field(column)?;
            if wanted.data_type.kind == TypeKind::Blob {
                // values that lie apart have no statistics
                return None;
            }
            let holder = told.iter().find_map(|(file, schema)| {
                let stored = schema.fields.iter().find(|field| field.id == wanted.id)?;
                file.has_column(&stored.name).then_some((file, schema, stored))
            });
            let Some((file, schema, stored)) = holder else { return Some(all_null(group.rows())) };
            let names = file.stats_columns(schema);
            let reader = StatsReader::new(&file.value_stats).ok().filter(|reader| reader.columns() == names.len())?;
            stored_bounds(&reader, &names, stored, wanted)
        };
        Ok(may_match(condition, &bounds, group.rows()))
    }

    /// `names`: the columns of the statistics, in the file's schema. Unreadable statistics exclude nothing.
    fn test(
        &self,
        file: &DataFileMeta,
        stats: &SimpleStats,
        schema: &TableSchema,
        names: &[&str],
        condition: &Predicate,
    ) -> bool {
        let Ok(reader) = StatsReader::new(stats) else {
            return true;
        };
        if reader.columns() != names.len() {
            return true;
        }
        let bounds = |column: &str| {
            let wanted = self.ctx.schema.field(column)?;
            match schema.fields.iter().find(|f| f.id == wanted.id) {
                Some(stored) => stored_bounds(&reader, names, stored, wanted),
                None => Some(all_null(file.row_count)),
            }
        };
        may_match(condition, &bounds, file.row_count)
    }
}

fn all_null(rows: i64) -> ColumnBounds {
    ColumnBounds { min: Datum::Null, max: Datum::Null, null_count: Some(rows) }
}

/// What the statistics of a file say of one of its columns, as a column of the table.
fn stored_bounds(
    reader: &StatsReader<'_>,
    names: &[&str],
    stored: &DataField,
    wanted: &DataField,
) -> Option<ColumnBounds> {
    let at = names.iter().position(|name| *name == stored.name)?;
    let found = reader.column(at, &stored.data_type).ok()?;
    let mut bounds = evolved(found, &stored.data_type, &wanted.data_type)?;
    if may_hide_nan(&stored.data_type) {
        bounds.max = Datum::Null;
    }
    Some(bounds)
}

/// Which writer made the statistics is not known, and some leave NaN, the greatest value, out.
pub(super) fn may_hide_nan(data_type: &DataType) -> bool {
    matches!(data_type.kind, TypeKind::Float | TypeKind::Double)
}

/// Bounds of stored values as bounds of what readers make of them; `None` where nothing is known.
fn evolved(stored: ColumnStats, from: &DataType, to: &DataType) -> Option<ColumnBounds> {
    let ColumnStats { min, max, null_count } = stored;
    let (min, max) = bounds_as_read(min, max, &from.kind);
    let null_count = if may_make_null([&min, &max], &from.kind, &to.kind) { None } else { null_count };
    // a bound that cannot be cast is unknown
    let cast = |bound| match keeps_order(&from.kind, &to.kind)? {
        Cast::Same => Some(bound),
        Cast::Values => Some(cast_datum(bound, from, to).unwrap_or(Datum::Null)),
    };
    Some(ColumnBounds { min: cast(min)?, max: cast(max)?, null_count })
}

/// What becomes of bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cast {
    /// They stay.
    Same,
    /// They are cast as the values are.
    Values,
}

/// Casts that keep the order of values, those included that cut some of them; `None` for all others.
fn keeps_order(from: &TypeKind, to: &TypeKind) -> Option<Cast> {
    use TypeKind::{
        BigInt, Binary, Char, Decimal, Double, Float, Int, LocalZonedTimestamp, SmallInt, Timestamp, TinyInt,
        VarBinary, VarChar,
    };
    Some(match (from, to) {
        (a, b) if a == b => Cast::Same,
        // what has a place keeps its value
        (Decimal { scale: old, .. }, Decimal { scale, .. }) if old == scale => Cast::Same,
        (Char(_) | VarChar(_), VarChar(_))
        | (Binary(_) | VarBinary(_), VarBinary(_))
        | (Timestamp(_), Timestamp(_))
        | (LocalZonedTimestamp(_), LocalZonedTimestamp(_))
        | (TinyInt, SmallInt | Int | BigInt)
        | (SmallInt, Int | BigInt)
        | (Int, BigInt)
        | (Float, Double) => Cast::Values,
        _ => return None,
    })
}

/// Whether a cast that keeps order may make nulls: of decimals with more digits than the new type has. An unknown bound
/// may be such a one.
fn may_make_null(bounds: [&Datum; 2], from: &TypeKind, to: &TypeKind) -> bool {
    let TypeKind::Decimal { precision, .. } = to else { return false };
    let limit = 10_u128.checked_pow(u32::from(*precision)).unwrap_or(u128::MAX);
    let fits = |bound: &Datum| matches!(bound, Datum::Decimal(v) if v.unsigned_abs() < limit);
    from != to && !bounds.into_iter().all(fits)
}

#[cfg(test)]
mod tests {
    use super::evolved;
    use crate::{
        predicate::ColumnBounds,
        row::Datum,
        stats::ColumnStats,
        types::{DataType, MAX_LENGTH, TypeKind},
    };

    fn cast(min: Datum, max: Datum, from: TypeKind, to: TypeKind) -> Option<ColumnBounds> {
        let stored = ColumnStats { min, max, null_count: Some(0) };
        evolved(stored, &DataType::new(from), &DataType::not_null(to))
    }

    fn at(millis: i64, nanos_of_milli: i32) -> Datum {
        Datum::Timestamp { millis, nanos_of_milli }
    }

    fn text(text: &str) -> Datum {
        Datum::String(text.to_owned())
    }

    #[test]
    fn bounds_follow_casts_that_keep_order_only() {
        use TypeKind::{BigInt, Decimal, Double, Float, Int, TinyInt, VarChar};
        let wide = cast(Datum::TinyInt(-3), Datum::Null, TinyInt, BigInt).expect("widens");
        assert_eq!((wide.min, wide.max), (Datum::BigInt(-3), Datum::Null));
        let wide = cast(Datum::Float(0.5), Datum::Float(2.0), Float, Double).expect("widens");
        assert_eq!((wide.min, wide.max), (Datum::Double(0.5), Datum::Double(2.0)));
        let same = cast(Datum::Int(1), Datum::Int(2), Int, Int).expect("same");
        assert_eq!((same.min, same.max, same.null_count), (Datum::Int(1), Datum::Int(2), Some(0)));
        assert!(cast(Datum::BigInt(1), Datum::BigInt(2), BigInt, Int).is_none());
        assert!(cast(Datum::Int(1), Datum::Int(2), Int, VarChar(9)).is_none());
        let scale = |scale| Decimal { precision: 5, scale };
        assert!(cast(Datum::Decimal(1), Datum::Decimal(2), scale(2), scale(1)).is_none());
    }

    /// A TIMESTAMP(1) holds milliseconds and a TIMESTAMP(4) microseconds; the cast cuts them.
    #[test]
    fn bounds_of_times_are_cut_as_the_times_are() {
        use TypeKind::{LocalZonedTimestamp, Timestamp};
        for (from, to, cut) in [
            (Timestamp(1), Timestamp(2), at(3_560, 0)),
            (Timestamp(1), Timestamp(3), at(3_567, 0)),
            (Timestamp(6), Timestamp(3), at(3_567, 0)),
            (Timestamp(4), Timestamp(5), at(3_567, 890_000)),
            (LocalZonedTimestamp(4), LocalZonedTimestamp(5), at(3_567, 890_000)),
            (Timestamp(0), Timestamp(3), at(3_000, 0)),
            (Timestamp(0), Timestamp(0), at(3_000, 0)),
        ] {
            let nanos = if matches!(from, Timestamp(0 | 1)) { 0 } else { 891_000 };
            let bounds = cast(at(3_567, nanos), at(3_567, nanos), from.clone(), to.clone()).expect("keeps order");
            assert_eq!((bounds.min, bounds.max), (cut.clone(), cut), "{from} as {to}");
        }
    }

    /// Java writes texts that are longer than their type.
    #[test]
    fn bounds_of_texts_are_cut_as_the_texts_are() {
        use TypeKind::VarChar;
        let cut = cast(text("abcdef"), text("abcdefg"), VarChar(3), VarChar(5)).expect("keeps order");
        assert_eq!((cut.min, cut.max), (text("abcde"), text("abcde")));
        let whole = cast(text("abcdef"), text("b"), VarChar(3), VarChar(MAX_LENGTH)).expect("keeps order");
        assert_eq!((whole.min, whole.max, whole.null_count), (text("abcdef"), text("b"), Some(0)));
    }

    /// A sum may have more digits than its column; as a value of another type it is null.
    #[test]
    fn decimals_beyond_the_new_type_make_the_number_of_nulls_unknown() {
        let of = |precision| TypeKind::Decimal { precision, scale: 0 };
        let beyond = cast(Datum::Decimal(1), Datum::Decimal(19_980), of(3), of(4)).expect("keeps order");
        assert_eq!((beyond.min, beyond.null_count), (Datum::Decimal(1), None));
        let below = cast(Datum::Decimal(-19_980), Datum::Decimal(1), of(3), of(4)).expect("keeps order");
        assert_eq!(below.null_count, None);
        let within = cast(Datum::Decimal(1), Datum::Decimal(9_999), of(3), of(4)).expect("keeps order");
        assert_eq!(within.null_count, Some(0));
        let unknown = cast(Datum::Null, Datum::Null, of(3), of(4)).expect("keeps order");
        assert_eq!(unknown.null_count, None);
    }
}
