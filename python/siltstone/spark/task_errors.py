"""Errors of tasks as the exceptions that they are, instead of a traceback of Spark's.

A task that meets an error which another try would meet again ends with it as its result: the job goes on, the driver
learns of the files of all other tasks, deletes them and raises. Errors that may pass fail the task, so that Spark runs
it again.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from siltstone import errors
from siltstone.errors import ResourceError, SiltstoneError, StorageError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: Where a message says which row it is about.
_ROW = re.compile(r"\brow \d+\b")
_IN_TEXT = re.compile(r"siltstone\.errors\.(\w+): (.*?)(?:\nhint: (.*?))?(?:\n|\Z)")


def as_result(error: SiltstoneError) -> str:
    """The text that stands for an error in a task's result.

    Raises:
        SiltstoneError: One that may pass when the task runs again.
    """
    if isinstance(error, (StorageError, ResourceError)):
        raise error
    return json.dumps([type(error).__name__, error.message, error.hint, error.context])


def from_result(text: str) -> SiltstoneError:
    """The error that a text stands for."""
    name, message, hint, context = json.loads(text)
    if _ROW.search(message):
        hint = "; ".join(filter(None, (hint, "rows are counted within the task that met the error")))
    return _class(name)(message, hint=hint, context=context)


def _class(name: str) -> type[SiltstoneError]:
    found = getattr(errors, name, SiltstoneError)
    return found if isinstance(found, type) and issubclass(found, SiltstoneError) else SiltstoneError


def collected(frame: DataFrame) -> list[Any]:
    """The rows of a job.

    Raises:
        SiltstoneError: A task failed with one; whatever else happened is raised as Spark says it.
    """
    with typed():
        return list(frame.collect())


def arrow_of(frame: DataFrame) -> pa.Table:
    """The rows of a job as Arrow; errors as of :func:`collected`."""
    with typed():
        return frame.toArrow()


@contextlib.contextmanager
def typed() -> Iterator[None]:
    """Raise the error that a task failed with, where it is one of siltstone's."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as failure:
        found = list(_IN_TEXT.finditer(str(failure)))
        if not found:
            raise
        name, message, hint = found[-1].groups()
        raise _class(name)(message, hint=hint) from failure
