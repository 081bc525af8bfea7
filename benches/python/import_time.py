"""How long `import siltstone` takes, and that it does not bring pyarrow along.

    python benches/python/import_time.py [--rounds 15] [--limit-ms 150]

Fresh interpreters, one after another; the time of an empty interpreter is taken off. The best of all rounds counts
against the limit: other programs can only make an import slower. Exit status 1 when a promise is broken.
"""

import argparse
import json
import statistics
import subprocess
import sys

HEAVY = ("pyarrow", "pyspark", "pandas", "polars", "duckdb", "numpy", "sqlglot", "rich", "click")
PROBE = (
    "import sys,time;t=time.perf_counter();import siltstone;t=time.perf_counter()-t;import json;"
    f"print(json.dumps([t*1000,[m for m in {HEAVY!r} if m in sys.modules]]))"
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--limit-ms", type=float, default=150)
    args = parser.parse_args()
    times, heavy = [], set()
    for _ in range(args.rounds + 1):  # the first one fills the page cache and writes the .pyc files
        out = subprocess.run([sys.executable, "-c", PROBE], check=True, capture_output=True, text=True)
        millis, loaded = json.loads(out.stdout)
        times.append(millis)
        heavy.update(loaded)
    warm = times[1:]
    print(
        f"import siltstone: best {min(warm):.0f} ms, median {statistics.median(warm):.0f} ms, "
        f"first {times[0]:.0f} ms (limit {args.limit_ms:.0f} ms)"
    )
    print(f"imported along: {', '.join(sorted(heavy)) or 'nothing heavy'}")
    return 1 if min(warm) > args.limit_ms or heavy else 0


if __name__ == "__main__":
    sys.exit(main())
