"""DuckDB takes names that differ only in case for one name, and renames the second one without a word: a query of the column
``A`` gave the values of ``a``, and a field of a ROW those of another.
"""

import subprocess
import sys
import textwrap

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.cli.__main__ import main

duckdb = pytest.importorskip("duckdb")

ALIKE = {
    "columns": ({"a": "INT", "A": "INT", "a_1": "INT", "A_1": "STRING"}, "'a' and 'A'", "A"),
    "fields": ({"id": "INT", "r": "ROW<x INT, X INT>"}, "'x' and 'X'", "r"),
    "fields in an array": ({"id": "INT", "l": "ARRAY<ROW<x INT, X INT>>"}, "'x' and 'X'", "l.element"),
    "fields in a map": ({"id": "INT", "m": "MAP<STRING, ROW<x INT, X INT>>"}, "'x' and 'X'", "m."),
}


@pytest.fixture
def cat(tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("db")
    return cat


@pytest.mark.parametrize(("columns", "said", "column"), ALIKE.values(), ids=ALIKE.keys())
def test_names_that_duckdb_takes_for_one_are_refused(cat, capsys, columns, said, column):
    t = cat.create_table("db.t", columns)
    for attempt in (t.to_duckdb, t.scan().to_duckdb, lambda: t.to_duckdb(duckdb.connect())):
        with pytest.raises(e.UnsupportedFeature, match=said) as caught:
            attempt()
        assert caught.value.context["column"].startswith(column)
        assert caught.value.hint
    with pytest.raises(SystemExit) as stop:
        main(["-w", cat.warehouse, "sql", 'select * from db."t"'])
    assert stop.value.code == 1
    assert said in capsys.readouterr().err


def test_columns_that_are_left_out_are_in_nobodys_way(cat):
    t = cat.create_table("db.t", {"a": "INT", "A": "INT", "r": "ROW<x INT, X INT>"})
    t.append([{"a": 1, "A": 2}])
    assert t.scan(["A"]).to_duckdb().fetchall() == [(2,)]


def test_other_letters_have_their_case_in_duckdb(cat):
    t = cat.create_table("db.t", {"ä": "INT", "Ä": "INT", "r": "ROW<ö INT, Ö INT>"})
    t.append([{"ä": 1, "Ä": 2, "r": {"ö": 3, "Ö": 4}}])
    assert t.to_duckdb().project('"Ä", "ä", r."Ö", r."ö"').fetchall() == [(2, 1, 4, 3)]


def test_without_pyarrow_names_are_looked_at_too(tmp_path):
    code = """
    import sys
    sys.modules["pyarrow"] = None
    import pytest, siltstone as st
    cat = st.connect(sys.argv[1])
    cat.create_database("db")
    t = cat.create_table("db.t", {"a": "INT", "r": "ROW<x INT, X INT>"})
    with pytest.raises(st.errors.UnsupportedFeature, match="'x' and 'X'"):
        t.to_duckdb()
    assert cat.create_table("db.u", {"a": "INT", "r": "ROW<x INT, y INT>"}).to_duckdb().fetchall() == []
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "plain")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_tables_that_duckdb_takes_for_one_are_refused(cat, capsys):
    """``View with name t already exists`` was all that was said."""
    for name in ("db.t", "db.T"):
        cat.create_table(name, {"a": "INT"})
    with pytest.raises(SystemExit) as stop:
        main(["-w", cat.warehouse, "sql", "select * from db.t, db.T"])
    assert stop.value.code == 2
    assert "'db.T' and 'db.t' differ only in case" in capsys.readouterr().err
    main(["-w", cat.warehouse, "-o", "csv", "sql", "select count(*) as n from db.T"])
    assert capsys.readouterr().out.split() == ["n", "0"]


@pytest.mark.parametrize("database", ["temp", "information_schema", "system", "pg_catalog", "memory", "Temp"])
def test_databases_that_duckdb_has_itself_are_refused(cat, capsys, database):
    cat.create_database(database)
    cat.create_table(f"{database}.t", {"a": "INT"})
    with pytest.raises(SystemExit) as stop:
        main(["-w", cat.warehouse, "sql", f"select * from {database}.t"])
    assert stop.value.code == 2
    assert f"the database '{database}'" in capsys.readouterr().err
