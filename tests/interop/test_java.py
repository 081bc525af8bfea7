"""Real Java Paimon reads and compacts what we write, older releases, too."""

import json

import java_oracle
import pyarrow as pa
import pytest

pytestmark = [pytest.mark.java, pytest.mark.xdist_group("java"), pytest.mark.timeout(900)]


def written(make, **options):
    t = make({"id": "BIGINT", "s": "STRING", "d": "DECIMAL(20,3)", "ts": "TIMESTAMP(6)"}, ["id"], **options)
    for n in range(3):
        t.append(pa.table({"id": range(n * 50, n * 50 + 100), "s": [f"{n}-{i}" for i in range(100)]}))
    t.append([{"id": 7}], row_kind="-D")
    return t


@pytest.mark.parametrize("release", ["0.9.0", "1.0.0", "1.3.1"])
def test_other_releases_read_what_we_write(release, make):
    t = written(make, bucket=2)
    t.compact(full=True)
    t.append([{"id": 8, "s": "last"}])
    ours = {r["id"]: r["s"] for r in t.scan().to_arrow().to_pylist()}
    with java_oracle.open_oracle(release) as java:
        assert {r["id"]: r["s"] for r in java.call("read", t.location)} == ours


def test_partitions_of_numbers_are_where_java_has_them(make, oracle):
    """They had the fewest digits, which Java 17 does not write: neither found the files of the other."""
    doubles = [5e-324, 2e23, 1e23, 2.0**-44, 2.0**62, 1.1e-5, 1e7, 0.1, -8.41e21, 2.2250738585072014e-308]
    floats = [1.401298464324817e-45, 1.1754943508222875e-38, -11034372096.0, 2.0**93, 2.0**25, 0.5]
    for kind, values in ("DOUBLE", doubles), ("FLOAT", floats):
        ours, javas = (make({"p": kind, "k": "INT"}, partition_by=["p"], name=f"{kind}{n}") for n in range(2))
        ours.append([{"p": value, "k": 1} for value in values])
        rows = [["+I", value, 1] for value in values]
        oracle.call("apply", javas.location, json.dumps({"op": "write", "rows": rows}))
        assert len(oracle.call("read", ours.location)) == len(values)
        assert javas.scan().to_arrow().num_rows == len(values)


def test_java_compacts_our_table_and_we_compact_javas(make, oracle):
    t = written(make, bucket=2, write_only="true")
    ours = sorted(map(str, t.scan().to_arrow().to_pylist()))
    oracle.call("compact", t.location, "--full")
    assert sorted(map(str, t.scan().to_arrow().to_pylist())) == ours
    oracle.call(
        "apply",
        t.location,
        '{"op": "write", "rows": [["+I", 1, "java", "1.000", null], ["-D", 2, null, null, null]]}',
    )
    t.compact(full=True)
    rows = {r["id"]: r["s"] for r in t.scan().to_arrow().to_pylist()}
    assert rows[1] == "java" and 2 not in rows
    assert {r["id"]: r["s"] for r in oracle.call("read", t.location)} == rows
    assert not oracle.call("fsck", t.location, check=False)[0]["problems"]


def test_java_reads_every_snapshot_as_we_do(make, oracle):
    t = written(make, bucket=3)
    for snapshot in t.history(100):
        ours = sorted(r["id"] for r in t.scan(version=snapshot.id).to_arrow().to_pylist())
        theirs = sorted(r["id"] for r in oracle.call("read", t.location, f"scan.snapshot-id={snapshot.id}"))
        assert ours == theirs
