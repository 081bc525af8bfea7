"""The Python data source ``siltstone``: reads and writes of batches and streams.

Spark runs planning and execution in short-lived Python processes and pickles everything in between: readers and
writers hold plain values and tokens only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)

from siltstone._args import shown
from siltstone.errors import InvalidArgument, UnknownOption
from siltstone.predicate import Expression
from siltstone.spark.session import ASKED, name_in_catalog, open_named
from siltstone.spark.source_options import (
    CHANGELOG,
    CONSUMER,
    MOST_ROWS,
    OF_READS,
    OF_STREAMS,
    OF_VERSIONS,
    OF_WRITES,
    OWN,
    between,
    keys_with_columns,
    moment,
    of_the_format,
    overwrite_target,
    overwritten,
    refuse_small_letters,
    true_or_false,
)
from siltstone.spark.source_reader import PushdownReader, Reader, scan_of
from siltstone.spark.source_stream import START_OPTIONS, StreamReader, StreamWriter
from siltstone.spark.source_writer import Writer, refuse_dynamic_buckets, refuse_wall_clocks
from siltstone.spark.types import spark_schema
from siltstone.system import writable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from siltstone import Table


def source_class(warehouse: str | None, options: Mapping[str, str]) -> type[DataSource]:
    """The source with a session's defaults; a class of its own, so that it is pickled with them."""
    defaults = {**({"warehouse": warehouse} if warehouse else {}), **options}
    return type("SiltstoneSource", (SiltstoneSource,), {"defaults": defaults, "__module__": "__main__"})


class SiltstoneSource(DataSource):
    """``spark.read.format("siltstone")`` and ``df.write.format("siltstone")``.

    Options: ``path`` (directory or ``db.table``), ``warehouse``, ``filter``, ``version``, ``tag``, ``as-of``,
    ``between`` (``3,7``: changes after snapshot 3 up to 7, or after a tag up to another), ``mode`` (how, as in
    ``scan``), ``pushdown``, ``read.changelog`` (rows with their kinds, deletes included, in the column ``rowkind``) of
    reads, ``row-kind`` of writes; every other option is a dynamic table option such as
    ``scan.tag-name``, and what is neither is refused.

    ``mode("overwrite")`` needs one more, because Spark does not tell a Python source what its session says:
    ``overwrite.mode`` is ``full`` (the whole table), ``dynamic`` (the partitions that occur in the rows) or ``static``
    with ``overwrite.partition`` (``dt=2026-11-20,hour=8``: these partitions); or Spark's ``partitionOverwriteMode``,
    ``dynamic`` or ``static`` (the whole table).

    ``spark.readStream`` gives all rows of the latest version, then what snapshots bring; ``scan.mode``
    (``latest-full``, ``latest``, ``from-snapshot-full``) and ``scan.snapshot-id``, ``scan.tag-name`` or
    ``scan.timestamp-millis`` say where it begins instead, ``consumer-id`` names a consumer that remembers how far it
    came, and since Spark 4.2 ``read.stream.maxRowsPerTrigger`` bounds a batch. ``df.writeStream`` commits each batch
    once, by the ids of query and batch; output mode ``complete`` replaces the table with each.

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

    def _table(self, *, of_stream: bool = False) -> Table:
        options = self._options()
        if "path" not in options:
            raise InvalidArgument("give the table: load('db.table') or load('/path/to/table')")
        path, left_out = options["path"], OWN | (set(START_OPTIONS) if of_stream else set())
        dynamic = {k: v for k, v in options.items() if k.lower() not in left_out}
        if true_or_false(options, CHANGELOG):
            path += "$audit_log"
        if keys := keys_with_columns(self.options):
            # the table as it is: options of columns that it does not have would be refused for that
            refuse_small_letters(keys, open_named(path, options.get("warehouse"), {}))
        try:
            return open_named(path, options.get("warehouse"), dynamic | self._asked().get("options", {}))
        except UnknownOption as error:
            raise of_the_format(error) from None

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
            pair, tree = query["between"], query["filter"]
            return {
                **query,
                "between": None if pair is None else tuple(pair),
                "filter": None if tree is None else Expression(tree),
            }
        options = self._options()
        as_of = options.get("as-of")
        return {
            "filter": options.get("filter"),
            "version": options.get("version"),
            "tag": options.get("tag"),
            "as_of": None if as_of is None else moment(as_of),
            "between": between(options.get("between")),
            "mode": options.get("mode"),
        }

    def _read_schema(self, columns: list[str] | None) -> pa.Schema:
        import pyarrow as pa

        return pa.schema(scan_of(self._table(), columns, self._query()))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns of ``schema``, by their names."""
        self._refuse(OF_WRITES | OF_STREAMS, "a read")
        columns = schema.fieldNames()
        kind = PushdownReader if true_or_false(self._options(), "pushdown") else Reader
        return kind(self._table(), columns, self._query(), self._asked().get("tasks"))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's name
        """A stream of the columns of ``schema``: all rows of the latest version, then changes."""
        self._refuse(OF_WRITES | OF_VERSIONS, "a stream that is read")
        options = self._options()
        start = {key: value for key, value in options.items() if key.lower() in START_OPTIONS}
        rows, consumer = options.get(MOST_ROWS), options.get(CONSUMER)
        if rows is not None and (not rows.isdecimal() or not int(rows)):
            raise InvalidArgument(f"the option '{MOST_ROWS}' is {shown(rows)}, not a number of rows")
        where = options.get("filter")
        return StreamReader(
            self._table(of_stream=True),
            schema.fieldNames(),
            where,
            start,
            None if rows is None else int(rows),
            consumer,
        )

    def streamWriter(  # noqa: N802  # Spark's name
        self,
        schema: StructType,
        overwrite: bool,  # noqa: FBT001  # Spark's signature
    ) -> DataSourceStreamArrowWriter:
        """A sink: each batch is one commit; in output mode ``complete`` it replaces the table."""
        self._refuse(OF_READS, "a stream that is written")
        table = writable(self._table())
        refuse_wall_clocks(schema, table)
        refuse_dynamic_buckets(table)
        options = self._options()
        named = name_in_catalog(options["path"], options.get("warehouse"))
        return StreamWriter(table, overwrite_target("full") if overwrite else None, options.get("row-kind"), named)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:  # noqa: FBT001  # Spark's signature
        """A writer; an option says what an overwrite replaces."""
        self._refuse(OF_READS, "a write")
        options = self._options()
        table = writable(self._table())
        refuse_wall_clocks(schema, table)
        refuse_dynamic_buckets(table)
        named = name_in_catalog(options["path"], options.get("warehouse"))
        return Writer(table, overwritten(options, overwrite=overwrite), options.get("row-kind"), named)
