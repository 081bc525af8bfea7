//! Which casts a schema change may ask for (format chapter 11.4).

use super::{nested_text::has_text, value::value_cast};
use crate::types::TypeKind;

/// How freely a cast may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CastRule {
    /// Always: the target holds every value.
    Implicit,
    /// Only where explicit casts are allowed (`disable-explicit-type-casting` is false).
    Explicit,
}

/// The rule for a change of type, nullability left aside; `None` when it is forbidden. As in Java, the matrix has to
/// allow the cast, and values must have one.
pub fn cast_rule(from: &TypeKind, to: &TypeKind) -> Option<CastRule> {
    if from == to {
        return Some(CastRule::Implicit);
    }
    if !values_have_one(from, to) {
        return None;
    }
    let (from, to) = (family(from), family(to));
    if from == to || implicit(from, to) {
        return Some(CastRule::Implicit);
    }
    explicit(from, to).then_some(CastRule::Explicit)
}

/// Whether values that were written as one type are read as the other one.
pub fn is_read_as(from: &TypeKind, to: &TypeKind) -> bool {
    from == to || values_have_one(from, to)
}

/// Whether Java casts values of one type to the other. Nested types change field by field, or become text as a whole;
/// Java casts no TIME to another precision.
fn values_have_one(from: &TypeKind, to: &TypeKind) -> bool {
    match (family(from), family(to)) {
        (F::Constructed, F::Char | F::VarChar) => has_text(from),
        (F::Constructed | F::Other, _) | (_, F::Constructed | F::Other) | (F::Time, F::Time) => false,
        (from, to) if from <= F::Double && to <= F::Double => true,
        _ => value_cast(from, to).is_some(),
    }
}

/// Types that the matrix has as one row or column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Float,
    Double,
    Decimal,
    Char,
    VarChar,
    Boolean,
    Binary,
    VarBinary,
    Date,
    Time,
    Timestamp,
    LocalZoned,
    Constructed,
    Other,
}

use Family as F;

fn family(kind: &TypeKind) -> Family {
    match kind {
        TypeKind::TinyInt => F::TinyInt,
        TypeKind::SmallInt => F::SmallInt,
        TypeKind::Int => F::Int,
        TypeKind::BigInt => F::BigInt,
        TypeKind::Float => F::Float,
        TypeKind::Double => F::Double,
        TypeKind::Decimal { .. } => F::Decimal,
        TypeKind::Char(_) => F::Char,
        TypeKind::VarChar(_) => F::VarChar,
        TypeKind::Boolean => F::Boolean,
        TypeKind::Binary(_) => F::Binary,
        TypeKind::VarBinary(_) => F::VarBinary,
        TypeKind::Date => F::Date,
        TypeKind::Time(_) => F::Time,
        TypeKind::Timestamp(_) => F::Timestamp,
        TypeKind::LocalZonedTimestamp(_) => F::LocalZoned,
        TypeKind::Array(_) | TypeKind::Map(..) | TypeKind::Multiset(_) | TypeKind::Row(_) => F::Constructed,
        TypeKind::Variant | TypeKind::Blob | TypeKind::Vector(..) => F::Other,
    }
}

fn implicit(from: Family, to: Family) -> bool {
    match to {
        F::VarChar => from == F::Char,
        F::VarBinary => from == F::Binary,
        F::SmallInt => from == F::TinyInt,
        F::Int => from < F::Int,
        F::BigInt => from < F::BigInt,
        F::Float => from < F::Float || from == F::Decimal,
        F::Double | F::Decimal => from <= F::Decimal,
        F::Date | F::Time | F::LocalZoned => from == F::Timestamp,
        F::Timestamp => from == F::LocalZoned,
        _ => false,
    }
}

fn explicit(from: Family, to: Family) -> bool {
    let number = from <= F::Decimal;
    let text = matches!(from, F::Char | F::VarChar);
    let timestamp = matches!(from, F::Timestamp | F::LocalZoned);
    match to {
        F::Char | F::VarChar => from != F::Other,
        F::Boolean => text || from < F::Float,
        F::Binary | F::VarBinary => text || matches!(from, F::Binary | F::VarBinary),
        F::TinyInt | F::SmallInt | F::Int | F::BigInt | F::Float | F::Double | F::Decimal => {
            number || text || timestamp || from == F::Boolean
        }
        F::Date | F::Time => timestamp || text,
        F::Timestamp | F::LocalZoned => timestamp || text || number || matches!(from, F::Date | F::Time),
        F::Constructed | F::Other => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(from: TypeKind, to: TypeKind) -> Option<CastRule> {
        cast_rule(&from, &to)
    }

    #[test]
    fn widening_is_implicit_and_narrowing_explicit() {
        assert_eq!(rule(TypeKind::Int, TypeKind::BigInt), Some(CastRule::Implicit));
        assert_eq!(rule(TypeKind::BigInt, TypeKind::Int), Some(CastRule::Explicit));
        assert_eq!(rule(TypeKind::Double, TypeKind::Float), Some(CastRule::Explicit));
        assert_eq!(rule(TypeKind::VarChar(9), TypeKind::VarChar(3)), Some(CastRule::Implicit));
        assert_eq!(rule(TypeKind::VarChar(9), TypeKind::Char(3)), Some(CastRule::Explicit));
    }

    #[test]
    fn what_the_matrix_does_not_have_is_forbidden() {
        assert_eq!(rule(TypeKind::Date, TypeKind::Int), None);
        assert_eq!(rule(TypeKind::Boolean, TypeKind::Date), None);
        assert_eq!(rule(TypeKind::Double, TypeKind::Boolean), None);
        assert_eq!(rule(TypeKind::Int, TypeKind::Array(Box::new(crate::types::DataType::new(TypeKind::Int)))), None);
        assert_eq!(rule(TypeKind::Date, TypeKind::Time(3)), None);
        assert_eq!(rule(TypeKind::Time(0), TypeKind::Time(3)), None);
    }

    #[test]
    fn what_the_matrix_has_and_no_value_can_do_is_forbidden() {
        let (decimal, text) = (TypeKind::Decimal { precision: 5, scale: 2 }, TypeKind::VarChar(10));
        assert_eq!(rule(TypeKind::Timestamp(3), decimal.clone()), None);
        assert_eq!(rule(decimal, TypeKind::Timestamp(9)), None);
        assert_eq!(rule(TypeKind::Double, TypeKind::Timestamp(3)), None);
        assert_eq!(rule(TypeKind::Date, text), None, "only the unbounded STRING takes dates");
    }
}
