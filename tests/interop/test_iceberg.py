"""Iceberg metadata (`metadata.iceberg.storage` = `table-location`): pyiceberg reads our tables by it."""

import datetime as dt
import decimal
import json
import pathlib
import threading

import pytest
import siltstone as st
from pyiceberg.table import StaticTable
from siltstone import errors as e

ICEBERG = {"metadata.iceberg.storage": "table-location"}
COLUMNS = {
    "id": "INT",
    "p": "STRING",
    "b": "BOOLEAN",
    "i1": "TINYINT",
    "i8": "BIGINT",
    "f": "FLOAT",
    "f8": "DOUBLE",
    "d": "DECIMAL(9, 2)",
    "big": "DECIMAL(30, 3)",
    "day": "DATE",
    "ts": "TIMESTAMP(6)",
    "z": "TIMESTAMP_LTZ(6)",
    "y": "BYTES",
    "l": "ARRAY<INT>",
    "r": "ROW<x INT, y STRING>",
    "m": "MAP<STRING, BIGINT>",
}


def row(i):
    at = dt.datetime(2024, 1, 1) + dt.timedelta(hours=i, microseconds=i)
    return {
        "id": i,
        "p": "ab"[i % 2],
        "b": None if i % 3 else True,
        "i1": i % 7,
        "i8": -i,
        "f": i / 2,
        "f8": float("nan") if i == 5 else i / 3,
        "d": decimal.Decimal(i - 7) / 4,
        "big": None if i % 5 else decimal.Decimal(i) * 10**20,
        "day": dt.date(2024, 1, 1) + dt.timedelta(days=i),
        "ts": at,
        "z": at.replace(tzinfo=dt.UTC),
        "y": b"\x00" * i,
        "l": [i, None],
        "r": {"x": i, "y": None},
        "m": {"k": i},
    }


def metadata(t):
    folder = pathlib.Path(t.location) / "metadata"
    return folder / f"v{(folder / 'version-hint.text').read_text()}.metadata.json"


def iceberg(t, snapshot=None, **scan):
    table = StaticTable.from_metadata(str(metadata(t)))
    return table.scan(snapshot_id=snapshot, **scan).to_arrow().sort_by("id").to_pylist()


def ours(t, **scan):
    return t.scan(**scan).to_arrow().sort_by("id").to_pylist()


def plain(rows):
    """NaN as a text: it is not equal to itself."""
    return [{k: "NaN" if isinstance(v, float) and v != v else v for k, v in row.items()} for row in rows]


def same(t):
    found = iceberg(t)
    assert plain(found) == plain(ours(t))
    assert metadata(t).name == f"v{t.snapshot().id}.metadata.json"
    assert t.maintenance.fsck(deep=True).problems == []
    return found


@pytest.mark.parametrize("partition_by", [[], ["p"], ["day", "p"]], ids=["plain", "text", "date"])
def test_append_tables_of_all_types(cat, partition_by):
    t = cat.create_table("db.t", COLUMNS, partition_by=partition_by, options=ICEBERG)
    t.append([row(i) for i in range(4)])
    t.append([row(i) for i in range(4, 8)])
    assert len(same(t)) == 8
    for condition in (
        "id >= 5",
        "d > 0",
        "day < '2024-01-03'",
        "p = 'a'",
        "big is null",
        "ts >= '2024-01-01T03:00:00'",
    ):
        sql = condition.replace("T03", " 03")
        assert [r["id"] for r in iceberg(t, row_filter=condition)] == [r["id"] for r in ours(t, filter=sql)], condition
    t.compact(full=True)
    same(t)
    t.delete("id = 2")
    t.update({"i8": "99"}, where="id = 3")
    assert len(same(t)) == 7


def test_a_file_that_holds_no_matching_row_is_not_planned(cat):
    t = cat.create_table("db.t", COLUMNS, partition_by="p", options=ICEBERG)
    for i in range(4):
        t.append([row(i)])
    table = StaticTable.from_metadata(str(metadata(t)))
    planned = lambda condition: len(list(table.scan(row_filter=condition).plan_files()))  # noqa: E731
    assert (planned("id >= 0"), planned("id = 2"), planned("p = 'a'"), planned("d < -1.60")) == (4, 1, 2, 1)


def test_earlier_snapshots_and_those_that_expired(cat):
    t = cat.create_table("db.t", {"id": "INT"}, options={**ICEBERG, "compaction.min.file-num": "2"})
    for i in range(5):
        t.append([{"id": i}])
    assert [len(iceberg(t, n)) for n in range(1, 6)] == [1, 2, 3, 4, 5]
    t.compact(full=True)
    t.maintenance.expire_snapshots(retain_max=1, retain_min=1)
    t.append([{"id": 9}])
    same(t)
    said = json.loads(metadata(t).read_text())
    assert [s["snapshot-id"] for s in said["snapshots"]] == [6, 7]
    folder = metadata(t).parent
    lists = {s["manifest-list"].rsplit("/", 1)[1] for s in said["snapshots"]}
    kept = {f.name for f in folder.iterdir()}
    assert {name for name in kept if name.startswith("snap-")} == lists
    assert len([name for name in kept if name.endswith(".metadata.json")]) == 1
    assert len([name for name in kept if "-m" in name]) == 2
    t.maintenance.remove_orphan_files(older_than=dt.datetime.now(dt.UTC), dry_run=False)
    same(t)


def test_keys_as_of_the_last_full_compaction(cat):
    t = cat.create_table("db.k", {"id": "INT", "v": "INT"}, primary_key=["id"], options={**ICEBERG, "bucket": "2"})
    t.upsert([{"id": i, "v": 0} for i in range(6)])
    t.compact(full=True)
    assert same(t) == [{"id": i, "v": 0} for i in range(6)]
    t.upsert([{"id": 1, "v": 1}, {"id": 7, "v": 1}])
    t.delete("id = 2")
    assert iceberg(t) == [{"id": i, "v": 0} for i in range(6)]
    t.compact(full=True)
    assert [r["id"] for r in same(t)] == [0, 1, 3, 4, 5, 7]


def test_columns_that_change(cat):
    t = cat.create_table("db.t", {"id": "INT", "s": "STRING"}, options=ICEBERG)
    t.append([{"id": 1, "s": "x"}])
    t.alter().add_column("n", "BIGINT").rename_column("s", "t").commit()
    t = st.open_table(t.location)
    t.append([{"id": 2, "t": "y", "n": 5}])
    assert same(t) == [{"id": 1, "t": "x", "n": None}, {"id": 2, "t": "y", "n": 5}]


def test_what_is_missing_or_of_another_history_is_written_anew(cat):
    t = cat.create_table("db.t", {"id": "INT"}, options=ICEBERG)
    for i in range(3):
        t.append([{"id": i}])
    name = json.loads(metadata(t).read_text())["table-uuid"]
    t.rollback(version=1)
    t = st.open_table(t.location)
    t.append([{"id": 8}])
    assert [r["id"] for r in same(t)] == [0, 8]
    assert json.loads(metadata(t).read_text())["table-uuid"] == name
    t.append([{"id": 9}])
    metadata(t).write_text("{")
    t.append([{"id": 10}])
    assert [r["id"] for r in same(t)] == [0, 8, 9, 10]
    plain = st.open_table(t.location, options={"metadata.iceberg.storage": "disabled"})
    plain.append([{"id": 11}])
    t.append([{"id": 12}])
    assert [r["id"] for r in same(t)] == [0, 8, 9, 10, 11, 12]


def test_writers_at_the_same_time(cat):
    t = cat.create_table("db.t", {"id": "INT"}, options=ICEBERG)

    def write(start):
        for i in range(start, start + 4):
            st.open_table(t.location).append([{"id": i}])

    threads = [threading.Thread(target=write, args=(n * 10,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    t.append([{"id": 99}])
    assert len(same(t)) == 13


@pytest.mark.parametrize(
    ("columns", "options", "option"),
    [
        ({}, {"metadata.iceberg.storage": "hive-catalog"}, "metadata.iceberg.storage"),
        ({}, {**ICEBERG, "metadata.iceberg.format-version": "3"}, "metadata.iceberg.format-version"),
        ({}, {**ICEBERG, "file.format": "orc"}, "file.format"),
        ({}, {**ICEBERG, "deletion-vectors.enabled": "true"}, "deletion-vectors.enabled"),
        ({"x": "TIMESTAMP(3)"}, ICEBERG, None),
        ({"x": "TIME"}, ICEBERG, None),
        ({"x": "MULTISET<INT>"}, ICEBERG, None),
    ],
)
def test_what_has_no_metadata_there_is_refused(cat, columns, options, option):
    with pytest.raises(e.UnsupportedFeature, match="Iceberg metadata") as caught:
        cat.create_table("db.t", {"id": "INT", **columns}, options=options)
    assert caught.value.context.get("option") == option


@pytest.mark.java
def test_java_goes_on_where_we_stopped_and_we_where_java_did(oracle, cat):
    columns = {"id": "INT", "p": "STRING", "d": "DECIMAL(9, 2)", "l": "ARRAY<INT>"}
    mine, yours = (cat.create_table(f"db.{n}", columns, partition_by="p", options=ICEBERG) for n in ("mine", "yours"))
    ids = iter(range(100))

    def by_java(t):
        step = {"op": "write", "rows": [["+I", next(ids), "a", "1.50", [1]], ["+I", next(ids), None, "-2.50", None]]}
        oracle.call("apply", t.location, json.dumps(step))

    def by_us(t):
        t.append([{"id": next(ids), "p": p, "d": decimal.Decimal("3.25"), "l": []} for p in ("a", "b")])

    for turn in (by_us, by_java, by_us):
        turn(mine)
        same(mine)
    for turn in (by_java, by_us, by_java):
        turn(yours)
        same(yours)
    one, other = (json.loads(metadata(t).read_text()) for t in (mine, yours))
    for key in ("schemas", "partition-specs", "last-column-id", "last-partition-id", "sort-orders", "refs"):
        assert one[key] == other[key], key
    assert len(one["snapshots"]) == len(other["snapshots"]) == 3


def test_a_fast_forward_is_another_history_whichever_was_committed_first(cat):
    """The time alone once decided: rows of the main that was put away stayed, those of the branch never came."""
    t = cat.create_table("db.t", {"id": "INT"}, options=ICEBERG)
    t.append([{"id": 0}])
    t.tags.create("base")
    t.branches.create("dev", tag="base")
    st.open_table(t.location, branch="dev").append([{"id": 50}])
    t.append([{"id": 1}])
    t.branches.fast_forward("dev")
    for i in (100, 101):
        st.open_table(t.location).append([{"id": i}])
        assert [r["id"] for r in same(st.open_table(t.location))] == [0, 50, *range(100, i + 1)]


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.truncate(),
        lambda t: t.truncate({"p": "a"}),
        lambda t: t.drop_partitions({"p": "a"}),
        lambda t: t.delete("p = 'a'"),
        lambda t: t.maintenance.expire_partitions(expiration_time="1 d", timestamp_formatter="yyyy-MM-dd"),
        lambda t: t.maintenance.analyze(),
        lambda t: t.maintenance.compact_manifests(),
    ],
    ids=["truncate", "truncate partition", "drop", "delete", "expire", "analyze", "manifests"],
)
def test_whatever_makes_a_snapshot_describes_it(cat, change):
    t = cat.create_table("db.t", {"id": "INT", "p": "STRING"}, partition_by="p", options=ICEBERG)
    t.append([{"id": i, "p": p} for i, p in enumerate(("a", "b", "c", "2001-01-01"))])
    t.truncate({"p": "c"})
    before = t.snapshot().id
    change(t)
    t = st.open_table(t.location)
    assert t.snapshot().id > before
    same(t)


@pytest.mark.parametrize("name", ["snapshot/snapshot-1", "schema/schema-0", "data", "metadata/version-hint.text"])
def test_what_metadata_names_is_deleted_only_where_it_is_a_list_of_manifests(cat, name):
    """Metadata that somebody has changed once made a commit delete data files, snapshots and schemas."""
    t = cat.create_table("db.t", {"id": "INT"}, options=ICEBERG)
    for i in range(3):
        t.append([{"id": i}])
    if name == "data":
        name = t.inspect("files").to_arrow().column("file_path").to_pylist()[0].removeprefix(t.location + "/")
    path = pathlib.Path(t.location, name)
    assert path.is_file()
    changed = json.loads(metadata(t).read_text())
    changed["snapshots"].insert(0, {**changed["snapshots"][0], "snapshot-id": 777, "manifest-list": str(path)})
    metadata(t).write_text(json.dumps(changed))
    t.append([{"id": 3}])
    assert path.is_file()
    assert [r["id"] for r in same(t)] == [0, 1, 2, 3]
