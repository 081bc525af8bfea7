"""Options of the format ``siltstone``, and what they ask for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from siltstone._args import number, shown
from siltstone.errors import InvalidArgument, UnknownOption
from siltstone.procedures.maintenance import partition_specs
from siltstone.spark.session import ASKED

if TYPE_CHECKING:
    from siltstone import Table

MOST_ROWS, CHANGELOG, CONSUMER = "read.stream.maxrowspertrigger", "read.changelog", "consumer-id"
#: Options of the format; all others are options of the table.
OWN = {
    "path",
    "warehouse",
    "filter",
    "version",
    "tag",
    "as-of",
    "pushdown",
    "overwrite.mode",
    "overwrite.partition",
    "partitionoverwritemode",
    "row-kind",
    "between",
    "mode",
    ASKED,
    MOST_ROWS,
    CHANGELOG,
    "checkpointlocation",
}
#: Options of streams alone.
OF_STREAMS = {MOST_ROWS, CONSUMER, "checkpointlocation"}
#: Options that say which version a batch reads.
OF_VERSIONS = {"version", "tag", "as-of", "between", "mode", "pushdown"}
#: Options that mean nothing for the other one of reading and writing.
OF_READS = {"filter", "version", "tag", "as-of", "pushdown", "between", "mode", ASKED, CHANGELOG, MOST_ROWS}
OF_WRITES = {"overwrite.mode", "overwrite.partition", "partitionoverwritemode", "row-kind"}
#: What options of other formats are called here, in letters.
_OF_OTHERS = {"versionasof": "version", "timestampasof": "asof"}
#: Options whose keys have names of columns in them.
_WITH_COLUMNS = ("fields.", "file-index.")


def of_the_format(error: UnknownOption) -> UnknownOption:
    """The error with an option of the format that may be meant, such as ``row-kind`` for ``row_kind``."""
    key = error.context.get("option", "")
    plain = {_letters(name): name for name in OWN - {ASKED}}
    meant = _OF_OTHERS.get(_letters(key.lower()))
    near = [meant] if meant else difflib.get_close_matches(_letters(key.lower()), plain, n=1, cutoff=0.8)
    if not near:
        return error
    hint = f"did you mean the option '{plain[near[0]]}' of the format?"
    return UnknownOption(error.message, hint=hint, context=error.context)


def _letters(key: str) -> str:
    return re.sub("[^a-z]", "", key)


def keys_with_columns(options: Iterable[str]) -> list[str]:
    """Options whose keys may name a column."""
    return [key for key in options if key.lower().startswith(_WITH_COLUMNS) or "#" in key]


def refuse_small_letters(keys: list[str], table: Table) -> None:
    """Spark writes keys of options in small letters: one that names a column with capitals would name none.

    Raises:
        InvalidArgument: There is such a key.
    """
    capitals = {name.lower(): name for name in table.schema.names if name != name.lower()}
    for key in keys:
        parts = re.split(r"[.,#]", key.lower())
        if name := next((capitals[part] for part in parts if part in capitals), None):
            raise InvalidArgument(
                f"the option '{key}' may mean the column '{name}', but Spark hands it on in small letters",
                hint="give it to siltstone.spark.read(..., options=...) or siltstone.spark.enable(..., options=...)",
            )


_NO_MODE = "add .option('overwrite.mode', 'full') for everything, 'dynamic' for the partitions in the data"


def overwritten(options: Mapping[str, str], *, overwrite: bool) -> dict[str, Any] | None:
    """The ``overwrite`` argument of the commit that the options of a write ask for."""
    given = {key.lower(): value for key, value in options.items()}
    mode, partition = given.get("overwrite.mode"), given.get("overwrite.partition")
    of_spark = given.get("partitionoverwritemode")
    asked = [f"{key}={given[key]}" for key in ("overwrite.mode", "overwrite.partition") if key in given]
    if not overwrite:
        if asked:
            raise InvalidArgument(f"the option {asked[0]} is for mode('overwrite')")
        return None
    if mode is None and of_spark is not None and partition is None:
        mode = {"static": "full", "dynamic": "dynamic"}.get(of_spark.lower(), of_spark)
    if mode not in ("full", "static", "dynamic"):
        what = "mode('overwrite') does not say what is replaced"
        raise InvalidArgument(what if mode is None else f"{what}: {shown(mode)} is no way to overwrite", hint=_NO_MODE)
    if (mode == "static") != (partition is not None):
        raise InvalidArgument(
            f"overwrite.mode={mode} and overwrite.partition={partition} do not fit: 'static' replaces the partitions "
            "that overwrite.partition names",
            hint=_NO_MODE,
        )
    return overwrite_target(mode) if partition is None else {"partition": _spec(partition)}


def _spec(text: str) -> dict[str, str]:
    """``dt=2026-11-20,hour=8`` as a partition spec."""
    specs = partition_specs(text)
    if len(specs) != 1:
        raise InvalidArgument(f"overwrite.partition={shown(text)} is not one partition such as dt=2026-11-20,hour=8")
    return specs[0]


def moment(text: str) -> int | str:
    """Epoch milliseconds, which may be negative, as a number; an ISO text as it is."""
    since = number(text.removeprefix("-"))
    if isinstance(since, str):
        return text
    return -since if text.startswith("-") else since


def between(text: str | None) -> tuple[str, str] | None:
    """``start,end``: two tags, else two snapshot ids."""
    if text is None:
        return None
    start, comma, end = (part.strip() for part in text.partition(","))
    if not (start and comma and end) or "," in end:
        raise InvalidArgument(f"between={shown(text)} does not name a start and an end, as in '3,7'")
    return start, end


def true_or_false(options: Mapping[str, str], key: str) -> bool:
    """An option that is true or false; false when it is not given.

    Raises:
        InvalidArgument: It is neither.
    """
    said = {name.lower(): value for name, value in options.items()}.get(key, "false")
    if said.lower() not in ("true", "false"):
        raise InvalidArgument(f"option '{key}' is true or false, not {shown(said.lower())}")
    return said.lower() == "true"


def overwrite_target(mode: str | None) -> dict[str, Any] | None:
    """The ``overwrite`` argument of a commit."""
    return {None: None, "full": {"dynamic": False}, "dynamic": {"dynamic": True}}[mode]
