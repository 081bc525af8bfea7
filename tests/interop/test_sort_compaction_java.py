"""Java reads what a sort compaction wrote, and compacts it further."""

import datetime as dt
import decimal

import pytest
import rows

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(600)]


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("strategy", ["order", "zorder", "hilbert"])
def test_java_reads_sorted_tables(oracle, cat, strategy, kind):
    columns = {"i": "INT", "d": "DECIMAL(22,3)", "t": "TIMESTAMP(6)", "s": "STRING", "m": "MAP<STRING, INT>"}
    options = {"file.format": kind, "target-file-size": "2 kb", "compaction.min.file-num": "2"}
    t = cat.create_table("db.t", columns, options=options)
    start = dt.datetime(2024, 1, 1)
    given = [
        {
            "i": i * 7 % 50,
            "d": decimal.Decimal(i * 37 % 91 - 40) / 2,
            "t": start + dt.timedelta(days=i % 28),
            "s": f"s{i % 13}",
            "m": {"k": i},
        }
        for i in range(200)
    ]
    t.append(given[:100])
    t.append(given[100:])
    t.compact(order_by=["d", "t", "s"], strategy=strategy)
    before = rows.same(oracle, t)
    assert before.num_rows == 200
    oracle.call("compact", t.location, "--full")
    assert rows.ours(rows.same(oracle, t)) == rows.ours(before)
