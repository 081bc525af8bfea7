//! Values into manifest files, in the layouts of `schemas.rs`.

use super::{
    DataFileMeta, EntryKind, FileSource, GlobalIndexMeta, IndexManifestEntry, ManifestEntry, ManifestFileMeta,
    decode::{INDEX_MANIFEST_VERSION, MANIFEST_VERSION},
};
use crate::{format::avro::Encoder, stats::SimpleStats};

fn kind(to: &mut Encoder, kind: EntryKind) {
    to.int(match kind {
        EntryKind::Add => 0,
        EntryKind::Delete => 1,
    });
}

fn stats(to: &mut Encoder, s: &SimpleStats) {
    to.bytes(&s.min_values);
    to.bytes(&s.max_values);
    to.optional(Some(&s.null_counts), |to, counts| {
        to.array(counts, |to, count| to.optional(*count, Encoder::long));
    });
}

fn strings(to: &mut Encoder, items: &[String]) {
    to.array(items, |to, item| to.string(item));
}

/// One record of `MANIFEST`.
pub(super) fn entry(to: &mut Encoder, e: &ManifestEntry) {
    to.int(MANIFEST_VERSION);
    kind(to, e.kind);
    to.bytes(&e.partition);
    to.int(e.bucket);
    to.int(e.total_buckets);
    file(to, &e.file);
}

fn file(to: &mut Encoder, f: &DataFileMeta) {
    to.string(&f.file_name);
    to.long(f.file_size);
    to.long(f.row_count);
    to.bytes(&f.min_key);
    to.bytes(&f.max_key);
    stats(to, &f.key_stats);
    stats(to, &f.value_stats);
    to.long(f.min_sequence_number);
    to.long(f.max_sequence_number);
    to.long(f.schema_id);
    to.int(f.level);
    strings(to, &f.extra_files);
    to.optional(f.creation_time, Encoder::long);
    to.optional(f.delete_row_count, Encoder::long);
    to.optional(f.embedded_file_index.as_deref(), Encoder::bytes);
    let source = f.file_source.map(|source| match source {
        FileSource::Append => 0,
        FileSource::Compact => 1,
    });
    to.optional(source, Encoder::int);
    to.optional(f.value_stats_cols.as_deref(), strings);
    to.optional(f.external_path.as_deref(), Encoder::string);
    to.optional(f.first_row_id, Encoder::long);
    to.optional(f.write_cols.as_deref(), strings);
}

/// One record of `MANIFEST_LIST`.
pub(super) fn manifest_meta(to: &mut Encoder, m: &ManifestFileMeta) {
    to.int(MANIFEST_VERSION);
    to.string(&m.file_name);
    to.long(m.file_size);
    to.long(m.num_added_files);
    to.long(m.num_deleted_files);
    stats(to, &m.partition_stats);
    to.long(m.schema_id);
    to.optional(m.min_bucket, Encoder::int);
    to.optional(m.max_bucket, Encoder::int);
    to.optional(m.min_level, Encoder::int);
    to.optional(m.max_level, Encoder::int);
    to.optional(m.min_row_id, Encoder::long);
    to.optional(m.max_row_id, Encoder::long);
}

/// One record of `INDEX_MANIFEST`, or of `INDEX_MANIFEST_2_1` when `with_source_meta`.
pub(super) fn index_entry(to: &mut Encoder, e: &IndexManifestEntry, with_source_meta: bool) {
    to.int(INDEX_MANIFEST_VERSION);
    kind(to, e.kind);
    to.bytes(&e.partition);
    to.int(e.bucket);
    to.string(&e.index_type);
    to.string(&e.file_name);
    to.long(e.file_size);
    to.long(e.row_count);
    to.optional(e.deletion_vectors.as_deref(), |to, vectors| {
        to.array(vectors, |to, v| {
            // the items are nullable records
            to.optional(Some(v), |to, v| {
                to.string(&v.data_file_name);
                to.int(v.offset);
                to.int(v.length);
                to.optional(v.cardinality, Encoder::long);
            });
        });
    });
    to.optional(e.external_path.as_deref(), Encoder::string);
    to.optional(e.global_index.as_ref(), |to, g| global_index(to, g, with_source_meta));
}

fn global_index(to: &mut Encoder, g: &GlobalIndexMeta, with_source_meta: bool) {
    to.long(g.row_range_start);
    to.long(g.row_range_end);
    to.int(g.index_field_id);
    to.optional(g.extra_field_ids.as_deref(), |to, ids| to.array(ids, |to, id| to.int(*id)));
    to.optional(g.index_meta.as_deref(), Encoder::bytes);
    if with_source_meta {
        to.optional(g.source_meta.as_deref(), Encoder::bytes);
    }
}
