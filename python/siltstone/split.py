"""Splits: what distributed engines read, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from siltstone import _core
from siltstone._args import shown
from siltstone.errors import InvalidArgument

if TYPE_CHECKING:
    import pyarrow as pa


def batches_of(source: _core.Batches) -> Iterator[pa.RecordBatch]:
    """The core's batches as pyarrow's; errors come as exceptions of siltstone, which the C stream cannot carry."""
    from siltstone._pyarrow import pa

    try:
        for batch in source:
            yield pa.record_batch(batch)
    finally:
        source.close()


def token_bytes(token: object) -> bytes:
    """A token of an argument, of a split or a task.

    Raises:
        InvalidArgument: Something else.
    """
    if not isinstance(token, (bytes, bytearray, memoryview)):
        raise InvalidArgument(f"token={shown(token)} is not bytes", hint="give what to_bytes() returned")
    return bytes(token)


class Split:
    """A piece of a scan that one task reads. Picklable; holds no credentials and no open files.

    Its token carries the table's location, branch, schema id and dynamic options, the read request, and Paimon's
    own serialized ``DataSplit``, so that the reading process never resolves "latest" again.
    """

    __slots__ = ("_core",)

    def __init__(self, token: bytes) -> None:
        """A split from its bytes.

        Raises:
            CorruptFile: They were damaged on their way.
            UnsupportedVersion: They were made by another version of siltstone.
        """
        self._core = _core.Split(token_bytes(token))

    @classmethod
    def _all(cls, found: list[_core.Split]) -> list[Split]:
        splits = []
        for core in found:
            split = cls.__new__(cls)
            split._core = core  # noqa: SLF001  # its own
            splits.append(split)
        return splits

    def __reduce__(self) -> tuple[type[Split], tuple[bytes]]:
        """Pickle as the token."""
        return Split, (self.to_bytes(),)

    def to_bytes(self) -> bytes:
        """The token."""
        return self._core.to_bytes()

    @property
    def rows(self) -> int | None:
        """Rows it holds, when that is known without reading."""
        return self._core.rows

    @property
    def bytes(self) -> int:
        """Size of its files."""
        return self._core.bytes

    @property
    def files(self) -> list[str]:
        """Names of its data files."""
        return self._core.files

    def read(self) -> Iterator[pa.RecordBatch]:
        """Read the split; batches come as they are decoded.

        Raises:
            CorruptFile: A file is not what the metadata says.
            InvalidArgument: The table was dropped and created anew since the split was planned.
            FileMissing: A file is gone although its snapshot is there.
            SnapshotExpired: The snapshot has expired meanwhile, and its files are gone.
        """
        yield from batches_of(self._core.read())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow stream."""
        return self._core.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Files and rows."""
        return f"Split(files={len(self.files)}, rows={self.rows}, bytes={self.bytes})"
