"""What nobody would honour is refused: two arguments that exclude each other, keys that nobody reads."""

import json
from types import SimpleNamespace

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.catalog.connecting import warehouse_root


def test_a_branch_beside_another_one_in_the_path_is_refused(cat, make):
    t = make({"id": "INT"}, name="t")
    t.append([{"id": 1}])
    for branch in ("a", "b"):
        t.branches.create(branch)
    path = f"{t.location}$branch_a"
    assert st.open_table(path).branch == st.open_table(path, branch="a").branch == "a"
    assert st.open_table(t.location).branch == "main"
    assert st.open_table("db.t$branch_a", catalog=cat, branch="a").branch == "a"
    assert st.open_table("db.t", catalog=cat, branch="b").branch == "b"
    for place, catalog in ((path, None), ("db.t$branch_a", cat)):
        for branch in ("b", "main"):
            with pytest.raises(e.InvalidArgument, match="the argument branch another one"):
                st.open_table(place, catalog=catalog, branch=branch)


def test_a_column_has_one_place(make):
    alter = make({"k": "INT", "v": "INT"}).alter()
    for change in (
        lambda: alter.add_column("n", "INT", after="k", first=True),
        lambda: alter.move_column("v", after="nope", first=True),
    ):
        with pytest.raises(e.InvalidArgument, match="two places"):
            change()
    with pytest.raises(e.InvalidArgument, match="name="):
        alter.move_column(["r", "x"], first=True)


@pytest.mark.parametrize(
    ("field", "key"),
    [
        ({"name": "a", "type": "INT", "nullable": False}, "nullable"),
        ({"name": "a", "type": "INT", "comment": "x"}, "comment"),
        ({"name": "a", "type": {"type": "ARRAY", "element": "INT", "elementt": "STRING"}}, "elementt"),
        ({"name": "a", "type": {"type": "INT", "length": 3}}, "length"),
        ({"name": "a", "type": {"type": "ROW", "fields": [{"name": "x", "type": "INT", "default": "1"}]}}, "default"),
    ],
)
def test_keys_of_a_column_that_nobody_reads_are_refused(make, field, key):
    with pytest.raises(e.IllegalSchema, match=f"the key '{key}'"):
        make([field])


def test_an_id_is_of_one_column(make):
    row = {"type": "ROW", "fields": [{"id": 0, "name": "x", "type": "INT"}]}
    for kind, number in (("INT", 0), (row, 1)):
        with pytest.raises(e.IllegalSchema, match="two columns have the id 0"):
            make([{"id": 0, "name": "a", "type": "INT"}, {"id": number, "name": "b", "type": kind}])


def test_keys_of_the_schema_json_are_honoured(make):
    map_of = {"type": "MAP NOT NULL", "key": "STRING", "value": {"type": "ARRAY", "element": "INT", "nullable": True}}
    t = make([{"id": 0, "name": "a", "type": map_of, "description": "d"}, {"id": 1, "name": "b", "type": "INT"}])
    assert t.schema.names == ["a", "b"]


def test_a_version_of_a_system_table_that_looks_at_no_snapshot_is_refused(make):
    t = make({"id": "INT"})
    t.append([{"id": 1}])
    for query in ({"version": 1}, {"tag": "x"}, {"as_of": 5}):
        with pytest.raises(e.UnsupportedFeature, match="no single snapshot"):
            t.inspect("snapshots", **query)
    for name in ("files", "file_key_ranges", "manifests", "partitions", "buckets", "statistics", "table_indexes"):
        t.inspect(name, version=1).count()


def test_two_values_for_one_column_are_refused(make):
    t = make({"id": "INT", "v": "INT"}, ["id"], bucket=1)
    t.append([{"id": 1, "v": 7}])
    with pytest.raises(e.InvalidArgument, match="'v' and 'V'"):
        t.update({"v": "v + 1", "V": "50"}, where="id = 1")
    assert t.update({"V": "50"}, where="id = 1").affected_rows == 1


def test_a_history_without_a_limit_is_whole(make):
    t = make({"id": "INT"})
    for n in range(22):
        t.append([{"id": n}])
    assert len(t.history(None)) == 22 and len(t.history()) == 20 and t.history(0) == []


def test_a_warehouse_is_a_uri_or_a_directory_from_the_root():
    assert warehouse_root("file:///lake") == "file:///lake"
    assert warehouse_root("lake").startswith("/")


def test_options_of_columns_that_a_table_does_not_have_are_refused(cat, make):
    t = make({"id": "INT", "Sold": "INT"}, ["id"], name="t", bucket=1, merge_engine="aggregation")
    for options in ({"fields.sold.aggregate-function": "sum"}, {"fields.nope.ignore-retract": "true"}):
        for call in (
            lambda o=options: cat.table("db.t", options=o),
            lambda o=options: st.open_table(t.path, options=o),
        ):
            with pytest.raises(e.IllegalSchema, match="which does not exist"):
                call()
    known = {"fields.Sold.aggregate-function": "sum", "fields.default-aggregate-function": "max"}
    assert cat.table("db.t", options=known).dynamic_options == known


@pytest.fixture
def source():
    pytest.importorskip("pyspark")
    from siltstone.spark.datasource import SiltstoneSource

    return SiltstoneSource


def test_counts_of_spark_begin_with_one():
    ss = pytest.importorskip("siltstone.spark")
    for n in (0, -1):
        with pytest.raises(e.InvalidArgument, match="commit_every"):
            ss.compact(None, "d.t", commit_every=n)
        with pytest.raises(e.InvalidArgument, match="parallelism"):
            ss.compact(None, "d.t", parallelism=n)
        with pytest.raises(e.InvalidArgument, match="parallelism"):
            ss.write(None, "d.t", parallelism=n)


def test_the_format_refuses_options_that_mean_nothing(source, make):
    t = make({"id": "INT"})
    schema = SimpleNamespace(fieldNames=lambda: ["id"])
    for key in ("version", "tag", "filter", "between", "mode", "as-of", "pushdown"):
        with pytest.raises(e.InvalidArgument, match=f"'{key}' means nothing for a write"):
            source({"path": t.location, key: "1"}).writer(schema, overwrite=False)
    for key in ("row-kind", "overwrite.mode", "overwrite.partition", "partitionoverwritemode"):
        with pytest.raises(e.InvalidArgument, match=f"'{key}' means nothing for a read"):
            source({"path": t.location, key: "full"}).reader(schema)


def test_the_format_refuses_names_of_columns_in_small_letters(source, make):
    t = make({"id": "INT", "Sold": "INT", "n": "INT"}, ["id"], bucket=1, merge_engine="aggregation")
    with pytest.raises(e.InvalidArgument, match="'Sold'"):
        source({"path": t.location, "fields.sold.aggregate-function": "sum"}).schema()
    assert source({"path": t.location, "fields.n.aggregate-function": "sum"}).schema().names == ["id", "Sold", "n"]


def test_what_a_read_asks_for_keeps_letters_and_commas(source, make):
    t = make({"id": "INT", "Sold": "INT"}, ["id"], bucket=1, merge_engine="aggregation")
    options = {"fields.Sold.aggregate-function": "sum"}
    query = {"filter": None, "version": None, "tag": None, "as_of": None, "between": ["a,b", "3"], "mode": None}
    asked = source({"path": t.location, "siltstone.asked": json.dumps({"query": query, "options": options})})
    assert asked._table().dynamic_options == options
    assert asked._query() == query | {"between": ("a,b", "3")}
    with pytest.raises(e.InvalidArgument, match="does not name a start and an end"):
        source({"path": t.location, "between": "a,b,c"})._query()


def test_a_plan_says_what_is_compacted(make):
    t = make({"id": "INT", "p": "STRING"}, ["id", "p"], ["p"], bucket=1, write_only="true")
    for _ in range(2):
        t.upsert([{"id": 1, "p": "a"}, {"id": 1, "p": "b"}])
    plan = t.maintenance.plan_compaction(full=True)
    for beside in ({"full": True}, {"where": "p = 'a'"}, {"partitions": {"p": "a"}}, {"idle": "0 s"}):
        with pytest.raises(e.InvalidArgument, match="a plan says what to compact"):
            t.maintenance.compact(plan, **beside)
    with pytest.raises(e.InvalidArgument, match="a plan says what to compact"):
        t.compact(plan, full=True)
    assert t.compact(plan).tasks == 2


def test_a_limit_is_of_a_whole_scan(make):
    t = make({"id": "INT"}, ["id"], bucket=2)
    t.upsert([{"id": i} for i in range(9)])
    assert t.scan(limit=3).count() == 3
    with pytest.raises(e.InvalidArgument, match="a scan with a limit has no splits"):
        t.scan(limit=3).splits()


def test_an_option_that_changes_what_a_read_returns_is_no_tuning(cat, make):
    t = make({"id": "INT"}, ["id"], bucket=1)
    with pytest.raises(e.UnsupportedFeature, match="'read.changelog'"):
        cat.table(t.name, options={"read.changelog": "true"})
