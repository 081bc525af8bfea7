//! File formats: one folder each.

pub mod avro;
