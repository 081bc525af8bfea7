//! What the structures of a Parquet file are made of (`parquet.thrift`), as far as the parquet crate decodes them.
//!
//! The crate takes a field that it knows for what it should be, whatever type its bytes name. Who looks at the bytes first must
//! see the same, so a known field has its type, or the file is damaged.

/// What a value is.
pub(super) enum Form {
    /// Nobody decodes it: any value.
    Any,
    Boolean,
    Byte,
    /// Of 16, 32 or 64 bits; these have one encoding.
    Integer,
    Double,
    Binary,
    List(&'static Form),
    Struct(Fields),
}

/// The fields of a struct by their ids; others may come, and are passed.
pub(super) type Fields = &'static [(i64, Form)];

use Form::{Any, Binary, Boolean, Byte, Double, Integer, List, Struct};

const EMPTY: Form = Struct(&[]);

/// `PageHeader`; the statistics of pages are not decoded.
pub(super) const PAGE: Fields = &[
    (1, Integer),
    (2, Integer),
    (3, Integer),
    (4, Integer),
    (5, Struct(DATA_PAGE)),
    (6, EMPTY),
    (7, Struct(DICTIONARY_PAGE)),
    (8, Struct(DATA_PAGE_V2)),
];

pub(super) const DATA_PAGE: Fields = &[(1, Integer), (2, Integer), (3, Integer), (4, Integer)];

pub(super) const DICTIONARY_PAGE: Fields = &[(1, Integer), (2, Integer), (3, Boolean)];

pub(super) const DATA_PAGE_V2: Fields =
    &[(1, Integer), (2, Integer), (3, Integer), (4, Integer), (5, Integer), (6, Integer), (7, Boolean)];

/// `ColumnIndex`
pub(super) const COLUMN_INDEX: Fields = &[
    (1, List(&Boolean)),
    (2, List(&Binary)),
    (3, List(&Binary)),
    (4, Integer),
    (5, List(&Integer)),
    (6, List(&Integer)),
    (7, List(&Integer)),
];

/// `OffsetIndex`
pub(super) const OFFSET_INDEX: Fields =
    &[(1, List(&Struct(&[(1, Integer), (2, Integer), (3, Integer)]))), (2, List(&Integer))];

/// `FileMetaData`
pub(super) const FILE: Fields = &[
    (1, Integer),
    (2, List(&Struct(SCHEMA_ELEMENT))),
    (3, Integer),
    (4, List(&ROW_GROUP)),
    (5, List(&Struct(&[(1, Binary), (2, Binary)]))),
    (6, Binary),
    (7, List(&Struct(&[(1, EMPTY)]))),
];

/// `SchemaElement`
pub(super) const SCHEMA_ELEMENT: Fields = &[
    (1, Integer),
    (2, Integer),
    (3, Integer),
    (4, Binary),
    (5, Integer),
    (6, Integer),
    (7, Integer),
    (8, Integer),
    (9, Integer),
    (10, LOGICAL_TYPE),
];

const LOGICAL_TYPE: Form = Struct(&[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Struct(&[(1, Integer), (2, Integer)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, Byte), (2, Boolean)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Binary)])),
    (18, Struct(&[(1, Binary), (2, Integer)])),
]);

/// Of times and timestamps: in UTC or not, and the unit.
const TIME: Form = Struct(&[(1, Boolean), (2, Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]))]);

/// `RowGroup`
pub(super) const ROW_GROUP: Form = Struct(&[
    (1, List(&COLUMN_CHUNK)),
    (2, Integer),
    (3, Integer),
    (4, List(&Struct(&[(1, Integer), (2, Boolean), (3, Boolean)]))),
    (5, Integer),
    (6, Any),
    (7, Integer),
]);

const COLUMN_CHUNK: Form = Struct(&[
    (1, Binary),
    (2, Integer),
    (3, COLUMN_METADATA),
    (4, Integer),
    (5, Integer),
    (6, Integer),
    (7, Integer),
    (9, Binary),
]);

const COLUMN_METADATA: Form = Struct(&[
    (1, Integer),
    (2, List(&Integer)),
    (4, Integer),
    (5, Integer),
    (6, Integer),
    (7, Integer),
    (9, Integer),
    (10, Integer),
    (11, Integer),
    (12, STATISTICS),
    (13, List(&Struct(&[(1, Integer), (2, Integer), (3, Integer)]))),
    (14, Integer),
    (15, Integer),
    (16, Struct(&[(1, Integer), (2, List(&Integer)), (3, List(&Integer))])),
    (17, Struct(&[(1, BOUNDING_BOX), (2, List(&Integer))])),
]);

const STATISTICS: Form = Struct(&[
    (1, Binary),
    (2, Binary),
    (3, Integer),
    (4, Integer),
    (5, Binary),
    (6, Binary),
    (7, Boolean),
    (8, Boolean),
]);

const BOUNDING_BOX: Form =
    Struct(&[(1, Double), (2, Double), (3, Double), (4, Double), (5, Double), (6, Double), (7, Double), (8, Double)]);
