"""Tables are made on the command line as they are in Python."""

import io
import json

import pytest
import siltstone as st
from siltstone.cli.__main__ import main


@pytest.fixture
def lake(tmp_path):
    st.connect(tmp_path / "lake").create_database("shop")
    return str(tmp_path / "lake")


@pytest.fixture
def run(lake, capsys):
    def run(*args):
        code = 0
        try:
            main(["-w", lake, "-o", "json", *args])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        return code, [json.loads(line) for line in out.splitlines()], err

    return run


def test_the_first_table_of_a_new_warehouse_brings_its_database_when_asked(run, lake):
    arguments = ("create", "sales.orders", "--column", "id BIGINT")
    code, _, err = run(*arguments)
    assert (code, "sales" in err, st.connect(lake).databases()) == (3, True, ["shop"])
    assert run("create", "orders", "--create-database", "--column", "id BIGINT")[0] != 0
    assert st.connect(lake).databases() == ["shop"]
    assert run(*arguments, "--create-database")[0] == 0
    assert st.connect(lake).tables("sales") == ["orders"]
    assert run("create", "sales.more", "--create-database", "--column", "id BIGINT")[0] == 0


@pytest.mark.parametrize("command", ["create", "call"])
def test_examples_in_the_help_stand_on_lines_of_their_own(command, capsys):
    """They came as one paragraph, behind a backslash and a b."""
    main([command, "--help"])
    out = capsys.readouterr().out
    assert "\\" not in out
    examples = [line.strip() for line in out.splitlines() if line.strip().startswith(f"siltstone {command} ")]
    assert len(examples) == 2


def test_a_table_without_a_word_about_buckets(run, lake):
    code, made, _ = run("create", "shop.orders", "--column", "id BIGINT", "--column", "v STRING", "--primary-key", "id")
    assert (code, made[0]["buckets"], made[0]["primary_key"]) == (0, "dynamic", ["id"])
    t = st.connect(lake).table("shop.orders")
    t.upsert([{"id": 1, "v": "a"}])
    t.upsert([{"id": 1, "v": "b"}])
    assert t.scan().to_arrow().to_pylist() == [{"id": 1, "v": "b"}]
    assert "bucket" not in t.options


def test_everything_that_a_table_has(run, lake):
    columns = ["dt DATE", "id BIGINT NOT NULL", "amount DECIMAL(12, 2)", "at TIMESTAMP(3) WITH LOCAL TIME ZONE"]
    given = [part for column in columns for part in ("--column", column)]
    options = ("--option", "bucket=4", "--option", "snapshot.num-retained.min=7")
    names = ("--primary-key", "dt, id", "--partition-by", "dt")
    assert run("create", "shop.t", *given, *names, *options, "--comment", "orders")[0] == 0
    t = st.connect(lake).table("shop.t")
    assert (t.primary_key, t.partition_by, t.comment, t.bucket_mode) == (["dt", "id"], ["dt"], "orders", "fixed")
    assert (t.options["bucket"], t.options["snapshot.num-retained.min"]) == ("4", "7")
    assert str(t.schema.field("amount").type) == "decimal128(12, 2)"
    assert str(t.schema.field("at").type) == "timestamp[ms, tz=UTC]"


def test_columns_from_a_file_or_the_input(run, lake, tmp_path, monkeypatch):
    path = tmp_path / "columns.json"
    path.write_text('{"a b": "INT", "v": "STRING"}')
    assert run("create", "shop.a", "--schema", str(path))[0] == 0
    assert st.connect(lake).table("shop.a").schema.names == ["a b", "v"]
    row = {"name": "r", "type": {"type": "ROW", "fields": [{"name": "x", "type": "INT"}]}, "description": "inside"}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps([{"name": "id", "type": "INT"}, row])))
    assert run("create", "shop.b", "--schema", "-", "--primary-key", "id")[0] == 0
    assert str(st.connect(lake).table("shop.b").schema.field("r").type) == "struct<x: int32>"


def test_a_table_that_exists(run):
    create = ("create", "shop.t", "--column", "id INT")
    assert run(*create)[0] == 0
    code, _, err = run(*create)
    assert code == 1 and "exists" in err
    code, made, _ = run(*create, "--if-not-exists")
    assert (code, made[0]["buckets"]) == (0, "unaware")


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        ((), 2, "give the columns"),
        (("--column", "id"), 2, "not 'NAME TYPE'"),
        (("--column", " "), 2, "not 'NAME TYPE'"),
        (("--column", "id INT", "--column", "id STRING"), 2, "id twice"),
        (("--column", "id INT", "--option", "bucket"), 2, "not KEY=VALUE"),
        (("--column", "id INT", "--option", "bucket=1", "--option", "bucket=2"), 2, "bucket twice"),
        (("--column", "id INT", "--primary-key", "id,"), 2, "empty name"),
        (("--column", "id INTT"), 1, "INTT"),
        (("--column", "id INT", "--option", "buckets=1"), 2, "did you mean 'bucket'"),
        (("--column", "id INT", "--primary-key", "key"), 1, "key"),
    ],
)
def test_what_cannot_be_is_refused_and_makes_nothing(run, args, code, text):
    found, _, err = run("create", "shop.t", *args)
    assert found == code and text in err, err
    assert run("ls", "shop")[1] == []


def test_json_of_columns_is_read_strictly(run, tmp_path):
    path = tmp_path / "columns.json"
    for content, text in (('{"id": "INT", "id": "STRING"}', "id twice"), ("{", "not JSON"), ("3", "not a schema")):
        path.write_text(content)
        code, _, err = run("create", "shop.t", "--schema", str(path))
        assert code in (1, 2) and text in err, err
    assert run("create", "nowhere.t", "--column", "id INT")[0] == 3
