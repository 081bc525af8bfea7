"""What commands say and ask before they do something that nobody can take back, and where there is nothing to do."""

import datetime as dt
import os

import pytest
import siltstone as st
from commands import runner
from siltstone.cli.__main__ import main


@pytest.fixture
def lake(tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("shop")
    t = cat.create_table("shop.o", {"id": "INT"}, primary_key="id", options={"bucket": "1", "write-only": "true"})
    for number in range(3):
        t.append([{"id": number}])
    t.tags.create("v2", version=2)
    t.branches.create("fix", version=1)
    return tmp_path / "lake"


@pytest.fixture
def run(lake, capsys, monkeypatch):
    return runner(lake, capsys, monkeypatch)


def table(lake, name="shop.o"):
    return st.connect(lake).table(name)


def test_a_fast_forward_says_that_main_is_replaced(run, lake):
    """The question was 'delete 0 files?', and 2000 rows became 55."""
    code, _, err = run("branch", "fast-forward", "shop.o", "fix", stdin="n\n")
    assert code == 1
    assert (
        "main is at snapshot 3 with 3 rows in files, branch 'fix' at snapshot 1 with 1 rows in files: "
        "replace main by the branch, and remove 2 snapshots and 1 tag of main?" in err
    )
    assert table(lake).count() == 3
    assert run("branch", "fast-forward", "shop.o", "fix", stdin="y\n")[0] == 0
    assert table(lake).count() == 1


def test_a_rollback_says_what_it_removes(run, lake):
    code, _, err = run("rollback", "shop.o", "--to", "1", stdin="n\n")
    assert code == 1
    assert "go back to snapshot 1, and remove 2 snapshots and 1 tag after it?" in err
    assert run("rollback", "shop.o", "--to", "3")[::2] == (0, "")
    assert len(table(lake).history()) == 3


def test_an_expiry_of_partitions_asks_for_partitions(run, lake):
    t = st.connect(lake).create_table("shop.days", {"d": "STRING", "n": "INT"}, partition_by="d")
    t.append([{"d": f"2020-01-{day:02}", "n": day} for day in range(1, 6)])
    code, _, err = run("expire", "partitions", "shop.days", "--expiration-time", "9 d", stdin="n\n")
    assert code == 1
    assert "drop 5 partitions with all their rows?" in err
    assert table(lake, "shop.days").count() == 5
    assert "expire partitions needs --expiration-time" in run("expire", "partitions", "shop.days")[2]


def test_where_there_is_nothing_to_delete_nothing_is_asked(run, lake):
    """A cron job that cleaned a table without orphans ended with 1, because nobody answered 'delete 0 files?'."""
    t = table(lake)
    for file in (lake / "shop.db" / "o").rglob("*"):
        os.utime(file, (1e9, 1e9))
    plan = t.maintenance.remove_orphan_files()
    assert plan.deleted_files == 0
    assert plan.details["examined_files"] > 0
    code, out, err = run("clean", "orphans", "shop.o", "--delete")
    assert (code, err) == (0, "")
    assert "deleted_files" in out


def test_a_plan_without_tasks_says_that_there_is_nothing_to_do(run, lake):
    table(lake).compact(full=True)
    for command in (["plan", "shop.o", "--full"], ["compact", "shop.o", "--full", "--dry-run"]):
        code, _, err = run(*command)
        assert (code, err) == (0, "nothing to do\n")


def test_a_format_beside_a_file_is_refused(run, tmp_path):
    """It was ignored."""
    (tmp_path / "rows.txt").write_text("id\n7\n")
    code, _, err = run("write", "shop.o", str(tmp_path / "rows.txt"), "--format", "csv")
    assert code == 2
    assert "--format is for the standard input (-)" in err


def test_a_command_without_a_warehouse_does_not_speak_of_tables(capsys, monkeypatch):
    for name in ("SILTSTONE_WAREHOUSE", "SILTSTONE_CATALOG"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SystemExit) as stop:
        main(["ls"])
    assert stop.value.code == 2
    assert "no warehouse is given: give --warehouse DIR" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("statement", "here"),
    [
        ("show tables", "siltstone ls"),
        ("SHOW TABLES FROM shop;", "siltstone ls DATABASE"),
        ("describe", "siltstone ls"),
        ("show databases", "siltstone ls"),
        ("describe shop.o", "siltstone show TABLE"),
        ("from information_schema.tables", "siltstone ls"),
    ],
)
def test_what_duckdb_cannot_know_of_tables_is_refused(run, statement, here):
    """SHOW TABLES listed nothing, and DESCRIBE said that columns of the key may be null."""
    code, out, err = run("sql", statement)
    assert (code, out) == (2, "")
    assert here in err


def test_a_query_may_still_be_described(run):
    for statement in ("describe select id from shop.o", "summarize shop.o", "select 'show tables' as described"):
        assert run("sql", statement)[0] == 0


def test_damage_that_a_query_meets_is_no_wrong_usage(run, lake):
    """It ended with 2, the code of wrong usage, and a traceback of Python in the message."""
    t = st.connect(lake).create_table("shop.days", {"d": "DATE"})
    t.append([{"d": dt.date(2026, 1, 1)}])
    for query in ("select * from shop.o", "select count(*) from shop.o join shop.days on true"):
        for file in (lake / "shop.db" / "o" / "bucket-0").glob("data-*"):
            file.unlink()
        code, _, err = run("sql", query)
        assert code == 1
        assert err.startswith("error: the file does not exist (file: ")
        assert "\nhint: siltstone fsck TABLE says which versions need it" in err
        assert not {"Traceback", "Usage", "DuckDB"} & set(err.replace(":", " ").split())


def test_a_value_that_a_query_cannot_cast_is_a_failure_and_a_wrong_name_wrong_usage(run):
    assert run("sql", "select cast('x' as int) from shop.o")[0] == 1
    assert run("sql", "select nothing from shop.o")[0] == 2
