//! Statistics of a data file as bounds of the table's columns.
//!
//! A file's statistics are named and typed by the schema it was written with; columns are found by field id. A column
//! that the file does not have is null in all its rows. Bounds of another type are used only where the cast that the
//! reader applies keeps order and never makes a null.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    error::Result,
    io::TableContext,
    manifest::{DataFileMeta, ManifestEntry},
    predicate::{ColumnBounds, Predicate, may_match},
    row::Datum,
    schema::TableSchema,
    stats::{SimpleStats, StatsReader},
    types::{DataType, TypeKind},
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

    /// Whether rows of the file may satisfy a condition over any columns, by `_VALUE_STATS`.
    pub(super) fn may_match_value(&self, entry: &ManifestEntry, condition: &Predicate) -> Result<bool> {
        let schema = self.schema(entry.file.schema_id)?;
        let names: Vec<&str> = match &entry.file.value_stats_cols {
            Some(columns) => columns.iter().map(String::as_str).collect(),
            None => schema.fields.iter().map(|f| f.name.as_str()).collect(),
        };
        Ok(self.test(&entry.file, &entry.file.value_stats, &schema, &names, condition))
    }

    fn schema(&self, id: i64) -> Result<Arc<TableSchema>> {
        if let Some(schema) = self.schemas.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return Ok(Arc::clone(schema));
        }
        let schema = self.ctx.schemas.get(id)?;
        self.schemas.lock().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&schema));
        Ok(schema)
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
            let Some(stored) = schema.fields.iter().find(|f| f.id == wanted.id) else {
                return Some(ColumnBounds { min: Datum::Null, max: Datum::Null, null_count: Some(file.row_count) });
            };
            let at = names.iter().position(|n| *n == stored.name)?;
            let found = reader.column(at, &stored.data_type).ok()?;
            let cast = Cast::between(&stored.data_type, &wanted.data_type)?;
            let max = if may_hide_nan(&stored.data_type) { Datum::Null } else { cast.apply(found.max) };
            Some(ColumnBounds { min: cast.apply(found.min), max, null_count: found.null_count })
        };
        may_match(condition, &bounds, file.row_count)
    }
}

/// Which writer made the statistics is not known, and some leave NaN, the greatest value, out.
pub(super) fn may_hide_nan(data_type: &DataType) -> bool {
    matches!(data_type.kind, TypeKind::Float | TypeKind::Double)
}

/// Casts that keep order and nulls.
#[derive(Clone, Copy)]
enum Cast {
    Same,
    ToSmallInt,
    ToInt,
    ToBigInt,
    ToDouble,
}

impl Cast {
    fn between(from: &DataType, to: &DataType) -> Option<Self> {
        use TypeKind::{
            BigInt, Binary, Char, Decimal, Double, Float, Int, LocalZonedTimestamp, SmallInt, Timestamp, TinyInt,
            VarBinary, VarChar,
        };
        Some(match (&from.kind, &to.kind) {
            (a, b) if a == b => Self::Same,
            (Char(a) | VarChar(a), VarChar(b)) | (Binary(a) | VarBinary(a), VarBinary(b)) if a <= b => Self::Same,
            (Decimal { precision: p, scale: s }, Decimal { precision, scale }) if s == scale && p <= precision => {
                Self::Same
            }
            (Timestamp(a), Timestamp(b)) | (LocalZonedTimestamp(a), LocalZonedTimestamp(b)) if a <= b => Self::Same,
            (TinyInt, SmallInt) => Self::ToSmallInt,
            (TinyInt | SmallInt, Int) => Self::ToInt,
            (TinyInt | SmallInt | Int, BigInt) => Self::ToBigInt,
            (Float, Double) => Self::ToDouble,
            _ => return None,
        })
    }

    /// The bound in the new type; anything unexpected becomes unknown.
    fn apply(self, value: Datum) -> Datum {
        let wide = match &value {
            Datum::TinyInt(v) => i64::from(*v),
            Datum::SmallInt(v) => i64::from(*v),
            Datum::Int(v) => i64::from(*v),
            _ => 0,
        };
        match (self, value) {
            (Self::Same, value) => value,
            (Self::ToSmallInt, Datum::TinyInt(v)) => Datum::SmallInt(i16::from(v)),
            (Self::ToInt, Datum::TinyInt(_) | Datum::SmallInt(_)) => {
                i32::try_from(wide).map_or(Datum::Null, Datum::Int)
            }
            (Self::ToBigInt, Datum::TinyInt(_) | Datum::SmallInt(_) | Datum::Int(_)) => Datum::BigInt(wide),
            (Self::ToDouble, Datum::Float(v)) => Datum::Double(f64::from(v)),
            _ => Datum::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cast;
    use crate::{
        row::Datum,
        types::{DataType, TypeKind},
    };

    fn cast(from: TypeKind, to: TypeKind) -> Option<Cast> {
        Cast::between(&DataType::new(from), &DataType::not_null(to))
    }

    #[test]
    fn bounds_follow_widening_casts_only() {
        use TypeKind::{BigInt, Decimal, Double, Float, Int, Timestamp, TinyInt, VarChar};
        let wide = cast(TinyInt, BigInt).expect("widens");
        assert_eq!(wide.apply(Datum::TinyInt(-3)), Datum::BigInt(-3));
        assert_eq!(wide.apply(Datum::Null), Datum::Null);
        assert_eq!(cast(Float, Double).expect("widens").apply(Datum::Float(0.5)), Datum::Double(0.5));
        assert_eq!(cast(Int, Int).expect("same").apply(Datum::Int(1)), Datum::Int(1));
        assert!(cast(VarChar(5), VarChar(9)).is_some());
        assert!(cast(VarChar(9), VarChar(5)).is_none(), "cut texts keep no order");
        assert!(cast(BigInt, Int).is_none());
        assert!(cast(Int, VarChar(9)).is_none());
        assert!(cast(Timestamp(6), Timestamp(3)).is_none());
        assert!(cast(Decimal { precision: 5, scale: 2 }, Decimal { precision: 5, scale: 1 }).is_none());
    }
}
