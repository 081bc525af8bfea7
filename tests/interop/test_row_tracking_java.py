"""Row tracking in both directions: ids and versions of rows are those that Java gives, and each keeps the other's."""

import json

import pytest
import rows

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

COLUMNS = {"id": "INT", "p": "STRING", "v": "BIGINT"}


def data(ids):
    return [{"id": i, "p": "ab"[i % 2], "v": i * 10} for i in ids]


def written(oracle, t, ids):
    kept = [["+I", r["id"], r["p"], r["v"]] for r in data(ids)]
    oracle.call("apply", t.location, json.dumps({"op": "write", "rows": kept}))


def ours(t):
    return sorted(
        (r["id"], r["v"], r["_ROW_ID"], r["_SEQUENCE_NUMBER"]) for r in t.inspect("row_tracking").to_arrow().to_pylist()
    )


def theirs(oracle, t):
    found = oracle.call("read", t.location + "$row_tracking")
    return sorted((r["id"], r["v"], r["_ROW_ID"], r["_SEQUENCE_NUMBER"]) for r in found)


def both(oracle, t):
    """What both read; the next id is above all that are given."""
    rows.same(oracle, t)
    found = ours(t)
    assert found == theirs(oracle, t)
    ids = [row[2] for row in found]
    assert len(set(ids)) == len(ids)
    assert t.inspect("snapshots").to_arrow()["next_row_id"].to_pylist()[-1] > max(ids, default=-1)
    return found


#: Java finds no ids of rows in Avro files, not even in its own
FORMATS = ["parquet", "orc"]
TABLES = [
    pytest.param({}, id="copy-on-write"),
    pytest.param({"deletion-vectors.enabled": "true"}, id="vectors"),
]


@pytest.fixture
def table(cat):
    def table(name="t", partition_by=(), **options):
        options = {"row-tracking.enabled": "true", **{k.replace("__", "."): v for k, v in options.items()}}
        return cat.create_table(f"db.{name}", COLUMNS, partition_by=list(partition_by), options=options)

    return table


@pytest.mark.parametrize("partition_by", [(), ("p",)], ids=["plain", "partitioned"])
@pytest.mark.parametrize("kind", FORMATS)
def test_the_same_commits_give_the_same_ids(oracle, table, kind, partition_by):
    mine, yours = (table(name, partition_by, file__format=kind) for name in ("mine", "yours"))
    for ids in (range(5), range(5, 9), range(9, 10)):
        mine.append(data(ids))
        written(oracle, yours, ids)
    found, expected = both(oracle, mine), both(oracle, yours)
    assert [(i, v, version) for i, v, _, version in found] == [(i, v, version) for i, v, _, version in expected]
    # which partition comes first is of no account
    assert sorted(row[2] for row in found) == list(range(10))
    assert partition_by or found == expected
    assert mine.compact(full=True).snapshots
    oracle.call("compact", yours.location, "--full")
    assert (both(oracle, mine), both(oracle, yours)) == (found, expected)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("options", TABLES)
def test_rows_keep_their_ids_whoever_writes_them_again(oracle, table, options, kind):
    t = table(file__format=kind, **{"compaction.min.file-num": "2"}, **options)
    t.append(data(range(6)))
    written(oracle, t, range(6, 12))
    before = both(oracle, t)
    assert [(i, r, s) for i, _, r, s in before] == [(i, i, 1 + (i >= 6)) for i in range(12)]
    t.update({"v": "v + 1"}, where="id IN (2, 7)")
    changed = both(oracle, t)
    assert changed == [(i, i * 10 + (i in (2, 7)), i, 3 if i in (2, 7) else 1 + (i >= 6)) for i in range(12)]
    t.delete(where="id = 8")
    left = both(oracle, t)
    assert left == [row for row in changed if row[0] != 8]
    written(oracle, t, range(20, 22))
    after = both(oracle, t)
    assert after[-2:] == [(20, 200, 12, 5), (21, 210, 13, 5)]
    t.compact(full=True)
    assert both(oracle, t) == after
    t.append(data([30]))
    oracle.call("compact", t.location, "--full")
    assert both(oracle, t) == sorted([*after, (30, 300, 14, 7)])


def test_statistics_of_a_compacted_file_name_the_columns_that_java_names(oracle, cat):
    """A column without statistics makes the list explicit, and ids of rows are in it: pypaimon 2.1.0 opens neither file."""
    options = {"row-tracking.enabled": "true", "compaction.min.file-num": "2"}
    mine, yours = (cat.create_table(f"db.{n}", COLUMNS | {"l": "ARRAY<INT>"}, options=options) for n in ("m", "y"))
    for t in (mine, yours):
        for ids in (range(3), range(3, 6)):
            t.append([r | {"l": [1]} for r in data(ids)])
    mine.compact(full=True)
    oracle.call("compact", yours.location, "--full")
    assert both(oracle, mine) == both(oracle, yours)

    def statistics(t):
        manifests = [m for m in oracle.call("meta", t.location) if m["type"] == "manifest"]
        files = [e["file"] for m in manifests for e in m["entries"] if e["file"]["file_source"] == "COMPACT"]
        return [(f["value_stats_cols"], f["value_stats"]) for f in files]

    assert statistics(mine) == statistics(yours)
    assert statistics(mine)[0][0] == ["id", "p", "v", "_ROW_ID", "_SEQUENCE_NUMBER"]
