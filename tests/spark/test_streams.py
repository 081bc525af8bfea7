"""Streams through ``format("siltstone")``: a source of rows and changes, a sink that commits each batch once."""

import pytest
import siltstone as st
from siltstone import spark as ss

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def cat(spark, tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("db")
    ss.enable(spark, warehouse=str(tmp_path / "lake"))
    return cat


@pytest.fixture
def source(cat):
    t = cat.create_table("db.source", {"id": "INT", "v": "STRING"})
    for i in (1, 2):
        t.append([{"id": i, "v": "x"}])
    return t


def run(frame, target, checkpoint, **options):
    """Let a stream end with what is there now."""
    query = (
        frame.writeStream.format("siltstone")
        .option("checkpointLocation", str(checkpoint))
        .options(**options)
        .trigger(availableNow=True)
        .start(target)
    )
    query.awaitTermination(120)
    assert query.exception() is None
    return query


def ids(t):
    return sorted(t.scan(["id"]).to_arrow().column("id").to_pylist())


def test_a_stream_goes_on_where_its_checkpoint_says(spark, cat, source, tmp_path):
    target = cat.create_table("db.target", {"id": "INT", "v": "STRING"}, primary_key=["id"], options={"bucket": "1"})
    stream = spark.readStream.format("siltstone").option("consumer-id", "job").load("db.source")
    query = run(stream, "db.target", tmp_path / "c")
    assert ids(target) == [1, 2] and target.snapshot().user == str(query.id)
    source.append([{"id": 3, "v": "y"}])
    source.append([{"id": 4, "v": "y"}])
    run(stream, "db.target", tmp_path / "c")
    assert ids(target) == [1, 2, 3, 4] and target.snapshot().delta_rows == 2
    assert source.consumers.list()[0].next_snapshot == 5


def test_a_batch_that_is_repeated_is_not_written_again(spark, cat, source, tmp_path):
    """The driver may die after the commit, before the checkpoint says so."""
    target = cat.create_table("db.target", {"id": "INT", "v": "STRING"})
    stream = spark.readStream.format("siltstone").load("db.source")
    run(stream, "db.target", tmp_path / "c")
    (tmp_path / "c" / "commits" / "0").unlink()
    (tmp_path / "c" / "commits" / ".0.crc").unlink(missing_ok=True)
    run(stream, "db.target", tmp_path / "c")
    assert ids(target) == [1, 2] and target.snapshot().id == 1
    files = list(__import__("pathlib").Path(target.location).glob("bucket-*/data-*"))
    assert len(files) == len(target.files())


def test_a_stream_begins_where_it_is_told(spark, cat, source, tmp_path):
    target = cat.create_table("db.target", {"id": "INT", "v": "STRING"})
    stream = spark.readStream.format("siltstone").option("scan.snapshot-id", "2").load("db.source")
    run(stream, "db.target", tmp_path / "a")
    assert ids(target) == [2]
    with pytest.raises(Exception, match="means nothing for a stream"):
        run(spark.readStream.format("siltstone").option("version", "2").load("db.source"), "db.target", tmp_path / "b")


def test_changes_come_with_their_kinds(spark, cat, tmp_path):
    t = cat.create_table(
        "db.keyed",
        {"id": "INT", "v": "STRING"},
        primary_key=["id"],
        options={"bucket": "1", "changelog-producer": "input"},
    )
    t.upsert([{"id": 1, "v": "a"}])
    t.append([{"id": 1, "v": "a"}], row_kind="-D")
    log = cat.create_table("db.log", {"rowkind": "STRING", "id": "INT", "v": "STRING"})
    stream = spark.readStream.format("siltstone").option("read.changelog", "true").option("scan.snapshot-id", "1")
    run(stream.load("db.keyed"), "db.log", tmp_path / "c")
    assert sorted(r["rowkind"] for r in log.scan().to_arrow().to_pylist()) == ["+I", "-D"]
