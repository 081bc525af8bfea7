//! Compaction of tables with data evolution: rows that follow each other come into one file, with all their columns.
//!
//! Source: `DataEvolutionCompactCoordinator`, `DataEvolutionCompactTask`.

use crate::{
    error::{Error, ErrorKind, Result},
    io::{
        FileReadSpec, FileWriteSpec, RollingWriter, RowGroup, TableContext, check_rewritable, read_row_group,
        row_groups,
    },
    manifest::{BucketId, DataFileFields, DataFileMeta, FileSource},
    options::CoreOptions,
    types::{DataField, TypeKind},
};

/// Files that are worth writing again together. When `full`, two are enough.
pub fn pack_row_groups(options: &CoreOptions, groups: Vec<RowGroup>, full: bool) -> Vec<Vec<DataFileMeta>> {
    let size = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    let (target, open_cost) = (size(options.target_file_size(false)), size(options.source_split_open_file_cost));
    let least = if full { 2 } else { options.compaction_min_file_num.max(2) };
    let mut packed = Packed { least, done: Vec::new(), waiting: Vec::new(), weight: 0 };
    let mut next = None;
    for group in groups {
        if next.replace(group.ids.end) != Some(group.ids.start) {
            packed.finish();
        }
        let weight = crate::limits::sum(group.files.iter().map(|file| file.file_size.max(open_cost)));
        if weight > target {
            packed.finish();
            packed.take(group.files);
            continue;
        }
        packed.weight = packed.weight.saturating_add(weight);
        packed.waiting.extend(group.files);
        if packed.weight > target {
            packed.finish();
        }
    }
    packed.finish();
    packed.done
}

struct Packed {
    least: usize,
    done: Vec<Vec<DataFileMeta>>,
    waiting: Vec<DataFileMeta>,
    weight: i64,
}

impl Packed {
    fn finish(&mut self) {
        self.weight = 0;
        let waiting = std::mem::take(&mut self.waiting);
        self.take(waiting);
    }

    fn take(&mut self, files: Vec<DataFileMeta>) {
        if files.len() >= self.least {
            self.done.push(files);
        }
    }
}

/// Writes the rows of these files, which follow each other, into one file. An error leaves no new file behind.
///
/// # Errors
/// `CommitConflict` when files know columns or values that this schema does not have. Those of reading and writing.
pub fn rewrite_row_groups(ctx: &TableContext, bucket: &BucketId, files: &[DataFileMeta]) -> Result<Vec<DataFileMeta>> {
    check_rewritable(ctx, files.iter())?;
    let groups = row_groups(ctx, files.to_vec())?;
    let (Some(first), Some(last)) = (groups.first(), groups.last()) else { return Ok(Vec::new()) };
    let ids = first.ids.start..last.ids.end;
    let rows = crate::limits::sum(groups.iter().map(RowGroup::rows));
    if rows != ids.end.saturating_sub(ids.start) {
        return Err(Error::new(ErrorKind::Internal, "rows that do not follow each other do not come into one file"));
    }
    // values of BLOB columns stay where they are
    let is_apart = |field: &DataField| field.data_type.kind == TypeKind::Blob;
    let fields: Vec<DataField> = ctx.schema.fields.iter().filter(|field| !is_apart(field)).cloned().collect();
    let some_columns = fields.len() < ctx.schema.fields.len();
    let spec = FileWriteSpec { some_columns, ..FileWriteSpec::append(0, FileSource::Compact) };
    let target = if some_columns { ctx.with_columns(fields.clone()) } else { ctx.clone() };
    let mut writer = RollingWriter::new(&target.with_one_file(), &bucket.partition, bucket.bucket, spec)?;
    let copied = groups.iter().try_for_each(|group| {
        let spec = FileReadSpec::new(fields.clone());
        let mut rows = read_row_group(ctx, &bucket.partition, bucket.bucket, group, &spec)?;
        rows.try_for_each(|batch| writer.write(&batch?))
    });
    match copied {
        Ok(()) => {
            let (oldest, newest) = versions(files);
            let of_rows = |file: DataFileMeta| {
                DataFileFields {
                    first_row_id: Some(ids.start),
                    min_sequence_number: oldest,
                    max_sequence_number: newest,
                    ..DataFileFields::clone(&file)
                }
                .into()
            };
            Ok(writer.finish()?.into_iter().map(of_rows).collect())
        }
        Err(error) => {
            writer.abort();
            Err(error)
        }
    }
}

/// The oldest and the newest version among the rows of files.
fn versions(files: &[DataFileMeta]) -> (i64, i64) {
    let oldest = files.iter().map(|file| file.min_sequence_number).min().unwrap_or(0);
    let newest = files.iter().map(|file| file.max_sequence_number).max().unwrap_or(0);
    (oldest, newest)
}
