"""The bitmap table of the deletion-vector design, ours beside Java's RoaringBitmap on the same positions.

    python benches/python/bitmaps.py [--rounds 5] [--max 2000000,20000000,200000000] [--ratio 0.2,0.5,0.8]

Builds the example `bitmaps` in release mode and runs the oracle's `roaring` (`--oracle`, by default
`../shared/oracle`; without it only ours). Prints milliseconds and how many times faster than Java each cell is.
2,000,000,000 at 20 % fits a machine of 8 GB: `--max 2000000000 --ratio 0.2 --rounds 1 --warmup 0`.

Java's times are thread CPU time of one thread, ours wall time of one thread: run it on an idle machine. Java serializes
through the stream that Paimon uses and does not check the CRC when it deserializes; we do. `contains` of every row is
for us the selection mask of the file.
"""

import argparse
import json
import pathlib
import subprocess
import sys

PROJECT = pathlib.Path(__file__).parents[2]
CELLS = {
    "add": ("add_ms", "add_ms"),
    "serialize": ("serialize_ms", "serialize_stream_ms"),
    "deserialize": ("deserialize_ms", "deserialize_ms"),
    "contains": ("contains_deleted_ms", "contains_deleted_ms"),
    "every row": ("contains_scan_ms", "contains_scan_ms"),
}


def lines(command: list[str]) -> dict[tuple[int, float, str], dict]:
    """The JSON lines of a command by what they measure."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {(int(line["max"]), float(line["ratio"]), line["order"]): line for line in found}


def main() -> None:
    """Run both and print one row a cell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", default="5")
    parser.add_argument("--warmup", default="1")
    parser.add_argument("--max", default="2000000,20000000,200000000")
    parser.add_argument("--ratio", default="0.2,0.5,0.8")
    parser.add_argument("--oracle", type=pathlib.Path, default=PROJECT.parent / "shared" / "oracle")
    args = parser.parse_args()
    what = [args.rounds, args.warmup, args.max, args.ratio]
    build = ["cargo", "build", "-q", "--release", "-p", "siltstone", "--example", "bitmaps"]
    subprocess.run(build, cwd=PROJECT, check=True)
    ours = lines([str(PROJECT / "target" / "release" / "examples" / "bitmaps"), *what])
    run = args.oracle / "run"
    java = lines([str(run), "roaring", *what]) if run.exists() else {}
    print("| max | ratio | order | " + " | ".join(CELLS) + " | bytes |")
    print("|--:|--:|---|" + "--:|" * (len(CELLS) + 1))
    for key, line in ours.items():
        cells = []
        for mine, theirs in CELLS.values():
            other = java.get(key, {}).get(theirs)
            times = f" ({other / line[mine]:.1f}x)" if other and line[mine] else ""
            cells.append(f"{line[mine]:.2f}{times}")
        same = "" if not java else " =" if java[key].get("bytes") == line["bytes"] else " DIFFERS"
        print(f"| {key[0]:,} | {key[1]:.0%} | {key[2]} | " + " | ".join(cells) + f" | {line['bytes']:,.0f}{same} |")


if __name__ == "__main__":
    main()
