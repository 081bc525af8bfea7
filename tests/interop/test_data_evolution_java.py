"""Data evolution in both directions: columns of the same rows in several files, written by Java and by us."""

import json

import pytest
import rows

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]

COLUMNS = {"id": "INT", "v": "BIGINT", "s": "STRING"}


@pytest.fixture
def table(cat):
    def table(name="t", partition_by=(), **options):
        fixed = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
        return cat.create_table(f"db.{name}", COLUMNS, partition_by=list(partition_by), options={**fixed, **options})

    return table


def data(ids):
    return [{"id": i, "v": i * 10, "s": f"s{i}"} for i in ids]


def step(oracle, t, **what):
    oracle.call("apply", t.location, json.dumps(what))


def written(oracle, t, ids):
    step(oracle, t, op="write", rows=[["+I", *r.values()] for r in data(ids)])


def new_values(oracle, t, first, columns, values):
    step(oracle, t, op="write_columns", columns=columns, first_row_id=first, rows=[["+I", *v] for v in values])


def tracked(found):
    return sorted(tuple(r.values()) for r in found)


def both(oracle, t):
    """What both read, with ids and versions."""
    rows.same(oracle, t)
    found = tracked(t.inspect("row_tracking").to_arrow().to_pylist())
    assert found == tracked(oracle.call("read", t.location + "$row_tracking"))
    assert t.scan().count() == len(found)
    return found


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_we_read_columns_that_java_wrote_beside_others(oracle, table, kind):
    t = table(**{"file.format": kind})
    written(oracle, t, range(5))
    written(oracle, t, range(5, 8))
    new_values(oracle, t, 0, ["v"], [[100 + i] for i in range(5)])
    new_values(oracle, t, 0, ["s", "v"], [[f"n{i}", 200 + i] for i in range(5)])
    new_values(oracle, t, 0, ["v"], [[300 + i] for i in range(5)])
    new_values(oracle, t, 5, ["s"], [["x"], [None], ["z"]])
    found = both(oracle, t)
    assert found[0] == (0, 300, "n0", 0, 5)
    assert found[6] == (6, 60, None, 6, 6)
    assert [r["id"] for r in t.scan(filter="v >= 300").to_arrow().to_pylist()] == list(range(5))
    assert t.scan(filter="v = 102").count() == 0
    assert [r["id"] for r in t.scan(["id"], "s IS NULL").to_arrow().to_pylist()] == [6]
    assert t.scan(["s"], "s = 'n2' AND v = 302").to_arrow()["s"].to_pylist() == ["n2"]
    oracle.call("compact", t.location)
    assert [row[:4] for row in both(oracle, t)] == [row[:4] for row in found]


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_java_reads_columns_that_we_wrote_beside_others(oracle, table, kind):
    t = table(**{"file.format": kind})
    t.append(data(range(6)))
    written(oracle, t, range(6, 12))
    both(oracle, t)
    report = t.update({"v": "v + 1"}, where="id IN (2, 7)")
    assert (report.affected_rows, [s.kind for s in report.snapshots]) == (2, ["APPEND"])
    assert sorted(f["write_cols"] for f in t.inspect("files").to_arrow().to_pylist() if f["write_cols"]) == [["v"]] * 2
    found = both(oracle, t)
    assert {i: v for i, v, *_ in found} == {i: i * 10 + (i in (2, 7)) for i in range(12)}
    t.update({"s": "'new'", "v": "NULL"}, where="v = 21")
    new_values(oracle, t, 6, ["s"], [[f"j{i}"] for i in range(6)])
    found = both(oracle, t)
    assert found[2][:3] == (2, None, "new")
    assert found[7][:3] == (7, 71, "j1")
    assert t.compact(full=True).snapshots
    assert len(t.files()) == 1
    assert [row[:4] for row in both(oracle, t)] == [row[:4] for row in found]
    t.update({"v": "id"}, where="true")
    assert [row[1] for row in both(oracle, t)] == list(range(12))
    oracle.call("compact", t.location)
    both(oracle, t)


def test_columns_that_were_added_are_given_values(oracle, table):
    t = table()
    t.append(data(range(3)))
    t.alter().add_column("n", "STRING").rename_column("v", "w").set_type("w", "DOUBLE").commit()
    assert t.update({"n": "upper(s)"}, where="id < 2").affected_rows == 2
    assert [row[:4] for row in both(oracle, t)] == [(0, 0.0, "s0", "S0"), (1, 10.0, "s1", "S1"), (2, 20.0, "s2", None)]
    t.compact(full=True)
    both(oracle, t)


def test_each_partition_has_its_own_files(oracle, table):
    t = table(partition_by=["s"])
    t.append([{"id": i, "v": i, "s": "ab"[i % 2]} for i in range(6)])
    t.update({"v": "v + 100"}, where="s = 'a' AND id > 0")
    found = both(oracle, t)
    assert {i: v for i, v, *_ in found} == {0: 0, 1: 1, 2: 102, 3: 3, 4: 104, 5: 5}
    t.compact(full=True)
    both(oracle, t)
