"""Values that hold within a block, for all that is called there."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


class Scoped(Generic[T]):
    """A value of this context that ends with its block, wherever an exception ends that.

    A handler of signals raises between any two steps of Python: also after a value was set and before there is
    anything that takes it back, and an exception keeps the frames of blocks that it left for as long as it lives. So
    the context knows the value weakly, and a block takes back nothing but its own one.
    """

    def __init__(self, name: str) -> None:
        """A variable without a value.

        Args:
            name: For debugging.
        """
        self._variable: ContextVar[weakref.ref[_Held[T]] | None] = ContextVar(name, default=None)

    def get(self) -> T | None:
        """The value of the innermost block; None outside of them."""
        reference = self._variable.get()
        held = None if reference is None else reference()
        return None if held is None or held.is_over else held.value

    @contextmanager
    def hold(self, value: T) -> Iterator[None]:
        """Let this be the value within the block."""
        held, before = _Held(value), self._variable.get()
        mine = weakref.ref(held)
        try:
            self._variable.set(mine)
            yield
        finally:
            held.is_over = True
            if self._variable.get() is mine:
                self._variable.set(before)


class _Held(Generic[T]):
    def __init__(self, value: T) -> None:
        self.value = value
        self.is_over = False
