"""Streams of tables whose columns have changed are those of Java's engines, from each snapshot on.

Engines read all snapshots under the newest schema. The fixtures' `stream.jsonl` is what Java's table API gives, which takes the
schema of the first snapshot.
"""

import fixture_tables as ft
import pyarrow as pa
import pytest
import rows
import siltstone as st

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(300)]


@pytest.mark.parametrize("name", ft.names("evolve_"))
def test_a_stream_across_changes_of_columns_is_javas(name, tmp_path, oracle):
    path = ft.unpack(name, tmp_path)
    table = st.open_table(path)
    newest = table.snapshot().id
    earliest = min(row["snapshot_id"] for row in table.inspect("snapshots").to_arrow().to_pylist())
    compared = 0
    for first in range(earliest, newest + 1):
        theirs = oracle.call("stream", str(path), f"--from={first}", "--newest-schema")
        ours = [pa.record_batch(batch) for batch in table.changes(start=first)]
        of = [batch.snapshot_id for batch in table.changes(start=first) for _ in range(pa.record_batch(batch).num_rows)]
        found = pa.Table.from_batches(ours) if ours else pa.table({})
        found = found.append_column("_snapshot", pa.array(of, pa.int64()))
        assert rows.difference(theirs, found) is None, f"from snapshot {first} on"
        compared += len(theirs)
    assert compared > 0
