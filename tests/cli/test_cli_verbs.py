"""Verbs that change tables and exchange rows with files, and the forms of the output."""

import csv
import datetime as dt
import decimal
import io
import json

import pyarrow.parquet as pq
import pytest
import siltstone as st
from commands import runner
from siltstone.cli import output
from siltstone.cli.__main__ import main


@pytest.fixture
def lake(tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("shop")
    t = cat.create_table("shop.days", {"dt": "STRING", "id": "BIGINT", "v": "DOUBLE"}, partition_by="dt")
    t.append([{"dt": "a", "id": 1, "v": float("nan")}, {"dt": "b", "id": 2, "v": None}])
    return tmp_path / "lake"


@pytest.fixture
def run(lake, capsys, monkeypatch):
    return runner(lake, capsys, monkeypatch)


def table(lake, name="shop.days"):
    return st.connect(lake).table(name)


def test_the_form_of_the_output_may_stand_anywhere(run):
    wanted = '{"count": 2}\n'
    for args in (("-o", "json", "count", "shop.days"), ("count", "shop.days", "-o", "json"),
                 ("count", "--output=json", "shop.days")):  # fmt: skip
        assert run(*args)[1] == wanted


def test_csv_and_json_are_valid_for_every_value(run, lake):
    table(lake).append([{"dt": 'x,"y"\n', "id": 3, "v": 1.5}])
    text = run("cat", "shop.days", "-o", "csv")[1]
    assert sorted(csv.reader(io.StringIO(text))) == [
        ["a", "1", "nan"],
        ["b", "2", ""],
        ["dt", "id", "v"],
        ['x,"y"\n', "3", "1.5"],
    ]
    lines = [json.loads(line) for line in run("cat", "shop.days", "-o", "json")[1].splitlines()]
    assert {row["id"]: row["v"] for row in lines} == {1: "NaN", 2: None, 3: 1.5}


def test_a_pipe_gets_lines_that_are_not_folded(run, lake):
    st.connect(lake).create_table("shop.wide", {f"c{i}": str for i in range(30)}).append(
        [{f"c{i}": "x" * 20 for i in range(30)}]
    )
    lines = run("cat", "shop.wide")[1].splitlines()
    assert len(lines) == 2
    assert lines[1].split() == ["x" * 20] * 30


def test_escape_sequences_of_names_and_values_are_shown(run, lake):
    table(lake).append([{"dt": "\x1b[31mred", "id": 9, "v": 0.0}])
    for args in (("cat", "shop.days", "--where", "id = 9"), ("partitions", "shop.days"), ("sql", "from shop.days")):
        code, out, _ = run(*args)
        assert code == 0
        assert "\x1b" not in out
        assert "red" in out


def test_version_help_and_completion(run):
    assert run("--version")[1] == f"siltstone, version {st.__version__}\n"
    assert "Create a tag." in run("help", "tag", "create")[1]
    assert run("help", "nothing")[0] == 2
    assert "_SILTSTONE_COMPLETE" in run("completion", "bash")[1]


def test_import_makes_a_table_and_write_adds_to_it(run, lake, tmp_path):
    (tmp_path / "in.csv").write_text("id,item\n1,pen\n2,\n")
    code, out, _ = run(
        "import", "office.items", str(tmp_path / "in.csv"), "--primary-key", "id", "--create-database", "-o", "json"
    )
    assert (code, json.loads(out)["rows"]) == (0, 2)
    assert json.loads(out)["columns"] == {"id": "int64", "item": "string"}
    assert (
        run("write", "office.items", "-", "--format", "json", "--mode", "upsert", stdin='{"id": 2, "item": "ink"}')[0]
        == 0
    )
    t = table(lake, "office.items")
    assert t.get([1, 2]).to_pylist() == [{"id": 1, "item": "pen"}, {"id": 2, "item": "ink"}]
    assert run("write", "office.items", "-")[0] == 2
    assert run("write", "office.items", str(tmp_path / "none.csv"))[0] == 3
    assert run("write", "shop.days", str(tmp_path / "in.csv"), "--mode", "upsert")[0] == 2


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.json", "out.arrow"])
def test_what_is_exported_can_be_written_again(run, lake, tmp_path, name):
    table(lake).update({"v": 1.5}, where="true")
    path = tmp_path / name
    assert run("export", "shop.days", str(path), "--where", "dt = 'a'", "-o", "json")[0] == 0
    assert run("export", "shop.days", str(path))[0] == 2
    assert run("export", "shop.days", str(path), "--force")[0] == 0
    assert run("write", "shop.days", str(path), "--mode", "overwrite")[0] == 0
    assert sorted(table(lake).to_pylist(), key=lambda r: r["id"]) == [
        {"dt": "a", "id": 1, "v": 1.5},
        {"dt": "b", "id": 2, "v": 1.5},
    ]
    if name == "out.parquet":
        assert pq.read_table(path).num_rows == 2
    assert run("export", "shop.days", str(tmp_path / "out.xyz"))[0] == 2
    assert not list(tmp_path.glob(".out*"))


ODD = {
    "f": ("DOUBLE", [float("nan"), float("inf"), -0.0, None]),
    "g": ("FLOAT", [123456790.0, 16777216.0, 1e-45, None]),
    "s": ("STRING", ["", "NaN", 'a,"b"\nnull', None]),
    "b": ("BYTES", [b"", b"text", b"NA", None]),
    "n": ("DECIMAL(20, 2)", [decimal.Decimal("12345678901234567.89"), decimal.Decimal("0.00"), None, None]),
    "t": ("TIMESTAMP(6)", [dt.datetime(2026, 1, 1, 0, 0, 0, 1), dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31), None]),
    "z": ("TIMESTAMP_LTZ(3)", [dt.datetime(2026, 1, 1, tzinfo=dt.UTC), None, None, None]),
    "c": ("TIME(3)", [dt.time(8, 30, 0, 5000), dt.time(0), None, None]),
    "d": ("DATE", [dt.date(2026, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "o": ("BOOLEAN", [True, False, None, None]),
}
NESTED = {
    "r": ("ROW<f DOUBLE, b BYTES, t TIMESTAMP(9)>", [{"f": float("nan"), "b": b"\xff\x00", "t": None}, None]),
    "m": ("MAP<INT, DECIMAL(4, 1)>", [[(1, decimal.Decimal("1.5"))], []]),
    "l": ("ARRAY<STRING>", [["", None], None]),
}


@pytest.mark.parametrize(
    ("name", "columns"),
    [(f"out.{kind}", ODD) for kind in ("csv", "json", "parquet", "arrow")]
    + [(f"out.{kind}", NESTED) for kind in ("json", "parquet", "arrow")],
)
def test_odd_values_come_back_as_they_were_exported(run, lake, tmp_path, name, columns):
    """NaN came back from CSV as null, null as the empty text, and bytes from JSON as their base64."""
    cat, path = st.connect(lake), str(tmp_path / name)
    t = cat.create_table("shop.odd", {column: kind for column, (kind, _) in columns.items()})
    t.append({column: values for column, (_, values) in columns.items()})
    before = repr(t.scan().to_arrow().to_pydict())
    assert run("export", "shop.odd", path)[0] == 0
    code, _, err = run("write", "shop.odd", path, "--mode", "overwrite")
    assert (code, err) == (0, "")
    assert repr(table(lake, "shop.odd").scan().to_arrow().to_pydict()) == before


def test_what_csv_cannot_hold_says_what_can(run, lake, tmp_path):
    t = st.connect(lake).create_table("shop.odd", {"b": "BYTES", "l": "ARRAY<INT>"})
    t.append([{"b": b"\xff", "l": [1]}])
    for column in "bl":
        code, _, err = run("export", "shop.odd", str(tmp_path / "out.csv"), "-s", column)
        assert code != 0
        assert ".parquet" in err
    assert not (tmp_path / "out.csv").exists()


def test_what_deletes_asks_first(run, lake):
    for args in (
        ("delete", "shop.days", "--where", "id = 1"),
        ("drop-partition", "shop.days", "dt=a"),
        ("alter", "shop.days", "--drop-column", "v"),
        ("drop", "shop.days"),
    ):
        code, _, err = run(*args, stdin="n\n")
        assert code == 1
        assert "[y/N]" in err
        assert table(lake).count() == 2
        assert "v" in table(lake).schema.names
    assert (
        json.loads(run("delete", "shop.days", "--where", "id = 1", "--dry-run", "-o", "json")[1])["affected_rows"] == 1
    )
    assert json.loads(run("drop-partition", "shop.days", "dt=a", "--dry-run", "-o", "json")[1])["rows"] == 1
    assert table(lake).count() == 2
    assert run("drop-partition", "shop.days", "dt=a", "--yes")[0] == 0
    assert [row["dt"] for row in table(lake)] == ["b"]
    assert run("delete", "shop.days", "--where", "id = 2", stdin="y\n")[0] == 0
    assert table(lake).count() == 0
    assert run("drop", "shop.days", "-y")[0] == 0
    assert run("drop", "shop.days", "-y")[0] == 3
    assert run("drop", "shop.days", "-y", "--if-exists")[0] == 0
    assert run("drop", "shop.")[0] == 0
    assert st.connect(lake).databases() == []


def test_alter_and_rename(run, lake):
    given = ["--rename-column", "v=w", "--add-column", "note STRING", "--set-type", "id DECIMAL(20, 0)",
             "--set", "snapshot.num-retained.max=99", "--comment", "of the shop"]  # fmt: skip
    assert run("alter", "shop.days", *given)[0] == 0
    t = table(lake)
    assert t.schema.names == ["dt", "id", "w", "note"]
    assert (t.comment, t.options["snapshot.num-retained.max"]) == ("of the shop", "99")
    assert run("alter", "shop.days", "--unset", "snapshot.num-retained.max")[0] == 0
    assert run("alter", "shop.days")[0] == 2
    assert run("alter", "shop.days", "--add-column", "x")[0] == 2
    assert run("rename", "shop.days", "shop.nights")[0] == 0
    assert table(lake, "shop.nights").count() == 2


def test_partitions_explain_and_plan(run):
    rows = [json.loads(line) for line in run("partitions", "shop.days", "-o", "json")[1].splitlines()]
    assert [(row["dt"], row["rows"]) for row in rows] == [("a", 1), ("b", 1)]
    assert "files    1 of 1" in run("explain", "shop.days", "--where", "dt = 'a'")[1]
    assert run("plan", "shop.days", "-o", "json")[0] == 0


def test_sql_reads_tables_of_the_catalog(run):
    query = "select d.dt, count(*) as n from shop.days d join shop.days e using (id) group by all order by 1"
    assert run("sql", query, "-o", "csv")[1] == "dt,n\na,1\nb,1\n"
    for bad in ("drop table shop.days", "select 1; select 2", "select * from days", "insert"):
        assert run("sql", bad)[0] == 2
    assert run("sql", "select * from shop.nothing")[0] == 3


def test_a_narrower_type_is_asked_for(run, lake):
    """All amounts above 999.99 were read as NULL, after a compaction for good, and nobody had said a word."""
    t = table(lake)
    t.alter().add_column("amount", "DECIMAL(10, 2)").commit()
    t = table(lake)
    t.append([{"dt": "c", "id": 100_000, "v": 1.0, "amount": decimal.Decimal("1234.56")}])
    narrower = ("alter", "shop.days", "--set-type", "amount DECIMAL(5, 2)", "--set-type", "id SMALLINT")
    for answer in ("n\n", ""):
        code, _, err = run(*narrower, stdin=answer)
        assert code == 1
        assert (
            "column 'amount' was DECIMAL(10, 2) and becomes DECIMAL(5, 2): a number with too many digits becomes NULL"
            in err
        )
        assert "column 'id' was BIGINT and becomes SMALLINT: a number out of its range becomes another number" in err
        assert ("give --yes where nobody can" in err) is (not answer)
    assert table(lake).schema_id == t.schema_id
    assert run("alter", "shop.days", "--set-type", "amount DECIMAL(12, 2)")[0] == 0
    assert run("alter", "shop.days", "--set-type", "amount DECIMAL(5, 2)", "--yes")[0] == 0
    assert {row["amount"] for row in table(lake)} == {None}


def test_nothing_to_do_is_no_question(run):
    for group in ("tags", "snapshots"):
        code, _, err = run("expire", group, "shop.days")
        assert (code, "[y/N]" in err) == (0, False)


def test_ctrl_c_says_what_it_means_and_has_a_code_of_its_own(run, lake, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(st.Table, "compact", stopped)
    monkeypatch.setattr("siltstone.maintenance.Maintenance.compact", stopped)
    code, out, err = run("compact", "shop.days", "--full")
    assert (code, out) == (130, "")
    assert "stopped: commits that were done before stay, and nothing else was changed" in err


def test_ctrl_c_says_what_a_call_has_left(run, lake, monkeypatch):
    def stopped(*_, **__):
        interrupt = KeyboardInterrupt()
        interrupt.add_note("'days' was deleted; some of its files are left (path: /x)")
        raise interrupt

    monkeypatch.setattr(st.Table, "compact", stopped)
    monkeypatch.setattr("siltstone.maintenance.Maintenance.compact", stopped)
    code, _, err = run("compact", "shop.days", "--full")
    assert code == 130
    assert "stopped: 'days' was deleted; some of its files are left (path: /x)" in err
    assert "nothing else" not in err


def test_commands_of_other_programs_are_told(run):
    for name, here in (
        ("snapshots", "history TABLE"),
        ("describe", "show TABLE"),
        ("vacuum", "clean orphans TABLE"),
        ("optimize", "compact TABLE"),
        ("hitsory", "siltstone history"),
    ):
        code, _, err = run(name, "shop.days")
        assert code == 2
        assert here in err
    for statement, here in (
        ("delete from shop.days", "siltstone delete TABLE --where"),
        ("UPDATE shop.days SET v = 1", "siltstone update TABLE --set"),
        ("create table shop.x (a int)", "siltstone create TABLE"),
        ("select * from shop.days version as of 1", "siltstone cat TABLE with --version"),
    ):
        code, _, err = run("sql", statement)
        assert code == 2
        assert here in err
    assert "\\n" not in run("sql", 'select * from "shop.days$snapshots"')[2]
    assert run("sql", 'select count(*) as n from shop."days$snapshots"', "-o", "json")[1] == '{"n": 1}\n'


def test_options_of_the_program_may_stand_behind_the_command(run):
    code, _, err = run("cat", "shop.days", "-o", "xml")
    assert code == 2
    assert "'xml' is not one of 'table', 'json', 'csv'" in err
    assert run("count", "shop.days", "-v", "--no-color", "--no-progress", "-o", "json")[:2] == (0, '{"count": 2}\n')


def test_hints_name_options_and_not_arguments_of_python(run, lake):
    assert "--allow-numeric" in run("tag", "create", "shop.days", "2026")[2]
    assert "siltstone create DB.TABLE --create-database" in run("-w", str(lake / "none"), "ls")[2]


@pytest.mark.parametrize(
    ("args", "here"),
    [
        (("create-database", "x"), "create DATABASE.TABLE --create-database"),
        (("rename-column", "shop.days"), "alter TABLE --rename-column OLD=NEW"),
        (("create", "shop.new", "in.csv"), "import TABLE FILE makes a table of a file"),
        (("create", "shop.new", "id INT"), "--column 'NAME TYPE'"),
        (("alter", "shop.days", "add-column", "z", "INT"), "--add-column 'NAME TYPE'"),
        (("expire", "shop.days"), "siltstone expire is followed by one of partitions, snapshots, tags"),
        (("cat", "shop.days", "--filter", "id = 1"), "--where"),
        (("cat", "shop.days", "--columns", "id"), "--select"),
        (("rollback", "shop.days", "--version", "1"), "--to"),
        (("count", "shop.days", "--nonsense"), "No such option"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_words_of_others_and_of_the_api_lead_to_the_commands(run, args, here):
    code, _, err = run(*args)
    assert code == 2
    assert here in err


def test_the_warehouse_may_stand_anywhere(lake, capsys):
    for args in (("count", "shop.days", "-w", str(lake)), ("count", f"--warehouse={lake}", "shop.days")):
        main(list(args))
        assert capsys.readouterr().out == "2\n"


@pytest.mark.parametrize(
    ("width", "has"),
    [("160", ["user", "identifier"]), ("80", ["identifier"]), ("68", [])],
)
def test_the_history_has_one_line_for_a_version_where_the_terminal_is_narrow(run, lake, monkeypatch, width, has):
    """Times and users of 36 letters were folded into three lines each at 80 columns."""
    table(lake).delete("id = 1")
    real = run("history", "shop.days", "-o", "json")[1].splitlines()
    monkeypatch.setattr(output, "_width", lambda: int(width))
    lines = run("history", "shop.days")[1].splitlines()
    names = ["id", "time", "kind", "user", "identifier", "total_rows", "delta_rows"]
    assert lines[0].split() == [n for n in names if n in has or n not in {"user", "identifier"}]
    assert len(lines) == 1 + len(real)
    assert lines[1].split()[1] in real[0].replace("000+00:00", "+00:00")
