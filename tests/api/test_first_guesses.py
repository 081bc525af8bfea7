"""Everyday tasks as somebody types them who knows pypaimon, deltalake, polars and duckdb: each is one test."""

import dataclasses
import datetime as dt
import decimal
import gc
import io
import pickle
import re
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
import rich.console
import siltstone as st
from siltstone import errors as e

ROWS = [{"dt": "a", "id": 1, "item": "pen", "n": 5}, {"dt": "b", "id": 2, "item": "ink", "n": None}]


@pytest.fixture
def t(cat):
    table = cat.create_table(
        "db.orders",
        {"dt": "STRING", "id": "BIGINT", "item": "STRING", "n": "INT"},
        primary_key=["dt", "id"],
        partition_by="dt",
        options={"bucket": "1"},
    )
    table.upsert(ROWS)
    return table


@dataclasses.dataclass
class Order:
    id: int
    item: str
    day: dt.date | None = None


# ---- making tables


@pytest.mark.parametrize(
    "schema",
    [
        pa.schema([("id", pa.int64()), ("item", pa.string())]),
        pa.table({"id": [1], "item": ["x"]}),
        pl.DataFrame({"id": [1], "item": ["x"]}),
        pl.LazyFrame({"id": [1], "item": ["x"]}),
        pd.DataFrame({"id": [1], "item": ["x"]}),
        duckdb.sql("select 1::bigint as id, 'x' as item"),
        {"id": int, "item": str},
        {"id": pa.int64(), "item": pa.string()},
        {"id": pl.Int64, "item": pl.String},
        {"id": "BIGINT", "item": "STRING"},
        "id BIGINT NOT NULL COMMENT 'the number', item STRING",
        dataclasses.make_dataclass("Item", [("id", int), ("item", str)]),
    ],
    ids=lambda schema: type(schema).__module__ + "." + type(schema).__name__,
)
def test_create_a_table_from_what_is_at_hand(cat, schema):
    t = cat.create_table("db.x", schema, primary_key="id")
    assert t.schema.field("id").type == pa.int64()
    assert t.schema.field("item").type == pa.string()
    assert t.primary_key == ["id"]
    assert t.count() == 0


def test_create_from_sql_text_with_comments_and_key(cat):
    text = "id BIGINT, `unit price` DECIMAL(12, 2) NOT NULL COMMENT 'it''s net', m MAP<STRING, ARRAY<INT>>, PRIMARY KEY (id)"
    t = cat.create_table("db.x", text)
    assert t.primary_key == ["id"]
    assert t.schema.field("unit price").type == pa.decimal128(12, 2)
    assert not t.schema.field("unit price").nullable
    columns = t.inspect("schemas", ["fields"]).to_pylist()[0]["fields"]
    assert "it's net" in columns


def test_python_types_nest(cat):
    t = cat.create_table("db.x", {"a": list[int], "b": dict[str, float], "c": dt.datetime, "d": int | None, "e": bytes})
    assert [str(f.type) for f in t.schema] == [
        "list<element: int64>",
        "map<string, double>",
        "timestamp[us]",
        "int64",
        "binary",
    ]


def test_exist_ok(cat, t):
    assert cat.create_table("db.orders", {"x": int}, exist_ok=True).schema.names == t.schema.names
    cat.create_database("db", exist_ok=True)


# ---- writing


def test_append_dicts_columns_and_dataclasses(cat):
    t = cat.create_table("db.x", Order, primary_key="id")
    t.upsert([Order(1, "pen"), Order(2, "ink", dt.date(2026, 1, 1))])
    t.upsert({"id": [3, 4], "item": ["cap", "mug"]})
    assert t.get([3, 2]).to_pylist() == [
        {"id": 3, "item": "cap", "day": None},
        {"id": 2, "item": "ink", "day": dt.date(2026, 1, 1)},
    ]


@pytest.mark.parametrize(
    "data",
    [
        pl.DataFrame({"id": [1, 2], "item": ["a", None]}),
        pl.LazyFrame({"id": [1, 2], "item": ["a", None]}),
        pd.DataFrame({"id": [1, 2], "item": ["a", None]}),
        pa.table({"id": [1, 2], "item": ["a", None]}),
        pa.table({"id": [1, 2], "item": ["a", None]}).to_reader(),
        ds.dataset(pa.table({"id": [1, 2], "item": ["a", None]})),
        ds.dataset(pa.table({"id": [1, 2], "item": ["a", None]})).scanner(),
        duckdb.sql("select unnest([1, 2])::bigint as id, unnest(['a', null]) as item"),
        {"id": [1, 2], "item": ["a", None]},
    ],
    ids=lambda data: type(data).__module__ + "." + type(data).__name__,
)
def test_append_what_is_at_hand(cat, data):
    t = cat.create_table("db.x", {"id": int, "item": str})
    assert t.append(data).rows == 2
    assert sorted(t.to_pylist(), key=lambda row: row["id"]) == [{"id": 1, "item": "a"}, {"id": 2, "item": None}]


@pytest.mark.parametrize("name", ["x.parquet", "x.csv", "x.ndjson", "list.json", "*.parquet"])
def test_append_a_file(cat, tmp_path, name):
    frame = pl.DataFrame({"id": [1, 2], "item": ["a", "b"], "day": [dt.date(2026, 1, 1), None]})
    frame.write_parquet(tmp_path / "x.parquet")
    frame.write_csv(tmp_path / "x.csv")
    frame.write_ndjson(tmp_path / "x.ndjson")
    (tmp_path / "list.json").write_text('[{"id": 1, "item": "a", "day": "2026-01-01"}, {"id": 2, "item": "b"}]')
    t = cat.create_table("db.x", Order, primary_key="id")
    assert t.upsert(str(tmp_path / name)).rows == 2
    assert t.get(1).to_pylist() == [{"id": 1, "item": "a", "day": dt.date(2026, 1, 1)}]


def test_append_a_table_to_another(cat, t):
    copy = cat.create_table("db.copy", t)
    assert copy.append(t).rows == 2


def test_update_with_literals(t):
    assert t.update({"n": 7, "item": st.lit("it's new")}, where="id = 1").affected_rows == 1
    assert t.get([("a", 1)], ["item", "n"]).to_pylist() == [{"item": "it's new", "n": 7}]
    t.update({"n": None}, where=st.col("id") == 1)
    assert t.get(("a", 1) and [("a", 1)], "n").to_pylist() == [{"n": None}]


def test_update_with_expressions(t):
    t.update({"n": st.col("n") * 2 + 1, "item": st.col("item").upper().concat("!")}, where="id = 1")
    assert t.get([("a", 1)], ["item", "n"]).to_pylist() == [{"item": "PEN!", "n": 11}]


def test_update_with_case(t):
    t.update({"n": "CASE WHEN n IS NULL THEN -1 WHEN n > 3 THEN n * 10 ELSE 0 END"}, where="true")
    assert {row["id"]: row["n"] for row in t} == {1: 50, 2: -1}


def test_delete_by_condition_and_key(t):
    assert t.delete("id = 1").affected_rows == 1
    assert t.delete(keys=[{"dt": "b", "id": 2}]).affected_rows == 1
    assert t.count() == 0


def test_merge(t):
    source = pl.DataFrame({"dt": ["a", "c"], "id": [1, 3], "item": ["pencil", "cap"]})
    report = t.merge(source, on=["dt", "id"]).when_matched_update_all().when_not_matched_insert_all().execute()
    assert (report.updated_rows, report.inserted_rows) == (1, 1)
    assert sorted(row["item"] for row in t) == ["cap", "ink", "pencil"]


# ---- parts


def test_get(t):
    assert t.get([{"dt": "b", "id": 2}, {"dt": "x", "id": 9}, {"dt": "a", "id": 1}])["id"].to_pylist() == [2, 1]
    assert t.get({"dt": "a", "id": 1}, columns=["item"]).to_pylist() == [{"item": "pen"}]


def test_partitions(t):
    assert [(p.spec, p.rows, p.files) for p in t.partitions()] == [({"dt": "a"}, 1, 1), ({"dt": "b"}, 1, 1)]


def test_drop_partitions(t):
    assert t.drop_partitions([{"dt": "a"}], dry_run=True).rows == 1
    assert t.count() == 2
    t.drop_partitions(t.partitions()[:1])
    assert [row["dt"] for row in t] == ["b"]


def test_stats(t):
    assert (t.stats().rows, t.stats().files, t.stats().partitions) == (2, 2, 2)
    t.maintenance.analyze()
    assert t.stats().columns["n"]["nullCount"] == 1


# ---- conditions


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        (st.col("item").starts_with("p"), [1]),
        (st.col("item").ends_with("k"), [2]),
        (st.col("item").contains("e"), [1]),
        (st.col("id").is_in([1, 5]), [1]),
        (st.col("id").is_not_in([1, 5]), [2]),
        (st.col("id").between(2, 3), [2]),
        (st.col("n").is_null(), [2]),
        (st.col("n").is_not_null() & (st.col("dt") == "a"), [1]),
        (~(st.col("ID") == 1), [2]),
        ("ID = 1", [1]),
        ("item LIKE 'p%' OR n IS NULL", [1, 2]),
    ],
    ids=str,
)
def test_conditions(t, condition, ids):
    assert sorted(row["id"] for row in t.scan(filter=condition)) == ids


def test_a_boolean_column_is_a_condition(cat):
    t = cat.create_table("db.x", {"id": int, "ok": bool})
    t.append({"id": [1, 2, 3], "ok": [True, False, None]})
    assert t.count(st.col("ok")) == 1
    assert t.count(~st.col("ok")) == 1
    assert t.count(st.col("ok") & (st.col("id") > 0)) == 1
    assert t.count("ok AND id > 0") == 1


def test_a_prefix_with_signs_of_like_is_taken_as_it_is(cat):
    t = cat.create_table("db.x", {"s": str})
    t.append({"s": ["50%!_x", "50 x"]})
    assert t.count(st.col("s").starts_with("50%!_")) == 1


# ---- reading


def test_a_table_is_an_arrow_stream(t):
    assert pa.table(t).num_rows == 2
    assert pl.DataFrame(t).height == 2
    assert duckdb.sql("select count(*) from t").fetchall() == [(2,)]


def test_scans_iterate_and_list(t):
    assert [row["item"] for row in t.scan("item")] == [row["item"] for row in t.scan(["item"]).to_pylist()]


def test_to_pandas_with_types_that_have_nulls(t):
    assert str(t.to_pandas(dtype_backend="pyarrow")["n"].dtype) == "int32[pyarrow]"
    assert str(t.to_pandas(dtype_backend="numpy_nullable")["n"].dtype) == "Int32"
    with pytest.raises(e.InvalidArgument, match="numpy_nullable"):
        t.to_pandas(dtype_backend="numpy")


@pytest.mark.parametrize("backend", ["pyarrow", "numpy_nullable"])
def test_round_trips_by_pandas_are_exact(cat, backend):
    t = cat.create_table("db.x", {"id": int, "n": "INT", "f": float, "s": str, "ok": bool, "d": "DECIMAL(20, 2)"})
    given = {
        "id": [1, 2**53 + 1, None], "n": [1, None, 3], "f": [0.5, None, -1.5], "s": ["a", "", None],
        "ok": [True, None, False], "d": [decimal.Decimal("12345678901234567.89"), None, decimal.Decimal("0.10")],
    }  # fmt: skip
    t.append(given)
    copy = cat.create_table("db.copy", t)
    copy.append(t.to_pandas(dtype_backend=backend))
    assert copy.to_arrow().to_pydict() == given


def test_round_trips_by_polars_are_exact(cat):
    t = cat.create_table("db.x", {"id": int, "n": "INT", "at": "TIMESTAMP(6)", "tags": list[str]})
    given = {"id": [1, None], "n": [None, 2], "at": [dt.datetime(2026, 1, 1, 1, 2, 3, 4), None], "tags": [["a"], None]}
    t.append(given)
    copy = cat.create_table("db.copy", t)
    copy.append(t.to_polars())
    copy.append(t.to_polars(lazy=True))
    assert copy.to_arrow().slice(0, 2).to_pydict() == given
    assert copy.count() == 4


def test_polars_lazily(t):
    frame = st.scan_polars(t).filter(pl.col("n") > 1).select("item")
    assert frame.collect().to_dicts() == [{"item": "pen"}]
    assert st.scan_polars(t.location).select(pl.len()).collect().item() == 2


def test_a_dataset_for_duckdb(t):
    orders = t.to_dataset()
    assert duckdb.sql("select item from orders where dt = 'b'").fetchall() == [("ink",)]
    assert orders.to_table(columns=["id"], filter=pc.field("n") == 5).to_pylist() == [{"id": 1}]
    assert t.to_duckdb().filter("id = 1").project("item").fetchall() == [("pen",)]


def test_head_count_and_limit(t):
    assert t.head(1).num_rows == 1
    assert t.count("dt = 'a'") == 1
    assert t.scan(limit=1).to_arrow().num_rows == 1


# ---- looking


def test_what_things_say_of_themselves(t):
    assert repr(t).startswith("Table('db.orders', dt: string, id: int64")
    assert "primary_key=['dt', 'id']" in repr(t)
    assert "<strong>db.orders</strong>" in t._repr_html_()
    assert "<pre>table" in t.scan(filter="id = 1")._repr_html_()
    console = rich.console.Console(file=io.StringIO(), width=100)
    console.print(t)
    console.print(t.scan(filter="item = '[red]'"))
    assert "primary key" in console.file.getvalue()
    assert "[red]" in console.file.getvalue()
    t.tags.create("v1")
    assert repr(t.tags) == "Tags('db.orders': v1)"
    assert repr(t.branches) == "Branches('db.orders')"
    assert "when_matched_delete" in repr(t.merge(ROWS, on="id").when_matched_delete())


def test_tables_pickle(t):
    assert pickle.loads(pickle.dumps(t)).count() == 2
    assert pickle.loads(pickle.dumps(t.to_dataset())).count_rows() == 2


@pytest.mark.parametrize(
    ("thing", "name", "here"),
    [
        ("t", "optimize", "compact"),
        ("t", "new_read_builder", "scan"),
        ("t", "create_tag", "tags.create"),
        ("t", "to_pyarrow_dataset", "to_dataset"),
        ("t", "sacn", "scan"),
        ("cat", "list_tables", "tables"),
        ("cat", "get_table", "table"),
        ("scan", "collect", "to_arrow"),
    ],
)
def test_names_of_other_libraries_lead_to_ours(cat, t, thing, name, here):
    on = {"t": t, "cat": cat, "scan": t.scan()}[thing]
    assert not hasattr(on, name)
    with pytest.raises(AttributeError, match=here):
        getattr(on, name)


def test_what_alter_and_maintenance_do_is_found_from_the_table(t):
    """`t.rename_column` led to `.routing_columns`, and `t.remove_orphan_files` to nothing."""
    for part, begins in ((t.alter(), "t.alter()"), (t.maintenance, "t.maintenance")):
        for name in (n for n in dir(part) if not n.startswith("_") and n not in {"commit", "shared_writes"}):
            if not hasattr(t, name):
                with pytest.raises(AttributeError, match=f"use {re.escape(begins)}.*[.]{name}\\("):
                    getattr(t, name)


def test_a_name_that_is_like_none_leads_nowhere(t):
    for name in ("to_rya", "fluctuate", "path_of_it"):
        with pytest.raises(AttributeError, match=f"has no '{name}'$"):
            getattr(t, name)


def test_parts_of_a_table_that_are_called_say_what_they_have(t):
    with pytest.raises(TypeError, match=r"a Tags is not called: use .list\(...\), .exists\(...\)"):
        t.tags()
    with pytest.raises(TypeError, match=r"a Branches is not called: .* .create\(...\)"):
        t.branches("dev")


# ---- twenty more, tried as somebody who knows only pypaimon


def test_connect_with_a_dict_of_options(cat):
    assert st.connect({"warehouse": cat.warehouse}).databases() == ["db"]


def test_what_a_catalog_has(cat, t):
    assert ("db" in cat, "db.orders" in cat, "db.other" in cat, "x.y" in cat) == (True, True, False, False)
    assert cat["db.orders"].name == "db.orders"


def test_collections_of_a_table(t):
    t.tags.create("v1")
    t.tags.create("v2", 1)
    t.branches.create("b", version="latest")
    assert sorted(tag.name for tag in t.tags) == ["fork-b", "v1", "v2"]
    assert ("v1" in t.tags, "x" in t.tags, t.tags["v2"].id) == (True, False, 1)
    assert (len(t.branches), "b" in t.branches, len(t.consumers)) == (1, True, 0)


def test_rollback_to_a_tag_or_a_snapshot_by_position(t):
    t.tags.create("v1")
    t.append([{"dt": "c", "id": 3}])
    assert t.rollback("v1").details["current_snapshot"] == 1
    t.append([{"dt": "c", "id": 3}])
    t.rollback(1)
    assert t.count() == 2


def test_delete_keys_as_get_takes_them(t):
    assert t.delete(keys={"dt": "a", "id": 1}).affected_rows == 1
    assert t.delete(keys=[("b", 2)]).affected_rows == 1
    assert t.count() == 0


def test_delete_values_of_a_single_key(cat):
    t = cat.create_table("db.x", {"id": int}, primary_key="id")
    t.append({"id": [1, 2, 3]})
    t.delete(keys=[1, 2])
    t.delete(keys=3)
    assert t.count() == 0


def test_columns_and_conditions_of_whole_reads(t):
    assert t.to_arrow(["id"], "id = 1").to_pylist() == t.to_pylist(["id"], st.col("id") == 1) == [{"id": 1}]
    assert list(t.to_pandas(columns=["item"])) == ["item"]
    assert t.to_polars(["item"], lazy=True).collect().columns == t.to_polars(["item"]).columns == ["item"]


def test_compact_some_partitions(t):
    assert t.compact(full=True, partitions={"dt": "a"}).tasks == 1
    assert t.compact(full=True, idle="1 d").tasks == 0


def test_system_tables_are_read_as_tables(cat, t):
    snapshots = cat.table("db.orders$snapshots")
    assert [row["snapshot_id"] for row in snapshots] == snapshots.to_arrow()["snapshot_id"].to_pylist() == [1]
    assert (snapshots.count(), snapshots.head(1).num_rows, pl.DataFrame(snapshots).height) == (1, 1, 1)


@pytest.mark.parametrize(
    ("attempt", "here"),
    [
        (lambda cat, t: t.snapshot().commit_kind, "s.kind"),
        (lambda cat, t: t.snapshot().total_record_count, "s.total_rows"),
        (lambda cat, t: t.writer().write_arrow, "w.write"),
        (lambda cat, t: st.col("id").isin, ".is_in"),
        (lambda cat, t: st.col("id").startswith, ".starts_with"),
        (lambda cat, t: st.CatalogFactory, "st.connect"),
        (lambda cat, t: st.Schema, "create_table"),
        (lambda cat, t: st.conn, "st.connect"),
        (lambda cat, t: t.latest_snapshot, "t.snapshot"),
        (lambda cat, t: cat.table_exists, "in cat"),
        (lambda cat, t: t.drop, "cat.drop_table"),
        (lambda cat, t: t.to_df, "t.to_pandas"),
        (lambda cat, t: t.scan_polars, "st.scan_polars"),
        (lambda cat, t: t.maintenance.plan, "plan_compaction"),
        (lambda cat, t: t.new_batch_write_builder, r"w.write\(data\); w.commit\(\)"),
        (lambda cat, t: t.new_stream_write_builder, r"w.write\(data\) and w.commit\(identifier"),
        # these led to .history, .to_dataset, .path, .options, .routing_columns
        (lambda cat, t: t.to_ray, r"siltstone.ray.read\(t\)"),
        (lambda cat, t: t.to_daft, r"siltstone.daft.read\(t\)"),
        (lambda cat, t: t.at, r"t.scan\(version=...\)"),
        (lambda cat, t: t.set_options, r"set_option\(key, value\)"),
        (lambda cat, t: t.unset_options, r"remove_option\(key\)"),
        (lambda cat, t: t.alter().alter_column, ".set_type"),
        # and these to nothing
        (lambda cat, t: t.fast_forward, r"t.branches.fast_forward\(name\)"),
        (lambda cat, t: t.stream, r"changes\(follow=True\)"),
        (lambda cat, t: t.follow, r"changes\(follow=True\)"),
        (lambda cat, t: t.alter_column, "set_type"),
        (lambda cat, t: st.write_table, "append"),
    ],
)
def test_names_of_pypaimon_lead_to_ours(cat, t, attempt, here):
    with pytest.raises(AttributeError, match=here):
        attempt(cat, t)


@pytest.mark.parametrize(
    ("attempt", "here"),
    [
        (lambda cat, t: t.scan(where="id = 1"), "filter="),
        (lambda cat, t: t.scan(projection=["id"]), "columns="),
        (lambda cat, t: t.scan(snapshot_id=1), "version="),
        (lambda cat, t: cat.create_table("db.y", {"a": int}, primary_keys=["a"]), "primary_key="),
        (lambda cat, t: cat.create_table("db.y", {"a": int}, partition_keys=["a"]), "partition_by="),
        (lambda cat, t: cat.create_database("db", ignore_if_exists=True), "if_not_exists="),
        (lambda cat, t: cat.drop_table("db.y", ignore_if_not_exists=True), "if_exists="),
        (lambda cat, t: t.tags.create("v", snapshot_id=1), "version="),
        (lambda cat, t: t.expire_snapshots(retain_last=1), "retain_max="),
    ],
)
def test_arguments_of_pypaimon_lead_to_ours(cat, t, attempt, here):
    with pytest.raises(TypeError, match=here):
        attempt(cat, t)


# ---- what is no first guess says so


@pytest.mark.parametrize(
    ("attempt", "error", "match"),
    [
        (lambda cat, t: t.append({"id": 1, "item": "x"}), e.InvalidArgument, "list of dicts"),
        (lambda cat, t: t.append({"id": [1], "item": ["x", "y"]}), e.InvalidArgument, "different numbers"),
        (lambda cat, t: t.append("nothing.parquet"), e.FileMissing, "nothing.parquet"),
        (lambda cat, t: t.append("some text"), e.InvalidArgument, "names of files"),
        (lambda cat, t: t.scan(filter=pc.field("id") == 1), e.InvalidArgument, "to_dataset"),
        (lambda cat, t: t.scan(filter=pl.col("id") == 1), e.InvalidArgument, "scan_polars"),
        (lambda cat, t: t.append(Order(1, "x")), e.InvalidArgument, "into a list"),
        (lambda cat, t: t.get([1]), e.InvalidArgument, "dt, id"),
        (lambda cat, t: t.get([{"id": 1}]), e.InvalidArgument, "lack the column 'dt'"),
        (lambda cat, t: t.drop_partitions(None), e.InvalidArgument, "truncate"),
        (lambda cat, t: t.drop_partitions([{"id": 1}]), e.InvalidArgument, "id"),
        (lambda cat, t: t.update({"n": [1]}, where="true"), e.InvalidArgument, "no literal"),
        (lambda cat, t: t.scan(filter=st.col("n") + 1 == 2), e.InvalidArgument, "cannot be compared"),
        (lambda cat, t: cat.create_table("db.y", {"d": decimal.Decimal}), e.UnsupportedType, "DECIMAL"),
        (lambda cat, t: cat.create_table("db.y", {"d": complex}), e.UnsupportedType, "complex"),
        (lambda cat, t: cat.create_table("db.y", {"a": "INT", "b": pa.int32()}), e.IllegalSchema, "all types in SQL"),
        (lambda cat, t: cat.create_table("db.y", "id"), e.IllegalSchema, "no type"),
        (lambda cat, t: cat.create_table("db.y", "id INT, PRIMARY KEY id"), e.IllegalSchema, "parentheses"),
        (lambda cat, t: cat.create_table("db.y", "id INT; drop"), e.IllegalSchema, "cannot stand"),
        (lambda cat, t: cat.create_table("db.y", 5), e.InvalidArgument, "not a schema"),
        (lambda cat, t: t.to_dataset().to_table(columns=["nothing"]), e.InvalidArgument, "no column 'nothing'"),
        # the hint was to make a list of it, which is refused as well
        (lambda cat, t: t.append(np.array([1])), e.InvalidArgument, r"columns by name: \{'id': array\}"),
        (lambda cat, t: t.append(pd.Series([1])), e.InvalidArgument, "series.to_frame"),
        (lambda cat, t: t.append([("a", 1)]), e.InvalidArgument, "list of dicts or of named tuples"),
        (lambda cat, t: t.append([pl.DataFrame({"id": [1]})]), e.InvalidArgument, "one at a time"),
        (lambda cat, t: t.append(pa.array([1])), e.InvalidArgument, "one column without a name(.|\\n)*dict of columns"),
        # the hint was None, which drop_partitions() refuses
        (lambda cat, t: t.alter().add_column("y", pl.Object), e.UnsupportedType, "none of Arrow's"),
        (lambda cat, t: t.alter().add_column("y", decimal.Decimal), e.UnsupportedType, "DECIMAL\\(12, 2\\)"),
        (lambda cat, t: t.alter().add_column("y", 5), e.InvalidArgument, "5 where its type is expected"),
        (lambda cat, t: t.drop_partitions([]), e.InvalidArgument, r"names no partition(.|\n)*give a dict such as"),
        (lambda cat, t: t.append(["a.csv", "b.csv"]), e.InvalidArgument, "one at a time, or as a pattern"),
        # the text was taken letter by letter
        (lambda cat, t: t.drop_partitions("dt < 'b'"), e.InvalidArgument, "is not a partition(.|\\n)*t.delete"),
        (lambda cat, t: st.scan_polars(t.scan(version=1)), e.InvalidArgument, r"to_polars\(lazy=True\)"),
        (lambda cat, t: st.open_table("db.orders"), e.TableNotFound, r"st.connect\(warehouse\).table\('db.orders'\)"),
        (
            lambda cat, t: cat.create_table("db.y", pd.DataFrame({"k": [1, 2], "mixed": ["x", 1]})),
            e.IllegalSchema,
            "column 'mixed' of the frame have no common type",
        ),
    ],
)
def test_bad_input_gets_a_reason(cat, t, attempt, error, match):
    with pytest.raises(error, match=match):
        attempt(cat, t)


# ---- calls with the arguments of other libraries


@pytest.mark.parametrize(
    ("call", "here"),
    [
        (
            lambda t: t.merge(ROWS, "t.id = s.id", source_alias="s"),
            "merge\\(\\) has no argument 'source_alias': use on=",
        ),
        (lambda t: t.merge(ROWS, on="id").when_matched_update(updates={"n": "1"}), "use values="),
        (lambda t: t.to_dataset(version=1), r"use t.scan\(version=...\).to_dataset\(\)"),
        (lambda t: t.to_pandas(index="id"), "set_index"),
        (lambda t: t.changes(from_version=2), "use start="),
        (lambda t: t.update({"n": 1}), "missing a required argument: 'where': where='true' updates all rows"),
        (lambda t: t.alter().set_comment("x"), "set_table_comment"),
        (lambda t: t.alter().set_tipe("n", "BIGINT"), "use .set_type"),
        (lambda t: t.scan(filtre="id = 1"), "use filter="),
        (lambda t: t.tags.create("v1", retian="1 d"), "use retain="),
        (lambda t: t.writer(user="me"), "it takes commit_user"),
    ],
)
def test_a_call_with_other_arguments_says_what_they_are_here(t, call, here):
    with pytest.raises((TypeError, AttributeError), match=here) as caught:
        call(t)
    assert "Writing." not in str(caught.value)


def test_a_call_of_pypaimon_by_position_says_what_goes_by_name(cat):
    with pytest.raises(TypeError, match="give by name what it takes: primary_key=..., partition_by=..."):
        cat.create_table("db.x", {"id": "INT"}, False)
    with pytest.raises(TypeError, match="exist_ok=..."):
        cat.create_database("m", False)


def test_an_error_within_a_call_is_not_taken_for_a_wrong_call(t):
    class Table:
        """No data, and no help either."""

        def __arrow_c_stream__(self, requested_schema=None):
            raise AttributeError("boom")

        def __len__(self):
            raise TypeError("has a length of its own")

    with pytest.raises((TypeError, AttributeError), match="boom|of its own"):
        t.append(Table())


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("with_filter", "filter="), ("with_projection", "columns"), ("to_iterator", "for row in scan"),
        ("to_record_batch_iterator", "to_batches"), ("to_ray", "siltstone.ray"), ("order_by", "sort_by"),
    ],
)  # fmt: skip
def test_names_of_scans_elsewhere(t, name, here):
    with pytest.raises(AttributeError, match=here):
        getattr(t.scan(), name)


def test_one_key_of_several_columns_is_a_tuple(t):
    assert t.get(("a", 1)).to_pylist() == t.get([("a", 1)]).to_pylist() == [ROWS[0]]
    with pytest.raises(e.InvalidArgument, match=r"give values such as \(dt, id\), or dicts: \{'dt': ..., 'id': ...\}"):
        t.get("a")


def test_a_comparison_without_parentheses_says_so(t):
    with pytest.raises(e.InvalidArgument, match="put each comparison into parentheses"):
        t.scan(filter=st.col("id") > 1 & st.col("id") < 5)


def test_a_text_without_quotes_says_how_it_is_written(t):
    with pytest.raises(e.InvalidArgument, match=r"st.lit\('oslo'\)"):
        t.update({"item": "oslo"}, where="id = 1")


def test_a_day_is_its_midnight_here(t):
    tomorrow = dt.date.today() + dt.timedelta(days=1)
    assert t.scan(as_of=tomorrow).count() == t.scan(as_of=str(tomorrow)).count() == 2
    assert {batch.snapshot_id for batch in t.changes(start=dt.date(2020, 1, 1))} == {1}


def test_one_column_is_no_frame(t):
    with pytest.raises(e.InvalidArgument, match="Series holds one column without a name"):
        t.get(pl.Series([1, 2]))


@pytest.mark.parametrize(
    "keys",
    [
        np.int64(2), decimal.Decimal(2), np.array([2]), pd.Series([2]), pd.Index([2]), pl.Series([2]), pa.array([2]),
        pa.chunked_array([[2]]), {"id": np.array([2])}, {"id": pl.Series([2])}, [np.int64(2)],
    ],
    ids=lambda keys: type(keys).__module__ + "." + type(keys).__name__,
)  # fmt: skip
def test_keys_are_values_of_any_library(cat, keys):
    """A list of them was taken, and a column or a single one was "no rows: give columns by name"."""
    t = cat.create_table("db.x", {"id": int}, primary_key="id")
    t.append({"id": [1, 2, 3]})
    assert t.get(keys).to_pylist() == [{"id": 2}]
    assert t.delete(keys=keys).affected_rows == 1
    assert [row["id"] for row in t] == [1, 3]


def test_keys_that_are_days_come_as_numpy_has_them(cat):
    t = cat.create_table("db.x", {"day": dt.date}, primary_key="day")
    t.append({"day": [dt.date(2026, 1, 1)]})
    for keys in (np.datetime64("2026-01-01"), np.array(["2026-01-01"], "M8[D]"), pd.Series([dt.date(2026, 1, 1)])):
        assert t.get(keys).num_rows == 1


def test_a_list_of_batches_is_rows(cat):
    """The hint for a generator of batches was to make a list of it, which was refused."""
    t = cat.create_table("db.x", {"id": int})
    batches = [pa.record_batch({"id": [1, 2]}), pa.record_batch({"id": [3]}), pa.table({"id": [4]})]
    assert t.append(batches).rows == 4
    assert sorted(row["id"] for row in t) == [1, 2, 3, 4]
    with pytest.raises(e.SchemaMismatch, match="do not have the same columns"):
        t.append([pa.record_batch({"id": [1]}), pa.record_batch({"x": [1]})])


def test_changes_that_wait_show_themselves(t):
    change = t.alter().add_column("note", "STRING").set_option("snapshot.num-retained.max", "19").drop_column("item")
    assert repr(change) == (
        "Alter('db.orders': add_column(note), set_option(snapshot.num-retained.max), drop_column(item))"
    )
    change.losses()


def test_columns_are_added_with_the_types_that_tables_are_made_with(cat, t):
    """`add_column("y", int)` was "type=<class 'int'> is not a text"; `create_table` took it."""
    types = {
        "a": int,
        "b": str,
        "c": list[int],
        "d": dict[str, float],
        "e": dt.datetime,
        "f": int | None,
        "g": "DECIMAL(9, 2)",
    }
    change = t.alter()
    for name, kind in types.items():
        change.add_column(name, kind)
    change.set_type("n", int).commit()
    made = cat.create_table("db.x", types).schema
    assert [t.schema.field(name).type for name in types] == [made.field(name).type for name in types]
    assert t.schema.field("n").type == pa.int64()


def test_columns_are_added_with_types_of_arrow_and_polars(cat, t):
    """They were refused, with the hint to write SQL; `create_table` takes them."""
    types = {
        "a": pa.int16(),
        "b": pa.decimal128(12, 2),
        "c": pa.list_(pa.struct([("x", pa.string()), ("y", pa.timestamp("ms"))])),
        "d": pl.Float32,
        "e": pl.List(pl.Date),
        "f": pl.Datetime("us", "UTC"),
    }
    change = t.alter()
    for name, kind in types.items():
        change.add_column(name, kind)
    change.set_type("n", pa.int64()).commit()
    made = cat.create_table("db.x", types).schema
    assert [t.schema.field(name).type for name in types] == [made.field(name).type for name in types]
    assert t.schema.field("n").type == pa.int64()


def test_an_error_in_a_chain_of_changes_is_not_followed_by_a_warning(t):
    """It was: `changes of db.orders were dropped without commit()`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(e.InvalidArgument):
            t.alter().add_column("x", "INT").add_column("y", 5)
        with pytest.raises(e.InvalidArgument):
            t.alter().add_column("x", "INT").set_default("n", 5)
        gc.collect()
