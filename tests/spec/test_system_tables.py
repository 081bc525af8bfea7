"""System tables: what a table says about itself."""

import pickle

import pytest
import siltstone as st
from siltstone import errors as e


@pytest.fixture
def cat(tmp_path):
    cat = st.connect(str(tmp_path))
    cat.create_database("db")
    t = cat.create_table(
        "db.t",
        {"dt": "STRING", "id": "INT NOT NULL", "v": "DOUBLE"},
        primary_key=["dt", "id"],
        partition_by=["dt"],
        options={"bucket": "1", "write-only": "true"},
    )
    t.upsert([{"dt": "a", "id": 1, "v": 1.5}, {"dt": "b", "id": 2}])
    t.upsert([{"dt": "a", "id": 3, "v": None}])
    return cat


def rows(t, name, *columns, **args):
    return [tuple(r.values()) for r in t.inspect(name, list(columns) or None, **args).to_arrow().to_pylist()]


def test_files_partitions_and_buckets_show_live_data(cat):
    t = cat.table("db.t")
    stats = rows(t, "files", "partition", "level", "record_count", "min_key", "min_value_stats", filter="bucket = 0")
    assert sorted(stats) == [
        ("{a}", 0, 1, "[1]", "{dt=a, id=1, v=1.5}"),
        ("{a}", 0, 1, "[3]", "{dt=a, id=3, v=null}"),
        ("{b}", 0, 1, "[2]", "{dt=b, id=2, v=null}"),
    ]
    assert rows(t, "partitions", "partition", "record_count", "file_count") == [("dt=a", 2, 2), ("dt=b", 1, 1)]
    assert rows(t, "buckets", "partition", "bucket", "file_count") == [("{a}", 0, 2), ("{b}", 0, 1)]
    t.compact(full=True)
    assert sorted(rows(t, "files", "level")) == [(5,), (5,)]
    assert rows(t, "file_key_ranges", "min_key", "max_key", filter="partition = '{a}'") == [("[1]", "[3]")]


def test_snapshots_schemas_and_options_show_metadata(cat):
    t = cat.table("db.t")
    assert rows(t, "snapshots", "snapshot_id", "commit_kind") == [(1, "APPEND"), (2, "APPEND")]
    assert rows(t, "SNAPSHOTS", "snapshot_id", limit=1) == [(1,)]
    t.alter().add_column("w", "INT").commit()
    assert rows(cat.table("db.t"), "schemas", "schema_id", "primary_keys") == [(0, '["dt","id"]'), (1, '["dt","id"]')]
    assert rows(t, "options") == [("bucket", "1"), ("write-only", "true")]
    assert t.inspect("manifests").count() == 2
    assert [t.inspect(n).count() for n in ("tags", "branches", "consumers", "statistics", "table_indexes")] == [0] * 5
    assert rows(t, "aggregation_fields", "field_name", "field_type")[0] == ("dt", "STRING NOT NULL")


def test_a_system_table_is_opened_by_name_and_is_only_read(cat):
    files = cat.table("db.t$files")
    assert (files.name, files.primary_key, files.schema.field("bucket").type) == ("db.t$files", [], "int32")
    scan = files.scan(["level"], limit=2)
    assert scan.to_arrow().num_rows == pickle.loads(pickle.dumps(scan)).count() == 2
    assert pickle.loads(pickle.dumps(files)).name == "db.t$files"
    assert files.scan(version=1).count() == 2
    for call in (lambda: files.append([]), files.compact, lambda: files.scan(row_kind=True), scan.splits):
        with pytest.raises(e.UnsupportedFeature):
            call()


def test_unknown_names_are_answered_with_those_there_are(cat):
    with pytest.raises(e.TableNotFound, match=r"no system table '\$snapshot'") as caught:
        cat.table("db.t").inspect("snapshot")
    assert "snapshots, schemas" in caught.value.hint
    with pytest.raises(e.TableNotFound):
        cat.table("db.t$nope")
    with pytest.raises(e.InvalidArgument, match="no column 'x'"):
        cat.table("db.t").inspect("files", ["x"])
    with pytest.raises(e.InvalidArgument):
        cat.table("db.t").inspect("files", filter="x = 1")


def test_tables_of_sys_are_about_the_whole_catalog(cat, tmp_path):
    cat.create_database("other")
    cat.create_table("other.u", {"x": "INT"}, options={"bucket": "-1"})

    def read(name, *columns):
        return [tuple(r.values()) for r in cat.table(f"sys.{name}").scan(list(columns) or None).to_arrow().to_pylist()]

    assert read("all_table_options") == [
        ("db", "t", "bucket", "1"),
        ("db", "t", "write-only", "true"),
        ("other", "u", "bucket", "-1"),
    ]
    columns = ("database_name", "table_name", "table_type", "partitioned", "primary_key", "record_count", "file_count")
    assert read("tables", *columns) == [
        ("db", "t", "table", True, True, 3, 3),
        ("other", "u", "table", False, False, 0, 0),
    ]
    assert read("partitions", "partition_name", "record_count", "done") == [("dt=a", 2, False), ("dt=b", 1, False)]
    with pytest.raises(e.TableNotFound, match=r"sys\.catalog_options"):
        cat.table("sys.catalog_options")
    shown = st.connect(str(tmp_path), options={"catalog-options-table.enabled": "true"}).table("sys.catalog_options")
    assert shown.scan().to_arrow().to_pylist() == [{"key": "catalog-options-table.enabled", "value": "true"}]
    again = pickle.loads(pickle.dumps(shown))
    assert (again.name, again.schema.names, again.location) == ("sys.catalog_options", ["key", "value"], str(tmp_path))
