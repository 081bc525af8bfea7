"""The command line, as a user types it."""

import json

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
    assert shown["levels"] == [{"level": 0, "files": 2, "rows": 6, "bytes": shown["levels"][0]["bytes"]}]
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


def test_system_tables_are_printed_by_name_and_by_directory(run, lake):
    by_name = run("cat", "shop.orders$snapshots", "-s", "snapshot_id,commit_kind")[1]
    assert by_name == [{"snapshot_id": 1, "commit_kind": "APPEND"}, {"snapshot_id": 2, "commit_kind": "APPEND"}]
    path = f"{lake}/shop.db/orders"
    assert run("cat", path + "$files", "-s", "level", "--where", "record_count = 1")[1] == [{"level": 0}]
    assert run("count", path + "$tags")[1] == [{"count": 0}]
    assert run("cat", path + "$files$tags")[0] == 2
    assert run("cat", "shop.orders$nope")[0] == 3
