//! Ids of elements, keys and values, which have no fields of their own (format chapter 7.4).

/// Middle of the ids derived for elements, keys and values.
const NESTED_ID_BASE: i32 = 536_870_911;
/// Ids that one field's nested types may use.
const NESTED_ID_LIMIT: i32 = 1024;

/// Where a nested type is: below which schema field, how deep.
#[derive(Clone, Copy)]
pub(crate) struct At {
    field: i32,
    depth: i32,
}

impl At {
    pub(crate) fn field(field: i32) -> Self {
        Self { field, depth: 0 }
    }

    pub(crate) fn down(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }

    /// Id of an array element, a map value or a multiset count.
    pub(crate) fn value_id(self) -> i32 {
        NESTED_ID_BASE.wrapping_add(self.field.wrapping_mul(NESTED_ID_LIMIT)).wrapping_add(self.depth)
    }

    /// Id of a map key or a multiset element.
    pub(crate) fn key_id(self) -> i32 {
        NESTED_ID_BASE.wrapping_sub(self.field.wrapping_mul(NESTED_ID_LIMIT)).wrapping_sub(self.depth)
    }
}
