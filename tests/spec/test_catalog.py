"""Catalogs: databases, tables, and what create_table refuses."""

import os
import pickle
import sys

import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors as e

PK = {"schema": {"id": "BIGINT", "v": "STRING"}, "primary_key": ["id"]}


def test_databases_and_tables_come_and_go(tmp_path):
    cat = st.connect(tmp_path)
    assert cat.databases() == []
    cat.create_database("shop")
    cat.create_database("shop", if_not_exists=True)
    with pytest.raises(e.DatabaseExists):
        cat.create_database("shop")
    cat.create_table("shop.orders", PK["schema"], primary_key=["id"], options={"bucket": "1"})
    assert cat.tables("shop") == ["orders"]
    cat.rename_table("shop.orders", "shop.old")
    assert cat.tables("shop") == ["old"]
    with pytest.raises(e.SiltstoneError, match="not empty"):
        cat.drop_database("shop")
    cat.drop_table("shop.old")
    cat.drop_table("shop.old", if_exists=True)
    cat.drop_database("shop")
    cat.drop_database("shop", if_exists=True)
    assert cat.databases() == []


def test_missing_things_name_what_is_near(cat):
    cat.create_table("db.orders", PK["schema"], primary_key=["id"], options={"bucket": "1"})
    with pytest.raises(e.TableNotFound) as caught:
        cat.table("db.order")
    assert "orders" in str(caught.value)
    with pytest.raises(e.DatabaseNotFound):
        cat.tables("bd")
    with pytest.raises(KeyError):
        cat.table("db.nothing")


def test_a_table_opens_by_name_by_path_and_by_uri(cat):
    t = cat.create_table("db.t", PK["schema"], primary_key=["id"], options={"bucket": "1"}, comment="c")
    for same in (cat.table("db.t"), st.open_table(t.location), st.open_table("file:" + t.location)):
        assert (same.name, same.primary_key, same.comment) == ("db.t", ["id"], "c")
    assert st.open_table("db.t", catalog=cat).location == t.location
    assert pickle.loads(pickle.dumps(t)).location == t.location
    assert cat.create_table("db.t", PK["schema"], primary_key=["id"], options={"bucket": "1"}, if_not_exists=True)
    with pytest.raises(e.TableExists):
        cat.create_table("db.t", PK["schema"], primary_key=["id"], options={"bucket": "1"})


def test_key_columns_become_not_null_and_other_columns_keep_their_nullability(make):
    t = make({"id": "BIGINT", "dt": "STRING", "v": "INT NOT NULL", "w": "INT"}, ["dt", "id"], ["dt"], bucket=1)
    assert [f.nullable for f in t.schema] == [False, False, False, True]


def test_all_types_have_the_documented_arrow_type(make):
    types = {
        "CHAR(3)": pa.string(),
        "VARCHAR(3)": pa.string(),
        "STRING": pa.string(),
        "BINARY(3)": pa.binary(),
        "BYTES": pa.binary(),
        "BOOLEAN": pa.bool_(),
        "TINYINT": pa.int8(),
        "SMALLINT": pa.int16(),
        "INT": pa.int32(),
        "BIGINT": pa.int64(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "DECIMAL(12,2)": pa.decimal128(12, 2),
        "DATE": pa.date32(),
        "TIME(3)": pa.time32("ms"),
        "TIMESTAMP(0)": pa.timestamp("s"),
        "TIMESTAMP(3)": pa.timestamp("ms"),
        "TIMESTAMP(6)": pa.timestamp("us"),
        "TIMESTAMP(9)": pa.timestamp("ns"),
        "TIMESTAMP(6) WITH LOCAL TIME ZONE": pa.timestamp("us", "UTC"),
        "TIMESTAMP_LTZ(3)": pa.timestamp("ms", "UTC"),
    }
    t = make({f"c{i}": name for i, name in enumerate(types)})
    assert [f.type for f in t.schema] == list(types.values())


def test_a_schema_may_be_arrow_or_json(make):
    arrow = pa.schema([("id", pa.int64()), ("tags", pa.list_(pa.string())), ("r", pa.struct([("x", pa.int32())]))])
    t = make(arrow)
    assert t.schema.field("r").type == pa.struct([("x", pa.int32())])
    fields = [
        {"name": "id", "type": "BIGINT"},
        {"name": "m", "type": {"type": "MAP", "key": "STRING", "value": "INT"}},
    ]
    assert make(fields).schema.field("m").type == pa.map_(pa.string(), pa.int32())


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"options": {"bucket": "-3"}}, e.SiltstoneError, "bucket"),
        ({"options": {"dynamic-bucket.max-buckets": "0"}}, e.InvalidOption, "max-buckets"),
        ({"options": {"dynamic-bucket.target-row-num": "0"}}, e.InvalidOption, "target-row-num"),
        ({"options": {"bucket": "1", "buckets": "2"}}, e.UnknownOption, "bucket"),
        ({"options": {"bucket": "1", "num-sorted-run.compaction-triger": "2"}}, e.UnknownOption, "trigger"),
        ({"options": {"bucket": "many"}}, e.InvalidOption, "bucket"),
        ({"options": {"bucket": "1", "target-file-size": "huge"}}, e.InvalidOption, "target-file-size"),
        ({"primary_key": ["nope"]}, e.IllegalSchema, "nope"),
        ({"primary_key": ["id", "id"]}, e.IllegalSchema, "id"),
        ({"partition_by": ["nope"]}, e.IllegalSchema, "nope"),
        ({"partition_by": ["id"]}, e.IllegalSchema, "partition"),
        ({"schema": {"id": "BIGINT", "_KEY_x": "INT"}}, e.IllegalSchema, "_KEY_"),
        ({"schema": {"id": "ARRAY<INT>"}}, e.SchemaError, "id"),
        ({"schema": {"id": "BIGGINT"}}, e.SchemaError, "BIGGINT"),
        ({"schema": {}}, e.IllegalSchema, ""),
        ({"options": {"bucket": "1", "bucket-key": "v"}}, e.SiltstoneError, "bucket-key"),
        ({"options": {"bucket": "1", "sequence.field": "nope"}}, e.SiltstoneError, "nope"),
        (
            {"options": {"bucket": "1", "merge-engine": "first-row", "sequence.field": "v"}},
            e.SiltstoneError,
            "",
        ),
        ({"options": {"bucket": "1", "row-tracking.enabled": "true"}}, e.SiltstoneError, "row-tracking"),
        ({"options": {"bucket": "1", "file.format": "exel"}}, e.SiltstoneError, "file.format"),
    ],
)
def test_create_table_refuses_and_says_why(cat, change, error, says):
    args = {**PK, "options": {"bucket": "1"}, **change}
    schema = args.pop("schema")
    with pytest.raises(error) as caught:
        cat.create_table("db.bad", schema, **args)
    assert says in str(caught.value)
    assert cat.tables("db") == []


@pytest.mark.parametrize("name", ["orders", "a.b.c", "db.", ".t", "db.a/b", "db.a\nb", "nodb.t", "db.t$snapshots"])
def test_create_table_refuses_names_that_are_no_names(cat, name):
    with pytest.raises(e.SiltstoneError):
        cat.create_table(name, PK["schema"], primary_key=["id"], options={"bucket": "1"})


def test_foreign_option_keys_pass_through(make):
    t = make(PK["schema"], PK["primary_key"], bucket=1, owner__team="lake")
    assert t.options["owner.team"] == "lake"


def test_what_is_no_option_is_refused_for_one_handle(make, cat):
    """Such keys did nothing, and nobody was told; in a table they may say something to other programs."""
    t = make(PK["schema"], PK["primary_key"], bucket=1, owner__team="lake")
    for open_with in (
        lambda **options: cat.table(t.name, options=options),
        lambda **options: st.open_table(t.location, options=options),
    ):
        assert open_with(**{"owner.team": "lake", "write-only": "true"}).options["owner.team"] == "lake"
        for key, meant in (("owner.team", None), ("my.key", None), ("write_only", "write-only"), ("tag", None)):
            with pytest.raises(e.UnknownOption, match=f"'{key}' is not an option") as caught:
                open_with(**{key: "other"})
            assert meant is None or f"'{meant}'" in caught.value.hint
    assert t.scan().count() == 0


def test_values_that_no_table_can_have_are_refused_for_one_handle(make, cat):
    """The first write called a file with such a prefix damaged."""
    t = make(PK["schema"], PK["primary_key"], bucket=1)
    for key in ("data-file.prefix", "changelog-file.prefix"):
        for value in ("a/b", "../x", ".hidden"):
            with pytest.raises(e.InvalidOption) as caught:
                cat.table(t.name, options={key: value})
            assert caught.value.context["option"] == key
    with pytest.raises(e.InvalidOption):
        cat.table(t.name, options={"file.compression": "nope"})
    assert cat.table(t.name, options={"data-file.prefix": "part-"}).append([{"id": 1, "v": "a"}]).snapshots


def test_options_change_by_alter(make):
    t = make(PK["schema"], PK["primary_key"], bucket=1)
    t.alter().set_option("num-levels", "4").set_table_comment("new").commit()
    assert (t.options["num-levels"], t.comment) == ("4", "new")
    t.alter().remove_option("num-levels").commit()
    assert "num-levels" not in t.options
    with pytest.raises(e.UnknownOption):
        t.alter().set_option("num-level", "4").commit()
    t.append([{"id": 1, "v": "a"}])
    with pytest.raises(e.SiltstoneError):
        t.alter().set_option("merge-engine", "first-row").commit()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names of bytes that are no text")
def test_a_database_with_a_name_that_is_no_text_is_dropped(cat, tmp_path):
    """No listing has such a name, and the database was emptied again and again without end."""
    place = os.fsencode(tmp_path) + b"/lake/other.db"
    cat.create_database("other")
    for name in (b"\xff", b"\xfe.d/"):
        path = os.path.join(place, name)
        if name.endswith(b"/"):
            os.mkdir(path)
        else:
            open(path, "wb").close()
    cat.drop_database("other", cascade=True)
    assert not os.path.exists(place)


def test_a_warehouse_that_is_not_there_is_no_empty_one(tmp_path):
    """A mistyped path looked like a catalog without databases."""
    nowhere = tmp_path / "lak"
    cat = st.connect(nowhere)
    with pytest.raises(e.FileMissing, match="lak' does not exist") as raised:
        cat.databases()
    assert "create_database" in raised.value.hint
    for read in (lambda: cat.tables("shop"), lambda: cat.table("shop.orders")):
        with pytest.raises(e.DatabaseNotFound) as raised:
            read()
        assert str(nowhere) in str(raised.value) and "spelling" in raised.value.hint
    assert not nowhere.exists()
    cat.create_database("shop")
    assert cat.databases() == ["shop"]
