"""Exceptions of siltstone.

Every error says what happened, to which table, file or option, and what to do next. ``code`` is stable and meant
for programs, ``hint`` is advice for people, ``context`` holds what is known about the place (table, file, column,
option, offset, snapshot...). The classes are defined here and raised from the Rust core.
"""

from __future__ import annotations

from siltstone._error import SiltstoneError as SiltstoneError  # noqa: PLC0414  # part of this module


class CatalogError(SiltstoneError):
    """A database or table that is missing, or in the way."""

    code = "catalog"


class DatabaseNotFound(CatalogError, KeyError):
    """The database does not exist."""

    code = "database-not-found"


class DatabaseExists(CatalogError):
    """The database exists already."""

    code = "database-exists"


class TableNotFound(CatalogError, KeyError):
    """The table does not exist."""

    code = "table-not-found"


class TableExists(CatalogError):
    """The table exists already."""

    code = "table-exists"


class VersionError(SiltstoneError):
    """A snapshot, tag or branch that is missing, or in the way."""

    code = "version"


class SnapshotNotFound(VersionError):
    """The snapshot never existed."""

    code = "snapshot-not-found"


class SnapshotExpired(SnapshotNotFound):
    """The snapshot existed and has expired."""

    code = "snapshot-expired"


class TagNotFound(VersionError):
    """The tag does not exist."""

    code = "tag-not-found"


class TagExists(VersionError):
    """The tag exists already."""

    code = "tag-exists"


class BranchNotFound(VersionError):
    """The branch does not exist."""

    code = "branch-not-found"


class BranchExists(VersionError):
    """The branch exists already."""

    code = "branch-exists"


class VersionInUse(VersionError):
    """A tag, snapshot or branch that something else still needs; nothing was deleted."""

    code = "version-in-use"


class SchemaError(SiltstoneError, ValueError):
    """Columns, types or values that do not fit."""

    code = "schema"


class SchemaMismatch(SchemaError):
    """Input columns or types do not fit the table."""

    code = "schema-mismatch"


class UnsupportedType(SchemaError):
    """A type that cannot be used here."""

    code = "unsupported-type"


class NullInKey(SchemaError):
    """A null in a key column or in a NOT NULL column."""

    code = "null-in-key"


class LengthExceeded(SchemaError):
    """A value too long for its column, or a number that does not fit its DECIMAL."""

    code = "length-exceeded"


class IllegalSchema(SchemaError):
    """A schema that breaks a rule of the format."""

    code = "illegal-schema"


class IllegalSchemaChange(SchemaError):
    """A schema change that the format forbids."""

    code = "illegal-schema-change"


class CommitError(SiltstoneError):
    """A commit that did not happen."""

    code = "commit"


class CommitConflict(CommitError):
    """Another commit changed what this commit relies on; read again and write again."""

    code = "commit-conflict"


class CommitRetriesExhausted(CommitError):
    """Other writers won every race; try again later or raise ``commit.max-retries``."""

    code = "commit-retries-exhausted"


class UpkeepRunning(CommitError):
    """Another expiry, rollback, deletion of a tag or branch, or orphan cleaning works on the table; try again later."""

    code = "upkeep-running"


class WriteFailed(CommitError):
    """A write of this writer failed; ``discard()`` or ``keep()`` what it took before, then go on."""

    code = "write-failed"


class MergeError(SiltstoneError):
    """A record that the merge engine cannot take."""

    code = "merge"


class DeleteNotAllowed(MergeError):
    """The merge engine cannot take a delete."""

    code = "delete-not-allowed"


class InvalidRowKind(MergeError, ValueError):
    """A row kind that is not one of +I, -U, +U, -D."""

    code = "invalid-row-kind"


class FormatError(SiltstoneError, ValueError):
    """A file whose bytes are not what the format says."""

    code = "format"


class CorruptFile(FormatError):
    """Bytes of a file are wrong; ``context`` has file, offset, expected and found."""

    code = "corrupt-file"


class ChecksumMismatch(CorruptFile):
    """A stored checksum does not match the bytes."""

    code = "checksum-mismatch"


class UnsupportedVersion(FormatError):
    """A version of a stored structure that is not known."""

    code = "unsupported-version"


class StorageError(SiltstoneError, OSError):
    """The storage failed."""

    code = "storage"


class FileMissing(StorageError, FileNotFoundError):
    """A file that must exist does not."""

    code = "file-not-found"


class FileInTheWay(StorageError, FileExistsError):
    """A file that must not exist does."""

    code = "file-exists"


class ResourceError(SiltstoneError):
    """Memory or time ran out."""

    code = "resource"


class MemoryLimitExceeded(ResourceError, MemoryError):
    """More memory than the limit would be needed."""

    code = "memory-limit-exceeded"


class Cancelled(ResourceError):
    """The operation was stopped."""

    code = "cancelled"


class ConfigError(SiltstoneError, ValueError):
    """An option or argument that cannot be used."""

    code = "config"


class UnknownOption(ConfigError):
    """An option key that Paimon and siltstone do not know."""

    code = "unknown-option"


class InvalidOption(ConfigError):
    """An option value that cannot be used."""

    code = "invalid-option"


class InvalidArgument(ConfigError):
    """A wrong argument of a call."""

    code = "invalid-argument"


class UnsupportedFeature(SiltstoneError, NotImplementedError):
    """The table uses a feature that siltstone does not implement; nothing was read or written."""

    code = "unsupported-feature"


class InternalError(SiltstoneError):
    """A defect of siltstone; please report it."""

    code = "internal"
