"""Procedures about tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siltstone.procedures.model import DONE, Answer, Argument, done, names, procedure

if TYPE_CHECKING:
    from siltstone import Table

_TAG = Argument("tag", required=True)
_SNAPSHOT = Argument("snapshot", int)
_RETAINED = Argument("time_retained")


@procedure("create_tag", _TAG, _SNAPSHOT, _RETAINED)
def create_tag(table: Table, tag: str, snapshot: int | None = None, time_retained: str | None = None) -> Answer:
    """Name a snapshot, the latest one by default."""
    table.tags.create(tag, version=snapshot, retain=time_retained)
    return DONE


@procedure(
    "create_tag_from_timestamp",
    _TAG,
    Argument("timestamp", int, required=True),
    _RETAINED,
    schema="tagName STRING, snapshot BIGINT, commit_time BIGINT, watermark STRING",
)
def create_tag_from_timestamp(table: Table, tag: str, timestamp: int, time_retained: str | None = None) -> Answer:
    """Name the earliest version that was committed at or after a time."""
    made = table.tags.create_from_timestamp(tag, timestamp, retain=time_retained)
    # Java's text of a watermark that is not there
    watermark = "null" if made.watermark is None else str(made.watermark)
    return Answer([(tag, made.id, made.raw["timeMillis"], watermark)])


@procedure("rename_tag", _TAG, Argument("target_tag", required=True))
def rename_tag(table: Table, tag: str, target_tag: str) -> Answer:
    """Give a tag another name."""
    table.tags.rename(tag, target_tag)
    return DONE


@procedure("replace_tag", _TAG, _SNAPSHOT, _RETAINED)
def replace_tag(table: Table, tag: str, snapshot: int | None = None, time_retained: str | None = None) -> Answer:
    """Let a tag name another snapshot."""
    table.tags.replace(tag, version=snapshot, retain=time_retained)
    return DONE


@procedure("delete_tag", _TAG)
def delete_tag(table: Table, tag: str) -> Answer:
    """Delete tags of a comma list, and the files that only they needed."""
    return done(*[table.tags.delete(name) for name in names(tag)])


@procedure("expire_tags", Argument("older_than"), schema="expired_tags STRING")
def expire_tags(table: Table, older_than: str | None = None) -> Answer:
    """Delete tags whose time is over."""
    report = table.tags.expire(older_than=older_than)
    return Answer([(name,) for name in report.details["tags"]] or [("No expired tags.",)], report.notes)


@procedure("trigger_tag_automatic_creation")
def trigger_tag_automatic_creation(table: Table) -> Answer:
    """Make the tags that are due."""
    return done(table.tags.create_automatic())
