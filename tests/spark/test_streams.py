"""Streams through ``format("siltstone")``: a source of rows and changes, a sink that commits each batch once."""

import pathlib

import pyarrow as pa
import pytest
from siltstone import errors as e
from siltstone import spark as ss
from siltstone.spark.datasource import SiltstoneSource
from siltstone.spark.source_stream import StreamMessages, StreamWriter

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


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
    ss.enable(spark, warehouse=cat.warehouse)
    target = cat.create_table("db.target", {"id": "INT", "v": "STRING"}, primary_key=["id"], options={"bucket": "1"})
    stream = spark.readStream.format("siltstone").option("consumer-id", "job").load("db.source")
    query = run(stream, "db.target", tmp_path / "c")
    assert ids(target) == [1, 2] and target.snapshot().user == str(query.id)
    source.append([{"id": 3, "v": "y"}])
    source.append([{"id": 4, "v": "y"}])
    run(stream, "db.target", tmp_path / "c")
    assert ids(target) == [1, 2, 3, 4] and target.snapshot().delta_rows == 2
    # Spark says that a batch is done when it plans the next one: the consumer is one batch behind, never ahead
    assert source.consumers.list()[0].next_snapshot == 3


def reader(table, **options):
    source = SiltstoneSource({"path": table.path, **options})
    return source.streamReader(source.schema())


def brought(stream, start, end):
    partitions = stream.partitions(start, end)
    return sorted(row["id"] for p in partitions for batch in stream.read(p) for row in batch.to_pylist())


def at(snapshot, full=0):
    """An offset of a checkpoint from before, which says no more; `place`: so much of an offset."""
    return {"snapshot": snapshot, "full": full}


def place(offset):
    return {name: offset[name] for name in ("snapshot", "full")}


def test_a_batch_is_the_same_whenever_it_is_read(source):
    """After a restart Spark asks for the last batch again, with rows and columns that came meanwhile."""
    stream = reader(source)
    assert (place(stream.initialOffset()), place(stream.latestOffset(at(0, 1)))) == (at(0, 1), at(2))
    source.append([{"id": 3, "v": "y"}])
    source.alter().add_column("z", "INT").commit()
    source.append([{"id": 4, "v": "y"}])
    assert brought(stream, at(0, 1), at(2)) == [1, 2]
    assert brought(stream, at(2), stream.latestOffset(at(2))) == [3, 4]
    assert stream.partitions(at(4), at(4)) == [] and place(stream.latestOffset(at(4))) == at(4)


def test_a_stream_begins_where_options_say(source):
    source.append([{"id": 3, "v": "y"}])
    source.tags.create("t", version=2)
    millis = str(source.snapshot(3).raw["timeMillis"])
    for options, start in (
        ({"scan.mode": "latest"}, at(3)),
        ({"scan.snapshot-id": "2"}, at(1)),
        ({"scan.tag-name": "t"}, at(1)),
        ({"scan.timestamp-millis": millis}, at(2)),
        ({"scan.snapshot-id": "2", "scan.mode": "from-snapshot-full"}, at(2, 1)),
    ):
        assert place(reader(source, **options).initialOffset()) == start, options
    full = reader(source, **{"scan.snapshot-id": "2", "scan.mode": "from-snapshot-full"})
    assert brought(full, at(2, 1), full.latestOffset(at(2, 1))) == [1, 2] and place(full.latestOffset(at(2))) == at(3)
    consumer = reader(source, **{"consumer-id": "job"})
    consumer.commit(at(2))
    assert place(reader(source, **{"consumer-id": "job"}).initialOffset()) == at(2)
    for options, says in (
        ({"version": "2"}, "means nothing for a stream"),
        ({"scan.mode": "compacted-full"}, "scan.mode"),
        ({"scan.snapshot-id": "1", "scan.tag-name": "t"}, "only one of"),
        ({"read.stream.maxrowspertrigger": "0"}, "number of rows"),
    ):
        with pytest.raises(e.SiltstoneError, match=says):
            reader(source, **options).initialOffset()


def test_a_batch_is_bounded_at_the_end_of_a_snapshot(source):
    limits = pytest.importorskip("pyspark.sql.streaming.datasource")
    source.append([{"id": 3, "v": "y"}])
    stream = reader(source, **{"read.stream.maxrowspertrigger": "1"})
    assert stream.getDefaultReadLimit() == limits.ReadMaxRows(1)
    assert place(stream.latestOffset(at(1), limits.ReadMaxRows(1))) == at(2)
    assert place(stream.latestOffset(at(1), limits.ReadAllAvailable())) == at(3)
    stream.prepareForTriggerAvailableNow()
    source.append([{"id": 4, "v": "y"}])
    assert place(stream.latestOffset(at(2), limits.ReadAllAvailable())) == at(3)


def test_changes_come_with_their_kinds(cat):
    options = {"bucket": "1", "changelog-producer": "input"}
    t = cat.create_table("db.keyed", {"id": "INT", "v": "STRING"}, primary_key=["id"], options=options)
    t.upsert([{"id": 1, "v": "a"}])
    t.append([{"id": 1, "v": "a"}], row_kind="-D")
    stream = reader(t, **{"read.changelog": "true"})
    batches = [batch for p in stream.partitions(at(0), at(2)) for batch in stream.read(p)]
    assert [row["rowkind"] for batch in batches for row in batch.to_pylist()] == ["+I", "-D"]


def test_a_batch_that_is_repeated_is_not_written_again(source):
    """The driver may die after the commit, before the checkpoint says so."""
    writer = StreamWriter(source, None, None, None)
    batch = pa.record_batch({"id": pa.array([7], pa.int32()), "v": ["w"]})
    for number in (0, 0, 1):
        writer.commit([StreamMessages(writer.write(iter([batch])).messages, "query"), None], number)
    assert ids(source) == [1, 2, 7, 7] and source.snapshot().id == 4
    files = list(pathlib.Path(source.location).glob("bucket-*/data-*"))
    assert len(files) == len(source.files())
    with pytest.raises(e.UnsupportedFeature, match="which streaming query") as raised:
        writer.commit([StreamMessages(writer.write(iter([batch])).messages, None)], 2)
    assert "commit_user" in str(raised.value) and source.snapshot().id == 4
