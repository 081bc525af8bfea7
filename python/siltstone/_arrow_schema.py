"""Schemas by Arrow's C data interface, which needs no pyarrow: names and types of columns."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any


class CSchema(ctypes.Structure):
    """``struct ArrowSchema`` of the C data interface, as far as its names."""


CSchema._fields_ = [  # as ctypes has it for a structure that points to others of its kind
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(CSchema))),
]


@contextlib.contextmanager
def c_schema(of: Any) -> Iterator[CSchema]:
    """The schema of an object that has one, as long as the block lasts."""
    capsule = of.__arrow_c_schema__()
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    yield ctypes.cast(pointer_of(capsule, b"arrow_schema"), ctypes.POINTER(CSchema)).contents
    del capsule


def children_of(schema: CSchema) -> list[tuple[str, CSchema]]:
    """The fields of a schema, or of a type."""
    fields = [schema.children[at].contents for at in range(schema.n_children)]
    return [((field.name or b"").decode(), field) for field in fields]


def formats_of(schema: Any) -> dict[str, str]:
    """The type of each column, as the format strings of the C data interface write it: ``tsm:UTC``."""
    with c_schema(schema) as columns:
        return {name: column.format.decode() for name, column in children_of(columns)}
