"""What ``ss.sql`` hands to the scans of a statement: only conditions that cannot change its result."""

import datetime as dt
import decimal

import pytest
import siltstone as st
from siltstone import spark as ss
from siltstone.spark import queries, relations
from siltstone.spark.conditions import Meaning
from siltstone.spark.parallelism import packed
from siltstone.spark.pushdown import Pushdown
from siltstone.spark.queries import parse

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

COLUMNS = {"id": "INT", "dt": "STRING", "v": "DECIMAL(8,2)", "d": "DATE", "at": "TIMESTAMP(6)", "b": "BOOLEAN"}


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory):
    warehouse = str(tmp_path_factory.mktemp("pruning") / "lake")
    cat = st.connect(warehouse)
    cat.create_database("shop")
    rows = [
        {"id": i, "dt": f"d{i % 3}", "v": i, "d": f"2026-11-0{i % 3 + 1}", "at": None, "b": i % 2 == 0}
        for i in range(9)
    ]
    for name, partition in (("a", ["dt"]), ("c", [])):
        t = cat.create_table(f"shop.{name}", COLUMNS, partition_by=partition)
        with t.writer() as w:
            w.write(_typed(t, rows[: 9 if name == "a" else 4]))
            w.commit()
    return warehouse


def _typed(t, rows):
    import pyarrow as pa

    return pa.Table.from_pylist([{**r, "d": dt.date.fromisoformat(r["d"])} for r in rows], schema=t.schema)


@pytest.fixture
def shop(spark, lake):
    ss.enable(spark, warehouse=lake)


def pushed(query, zone="UTC", **names):
    """The condition of each table, in the order of the text."""
    import zoneinfo

    import pyarrow as pa
    from sqlglot import exp

    schema = pa.schema(
        {
            "id": pa.int32(),
            "dt": pa.string(),
            "v": pa.decimal128(8, 2),
            "d": pa.date32(),
            "at": pa.timestamp("us"),
            "ltz": pa.timestamp("us", "UTC"),
            "b": pa.bool_(),
            "f": pa.float64(),
        }
    )
    tree = parse(query)
    tables = [n for n in tree.find_all(exp.Table) if n.db == "shop"]
    tables.sort(key=lambda n: n.parts[0].meta["start"])
    meaning = Meaning(exact_case=False, texts="\\" not in query, zone=zoneinfo.ZoneInfo(zone))
    found = Pushdown(query, tree, {id(n): schema for n in tables}, meaning)
    return [_shown(found.of(n)) for n in tables]


def _shown(condition):
    def text(tree):
        match tree["op"]:
            case "and" | "or":
                return "(" + f" {tree['op']} ".join(text(a) for a in tree["args"]) + ")"
            case "not":
                return f"not {text(tree['args'][0])}"
            case "in":
                return f"{tree['column']} in {tree['values']}"
            case op:
                value = tree.get("value")
                value = value["value"] if isinstance(value, dict) else value
                return f"{tree['column']} {op}" + ("" if value is None else f" {value}")

    return None if condition is None else text(condition.tree)


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        ("id = 1 AND v < 2.5", "(id eq 1 and v lt 2.5)"),
        ("1 < id", "id gt 1"),
        ("id = -3 OR dt IN ('x', 'y')", "(id eq -3 or dt in ['x', 'y'])"),
        ("NOT (id = 1) AND dt IS NOT NULL", "(not id eq 1 and not dt is_null)"),
        ("d = DATE'2026-11-01' AND d <= '2026-12-01'", "(d eq 2026-11-01 and d le 2026-12-01)"),
        ("id BETWEEN 1 AND 2 AND dt LIKE 'x%'", "((id ge 1 and id le 2) and dt like x%)"),
        ("at >= '2026-11-01 00:00:00'", "at ge 2026-11-01 00:00:00"),
        ("b AND NOT b", "(b eq True and not b eq True)"),
        ("id = 1 AND f > 1", "id eq 1"),
        # what is weaker under OR would be too narrow under NOT
        ("(id = 1 AND f > 1) OR dt = 'x'", "(id eq 1 or dt eq x)"),
        ("NOT (id = 1 AND f > 1)", None),
        ("id = 1 OR f > 1", None),
        # Spark casts the column, or the literal is not known
        ("dt = 5", None),
        ("id = '5'", None),
        ("id = 1.5", None),
        ("upper(dt) = 'X'", None),
        ("dt = 'x' || 'y'", None),
        ("dt = NULL", None),
        ("dt <=> 'x'", None),
        ("dt LIKE 'x_%'", None),
        ("d = '2026-1-1'", None),
        (r"dt = 'a\u0041'", None),
        ("id = (SELECT max(x) FROM u)", None),
        ("id = 1 AND rand() < 0.5", None),
        ("other.id = 1", None),
    ],
)
def test_conditions_that_mean_the_same(where, condition):
    assert pushed(f"SELECT * FROM shop.t WHERE {where}") == [condition]


def test_an_instant_is_of_the_sessions_zone():
    (found,) = pushed("SELECT * FROM shop.t WHERE ltz < TIMESTAMP'2026-11-01 08:00:00'", zone="Asia/Shanghai")
    assert found == "ltz lt 2026-11-01 00:00:00+00:00"


@pytest.mark.parametrize(
    ("query", "conditions"),
    [
        ("SELECT * FROM shop.a x JOIN shop.b y ON x.id = y.id WHERE x.dt = 'p' AND y.dt = 'q'", ["dt eq p", "dt eq q"]),
        ("SELECT * FROM shop.a x, shop.b y WHERE dt = 'p' AND y.id = 1", [None, "id eq 1"]),
        # of an outer join WHERE prunes the side whose rows all come, ON the other one
        ("SELECT * FROM shop.a x LEFT JOIN shop.b y ON x.id = y.id AND y.dt = 'q' AND x.dt = 'p'", [None, "dt eq q"]),
        ("SELECT * FROM shop.a x LEFT JOIN shop.b y USING (id) WHERE y.dt IS NULL AND id = 1", ["id eq 1", None]),
        ("SELECT * FROM shop.a x RIGHT JOIN shop.b y ON x.id = y.id WHERE x.id = 1 AND y.id = 2", [None, "id eq 2"]),
        ("SELECT * FROM shop.a x FULL JOIN shop.b y ON x.id = y.id AND y.id = 3 WHERE x.id = 1", [None, None]),
        ("SELECT * FROM shop.a x LEFT ANTI JOIN shop.b y ON x.id = y.id AND y.dt = 'q' WHERE x.dt = 'p'", ["dt eq p", "dt eq q"]),
        ("SELECT * FROM shop.a x JOIN other y ON x.id = y.id WHERE dt = 'p' AND x.id = 1", ["id eq 1"]),
        # through subqueries and tables that are used once
        ("WITH c AS (SELECT dt AS day, id FROM shop.a) SELECT * FROM c WHERE day = 'p'", ["dt eq p"]),
        ("WITH c AS (SELECT * FROM shop.a) SELECT * FROM c JOIN c d USING (id) WHERE c.dt = 'p'", [None]),
        ("SELECT * FROM (SELECT id, dt FROM shop.a WHERE id > 1) q WHERE q.dt = 'p'", ["(id gt 1 and dt eq p)"]),
        ("SELECT * FROM (SELECT dt, sum(v) s FROM shop.a GROUP BY dt) WHERE dt = 'p'", ["dt eq p"]),
        ("SELECT * FROM (SELECT max(dt) AS dt FROM shop.a) WHERE dt = 'p'", [None]),
        ("SELECT * FROM (SELECT id + 1 AS id FROM shop.a) WHERE id = 2", [None]),
        ("SELECT * FROM (SELECT * FROM shop.a LIMIT 3) WHERE id = 2", [None]),
        ("SELECT * FROM (SELECT id, row_number() OVER (ORDER BY v) n FROM shop.a) WHERE id = 2", [None]),
        # to the sides of a UNION whose columns have the types of the whole
        ("SELECT * FROM (SELECT id FROM shop.a UNION ALL SELECT id FROM shop.b) WHERE id = 2", ["id eq 2", "id eq 2"]),
        ("SELECT * FROM (SELECT id x, dt FROM shop.a UNION (SELECT id, dt FROM shop.b UNION SELECT id, d FROM shop.c)) q WHERE x = 2 AND q.dt = 'p'", ["id eq 2"] * 3),
        ("SELECT * FROM (SELECT id, dt FROM shop.a WHERE v > 1 UNION SELECT id, 'x' FROM shop.b) WHERE id = 2", ["(v gt 1 and id eq 2)", "id eq 2"]),
        ("SELECT * FROM (SELECT id FROM shop.a UNION ALL SELECT v FROM shop.b) WHERE id = 2", [None, None]),
        ("SELECT * FROM (SELECT id FROM shop.a UNION ALL SELECT id FROM shop.b LIMIT 3) WHERE id = 2", [None, None]),
        ("SELECT * FROM (SELECT id FROM shop.a EXCEPT SELECT id FROM shop.b) WHERE id = 2", [None, None]),
        ("WITH u AS (SELECT id, dt FROM shop.a UNION ALL SELECT id, dt FROM shop.b) SELECT id FROM u WHERE dt = 'p'", ["dt eq p"] * 2),
        ("SELECT id FROM shop.a WHERE id = 1 UNION ALL SELECT id FROM shop.b WHERE id = 2", ["id eq 1", "id eq 2"]),
        ("SELECT * FROM shop.a o WHERE EXISTS (SELECT 1 FROM shop.b i WHERE i.id = o.id AND i.dt = 'q')", [None, "dt eq q"]),
        ("SELECT * FROM shop.a o WHERE EXISTS (SELECT 1 FROM shop.b i WHERE o.id = 5)", [None, None]),
        # where rows are chosen before WHERE, or columns come from elsewhere
        ("SELECT * FROM shop.a TABLESAMPLE (10 PERCENT) WHERE id = 1", [None]),
        ("SELECT * FROM shop.a LATERAL VIEW explode(array(1)) e AS id WHERE id = 1", [None]),
        ("SELECT * FROM shop.a PIVOT (sum(v) FOR dt IN ('p')) WHERE id = 1", [None]),
        ("FROM shop.a |> LIMIT 1 |> WHERE id = 1", [None]),
        ("SELECT count(*) FROM shop.a x (u, w) WHERE u = 1", [None]),
    ],
)  # fmt: skip
def test_conditions_reach_a_table_only_where_rows_without_them_do_not_count(query, conditions):
    assert pushed(query) == conditions


QUERIES = [
    "SELECT id FROM shop.a WHERE dt = 'd1' AND id > 1",
    "SELECT a.id, c.id FROM shop.a a LEFT JOIN shop.c c ON a.id = c.id AND c.id > 1 WHERE a.dt <> 'd0'",
    "SELECT a.id, c.id FROM shop.a a FULL JOIN shop.c c ON a.id = c.id AND c.id > 1 WHERE coalesce(a.dt, 'd1') = 'd1'",
    "SELECT id FROM shop.a WHERE dt IN ('d0', 'd1') AND NOT (v = 3 OR b) AND d < '2026-11-03'",
    "SELECT id FROM (SELECT id, dt FROM shop.a UNION ALL SELECT id, dt FROM shop.c WHERE b) WHERE id > 1 AND dt = 'd2'",
    "SELECT x.dt, n FROM (SELECT dt, count(*) n FROM shop.a GROUP BY dt) x JOIN shop.c c USING (dt) WHERE dt > 'd0'",
]


@pytest.fixture(params=["in the plan", "by name", "by the data source"])
def way(request, monkeypatch):
    """How the rows of a table come to Spark."""
    monkeypatch.setattr(relations, "FEW_ROWS", 10_000 if request.param == "in the plan" else 0)
    monkeypatch.setattr(relations, "FEW_FILES", 32 if request.param == "by name" else 0)
    return request.param


@pytest.mark.parametrize("query", QUERIES)
def test_statements_answer_as_over_whole_frames(spark, shop, query, way):
    for name in "ac":
        ss.read(spark, f"shop.{name}").createOrReplaceTempView(f"whole_{name}")
    whole = query.replace("shop.", "whole_")
    try:
        assert sorted(map(repr, ss.sql(spark, query).collect())) == sorted(map(repr, spark.sql(whole).collect()))
    finally:
        for name in "ac":
            spark.catalog.dropTempView(f"whole_{name}")


def test_partitions_and_columns_that_a_statement_does_not_need_are_not_read(spark, shop, monkeypatch):
    """SQL pruned nothing: a query of one of 1,000 partitions read all of them, in a task for each bucket."""
    asked = []
    made = queries.relation
    monkeypatch.setattr(
        queries, "relation", lambda r, schema: asked.append((r.columns, _shown(r.condition))) or made(r, schema)
    )
    query = "SELECT a.id FROM shop.a a JOIN shop.c c ON a.id = c.id WHERE a.dt = 'd1' AND c.b"
    frame = ss.sql(spark, query)
    assert sorted(r.id for r in frame.collect()) == []
    assert asked == [(["id", "dt"], "dt eq d1"), (["id", "b"], "b eq True")]
    asked.clear()
    ss.sql(spark, "SELECT count(*) FROM shop.a")
    assert asked == [([], None)]


def test_splits_share_tasks_by_their_bytes():
    """Each split was a task: 2,000 small ones took two minutes."""
    from types import SimpleNamespace as Fake

    mb = 1 << 20

    def tasks(sizes, slots, **options):
        table = Fake(options={key.replace("__", ".").replace("_", "-"): value for key, value in options.items()})
        groups = packed(table, [Fake(bytes=size * mb, files=["f"]) for size in sizes], slots)
        assert [split.bytes // mb for group in groups for split in group] == list(sizes)
        return [len(group) for group in groups]

    assert tasks([0] * 64, 2) == [32, 32]  # 4 MB for each file that is opened, 128 MB a task
    assert tasks([0] * 8, 2) == [4, 4]  # no fewer tasks than slots
    assert tasks([0] * 8, None) == [8]
    assert tasks([9, 11, 10, 12], 2) == [2, 2]  # not a third one for what the first two leave over
    assert tasks([300, 1, 1, 300], 2) == [1, 2, 1]
    assert tasks([0] * 8, None, source__split__open_file_cost="64 mb") == [2, 2, 2, 2]
    assert packed(Fake(options={}), [], 2) == []


def test_a_frame_stays_at_the_version_that_was_the_latest(spark, lake, shop):
    """Two references of one query could see two versions, and a frame changed between two uses."""
    cat = st.connect(lake)
    t = cat.create_table("shop.moving", {"id": "INT"})
    t.append([{"id": 1}])
    frame, query = ss.read(spark, "shop.moving"), ss.sql(spark, "SELECT count(*) n FROM shop.moving")
    t.alter().add_column("x", "INT").commit()
    later = ss.read(spark, "shop.moving")
    t.append([{"id": 2, "x": 2}])
    assert (frame.count(), query.collect()[0].n, later.columns, later.count()) == (1, 1, ["id", "x"], 1)
    assert ss.read(spark, "shop.moving").count() == 2


VALUES = {
    "id": "INT NOT NULL",
    "b": "BOOLEAN",
    "i1": "TINYINT",
    "i2": "SMALLINT",
    "i8": "BIGINT",
    "f": "FLOAT",
    "g": "DOUBLE",
    "n4": "DECIMAL(9,2)",
    "n8": "DECIMAL(18,3)",
    "n16": "DECIMAL(38,10)",
    "d": "DATE",
    "c": "CHAR(3)",
    "s": "STRING",
    "x": "BYTES",
}
MORE = {
    "t": "TIME(3)",
    "w3": "TIMESTAMP(3)",
    "w9": "TIMESTAMP(9)",
    "z": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "l": "ARRAY<INT NOT NULL>",
    "m": "MAP<STRING NOT NULL, INT>",
    "r": "ROW<`a` INT, `b` ARRAY<STRING>>",
    "v": "VARIANT",
}
D = decimal.Decimal
LARGEST = {
    "id": 1, "b": True, "i1": 127, "i2": -(2**15), "i8": 2**63 - 1, "f": 1.5, "g": -0.0, "n4": D("9999999.99"),
    "n8": D("-1.125"), "n16": D("1234567890123456789012345678.0123456789"), "d": dt.date(1, 1, 1), "c": "a ",
    "s": "ä'\\", "x": b"\x00\xff",
    "t": dt.time(23, 59, 59, 999000), "w3": dt.datetime(1969, 12, 31, 23, 59), "w9": dt.datetime(2261, 12, 31, 1, 2, 3, 4),
    "z": dt.datetime(1582, 10, 14, 1, 2, 3, tzinfo=dt.UTC), "l": [1, 2], "m": [("k", None)], "r": {"a": 1, "b": ["y", None]},
    "v": '{"a":1}',
}  # fmt: skip


@pytest.mark.parametrize("columns", [VALUES, VALUES | MORE], ids=["simple", "all"])
def test_values_are_the_same_whichever_way_they_come(spark, lake, shop, columns, way, monkeypatch):
    cat = st.connect(lake)
    name = f"shop.v{len(columns)}"
    if f"v{len(columns)}" not in cat.tables("shop"):
        t = cat.create_table(name, columns)
        t.append([{k: v for k, v in LARGEST.items() if k in columns}, {k: 2 if k == "id" else None for k in columns}])
    made = []
    monkeypatch.setattr(relations, "frame", lambda *a, made=made, f=relations.frame: made.append(a) or f(*a))
    found, whole = ss.sql(spark, f"SELECT * FROM {name}"), ss.read(spark, name)
    assert sorted(map(repr, found.collect())) == sorted(map(repr, whole.collect()))
    assert found.columns == whole.columns and [f.dataType for f in found.schema] == [f.dataType for f in whole.schema]
    by_spark = way == "in the plan" or (way == "by name" and columns is VALUES)
    assert bool(made) != by_spark


def test_files_are_read_by_name_only_where_their_rows_are_the_rows(spark, lake, shop, monkeypatch):
    """Rows that are merged, deleted or of another schema would come back as they lie in the files."""
    monkeypatch.setattr(relations, "FEW_ROWS", 0)
    by_source = []
    monkeypatch.setattr(relations, "frame", lambda *a, f=relations.frame: by_source.append(a[0].table.name) or f(*a))
    cat = st.connect(lake)

    def rows(name, of="id, v"):
        by_source.clear()
        found = sorted(tuple(r) for r in ss.sql(spark, f"SELECT {of} FROM shop.{name}").collect())
        return found, bool(by_source)

    t = cat.create_table("shop.keyed", {"id": "INT", "v": "INT"}, primary_key=["id"], options={"bucket": "1"})
    t.upsert([{"id": 1, "v": 1}, {"id": 2, "v": 2}])
    assert rows("keyed") == ([(1, 1), (2, 2)], False)
    t.upsert([{"id": 1, "v": 3}])
    assert rows("keyed") == ([(1, 3), (2, 2)], True)
    assert rows("keyed", "count(*)") == ([(2,)], True)
    t.compact(full=True)
    assert rows("keyed") == ([(1, 3), (2, 2)], False)
    assert rows("keyed", "count(*)") == ([(2,)], False)
    t.alter().rename_column("v", "w").commit()
    assert rows("keyed", "id, w") == ([(1, 3), (2, 2)], True)

    t = cat.create_table("shop.marked", {"id": "INT", "v": "INT"}, options={"deletion-vectors.enabled": "true"})
    t.append([{"id": i, "v": i} for i in range(3)])
    assert rows("marked") == ([(0, 0), (1, 1), (2, 2)], False)
    t.delete("id = 1")
    assert rows("marked") == ([(0, 0), (2, 2)], True)
    assert rows("marked", "count(*)") == ([(2,)], False)  # of vectors the number of rows is known

    t = cat.create_table("shop.orc", {"id": "INT", "v": "INT"}, options={"file.format": "orc"})
    t.append([{"id": 1, "v": 1}])
    assert rows("orc") == ([(1, 1)], True)
    assert rows("orc", "count(*)") == ([(1,)], False)


def test_a_version_that_is_named_comes_by_the_data_source(spark, lake, shop, monkeypatch):
    by_source = []
    monkeypatch.setattr(relations, "frame", lambda *a, f=relations.frame: by_source.append(a[0].table.name) or f(*a))
    assert ss.sql(spark, "SELECT count(*) n FROM shop.a VERSION AS OF 1").collect()[0].n == 9
    assert ss.sql(spark, "SELECT count(*) n FROM shop.a").collect()[0].n == 9
    assert by_source == ["shop.a"]


def test_a_condition_that_siltstone_cannot_compare_is_left_to_spark(spark, lake, shop):
    """A VARIANT comes to Spark as text: the condition on it once ended the statement with InvalidArgument."""
    t = st.connect(lake).create_table(
        "shop.loose", {"id": "INT", "v": "VARIANT"}, primary_key="id", options={"bucket": 1}
    )
    t.append([{"id": i, "v": str(i)} for i in range(4)] + [{"id": 4, "v": None}])
    for where, ids in (("v = '2' AND id > 1", [2]), ("NOT (v = '2' OR id = 1)", [0, 3]), ("v <> '2'", [0, 1, 3])):
        found = ss.sql(spark, f"SELECT id FROM shop.loose WHERE {where} ORDER BY id").collect()  # noqa: S608
        assert [row.id for row in found] == ids, where
        frame = spark.read.format("siltstone").option("pushdown", "true").load(t.path)
        assert sorted(row.id for row in frame.where(where).collect()) == ids, where
    ss.sql(spark, "DELETE FROM shop.loose WHERE v = '2' OR id = 0")
    assert sorted(row["id"] for row in t) == [1, 3, 4]
