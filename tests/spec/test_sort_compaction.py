"""Sort compaction: `compact(order_by=…, strategy=…)` puts the rows of each partition of an append table into an order."""

import random

import pytest
import siltstone as st
import siltstone.errors as e
from siltstone.procedures import parse_call, run_call

COLUMNS = {"p": "STRING", "x": "INT", "y": "BIGINT", "s": "STRING"}
SMALL = {"target-file-size": "4 kb", "file.block-size": "1 kb"}


def rows(n, seed=5):
    draw = random.Random(seed)
    return [
        {
            "p": "ab"[i % 2],
            "x": draw.randrange(64),
            "y": draw.randrange(64),
            "s": draw.choice([None, "k", "l"]) and f"s{i}",
        }
        for i in range(n)
    ]


def key(row):
    return repr(sorted(row.items(), key=str))


def same(t, expected):
    found = t.scan().to_pylist()
    assert sorted(found, key=key) == sorted(expected, key=key)
    assert t.maintenance.fsck(deep=True).problems == []
    return found


def files_of(t, condition):
    return len({path for split in t.scan(filter=condition).splits() for path in split.files})


@pytest.fixture
def t(cat):
    return cat.create_table("db.t", COLUMNS, partition_by="p", options=SMALL)


def test_rows_come_in_the_order_of_the_columns_null_first_and_equal_ones_as_they_were(t):
    given = rows(900)
    t.append(given[:300])
    t.append(given[300:])
    before = t.snapshot().id
    report = t.compact(order_by=["x", "s"])
    assert [s.kind for s in report.snapshots] == ["COMPACT"]
    assert (report.rows_before, report.rows_after, t.snapshot().id) == (900, 900, before + 1)
    same(t, given)
    for p in "ab":
        found = t.scan(filter=f"p = '{p}'").to_pylist()
        expected = [r for r in given if r["p"] == p]
        assert found == sorted(expected, key=lambda r: (r["x"], r["s"] is not None, r["s"] or ""))
    # streams are told nothing: no row has changed
    assert sum(len(batch) for batch in t.changes(start=before + 1, end=None, follow=False)) == 0


@pytest.mark.parametrize("strategy", ["zorder", "hilbert"])
def test_along_a_curve_a_condition_on_either_column_skips_most_files(cat, strategy):
    t = cat.create_table("db.t", COLUMNS, options={"target-file-row-num": "100"})
    given = rows(3000)
    t.append(given)
    t.compact(order_by=["x", "y"], strategy=strategy)
    found = same(t, given)
    assert found != given
    files = files_of(t, None)
    assert files == 30
    for column in "xy":
        condition = f"{column} >= 8 and {column} < 16"
        assert files_of(t, condition) * 2 < files
        assert t.scan(filter=condition).count() == sum(8 <= r[column] < 16 for r in given)
    t.compact(order_by="x")
    assert (files_of(t, None), files_of(t, "x = 9") < 4, files_of(t, "y = 9") > 20) == (30, True, True)


def test_more_rows_than_the_memory_holds_are_spilled(cat, tmp_path):
    t = cat.create_table("db.t", COLUMNS, options={"write-buffer-size": "1 mb"})
    given = [r | {"s": "x" * 200 + str(i)} for i, r in enumerate(rows(20000))]
    t.append(given)
    t.compact(order_by=["y", "x"], strategy="order")
    found = t.scan().to_pylist()
    assert found == sorted(given, key=lambda r: (r["y"], r["x"]))


def test_deleted_rows_go_and_rows_keep_their_ids(cat):
    options = {"row-tracking.enabled": "true", "deletion-vectors.enabled": "true"}
    t = cat.create_table("db.t", COLUMNS, options=options)
    t.append(rows(50))
    t.update({"s": "'new'"}, where="x < 10")
    t.delete("x > 50")
    ids = t.inspect("row_tracking").to_arrow().sort_by("_ROW_ID").to_pylist()
    t.compact(order_by=["x"])
    assert t.inspect("row_tracking").to_arrow().sort_by("_ROW_ID").to_pylist() == ids
    assert [r["x"] for r in t.scan().to_pylist()] == sorted(r["x"] for r in ids)
    assert t.inspect("table_indexes").to_arrow().num_rows == 0
    assert t.maintenance.fsck(deep=True).problems == []


def test_only_the_partitions_that_are_asked_for(t):
    given = rows(40)
    t.append(given)
    plan = t.maintenance.plan_compaction(where="p = 'b'", order_by=["x"], strategy="HILBERT")
    assert [(task.partition, task.rows) for task in plan.tasks] == [("p=b", 20)]
    t.compact(plan)
    same(t, given)
    assert t.scan(filter="p = 'a'").to_pylist() == [r for r in given if r["p"] == "a"]


def test_files_that_others_compact_meanwhile_are_sorted_again(t):
    t.append(rows(20))
    t.append(rows(20, seed=6))
    plan = t.maintenance.plan_compaction(order_by=["x"])
    messages = [task.run() for task in plan.tasks]
    t.compact(full=True)
    report = t.maintenance.commit_compaction(messages)
    assert report.given_up
    assert [s.kind for s in report.snapshots] == []
    same(t, [*rows(20), *rows(20, seed=6)])


def test_the_procedure(cat, t):
    given = rows(40)
    t.append(given)
    call = "CALL sys.compact(table => 'db.t', order_strategy => 'zorder', order_by => 'x, y')"
    assert run_call(parse_call(call), cat.table).rows == [(True,)]
    assert t.snapshot().kind == "COMPACT"
    same(t, given)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"order_by": ["x"], "strategy": "random"}, e.InvalidArgument, "none of order, zorder, hilbert"),
        ({"strategy": "order"}, e.InvalidArgument, "give both"),
        ({"order_by": []}, e.InvalidArgument, "needs columns"),
        ({"order_by": ["z"]}, e.InvalidArgument, "no column 'z'"),
        ({"order_by": ["x", "p"]}, e.InvalidArgument, "the same in all rows of a partition"),
        ({"order_by": ["x", "x"]}, e.InvalidArgument, "twice"),
    ],
)
def test_what_orders_nothing_is_refused(t, given, error, says):
    t.append(rows(3))
    with pytest.raises(error, match=says):
        t.compact(**given)
    assert t.snapshot().kind == "APPEND"


@pytest.mark.parametrize(
    ("key", "options"),
    [
        (["x"], {}),
        ([], {"bucket": "2", "bucket-key": "x"}),
        ([], {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}),
    ],
    ids=["primary-key", "fixed-buckets", "data-evolution"],
)
def test_rows_that_have_another_order_are_refused(cat, key, options):
    t = cat.create_table("db.t", {"x": "INT", "a": "ARRAY<INT>"}, primary_key=key, options=options)
    with pytest.raises(e.UnsupportedFeature, match="sort compaction does not order rows of"):
        t.compact(order_by=["x"])


def test_nested_values_have_no_order(cat):
    t = cat.create_table("db.t", {"x": "INT", "a": "ARRAY<INT>"})
    with pytest.raises(e.UnsupportedType, match="'a', a column of the type ARRAY"):
        t.compact(order_by=["a"])


def test_a_command_sorts(t, tmp_path):
    from click.testing import CliRunner
    from siltstone.cli.__main__ import cli

    given = rows(20)
    t.append(given)
    done = CliRunner().invoke(cli, ["compact", t.location, "--order-by", "x, y", "--strategy", "hilbert"])
    assert done.exit_code == 0, done.output
    assert st.open_table(t.location).snapshot().kind == "COMPACT"
    same(t, given)
