"""The command line, as a user types it."""

import json
import pathlib
import subprocess
import sys

import pyarrow as pa
import pytest
import siltstone as st
from siltstone.cli.__main__ import main


@pytest.fixture
def lake(tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("shop")
    t = cat.create_table(
        "shop.orders",
        {"id": "BIGINT", "item": "STRING"},
        primary_key=["id"],
        options={"bucket": "1", "write-only": "true"},
    )
    t.append([{"id": i, "item": f"i{i}"} for i in range(5)])
    t.append([{"id": 9, "item": None}])
    return str(tmp_path / "lake")


@pytest.fixture
def run(lake, capsys):
    def run(*args, output="json", warehouse=lake):
        code = 0
        try:
            main(["-w", warehouse, "-o", output, *args])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        lines = [json.loads(line) for line in out.splitlines()] if output == "json" else out
        return code, lines, err

    return run


def test_ls_show_history_files(run):
    assert run("ls")[1] == [{"database": "shop", "tables": 1}]
    assert run("ls", "shop")[1] == [{"table": "shop.orders"}]
    shown = run("show", "shop.orders")[1][0]
    assert shown["primary_key"] == ["id"]
    assert shown["levels"] == [{"level": 0, "files": 2, "rows": 6, "bytes": shown["levels"][0]["bytes"], "runs": 2}]
    assert [s["id"] for s in run("history", "shop.orders")[1]] == [2, 1]
    assert [s["id"] for s in run("history", "shop.orders", "-n", "1")[1]] == [2]
    assert {f["level"] for f in run("files", "shop.orders")[1]} == {0}
    assert len(run("files", "shop.orders", "--version", "1")[1]) == 1
    assert run("version")[1][0]["siltstone"] == st.__version__


def test_cat_and_count(run, lake):
    assert run("cat", "shop.orders", "--where", "id = 9")[1] == [{"id": 9, "item": None}]
    assert run("cat", "shop.orders", "-s", "item", "-n", "2", "--where", "id < 2")[1] == [
        {"item": "i0"},
        {"item": "i1"},
    ]
    assert run("count", "shop.orders")[1] == [{"count": 6}]
    assert run("count", f"{lake}/shop.db/orders", "--version", "1")[1] == [{"count": 5}]
    text = run("cat", "shop.orders", output="table")[1]
    assert "NULL" in text and "i4" in text
    assert run("count", "shop.orders", output="table")[1].strip() == "6"


def test_compact(run):
    plan = run("compact", "shop.orders", "--full", "--dry-run")[1]
    assert [(p["bucket"], p["files"]) for p in plan] == [(0, 2)]
    done = run("compact", "shop.orders", "--full")[1][0]
    assert (done["snapshot_before"], done["snapshot_after"], done["files_after"]) == (2, 3, 1)
    assert run("compact", "shop.orders", "--full")[1][0]["tasks"] == 0


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["show", "shop.nothing"], 3),
        (["ls", "nowhere"], 3),
        (["cat", "shop.orders", "--version", "77"], 3),
        (["cat", "shop.orders", "--tag", "none"], 3),
        (["cat", "shop.orders", "--where", "nope = 1"], 2),
        (["cat"], 2),
        (["frobnicate"], 2),
        (["cat", "shop.orders", "-n", "x"], 2),
    ],
)
def test_failures_have_exit_codes_and_one_clear_line(run, args, code):
    got, _, err = run(*args, output="table")
    assert got == code
    assert err and "Traceback" not in err


def test_an_empty_warehouse_is_not_the_current_directory(run, lake, monkeypatch):
    """`-w "$UNSET"` worked on whatever directory the shell was in."""
    monkeypatch.chdir(lake)
    code, _, err = run("ls", output="table", warehouse="")
    assert code
    assert "warehouse='' is empty" in err
    assert run("ls", warehouse=".")[0] == 0


def test_system_tables_are_printed_by_name_and_by_directory(run, lake):
    by_name = run("cat", "shop.orders$snapshots", "-s", "snapshot_id,commit_kind")[1]
    assert by_name == [{"snapshot_id": 1, "commit_kind": "APPEND"}, {"snapshot_id": 2, "commit_kind": "APPEND"}]
    path = f"{lake}/shop.db/orders"
    assert run("cat", path + "$files", "-s", "level", "--where", "record_count = 1")[1] == [{"level": 0}]
    assert run("count", path + "$tags")[1] == [{"count": 0}]
    assert run("cat", path + "$files$tags")[0] == 2
    assert run("cat", "shop.orders$nope")[0] == 3


def test_tags_rollback_expiry_and_checks(run):
    assert run("tag", "create", "shop.orders", "v1", "--version", "1", "--retain", "30 d")[1][0]["snapshot"] == 1
    assert run("create-tag", "shop.orders", "--name", "v2")[0] == 0
    assert run("tag", "create", "shop.orders", "v2")[0] == 1
    assert run("tag", "create", "shop.orders", "7")[0] == 2
    assert [t["name"] for t in run("tag", "list", "shop.orders")[1]] == ["v1", "v2"]
    assert run("tag", "show", "shop.orders", "v1")[1][0]["next"] == "v2"
    assert run("tag", "show", "shop.orders", "v3")[0] == 3
    assert run("tag", "rename", "shop.orders", "v2", "w2")[0] == 0
    plan = run("expire", "snapshots", "shop.orders", "--retain-max", "1", "--dry-run")[1][0]
    assert (plan["dry_run"], plan["snapshots"]) == (True, [1])
    assert {f["kind"] for f in plan["files"]} >= {"snapshot"}
    assert run("expire", "snapshots", "shop.orders", "--retain-max", "1", "--yes")[1][0]["snapshots"] == [1]
    assert run("rollback", "shop.orders", "--to", "v1", "--yes")[1][0]["current_snapshot"] == 1
    assert run("count", "shop.orders")[1][0]["count"] == 5
    assert run("clean", "orphans", "shop.orders", "--older-than", "0s")[1][0]["dry_run"]
    assert run("clean", "orphans", "shop.orders", "--older-than", "0s", "--delete", "--yes")[0] == 0
    assert run("fsck", "shop.orders", "--deep")[1][0]["findings"] == []
    assert run("delete-tag", "shop.orders", "--name", "v1", "--yes")[0] == 0
    assert run("rollback", "shop.orders", "--to", "nothing", "--yes")[0] == 3


def test_branches_and_a_check_that_finds_problems(run, lake):
    import pathlib

    assert run("branch", "create", "shop.orders", "dev", "--version", "latest")[0] == 0
    assert [b["name"] for b in run("branch", "list", "shop.orders")[1]] == ["dev"]
    assert run("branch", "rename", "shop.orders", "dev", "fix")[0] == 0
    assert run("branch", "fast-forward", "shop.orders", "fix", "--yes")[0] == 0
    assert run("branch", "delete", "shop.orders", "fix", "--yes")[0] == 0
    assert run("branch", "delete", "shop.orders", "fix", "--yes")[0] == 3
    next(pathlib.Path(lake).rglob("data-*")).unlink()
    code, lines, _ = run("fsck", "shop.orders")
    assert (code, lines[0]["ok"]) == (5, False)


def test_reads_fall_back_to_the_branch_that_the_table_names(run, lake):
    """`scan.fallback-branch`: partitions that main lacks come from the branch, on the command line, too."""
    t = st.connect(lake).create_table(
        "shop.days", {"dt": "STRING", "k": "INT"}, primary_key=["dt", "k"], partition_by=["dt"], options={"bucket": "1"}
    )
    t.branches.create("late")
    t.append([{"dt": "mon", "k": 1}])
    late = st.open_table(t.location, branch="late")
    late.append([{"dt": "mon", "k": 2}, {"dt": "tue", "k": 3}])
    assert run("cat", "shop.days")[1] == [{"dt": "mon", "k": 1}]
    t.alter().set_option("scan.fallback-branch", "late").commit()
    assert sorted(r["k"] for r in run("cat", "shop.days")[1]) == [1, 3]
    assert run("cat", "shop.days", "--where", "dt = 'tue'")[1] == [{"dt": "tue", "k": 3}]
    assert run("count", "shop.days")[1] == [{"count": 2}]
    assert sorted(r["k"] for r in run("cat", "shop.days$branch_late")[1]) == [2, 3]
    code, _, err = run("branch", "delete", "shop.days", "late", "--yes")
    assert code != 0
    assert "scan.fallback-branch" in err
    assert [b["name"] for b in run("branch", "list", "shop.days")[1]] == ["late"]


@pytest.mark.parametrize("create, delete", [("create-tag", "delete-tag"), ("create_tag", "delete_tag")])
def test_tags_are_made_and_deleted_with_the_arguments_of_javas_actions(run, lake, create, delete):
    """`create_tag --warehouse W --database D --table T --tag_name N [--snapshot I] [--time_retained D]`."""
    java = ["--warehouse", lake, "--database", "shop", "--table", "orders", "--tag_name", "v1"]
    code, made, _ = run(create, *java, "--snapshot", "1", "--time_retained", "30 d", warehouse="/nowhere")
    assert (code, made[0]["snapshot"], made[0]["time_retained"]) == (0, 1, "30 days, 0:00:00")
    assert run(create, "shop.orders", "--name", "v2")[1][0]["snapshot"] == 2
    assert run(delete, *java, "--yes", warehouse="/nowhere")[0] == 0
    assert run(delete, "shop.orders", "--tag_name", "v2", "--yes")[0] == 0
    assert run("tag", "list", "shop.orders")[1] == []


@pytest.mark.parametrize("place", [[], ["--table", "orders"], ["--database", "shop"], ["a.b", "--table", "x"]])
def test_a_tag_needs_one_table(run, place):
    code, _, err = run("create_tag", *place, "--tag_name", "v1")
    assert code == 2 and "--database and --table" in err


def test_a_call_takes_all_tables_of_a_database_and_names_in_quotes(run):
    total = {"deletedFileCount": 0, "deletedFileTotalLenInBytes": 0}
    assert run("call", "remove_orphan_files", "table=shop.*", "dry_run=true", "mode=local")[1] == [total]
    assert run("call", "create_tag", "table=paimon.`shop`.`orders`", "tag=q")[1] == [{"result": True}]
    assert run("call", "expire_snapshots", "table=shop.orders", "retain_max=1")[0] == 2
    assert run("call", "expire_snapshots", "table=shop.orders", "retain_min=1")[1] == [{"deleted_snapshots_count": 0}]


@pytest.mark.parametrize("name", ["../x", "a/../../../../victim", "/victim", "a/b", " ", "a\tb"])
def test_names_never_lead_out_of_the_warehouse(run, lake, name):
    st.open_table(f"{lake}/shop.db/orders").tags.create("base")
    before = sorted(str(p) for p in pathlib.Path(lake).parent.rglob("*"))
    for args in (
        ["tag", "create", "shop.orders", name],
        ["tag", "delete", "shop.orders", name],
        ["branch", "delete", "shop.orders", name],
        ["show", f"shop.orders$branch_{name}"],
        ["cat", f"{lake}/shop.db/orders$branch_{name}"],
        ["drop", f"shop.{name}"],
        ["call", f"sys.create_branch('shop.orders', '{name}')"],
        ["call", f"sys.delete_tag(table => 'shop.orders', tag => '{name}')"],
        ["call", f"sys.reset_consumer('shop.orders', '{name}', 1)"],
        ["call", f"sys.remove_orphan_files(table => 'shop.{name}')"],
    ):
        code, _, _ = run(*args)
        assert code != 0, args
    assert sorted(str(p) for p in pathlib.Path(lake).parent.rglob("*")) == before


def test_numbers_that_are_only_superscripts_are_no_numbers(run):
    """They came out as tracebacks."""
    assert run("count", "shop.orders", "--as-of", "\u00b2")[0] != 0
    assert run("count", "shop.orders", "--between", "\u00b2,\u00b3")[0] != 0
    assert run("changes", "shop.orders", "--start", "\u00b2")[0] != 0
    assert run("changes", "shop.orders", "--start", "9" * 30)[0] != 0


def test_an_argument_that_is_given_twice_is_refused(run):
    """The last one won."""
    code, _, err = run("update", "shop.orders", "--set", "item='q'", "--set", "item='z'", "--where", "id = 1")
    assert (code, "item two values" in err) == (2, True)
    code, _, err = run("call", "create_tag", "table=shop.orders", "tag=a", "tag=b")
    assert (code, "tag is given twice" in err) == (2, True)


def test_json_has_a_text_for_every_value(run, lake):
    """NaN is no JSON, and Python has no days after the year 9999."""
    t = st.connect(lake).create_table("shop.odd", {"x": "DOUBLE", "d": "DATE"}, options={"bucket": "-1"})
    days = pa.array([10_000_000], pa.int32()).cast(pa.date32())
    t.append(pa.table({"x": [float("nan")], "d": days}))
    t.append(pa.table({"x": [float("-inf")], "d": days}))
    code, rows, _ = run("cat", "shop.odd")
    assert (code, sorted(row["x"] for row in rows)) == (0, ["-Infinity", "NaN"])
    assert {row["d"] for row in rows} == {days.cast(pa.string())[0].as_py()}


@pytest.mark.parametrize("form", ["json", "table"])
def test_days_and_times_of_any_year_are_printed_at_any_depth(run, lake, form):
    """Within lists, maps and rows they ended in Python's own OverflowError."""
    row = "ROW<d DATE, t TIMESTAMP(6), i TIMESTAMP_LTZ(3)>"
    columns = {"id": "INT", "r": row, "l": f"ARRAY<{row}>", "m": "MAP<DATE, ARRAY<DATE>>"}
    t = st.connect(lake).create_table("shop.far", columns, options={"bucket": "-1"})
    days = pa.array([5_000_000, -1_000_000, 0, None], pa.int32()).cast(pa.date32())
    micros = pa.array([300_000_000_000_000_001, -100_000_000_000_000_000, 0, None], pa.timestamp("us"))
    instants = pa.array([9_000_000_000_000_001, -1, 1000, None], pa.timestamp("ms", "UTC"))
    rows = pa.StructArray.from_arrays(
        [days, micros, instants], ["d", "t", "i"], mask=pa.array([False, False, False, True])
    )
    offsets = pa.array([0, 2, None, 3, 4], pa.int32())
    lists = pa.ListArray.from_arrays(offsets, rows)
    maps = pa.MapArray.from_arrays(
        pa.array([0, 1, 2, 3, 3], pa.int32()), days[:3], pa.ListArray.from_arrays([0, 1, 2, 3], days[:3])
    )
    t.append(pa.table({"id": pa.array(range(4), pa.int32()), "r": rows, "l": lists, "m": maps}))
    expected = [
        {"d": "15659-07-15", "t": "11476-08-15T05:20:00.000001", "i": "287168-08-24T16:00:00.001000+00:00"},
        {"d": "-0768-02-04", "t": "-1199-02-15T14:13:20", "i": "1969-12-31T23:59:59.999000+00:00"},
        {"d": "1970-01-01", "t": "1970-01-01T00:00:00", "i": "1970-01-01T00:00:01+00:00"},
        None,
    ]
    code, printed, _ = run("cat", "shop.far", output=form)
    assert code == 0
    if form == "table":
        assert "15659" in printed
        return
    printed.sort(key=lambda row: row["id"])
    assert [row["r"] for row in printed] == expected
    assert [row["l"] for row in printed] == [expected[:2], expected[2:3], None, [None]]
    day = [row and row["d"] for row in expected]
    assert [row["m"] for row in printed] == [[[day[0], [day[0]]]], [[day[1], [day[1]]]], [[day[2], [day[2]]]], []]


def test_the_snapshot_of_a_change_hides_no_column(run, lake):
    st.connect(lake).create_table("shop.s", {"id": "INT", "snapshot": "INT"}).append([{"id": 1, "snapshot": 777}])
    assert run("changes", "shop.s")[1] == [{"_snapshot": 1, "rowkind": "+I", "id": 1, "snapshot": 777}]


def test_rows_of_keys_that_may_come_in_any_partition(run, lake):
    t = st.connect(lake).create_table(
        "shop.stock", {"id": "INT", "place": "STRING", "n": "INT"}, primary_key=["id"], partition_by=["place"]
    )
    t.upsert([{"id": i, "place": "north", "n": i} for i in range(4)])
    t.upsert([{"id": 1, "place": "south", "n": 10}])
    assert run("count", "shop.stock")[1] == [{"count": 4}]
    assert run("update", "shop.stock", "--set", "place='south'", "--where", "id = 2")[0] == 0
    assert run("delete", "shop.stock", "--where", "id = 3", "--yes")[0] == 0
    assert run("compact", "shop.stock", "--full")[0] == 0
    rows = [{"id": 0, "place": "north"}, {"id": 1, "place": "south"}, {"id": 2, "place": "south"}]
    assert sorted(run("cat", "shop.stock", "-s", "id,place")[1], key=lambda r: r["id"]) == rows
    assert run("fsck", "shop.stock", "--deep")[0] == 0
    # an index that has forgotten the key
    short = {"cross-partition-upsert.index-ttl": "1 ms"}
    st.open_table(t.location, options=short).upsert([{"id": 0, "place": "south", "n": 0}])
    code, found, _ = run("fsck", "shop.stock", "--deep")
    assert (code, "key-twice" in str(found)) == (5, True)


def test_rescale_takes_its_number_as_it_comes(run):
    """`siltstone rescale TABLE 3` was an unexpected extra argument."""
    assert run("rescale", "shop.orders", "3", "--dry-run")[1][0]["rows"] == 6
    code, _, err = run("rescale", "shop.orders", "3", "--buckets", "4")
    assert code == 2 and "once" in err
    assert run("rescale", "shop.orders", "3")[0] == 0
    assert run("rescale", "shop.orders", "--buckets", "2")[1][0]["notes"][0].endswith("instead of 3")
    assert run("rescale", "shop.orders", "0")[0] == 2


def test_the_package_is_the_command():
    done = subprocess.run([sys.executable, "-m", "siltstone", "version"], capture_output=True, text=True, check=True)
    assert st.__version__ in done.stdout


def test_a_warehouse_that_is_not_there_is_named(run, tmp_path):
    """It looked like an empty one."""
    nowhere = str(tmp_path / "lak")
    for command in (["ls"], ["ls", "shop"], ["show", "shop.orders"], ["cat", "shop.orders"]):
        code, printed, error = run(*command, warehouse=nowhere)
        assert (code, printed) == (3, [])
        assert f"the warehouse directory '{nowhere}' does not exist" in error


def test_a_procedure_that_is_taken_for_a_command_is_told_apart(run):
    for name in ("rewrite_file_index", "rewrite-file-index", "sys.rewrite_file_index"):
        code, _, error = run(name, "shop.orders")
        assert code == 2
        assert "siltstone call rewrite_file_index table=" in error
    assert "No such command 'rewrite_file_indexes'" in run("rewrite_file_indexes")[2]


def test_nothing_is_shown_where_nothing_is(run):
    """`doctor` showed NULL beside each thing that needs no reason; rows of tables have NULL."""
    assert "NULL" not in run("doctor", "shop.orders", output="table")[1]
    assert any(line["reason"] is None for line in run("doctor", "shop.orders")[1])


def test_a_row_that_is_too_wide_for_the_terminal_is_a_record(run, lake, monkeypatch):
    """Thirteen columns side by side had four characters each."""
    t = st.connect(lake).table("shop.orders")
    t.alter().set_option("file-index.bitmap.columns", "item").commit()
    t.rewrite_file_index()
    monkeypatch.setenv("COLUMNS", "80")
    lines = [line.rstrip() for line in run("cat", "shop.orders$file_indexes", output="table")[1].splitlines()]
    assert [line for line in lines if line.startswith("index_type")] == [f"{'index_type':31}bitmap"] * 2
    assert lines.count("") == 1
    monkeypatch.setenv("COLUMNS", "600")
    assert len(run("cat", "shop.orders$file_indexes", output="table")[1].splitlines()) == 3


@pytest.mark.parametrize("columns", ["0", "1", "wide"])
def test_a_width_that_nothing_fits_into_is_none(run, monkeypatch, columns):
    """Nothing was printed, or empty lines, and the command ended well."""
    monkeypatch.setenv("COLUMNS", columns)
    assert "id" in run("cat", "shop.orders", output="table")[1]
