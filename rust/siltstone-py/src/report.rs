//! What the core reports, as the classes of `siltstone.report`, `siltstone.versions` and `siltstone.compaction`.

use std::time::Duration;

use chrono::{DateTime, Utc};
use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    types::{PyBytes, PyDict, PyTzInfo},
};
use pythonize::pythonize;
use siltstone::{
    Error, ErrorKind,
    cleanup::{PlannedFile, Report},
    maintenance::fsck::{Finding, Verdict},
    snapshot::{Snapshot, Tag},
    table::{CommitReport, CompactionSums, Feature, FileEntry, MergeReport, PlannedTask},
};

/// Java writes longer retentions than a timedelta can hold.
const LONGEST: Duration = Duration::from_secs(86_399_999_999_999);
/// What Java writes where there is no watermark.
const NO_WATERMARK: i64 = i64::MIN;

const REPORT: &str = "siltstone.report";
const VERSIONS: &str = "siltstone.versions";

/// A value that has a class in Python.
pub(crate) struct Typed<T>(pub(crate) T);

/// The making of its object.
pub(crate) trait Shown {
    fn show(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>>;
}

impl<'py, T: Shown> IntoPyObject<'py> for Typed<T> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        self.0.show(py)
    }
}

/// Values of one type, as a list of objects.
pub(crate) fn typed<T>(values: Vec<T>) -> Vec<Typed<T>> {
    values.into_iter().map(Typed).collect()
}

/// Calls a class with an argument for each of its fields.
macro_rules! make {
    ($py:ident, $module:expr, $class:literal, { $($field:literal: $value:expr,)+ }) => {{
        let fields = PyDict::new($py);
        $(fields.set_item($field, $value)?;)+
        $py.import($module)?.getattr($class)?.call((), Some(&fields))
    }};
}

fn instant(millis: i64) -> PyResult<DateTime<Utc>> {
    let out_of_range =
        || Error::new(ErrorKind::InvalidArgument, format!("{millis} ms is no time that a date can show"));
    DateTime::from_timestamp_millis(millis).ok_or_else(|| crate::error::CoreError::from(out_of_range()).into())
}

impl Shown for Snapshot {
    fn show(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        make!(py, VERSIONS, "Snapshot", {
            "id": self.id,
            "time": instant(self.time_millis)?,
            "kind": pythonize(py, &self.commit_kind)?,
            "user": &self.commit_user,
            "identifier": self.commit_identifier,
            "schema_id": self.schema_id,
            "total_rows": self.total_record_count,
            "delta_rows": self.delta_record_count,
            "changelog_rows": self.changelog_record_count,
            "watermark": self.watermark.filter(|mark| *mark != NO_WATERMARK),
            "raw": pythonize(py, &self)?,
        })
    }
}

/// A tag with its name. When it was made is local time in its file.
impl Shown for (String, Tag) {
    fn show(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let (name, tag) = self;
        let utc = PyTzInfo::utc(py)?;
        let created = tag.create_time.map(|local| local.into_bound_py_any(py)?.call_method1("astimezone", (utc,)));
        make!(py, VERSIONS, "Tag", {
            "name": name,
            "snapshot": Typed(tag.snapshot),
            "create_time": created.transpose()?,
            "time_retained": tag.time_retained.map(|kept| kept.min(LONGEST)),
        })
    }
}

impl Shown for CommitReport {
    fn show(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        make!(py, REPORT, "CommitReport", {
            "snapshots": typed(self.snapshots),
            "rows": self.rows,
            "files": self.files,
            "bytes": self.bytes,
            "affected_rows": self.affected_rows,
            "invisible_rows": self.invisible_rows,
            "already_committed": self.already_committed,
            "notes": self.notes,
        })
    }
}

impl Shown for MergeReport {
    fn show(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let commit = self.commit;
        make!(py, REPORT, "MergeReport", {
            "snapshots": typed(commit.snapshots),
            "rows": commit.rows,
            "files": commit.files,
            "bytes": commit.bytes,
            "affected_rows": commit.affected_rows,
            "invisible_rows": commit.invisible_rows,
            "already_committed": commit.already_committed,
            "notes": commit.notes,
            "updated_rows": self.merged.updated,
            "deleted_rows": self.merged.deleted,
            "inserted_rows": self.merged.inserted,
        })
    }
}

impl Shown for CompactionSums {
    fn show(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        make!(py, REPORT, "CompactionReport", {
            "tasks": self.tasks,
            "files_before": self.files_before,
            "files_after": self.files_after,
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
            "rows_before": self.rows_before,
            "rows_after": self.rows_after,
        })
    }
}

impl Shown for PlannedTask {
    fn show(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        make!(py, "siltstone.compaction", "CompactionTask", {
            "partition": self.partition,
            "bucket": self.bucket,
            "files": self.files,
            "bytes": self.bytes,
            "rows": self.rows,
            "token": PyBytes::new(py, &self.token),
        })
    }
}

/// The files are tuples until they are looked at: there may be very many.
impl Shown for Report {
    fn show(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let kinds = PyDict::new(py);
        let (mut files, mut bytes) = (0_usize, 0_u64);
        for (kind, (number, size)) in self.by_kind() {
            let sums = PyDict::new(py);
            sums.set_item("files", number)?;
            sums.set_item("bytes", size)?;
            kinds.set_item(kind.as_str(), sums)?;
            files += number;
            bytes = bytes.saturating_add(size);
        }
        let listed = |file: &PlannedFile| (file.path.clone(), file.kind.as_str(), file.bytes, file.reason.to_string());
        make!(py, REPORT, "UpkeepReport", {
            "dry_run": self.dry_run,
            "deleted_files": files,
            "freed_bytes": bytes,
            "by_kind": kinds,
            "notes": &self.plan.notes,
            "details": pythonize(py, &self.details)?,
            "_files": self.plan.files().map(listed).collect::<Vec<_>>(),
        })
    }
}

impl Shown for Feature {
    fn show(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        make!(py, REPORT, "Feature", {
            "name": self.name,
            "value": self.value,
            "support": self.support.as_str(),
            "reason": self.reason,
        })
    }
}

impl Shown for Finding {
    fn show(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        make!(py, REPORT, "Finding", {
            "severity": self.severity.as_str(),
            "code": self.code,
            "place": self.place,
            "message": self.message,
            "repair": self.repair,
        })
    }
}

impl Shown for Verdict {
    fn show(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        make!(py, REPORT, "Verdict", {
            "findings": typed(self.findings),
            "checked": self.checked,
        })
    }
}

impl Shown for FileEntry {
    fn show(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let (file, (least, most)) = (&self.entry.file, self.keys.unzip());
        make!(py, "builtins", "dict", {
            "partition": self.partition_path,
            "bucket": self.entry.bucket,
            "level": file.level,
            "name": &file.file_name,
            "rows": file.row_count,
            "deleted_rows": file.delete_row_count,
            "bytes": file.file_size,
            "schema_id": file.schema_id,
            "min_key": least,
            "max_key": most,
            "min_sequence_number": file.min_sequence_number,
            "max_sequence_number": file.max_sequence_number,
            "path": self.path,
        })
    }
}
