"""Overwrites: by one stream of rows, or by several files, each of which is a stream of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from siltstone._data import arrow_stream
from siltstone._files import files_of
from siltstone._leftovers import delete_leftovers
from siltstone._operation import operation
from siltstone.errors import CommitConflict, InvalidArgument
from siltstone.report import CommitReport
from siltstone.write import TableWrite

if TYPE_CHECKING:
    from siltstone import _core


def overwritten(
    table: _core.Table, data: Any, partition: Mapping[str, str | None], *, dynamic: bool | None
) -> CommitReport:
    """Replace partitions, or the whole table, as :meth:`siltstone.Table.overwrite` says, as one commit.

    Args:
        table: The table.
        data: Rows, or what names files of them.
        partition: The partitions that are replaced.
        dynamic: Replace the partitions that occur in the rows; None: what the table's option says.
    """
    if len(files_of(data)) == 1:
        with operation("overwrite", table, unit="rows") as done, arrow_stream(data, table) as stream:
            return done(table.overwrite(stream, partition, dynamic))
    with operation("overwrite", table, unit="rows") as done, TableWrite(table, overwrite=True) as w:
        w.write(data)
        messages = w.prepare_commit()
        try:
            return done(table.commit(messages, None, None, None, False, (partition, dynamic)))
        except (CommitConflict, InvalidArgument):
            delete_leftovers(table, messages)
            raise
