"""A pipeline of streams and SQL: files → bronze → silver → gold. Run as a program, it is a driver that can be killed.

::

    landing/*.json ─▶ bronze    append: each event as it came
                  ─▶ silver     partial-update, deletion vectors, lookup changelog: an order, from events about parts of it
                  ─▶ gold       aggregation: totals of each day, from silver's changes and what they take back
"""

import os
import pathlib
import signal
import sys

EVENT = "id INT, day STRING, amount BIGINT, a_ts INT, status STRING, s_ts INT"
TABLES = (
    f"CREATE TABLE lake.bronze ({EVENT}) TBLPROPERTIES ('bucket' = '-1')",
    f"""CREATE TABLE lake.silver ({EVENT.replace("id INT", "id INT NOT NULL")}) TBLPROPERTIES (
        'primary-key' = 'id', 'bucket' = '2', 'merge-engine' = 'partial-update', 'changelog-producer' = 'lookup',
        'deletion-vectors.enabled' = 'true',
        'fields.a_ts.sequence-group' = 'day,amount', 'fields.s_ts.sequence-group' = 'status')""",
    """CREATE TABLE lake.gold (day STRING NOT NULL, total BIGINT, orders BIGINT) TBLPROPERTIES (
        'primary-key' = 'day', 'bucket' = '1', 'merge-engine' = 'aggregation',
        'fields.total.aggregate-function' = 'sum', 'fields.orders.aggregate-function' = 'sum')""",
)


def flow(spark, root, event=EVENT, crash=None):
    """Let everything that has come go through, from the checkpoints on.

    crash: die, as by kill -9, where this batch of the last stream is committed and Spark has not noted it yet.
    """
    from siltstone import spark as ss

    def ended(writer, name, table=None):
        writer = writer.option("checkpointLocation", str(root / "checkpoints" / name)).trigger(availableNow=True)
        query = writer.start(table) if table else writer.start()
        assert query.awaitTermination(600)

    landing = spark.readStream.schema(event).json(str(root / "landing"))
    ended(landing.writeStream.format("siltstone"), "bronze", "lake.bronze")
    events = spark.readStream.format("siltstone").load("lake.bronze")
    ended(events.writeStream.format("siltstone"), "silver", "lake.silver")
    ss.sql(spark, "CALL sys.compact(table => 'lake.silver')")

    def to_gold(frame, batch):
        totals = frame.where("amount IS NOT NULL").selectExpr("rowkind", "day", "amount AS total", "1L AS orders")
        ss.write(totals, "lake.gold", row_kind_column="rowkind", commit_user="to-gold", identifier=batch)
        if batch == crash:
            os.killpg(0, signal.SIGKILL)

    changes = spark.readStream.format("siltstone").option("read.changelog", "true").load("lake.silver")
    ended(changes.writeStream.foreachBatch(to_gold), "gold")


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    from siltstone import spark as ss
    from spark_session import local_session

    os.setpgid(0, 0)  # the JVM and its workers die with the driver
    place = pathlib.Path(sys.argv[1])
    session = local_session(place)
    ss.enable(session, warehouse=str(place / "lake"))
    flow(session, place, crash=int(sys.argv[2]))
