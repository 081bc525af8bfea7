"""The Python data source ``siltstone``: batch read and batch write.

Spark runs planning and execution in short-lived Python processes and pickles everything in between: readers and
writers hold plain values and tokens only.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

from siltstone._args import number, shown
from siltstone.errors import CommitConflict, InvalidArgument, SchemaMismatch, UnknownOption, UnsupportedFeature
from siltstone.procedures.maintenance import partition_specs
from siltstone.spark.filters import to_expression
from siltstone.spark.session import ASKED, open_named
from siltstone.spark.types import arrow_for_spark, changed_to_instants, spark_schema
from siltstone.spark.values import from_spark, to_spark
from siltstone.system import SystemScan, writable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from siltstone import Expression, Scan, Table

_OWN = {
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
}
#: Options that mean nothing for the other one of reading and writing.
_OF_READS = {"filter", "version", "tag", "as-of", "pushdown", "between", "mode", ASKED}
_OF_WRITES = {"overwrite.mode", "overwrite.partition", "partitionoverwritemode", "row-kind"}
#: Options whose keys have names of columns in them.
_WITH_COLUMNS = ("fields.", "file-index.")


def source_class(warehouse: str | None, options: Mapping[str, str]) -> type[DataSource]:
    """The source with a session's defaults; a class of its own, so that it is pickled with them."""
    defaults = {**({"warehouse": warehouse} if warehouse else {}), **options}
    return type("SiltstoneSource", (SiltstoneSource,), {"defaults": defaults, "__module__": "__main__"})


class SiltstoneSource(DataSource):
    """``spark.read.format("siltstone")`` and ``df.write.format("siltstone")``.

    Options: ``path`` (directory or ``db.table``), ``warehouse``, ``filter``, ``version``, ``tag``, ``as-of``,
    ``between`` (``3,7``: changes after snapshot 3 up to 7, or after a tag up to another), ``mode`` (how, as in
    ``scan``), ``pushdown`` of reads, ``row-kind`` of writes; every other option is a dynamic table option such as
    ``scan.tag-name``, and what is neither is refused.

    ``mode("overwrite")`` needs one more, because Spark does not tell a Python source what its session says:
    ``overwrite.mode`` is ``full`` (the whole table), ``dynamic`` (the partitions that occur in the rows) or ``static``
    with ``overwrite.partition`` (``dt=2026-11-20,hour=8``: these partitions); or Spark's ``partitionOverwriteMode``,
    ``dynamic`` or ``static`` (the whole table).

    ``pushdown=true`` lets Spark hand its filters to the reader, which skips files and rows by them. It is off unless
    asked for, because Spark 4.1 to 4.3 keeps the filtered reader with the frame: a second query on the same frame would
    silently get the first one's filter. Use it for frames that are used once; ``filter`` has no such catch.
    """

    defaults: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "siltstone"

    def _options(self) -> dict[str, str]:
        return {**self.defaults, **dict(self.options)}

    def _table(self) -> Table:
        options = self._options()
        if "path" not in options:
            raise InvalidArgument("give the table: load('db.table') or load('/path/to/table')")
        dynamic = {k: v for k, v in options.items() if k.lower() not in _OWN}
        if keys := _keys_with_columns(self.options):
            # the table as it is: options of columns that it does not have would be refused for that
            _refuse_small_letters(keys, open_named(options["path"], options.get("warehouse"), {}))
        try:
            return open_named(options["path"], options.get("warehouse"), dynamic | self._asked().get("options", {}))
        except UnknownOption as error:
            raise _of_the_format(error) from None

    def _asked(self) -> dict[str, Any]:
        """What :func:`siltstone.spark.read` asks for."""
        asked: dict[str, Any] = json.loads(self._options().get(ASKED, "{}"))
        return asked

    def _refuse(self, meaningless: set[str], what: str) -> None:
        """Nobody would honour these options.

        Raises:
            InvalidArgument: One is given.
        """
        for key in self.options:
            if key.lower() in meaningless:
                raise InvalidArgument(f"the option '{key}' means nothing for {what}")

    def schema(self) -> StructType:
        """All columns of the version that is read."""
        return spark_schema(self._read_schema(None))

    def _query(self) -> dict[str, Any]:
        if query := self._asked().get("query"):
            between = query["between"]
            return {**query, "between": None if between is None else tuple(between)}
        options = self._options()
        as_of = options.get("as-of")
        return {
            "filter": options.get("filter"),
            "version": options.get("version"),
            "tag": options.get("tag"),
            "as_of": None if as_of is None else _moment(as_of),
            "between": _between(options.get("between")),
            "mode": options.get("mode"),
        }

    def _read_schema(self, columns: list[str] | None) -> pa.Schema:
        import pyarrow as pa

        return pa.schema(self._table().scan(columns, **self._query()))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns of ``schema``, by their names."""
        self._refuse(_OF_WRITES, "a read")
        columns = schema.fieldNames()
        asked = self._options().get("pushdown", "false").lower()
        if asked not in ("true", "false"):
            raise InvalidArgument(f"option 'pushdown' is true or false, not {shown(asked)}")
        kind = PushdownReader if asked == "true" else Reader
        return kind(self._table(), columns, self._query())

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:  # noqa: FBT001  # Spark's signature
        """A writer; an option says what an overwrite replaces."""
        self._refuse(_OF_READS, "a write")
        options = self._options()
        table = writable(self._table())
        _refuse_wall_clocks(schema, table)
        _refuse_dynamic_buckets(table)
        return Writer(table, _overwritten(options, overwrite=overwrite), options.get("row-kind"))


def _refuse_dynamic_buckets(table: Table) -> None:
    """Each task would give the same new key a bucket of its own, and Spark lets a source ask for no shuffle.

    Raises:
        UnsupportedFeature: The table has dynamic buckets.
    """
    if table.bucket_mode == "dynamic":
        raise UnsupportedFeature(
            "the format 'siltstone' does not write tables with dynamic buckets",
            hint="use siltstone.spark.write(df, table), which sends each key to the task that knows its bucket",
            context={"table": table.name, "option": "bucket"},
        )


def _refuse_wall_clocks(schema: StructType, table: Table) -> None:
    """What a wall clock's instant is depends on the session's zone, which Spark does not tell a Python source.

    Raises:
        SchemaMismatch: A ``timestamp_ntz`` for a column of instants.
    """
    for name in changed_to_instants(schema, table.schema):
        raise SchemaMismatch(
            f"column '{name}' has times without zone (timestamp_ntz), the table's has instants (TIMESTAMP_LTZ)",
            hint=f"cast it to timestamp, or use siltstone.spark.write(df, '{table.name}'): in the session's zone",
            context={"table": table.name, "column": name},
        )


def _of_the_format(error: UnknownOption) -> UnknownOption:
    """The error with an option of the format that may be meant, such as ``row-kind`` for ``row_kind``."""
    key = error.context.get("option", "")
    plain = {_letters(name): name for name in _OWN - {ASKED}}
    near = difflib.get_close_matches(_letters(key.lower()), plain, n=1, cutoff=0.8)
    if not near:
        return error
    hint = f"did you mean the option '{plain[near[0]]}' of the format?"
    return UnknownOption(error.message, hint=hint, context=error.context)


def _letters(key: str) -> str:
    return re.sub("[^a-z]", "", key)


def _keys_with_columns(options: Iterable[str]) -> list[str]:
    return [key for key in options if key.lower().startswith(_WITH_COLUMNS) or "#" in key]


def _refuse_small_letters(keys: list[str], table: Table) -> None:
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


def _overwritten(options: Mapping[str, str], *, overwrite: bool) -> dict[str, Any] | None:
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


def _moment(text: str) -> int | str:
    """Epoch milliseconds, which may be negative, as a number; an ISO text as it is."""
    since = number(text.removeprefix("-"))
    if isinstance(since, str):
        return text
    return -since if text.startswith("-") else since


def _between(text: str | None) -> tuple[str, str] | None:
    """``start,end``: two tags, else two snapshot ids."""
    if text is None:
        return None
    start, comma, end = (part.strip() for part in text.partition(","))
    if not (start and comma and end) or "," in end:
        raise InvalidArgument(f"between={shown(text)} does not name a start and an end, as in '3,7'")
    return start, end


@dataclasses.dataclass
class TokenPartition(InputPartition):
    """A split as its token."""

    token: bytes


@dataclasses.dataclass
class ScanPartition(InputPartition):
    """A scan that is read as a whole: a system table."""

    scan: Scan


class Reader(DataSourceReader):
    """Reads splits as Arrow batches."""

    def __init__(self, table: Table, columns: list[str], query: dict[str, Any]) -> None:
        """Keep what planning needs."""
        self.table = table
        self.columns = columns
        self.query = query
        self.pushed: Expression | None = None

    def partitions(self) -> Sequence[InputPartition]:
        """One partition a split, planned once."""
        from siltstone.predicate import Expression

        query = dict(self.query)
        given = query["filter"]
        if self.pushed is not None and given is None:
            query["filter"] = self.pushed
        elif self.pushed is not None and isinstance(given, Expression):
            query["filter"] = given & self.pushed
        scan = self.table.scan(self.columns, **query)
        if isinstance(scan, SystemScan):
            return [ScanPartition(scan)]
        return [TokenPartition(s.to_bytes()) for s in scan.splits()]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The batches of one split, in Spark's types."""
        from siltstone import Split

        if isinstance(partition, ScanPartition):
            batches = partition.scan.to_batches()
        elif isinstance(partition, TokenPartition):
            batches = Split(partition.token).read()
        else:  # Spark reads an empty list of partitions as one empty partition
            return
        schema: pa.Schema | None = None
        for batch in batches:
            schema = schema or arrow_for_spark(batch.schema)
            yield to_spark(batch, schema)


class PushdownReader(Reader):
    """A reader that takes Spark's filters; only used on request (see :class:`SiltstoneSource`)."""

    def pushFilters(self, filters: list[Any]) -> Iterator[Any]:  # noqa: N802  # Spark's name
        """Use what we can to skip files and rows; Spark checks all of them once more."""
        import pyarrow as pa

        self.pushed = to_expression(filters, pa.schema(self.table.scan(self.columns, **self.query)))
        yield from filters


@dataclasses.dataclass
class Messages(WriterCommitMessage):
    """What one task wrote."""

    messages: list[bytes]


class Writer(DataSourceArrowWriter):
    """Writes level-0 files in tasks and commits once on the driver.

    Rows are not clustered by bucket here (Spark offers no way to ask for it), so tasks never compact:
    :func:`siltstone.spark.write` clusters first and makes fewer files.
    """

    def __init__(self, table: Table, overwrite: dict[str, Any] | None, row_kind: str | None) -> None:
        """Keep the table and what is replaced."""
        self.table = table
        self.schema_id = table.schema_id  # a task opens the table for itself
        self.overwrite = overwrite
        self.row_kind = row_kind

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's batches."""
        options = {**self.table.dynamic_options, "write-only": "true"}
        replaces = self.overwrite is not None
        return Messages(
            write_batches(self.table, options, iterator, self.row_kind, overwrite=replaces, schema_id=self.schema_id)
        )

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish all tasks' files as one commit."""
        self.table.commit(_collect(messages), overwrite=self.overwrite)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete the files of the tasks that had finished."""
        self.table.abort(_collect(messages))


def overwrite_target(mode: str | None) -> dict[str, Any] | None:
    """The ``overwrite`` argument of a commit."""
    return {None: None, "full": {"dynamic": False}, "dynamic": {"dynamic": True}}[mode]


def opened_in_task(table: Table, options: Mapping[str, str], schema_id: int) -> Table:
    """The table of a job.

    Raises:
        CommitConflict: The table has another schema than the one that the job began with: columns have other names, or
            other values, in this task than in those before it.
    """
    import siltstone as st

    target = st.open_table(writable(table).location, branch=table.branch, options=options)
    if target.schema_id != schema_id:
        raise CommitConflict(
            f"the table was altered while the job ran: it began with schema {schema_id}, now it is {target.schema_id}",
            hint="write again: nothing was committed",
            context={"table": target.name},
        )
    return target


def write_batches(
    table: Table,
    options: Mapping[str, str],
    batches: Iterator[pa.RecordBatch],
    row_kind: str | None,
    *,
    overwrite: bool,
    schema_id: int,
) -> list[bytes]:
    """Write batches inside a task and return the commit messages."""
    target = opened_in_task(table, options, schema_id)
    schema = target.schema
    with target.writer(overwrite=overwrite) as w:
        for batch in batches:
            w.write(from_spark(batch, schema), row_kind)
        return w.prepare_commit()


def _collect(messages: Sequence[WriterCommitMessage | None]) -> list[bytes]:
    return [b for m in messages if isinstance(m, Messages) for b in m.messages]
