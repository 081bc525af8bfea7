"""pyarrow, where it is installed: ``from siltstone._pyarrow import pa`` inside of functions.

Without it everything works that neither takes nor returns its objects; what does says what to install.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from siltstone.errors import UnsupportedFeature

if TYPE_CHECKING:
    import pyarrow as pa

    __all__ = ["has_pyarrow", "pa"]


class MissingPyarrow(UnsupportedFeature):
    """Something needs pyarrow, which is not installed."""

    def __init__(self) -> None:
        """The error says what to install."""
        super().__init__(
            "this needs pyarrow, which is not installed",
            hint="pip install pyarrow; without it rows go in and out by polars, duckdb and dicts "
            "(to_polars, to_duckdb, to_pylist)",
        )

    def __reduce__(self) -> tuple[type[MissingPyarrow], tuple[()]]:
        """Pickle by nothing: the text is always the same."""
        return type(self), ()


class MissingAttribute(MissingPyarrow, AttributeError):
    """A property needs it: who asks with ``hasattr`` is told that it is not there."""


@functools.cache
def has_pyarrow() -> bool:
    """Whether it is installed."""
    return importlib.util.find_spec("pyarrow") is not None


def __getattr__(name: str) -> Any:
    """The module ``pa``.

    Raises:
        MissingPyarrow: It is not installed.
    """
    if name != "pa":
        raise AttributeError(name)
    if not has_pyarrow():
        raise MissingPyarrow
    globals()[name] = importlib.import_module("pyarrow")
    return globals()[name]
