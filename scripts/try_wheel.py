"""Does an installed wheel work? A table is made, written, compacted and read. For environments that have nothing else.

python scripts/try_wheel.py
"""

import sys
import tempfile

import siltstone as st


def main() -> int:
    with tempfile.TemporaryDirectory() as lake:
        cat = st.connect(lake)
        cat.create_database("shop")
        t = cat.create_table("shop.orders", {"id": "BIGINT", "item": "STRING"}, primary_key="id")
        t.upsert([{"id": 1, "item": "pen"}, {"id": 2, "item": "ink"}])
        t.upsert([{"id": 2, "item": "nib"}])
        t.compact(full=True)
        rows = sorted(t.to_pylist(), key=lambda row: row["id"])
        works = rows == [{"id": 1, "item": "pen"}, {"id": 2, "item": "nib"}] and t.maintenance.fsck().ok
    print(f"siltstone {st.__version__} on Python {sys.version.split()[0]}: {'works' if works else rows}")
    return int(not works)


if __name__ == "__main__":
    sys.exit(main())
