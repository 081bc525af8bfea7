"""Columns of a new table from what people have at hand: frames, types of Python, SQL text, dataclasses."""

from __future__ import annotations

import contextlib
import dataclasses
import typing
from collections.abc import Iterator
from typing import Any

from siltstone._args import shown
from siltstone._arrow import DEEPEST, arrow_text, too_deep
from siltstone._column_types import of_polars
from siltstone._frames import unwrapped, with_index
from siltstone._plain import schema_of
from siltstone._pyarrow import has_pyarrow
from siltstone._relations import is_relation, refuse_types
from siltstone._spark_types import schema_of_spark
from siltstone.errors import IllegalSchema, SiltstoneError


def schema_in(data: Any) -> Any:
    """The pyarrow schema of something with columns; None for anything else.

    Raises:
        IllegalSchema: It cannot say what its columns are, or has one twice.
        UnsupportedType: A type that only its library has.
    """
    with _taken(data):
        data = unwrapped(data)
        if is_relation(data):
            refuse_types(data)
        return _schema_in(data)


@contextlib.contextmanager
def _taken(data: Any) -> Iterator[None]:
    """Whatever another library, or the code of an object, fails with."""
    try:
        yield
    except SiltstoneError:
        raise
    except Exception as e:
        reason = str(e) or type(e).__name__
        message = f"the columns of this {type(data).__name__} cannot be those of a table: {reason}"
        raise IllegalSchema(message, hint="give the columns as a dict of types") from e


def check_arrow(schema: Any) -> None:
    """Refuses what hands out no schema of Arrow, or one with names that are no text, which the core cannot read.

    Raises:
        IllegalSchema: There is none, or such a name.
        UnsupportedType: A type that is too deep.
    """
    if not has_pyarrow():
        return
    from siltstone._pyarrow import pa

    with _taken(schema):
        fields = [(field, field.name, 0) for field in (schema if isinstance(schema, pa.Schema) else pa.schema(schema))]
        while fields:
            field, top, depth = fields.pop()
            field.name.encode()
            if depth >= DEEPEST:
                raise too_deep(top)
            kind = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
            if pa.types.is_dictionary(kind):
                fields.append((pa.field(field.name, kind.value_type), top, depth + 1))
            elif pa.types.is_nested(kind):
                fields += [(kind.field(at), top, depth + 1) for at in range(kind.num_fields)]


def _schema_in(data: Any) -> Any:  # noqa: PLR0911  # one line for each library
    if not has_pyarrow():
        return schema_of(data)
    from siltstone._pyarrow import pa

    library = type(data).__module__.partition(".")[0]
    if library == "pandas" and hasattr(data, "columns"):
        return _of_pandas(with_index(data))
    if library == "polars" and hasattr(data, "collect_schema"):
        return pa.schema([pa.field(name, of_polars(name, kind)) for name, kind in data.collect_schema().items()])
    if library in {"duckdb", "_duckdb", "pyspark"}:  # Spark's stream would run the frame
        return schema_of_spark(data) if library == "pyspark" else data.limit(0).to_arrow_table().schema
    if isinstance(data, (pa.Table, pa.RecordBatch, pa.RecordBatchReader)):
        return data.schema
    schema = getattr(data, "schema", None)
    if isinstance(schema, pa.Schema):
        return schema
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data).schema
    return None


def _of_pandas(frame: Any) -> Any:
    """The schema of a frame of pandas.

    Raises:
        IllegalSchema: The values of a column have no common type.
    """
    from siltstone._pyarrow import pa

    columns = [frame.iloc[:, [at]] for at in range(len(frame.columns))]
    for column in columns:
        try:
            pa.Schema.from_pandas(column, preserve_index=False)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as e:
            name = column.columns[0]
            raise IllegalSchema(
                f"the values of column {shown(name)} of the frame have no common type: {arrow_text(e)}",
                hint=f"make them one, such as frame.astype({{{name!r}: str}}), or give the columns as a dict of types",
                context={"column": str(name)},
            ) from e
    return pa.Schema.from_pandas(frame, preserve_index=False).remove_metadata()


def dataclass_types(kind: Any) -> dict[str, Any] | None:
    """Types by column of a dataclass; None for anything else."""
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        return None
    with _taken(kind):
        hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}
