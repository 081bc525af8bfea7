"""The bitmap table of the deletion-vector design, ours beside Java's RoaringBitmap on the same positions.

    python benches/python/bitmaps.py [--rounds 5] [--max 2000000,20000000,200000000] [--ratio 0.2,0.5,0.8]

The columns are those of the design: random and ascending order, add, serialize, deserialize, contains, bytes; and `every
row`, which asks for each row of the file. Builds the example `bitmaps` in release mode and runs the `roaring` of
tests/oracle (without Java only ours). Prints milliseconds and how many times faster than Java each cell is.
2,000,000,000 at 20 % fits a machine of 8 GB: `--max 2000000000 --ratio 0.2 --rounds 1 --warmup 0`.

State: both sides run-optimise and take the same positions (a fixed permutation, 32-bit numbers in chunks of
4 Mi); `contains` asks for each deleted position in the order in which it was added. Java adds and asks once a value, as
Paimon does; we hand over a chunk, as compactions and readers do. Java's times are thread CPU time of one thread, ours
wall time of one thread: run it on an idle machine. Java serializes through the stream that Paimon uses and does not
check the CRC when it deserializes; we do, in the buffer that the bytes were read into. `every row` is for us the
selection mask of the file. Bytes and CRC must be Java's. `--bits 64` measures the other kind of vector, whose bytes
differ (its bitmap is the same, with keys around it), against the same Java RoaringBitmap.
"""

import argparse
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "oracle"))
import java_paimon

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


def short(key: tuple[int, float, str], java: dict, line: dict) -> list[str]:
    """The cells of a row that miss the goal: as fast as Java, 3 times for ascending adds and for every row."""
    missed = []
    for cell, (mine, theirs) in CELLS.items():
        goal = 3.0 if cell == "every row" or (cell == "add" and key[2] == "ascending") else 1.0
        if line[mine] * goal > java[theirs]:
            missed.append(
                f"{cell} of {key[0]:,} at {key[1]:.0%} {key[2]}: {java[theirs] / line[mine]:.2f}x, goal {goal:g}x"
            )
    return missed


def main() -> None:
    """Run both and print one row a cell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", default="5")
    parser.add_argument("--warmup", default="1")
    parser.add_argument("--max", default="2000000,20000000,200000000")
    parser.add_argument("--ratio", default="0.2,0.5,0.8")
    parser.add_argument("--bits", default="32", choices=["32", "64"])
    parser.add_argument("--program", type=pathlib.Path, help="the example, if it is built already")
    args = parser.parse_args()
    what = [args.rounds, args.warmup, args.max, args.ratio]
    if not args.program:
        build = ["cargo", "build", "-q", "--release", "-p", "siltstone", "--example", "bitmaps"]
        subprocess.run(build, cwd=PROJECT, check=True)
    ours = lines([str(args.program or PROJECT / "target/release/examples/bitmaps"), *what, args.bits])
    if why := java_paimon.missing():
        print(f"Without Java's times: {why}\n")
    java = {} if why else lines([*java_paimon.command(), "roaring", *what])
    print("| max | ratio | order | " + " | ".join(CELLS) + " | bytes |")
    print("|--:|--:|---|" + "--:|" * (len(CELLS) + 1))
    missed = []
    for key, line in ours.items():
        other = java.get(key)
        cells = [
            f"{line[mine]:.2f}" + (f" ({other[theirs] / line[mine]:.1f}x)" if other and line[mine] else "")
            for mine, theirs in CELLS.values()
        ]
        same = ""
        if other and args.bits == "32":
            same = " =" if all(other[part] == line[part] for part in ("bytes", "crc")) else " DIFFERS"
        print(f"| {key[0]:,} | {key[1]:.0%} | {key[2]} | " + " | ".join(cells) + f" | {line['bytes']:,.0f}{same} |")
        missed += short(key, other, line) if other else []
    if java:
        print("\nEvery goal is met." if not missed else "\nOpen:\n" + "\n".join(missed))


if __name__ == "__main__":
    main()
