"""Tables and Daft: ``from siltstone import daft as sd`` (extra ``daft``).

Example:
    >>> from siltstone import daft as sd
    >>> df = sd.read(t).where("id > 1")  # doctest: +SKIP
    >>> sd.write(df, "lake/shop.db/copy")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siltstone._bridge import missing, write_job
from siltstone._operation import operation
from siltstone._spellings import hinted
from siltstone.catalog import table_of
from siltstone.report import CommitReport
from siltstone.table import Table


def _check() -> None:
    try:
        import daft  # noqa: F401
    except ImportError:
        raise missing("Daft", "daft") from None


def read(table: Table | str, columns: Sequence[str] | None = None, filter: Any = None, **scan: Any) -> Any:  # noqa: A002
    """A table as a frame of Daft, which is lazy: columns and conditions of its query go into the scan.

    Args:
        table: A table, its directory, or ``db.table`` of the catalog that the environment names.
        columns: Columns; None for all.
        filter: A condition, as for :meth:`siltstone.Table.scan`.
        scan: Other arguments of :meth:`siltstone.Table.scan`.

    Raises:
        InvalidArgument: Daft is not installed.

    Example:
        >>> from siltstone import daft as sd
        >>> sd.read("lake/shop.db/orders").where("id > 1").count_rows()  # doctest: +SKIP
        1
    """
    _check()
    from siltstone._daft_data import ScanSource

    return ScanSource(table_of(table).scan(columns, filter, **scan)).read()


@hinted
def write(df: Any, table: Table | str, mode: str = "append") -> CommitReport:
    """Write a frame of Daft as one commit.

    Append tables without buckets, and tables whose rows wait for buckets, are written by Daft's tasks. Of other tables
    this process is the one writer, and rows come to it batch by batch.

    Args:
        df: The frame.
        table: As for :func:`read`.
        mode: ``append`` or ``upsert`` add rows, ``overwrite`` replaces the table, ``overwrite-partitions`` the
            partitions that occur in ``df``.

    Raises:
        InvalidArgument: Daft is not installed, another mode, or ``upsert`` on a table without primary key.
        SchemaMismatch: Columns, or their types, do not fit the table.
        CommitConflict: Another commit changed what this one relies on; nothing was committed.
    """
    _check()
    from siltstone._daft_data import TableSink

    job = write_job(table, mode)
    with operation("daft_write", job.table.name) as done:
        if not job.is_free:
            return done(job.commit([job.write(df.to_arrow_iter())]))
        sink = TableSink(job)
        df.write_sink(sink)
        return done(job.commit([]) if sink.report is None else sink.report)
