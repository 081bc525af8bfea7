//! Carrying out a unit: files are upgraded where that is enough, rewritten where it is not (semantics a.8;
//! `MergeTreeCompactTask`).

use super::{CompactResources, CompactUnit};
use crate::{
    Result,
    io::{FileWriteSpec, RollingWriter, TableContext},
    manifest::{CompactIncrement, DataFileMeta, FileSource},
    merge_tree::{
        Levels, MergeReadOptions, SortedRun, interval_partition, merge::read_ahead, merge_function::for_table,
        read::SectionReader, writer::table_layout,
    },
    types::DataType,
};

/// Batches that merging may be ahead of encoding.
const AHEAD: usize = 4;

/// Executes a unit picked from `files` (all live files of the bucket). An error leaves no new file behind.
pub fn run_compaction(
    ctx: &TableContext,
    partition: &[u8],
    bucket: i32,
    files: &[DataFileMeta],
    unit: &CompactUnit,
    resources: &CompactResources,
) -> Result<CompactIncrement> {
    let key_types: Vec<DataType> = ctx.schema.key_fields().iter().map(|f| f.data_type.clone()).collect();
    let tree = Levels::new(files, ctx.options.num_levels, key_types.clone())?;
    let mut task = Task {
        ctx,
        partition,
        bucket,
        unit,
        resources,
        // nothing older lies below the output
        drop_deletes: unit.output_level != 0 && unit.output_level >= tree.highest_non_empty(),
        max_level: tree.max_level(),
        result: CompactIncrement::default(),
    };
    match task.run(&key_types) {
        Ok(()) => Ok(task.result),
        Err(error) => {
            task.delete_outputs();
            Err(error)
        }
    }
}

struct Task<'a> {
    ctx: &'a TableContext,
    partition: &'a [u8],
    bucket: i32,
    unit: &'a CompactUnit,
    resources: &'a CompactResources,
    drop_deletes: bool,
    max_level: i32,
    result: CompactIncrement,
}

impl Task<'_> {
    fn run(&mut self, key_types: &[DataType]) -> Result<()> {
        if self.unit.file_rewrite {
            return self.unit.files.iter().try_for_each(|f| self.rewrite(vec![vec![SortedRun::single(f.clone())]]));
        }
        let small = self.small_file_bytes();
        let mut pending: Vec<Vec<SortedRun>> = Vec::new();
        for mut section in interval_partition(&self.unit.files, key_types)? {
            if section.len() != 1 {
                pending.push(section);
                continue;
            }
            for file in section.pop().into_iter().flat_map(|run| run.files) {
                // neighbours that are small are rewritten together
                if file.file_size < small {
                    pending.push(vec![SortedRun::single(file)]);
                } else {
                    self.finish_pending(std::mem::take(&mut pending))?;
                    self.upgrade(&file)?;
                }
            }
        }
        self.finish_pending(pending)
    }

    /// Rewrites what has gathered; a single run is only upgraded.
    fn finish_pending(&mut self, pending: Vec<Vec<SortedRun>>) -> Result<()> {
        match pending.as_slice() {
            [] => Ok(()),
            [section] if section.len() == 1 => {
                section.iter().flat_map(|run| &run.files).try_for_each(|file| self.upgrade(file))
            }
            _ => self.rewrite(pending),
        }
    }

    /// Moves a file to the output level without touching it, where that is right.
    fn upgrade(&mut self, file: &DataFileMeta) -> Result<()> {
        let is_there = file.level == self.unit.output_level;
        let keeps_deletes = !is_there && self.unit.output_level == self.max_level && file.delete_row_count != Some(0);
        if keeps_deletes || self.ctx.options.compaction_force_rewrite_all_files {
            return self.rewrite(vec![vec![SortedRun::single(file.clone())]]);
        }
        if !is_there {
            self.result.compact_before.push(file.clone());
            self.result.compact_after.push(DataFileMeta { level: self.unit.output_level, ..file.clone() });
        }
        Ok(())
    }

    fn rewrite(&mut self, sections: Vec<Vec<SortedRun>>) -> Result<()> {
        let inputs: Vec<DataFileMeta> = sections.iter().flatten().flat_map(|run| run.files.clone()).collect();
        let spec = FileWriteSpec::key_value(self.unit.output_level, FileSource::Compact);
        let mut writer = RollingWriter::new(self.ctx, self.partition, self.bucket, spec)?;
        let merged = self.reader()?.read(sections);
        let merged = if self.resources.threads > 0 { read_ahead(merged, AHEAD) } else { merged };
        for batch in merged {
            if let Err(error) = batch.and_then(|b| writer.write(&b)) {
                writer.abort();
                return Err(error);
            }
        }
        self.result.compact_after.extend(writer.finish()?);
        self.result.compact_before.extend(inputs);
        Ok(())
    }

    fn reader(&self) -> Result<SectionReader> {
        let options = MergeReadOptions {
            drop_deletes: self.drop_deletes,
            threads: self.resources.threads.saturating_sub(1),
            spill_dir: self.resources.spill_dir.clone(),
            ..MergeReadOptions::default()
        };
        Ok(SectionReader {
            ctx: self.ctx.clone(),
            partition: self.partition.to_vec(),
            bucket: self.bucket,
            layout: table_layout(self.ctx),
            function: for_table(self.ctx)?,
            options,
        })
    }

    /// Files below this size are rewritten together with their neighbours.
    fn small_file_bytes(&self) -> i64 {
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "a threshold: a rounded one is as good, and float to integer casts saturate"
        )]
        let bytes =
            (self.ctx.options.target_file_size(true) as f64 * self.ctx.options.compaction_small_file_ratio) as i64;
        bytes
    }

    /// Deletes what was written before the task failed; upgraded files are inputs and stay.
    fn delete_outputs(&self) {
        let inputs = &self.result.compact_before;
        for file in &self.result.compact_after {
            if !inputs.iter().any(|f| f.file_name == file.file_name) {
                super::delete_file(self.ctx, self.partition, self.bucket, file);
            }
        }
    }
}
