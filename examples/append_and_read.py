"""Append days of requests to a table, and read a part of it.

    python append_and_read.py [DIRECTORY]

Without a directory the table is in a temporary one.
"""

import sys
import tempfile

import pyarrow as pa
import siltstone as st


def main(lake: str) -> None:
    """Append three days as three commits; read some rows and columns of one of them."""
    cat = st.connect(lake)
    cat.create_database("web", exist_ok=True)
    t = cat.create_table(
        "web.requests",
        {"day": "STRING", "path": "STRING", "status": "INT", "millis": "INT"},
        partition_by="day",
        exist_ok=True,
    )

    for day in ("2026-11-20", "2026-11-21", "2026-11-22"):
        report = t.append(requests(day, 10_000))
        print(f"{day}: {report.rows:,} rows, files: {report.files}")

    condition = "day = '2026-11-21' AND status = 500 AND millis > 490"
    slow = t.scan(["path", "millis"], condition)
    print("\nWhat the scan reads:")
    print(slow.explain())

    rows = slow.to_arrow().sort_by([("millis", "descending"), ("path", "ascending")])
    print(f"\n{rows.num_rows} slow failures on that day, the slowest first:")
    for row in rows.slice(0, 3).to_pylist():
        print(f"  {row['path']:<10} {row['millis']} ms")

    print("\nPartitions:")
    for part in t.partitions():
        print(f"  {part.spec['day']}: {part.rows:,} rows, files: {part.files}")


def requests(day: str, count: int) -> pa.Table:
    """Requests of a day: one of 50 fails."""
    numbers = range(count)
    status = [500 if n % 50 == 0 else 200 for n in numbers]
    columns = {
        "day": [day] * count,
        "path": [f"/item/{n % 97}" for n in numbers],
        "status": pa.array(status, pa.int32()),
        "millis": pa.array([n * 7919 % 503 for n in numbers], pa.int32()),
    }
    return pa.table(columns)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(sys.argv[1] if len(sys.argv) > 1 else temporary)
