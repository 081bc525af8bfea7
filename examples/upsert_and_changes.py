"""Keep a stock by upserts and deletes, and let a reader follow what changed.

    python upsert_and_changes.py [DIRECTORY]

Without a directory the table is in a temporary one.
"""

import sys
import tempfile

import siltstone as st


def main(lake: str) -> None:
    """Change rows of a table that has a changelog, and read the changes twice."""
    cat = st.connect(lake)
    cat.create_database("shop", exist_ok=True)
    t = cat.create_table(
        "shop.stock",
        {"item": "STRING", "n": "INT"},
        primary_key="item",
        options={"changelog-producer": "lookup"},  # changes have the old values
        exist_ok=True,
    )

    t.upsert([{"item": "pen", "n": 5}, {"item": "ink", "n": 1}])
    t.upsert([{"item": "pen", "n": 4}, {"item": "cap", "n": 9}])
    t.delete("item = 'ink'")
    print("The table:", t.to_pylist())

    print("\nA reader called 'audit' meets these changes:")
    follow(t)
    t.update({"n": "n - 1"}, where="item = 'cap'")
    print("\nThe next time it goes on where it stopped:")
    follow(t)


def follow(t: st.Table) -> None:
    """Print what the reader has not met; the table remembers how far it came."""
    for batch in t.changes(consumer="audit"):
        for row in batch.to_pylist():
            print(f"  snapshot {batch.snapshot_id}", *row.values(), sep="  ")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(sys.argv[1] if len(sys.argv) > 1 else temporary)
