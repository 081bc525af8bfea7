"""Processes write one table at the same time; a job that is repeated adds nothing.

    python many_writers.py [DIRECTORY]

Each commit is atomic: one that loses a race against another writer is tried again
by itself.
"""

import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import siltstone as st

WRITERS, BATCHES, ROWS = 3, 4, 1000


def main(lake: str) -> None:
    """Start the writers, twice, and count."""
    cat = st.connect(lake)
    cat.create_database("lab", exist_ok=True)
    t = cat.create_table(
        "lab.values",
        {"sensor": "INT", "number": "INT", "value": "DOUBLE"},
        primary_key=["sensor", "number"],
        exist_ok=True,
    )

    for attempt in ("first run", "the same jobs again"):
        with ProcessPoolExecutor(WRITERS, get_context("spawn")) as pool:
            done = list(pool.map(write, [t] * WRITERS, range(WRITERS)))
        print(f"{attempt}: {sum(done)} commits, {t.count():,} rows")
    assert t.count() == WRITERS * BATCHES * ROWS

    commits = Counter(s.user for s in t.history(None) if s.kind == "APPEND")
    print("Commits in the table's history:", dict(sorted(commits.items())))
    print("Problems that fsck finds:", t.maintenance.fsck(deep=True).problems)


def write(t: st.Table, sensor: int) -> int:
    """Commit batches; their numbers say which of them were committed before."""
    commits = 0
    with t.writer(commit_user=f"sensor-{sensor}") as w:
        for batch in range(BATCHES):
            numbers = range(batch * ROWS, (batch + 1) * ROWS)
            rows = {
                "sensor": [sensor] * ROWS,
                "number": numbers,
                "value": [n / 8 for n in numbers],
            }
            w.write(rows)
            commits += not w.commit(identifier=batch).already_committed
    return commits


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(sys.argv[1] if len(sys.argv) > 1 else temporary)
