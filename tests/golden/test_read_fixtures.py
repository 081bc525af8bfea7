"""Every table that Java wrote reads as Java reads it, or is refused by name; never wrong rows."""

import fixture_tables as ft
import pyarrow as pa
import pytest
import rows
import siltstone as st

#: What this version promises to read.
PROMISED = ft.names(
    *"dedup_ pk_ append_* bucket_fixed bucket_key bucket_mod bucket_rescaled partition_ overwrite_ truncate_".split(),
    *"hint_ stray_ empty_ all_rows_deleted manifest_ stats_mode_ format_parquet_".split(),
    *"format_ types_ evolve_append_orc evolve_append_avro".split(),
    *"-manifest_format_orc -manifest_format_parquet".split(),
    *"aggregation_ partial_update_ first_row_ changelog_ written_by_*_partial_partitioned".split(),
    *"-changelog_decoupled".split(),
    *"dv_ written_by_*_dv".split(),
)


def reads(name):
    """(what, arguments of open_table, arguments of scan) for the reads that have expected rows."""
    have = ft.expected_names(name)
    for which in have or ["latest"]:
        kind, _, arg = which.partition("-")
        if which == "latest" or (which == "latest-before" and "latest" not in have):
            yield which, {}, {}
        elif kind == "snapshot":
            yield which, {}, {"version": int(arg)}
        elif kind == "tag":
            yield which, {}, {"tag": arg}
        elif kind == "version" and arg.isdigit():
            yield which, {"options": {"scan.version": arg}}, {}
        elif which in BRANCHES.get(name, ()):
            yield which, {"branch": arg}, {}


#: Not `branch-snapshots`, which is a system table of a branch.
BRANCHES = {name: ["branch-dev"] for name in ft.names("branch_")}


@pytest.mark.parametrize("name", PROMISED)
def test_promised_table_reads_as_java_reads_it(name, tmp_path):
    path = ft.unpack(name, tmp_path)
    checked = 0
    for which, opened, version in reads(name):
        expected = ft.expected(name, which)
        if expected is not None:
            table = st.open_table(path, **opened)
            assert rows.difference(expected, table.scan(**version).to_arrow()) is None, which
            assert table.scan(**version).count() == len(expected), which
            checked += 1
    if not checked:  # Java wrote no rows down for a table without snapshots
        table = st.open_table(path)
        assert (table.snapshot(), table.scan().count()) == (None, 0)


@pytest.mark.parametrize("name", [n for n in ft.names("*") if n not in PROMISED])
def test_any_other_table_reads_right_or_is_refused(name, tmp_path):
    path = ft.unpack(name, tmp_path)
    for which, opened, version in reads(name):
        expected = ft.expected(name, which)
        if expected is None:
            continue
        try:
            found = st.open_table(path, **opened).scan(**version).to_arrow()
        except st.errors.UnsupportedFeature:
            continue
        except (st.errors.VersionError, st.errors.SiltstoneError) as e:
            pytest.fail(f"{which}: neither rows nor UnsupportedFeature: {type(e).__name__}: {e}")
        assert rows.difference(expected, found) is None, which


#: Tables whose changes are promised: what lies between versions, and what a stream reads.
CHANGED = ft.names(
    *"dedup_ changelog_ time_travel append_fixed append_unaware_parquet overwrite_ truncate_ bucket_".split(),
    *"dv_pk_bitmap64 dv_lookup_changelog first_row_ partial_update_ aggregation_".split(),
    *"written_by_*_partial_partitioned".split(),
)
#: Tables with deletion vectors: what lies between versions.
DIFFERENT = ft.names(*"dv_ written_by_*_dv".split())


def changes_of(table, which):
    """What was read for `stream` or `incremental[-mode]-a-b`."""
    if which == "stream":
        parts = []
        for batch in table.changes():
            part = pa.Table.from_batches([pa.record_batch(batch)])
            parts.append(part.append_column("_snapshot", pa.array([batch.snapshot_id] * part.num_rows, pa.int64())))
        return pa.concat_tables(parts) if parts else pa.table({})
    _, *mode, a, b = which.split("-")
    return table.scan(between=(int(a), int(b)), mode=mode[0] if mode else None, row_kind=True).to_arrow()


@pytest.mark.parametrize("name", sorted({*CHANGED, *DIFFERENT}))
def test_changes_are_read_as_java_reads_them(name, tmp_path):
    table = st.open_table(ft.unpack(name, tmp_path))
    kinds = ["stream", "incremental"] if name in CHANGED else ["incremental"]
    for which in ft.expected_names(name):
        expected = ft.expected(name, which) if which.split("-")[0] in kinds else None
        if expected is not None:
            assert rows.difference(expected, changes_of(table, which)) is None, which


def test_the_latest_version_is_read_whatever_was_switched_on_on_the_way(tmp_path):
    """Snapshots from before deletion vectors were switched on are refused, where Java finds nothing."""
    table = st.open_table(ft.unpack("dv_switched_on_later", tmp_path))
    assert rows.difference(ft.expected("dv_switched_on_later"), table.scan().to_arrow()) is None


@pytest.mark.parametrize("name", PROMISED)
def test_system_tables_of_promised_tables_read_as_java_reads_them(name, tmp_path):
    path = ft.unpack(name, tmp_path)
    table = st.open_table(path)
    for which in ft.expected_names(name):
        kind, _, system = which.partition("-")
        expected = ft.expected(name, which) if kind == "system" else None
        # Java prints the identity of byte arrays
        if expected is None or "[B@" in str(expected):
            continue
        # the audit log's column for the kind of a row has the name that our scans give it
        expected = [{"_kind" if k == "rowkind" else k: v for k, v in row.items()} for row in expected]
        found = table.inspect(system).to_arrow()
        if "file_path" in found.column_names:
            paths = [p.as_py().replace(path, "{TABLE}") for p in found.column("file_path")]
            found = found.set_column(found.column_names.index("file_path"), "file_path", pa.array(paths, pa.string()))
        assert rows.difference(expected, found) is None, which
