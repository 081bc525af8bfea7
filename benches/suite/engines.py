"""The Python engines, each in a process of its own that stays alive (and warm) over all rounds.

    python engines.py NAME        then one JSON request a line on stdin, one JSON answer a line on stdout

Requests: {"do": "hello"}, {"do": "create", "dir", "scenario"}, {"do": "write" | "read" | "compact" | "size", "dir", ...}.
"""

import contextlib
import gc
import json
import os
import pathlib
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from other_engines import OTHERS

TABLE = "bench.t"


class Siltstone:
    """This project."""

    phases = frozenset({"write", "read", "compact"})

    def hello(self) -> str:
        import siltstone

        return siltstone.__version__

    def create(self, warehouse: str, scenario: dict, schema: pa.Schema) -> None:
        import siltstone as st

        cat = st.connect(warehouse)
        cat.create_database("bench")
        written = {f["name"]: f["type"] for f in scenario["fields"]}
        columns = written if all(isinstance(kind, str) for kind in written.values()) else schema
        keys, partitions = scenario["primary_keys"], scenario["partition_keys"]
        cat.create_table(TABLE, columns, primary_key=keys, partition_by=partitions, options=scenario["options"])

    def _open(self, warehouse: str) -> Any:
        import siltstone as st

        return st.connect(warehouse).table(TABLE)

    def write(self, warehouse: str, data: pa.Table, *, keyed: bool) -> None:
        table = self._open(warehouse)
        if keyed:
            table.upsert(data)
        else:
            table.append(data)

    def read(self, warehouse: str) -> pa.Table:
        return self._open(warehouse).scan().to_arrow()

    def compact(self, warehouse: str, *, full: bool) -> None:
        self._open(warehouse).maintenance.compact(full=full)

    def size(self, warehouse: str) -> int:
        return sum(s.bytes for s in self._open(warehouse).scan().splits())


class PyPaimon:
    """pypaimon as it comes: pure Python paths over pyarrow."""

    phases = frozenset({"write", "read"})  # it has no compaction
    options: dict[str, str] = {}  # noqa: RUF012

    def hello(self) -> str:
        return version("pypaimon")

    def _catalog(self, warehouse: str) -> Any:
        from pypaimon import CatalogFactory

        return CatalogFactory.create({"warehouse": warehouse})

    def create(self, warehouse: str, scenario: dict, schema: pa.Schema) -> None:
        from pypaimon import Schema

        catalog = self._catalog(warehouse)
        catalog.create_database("bench", ignore_if_exists=False)
        options = {**scenario["options"], **self.options}
        definition = Schema.from_pyarrow_schema(
            schema,
            partition_keys=scenario["partition_keys"],
            primary_keys=scenario["primary_keys"],
            options=options,
        )
        catalog.create_table(TABLE, definition, ignore_if_exists=False)

    def write(self, warehouse: str, data: pa.Table, *, keyed: bool) -> None:  # noqa: ARG002
        builder = self._catalog(warehouse).get_table(TABLE).new_batch_write_builder()
        writer, commit = builder.new_write(), builder.new_commit()
        try:
            writer.write_arrow(data)
            commit.commit(writer.prepare_commit())
        finally:
            writer.close()
            commit.close()

    def size(self, warehouse: str) -> int:
        return sum(p.stat().st_size for p in pathlib.Path(warehouse).rglob("data-*"))

    def read(self, warehouse: str) -> pa.Table:
        builder = self._catalog(warehouse).get_table(TABLE).new_read_builder()
        return builder.new_read().to_arrow(builder.new_scan().plan().splits())


class PyPaimonNative(PyPaimon):
    """pypaimon with its native engine (pypaimon-rust) switched on; it is off by default."""

    options = {f"{what}.native.enabled": "true" for what in ("write", "read", "commit")}  # noqa: RUF012

    def hello(self) -> str:
        return f"{version('pypaimon')} + rust {version('pypaimon-rust')}"


ENGINES = {"siltstone": Siltstone, "pypaimon": PyPaimon, "pypaimon-native": PyPaimonNative, **OTHERS}


def peak_mb() -> float:
    """Peak resident memory since the last reset."""
    for line in pathlib.Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def reset_peak() -> None:
    """Let the kernel start counting the peak anew (Linux)."""
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def timed(work: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Run once with the clock on; the disk and the collector are quiet before."""
    gc.collect()
    os.sync()
    reset_peak()
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    measured = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu, "peak_rss_mb": peak_mb()}
    return measured, result


def sums(column: pa.ChunkedArray) -> list[Any]:
    """What a column adds up to: numbers that are exact, lengths of texts, and of nested values what they consist of."""
    kind = column.type
    if pa.types.is_struct(kind):
        return [each for part in column.flatten() for each in sums(part)]
    if pa.types.is_map(kind):  # others have lists of pairs
        pair = pa.struct({"key": kind.key_type, "value": kind.item_type})
        pairs = [pa.StructArray.from_arrays([chunk.keys, chunk.items], fields=list(pair)) for chunk in column.chunks]
        lists = [
            pa.ListArray.from_arrays(chunk.offsets, each) for chunk, each in zip(column.chunks, pairs, strict=True)
        ]
        column = pa.chunked_array(lists, type=pa.list_(pair))
        kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [pc.sum(pc.list_value_length(column)).as_py(), *sums(pc.list_flatten(column))]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return [pc.sum(pc.utf8_length(column)).as_py()]
    if pa.types.is_floating(kind):
        return [pc.sum(pc.is_valid(column)).as_py()]  # a sum would depend on the order
    if pa.types.is_temporal(kind) or pa.types.is_boolean(kind):
        column = pc.cast(pc.cast(column, pa.int32()) if pa.types.is_date32(kind) else column, pa.int64())
    return [pc.sum(column).as_py()]


def fingerprint(data: pa.Table) -> list[str]:
    """Rows and sums of a result: two engines that read the same rows give the same."""
    return [str(data.num_rows), *(str(each) for name in sorted(data.column_names) for each in sums(data[name]))]


def answer(engine: Any, ask: dict) -> dict:
    """Carry out one request."""
    match ask["do"]:
        case "hello":
            merges = getattr(engine, "merges", True)
            return {
                "version": engine.hello(),
                "phases": sorted(engine.phases),
                "merges": merges,
                "pyarrow": pa.__version__,
            }
        case "create":
            schema = pq.read_schema(ask["inputs"][0])
            engine.create(ask["dir"], ask["scenario"], schema.remove_metadata())
            return {}
        case "write":
            data = pq.read_table(ask["input"])
            measured, _ = timed(lambda: engine.write(ask["dir"], data, keyed=ask["keyed"]))
            return {**measured, "rows": data.num_rows}
        case "read":
            measured, data = timed(lambda: engine.read(ask["dir"]))
            return {**measured, "rows": data.num_rows, "fingerprint": fingerprint(data)}
        case "compact":
            measured, _ = timed(lambda: engine.compact(ask["dir"], full=ask["full"]))
            return measured
        case "size":
            return {"bytes": engine.size(ask["dir"])}
        case other:
            raise ValueError(other)


def main() -> None:
    engine = ENGINES[sys.argv[1]]()
    for line in sys.stdin:
        try:
            reply = answer(engine, json.loads(line))
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
