"""Procedures about consumers of changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from siltstone._args import shown
from siltstone.errors import InvalidArgument
from siltstone.procedures.model import DONE, Answer, Argument, procedure

if TYPE_CHECKING:
    from siltstone import Table


@procedure("reset_consumer", Argument("consumerId", required=True), Argument("nextSnapshotId", int))
def reset_consumer(table: Table, consumerId: str, nextSnapshotId: int | None = None) -> Answer:  # noqa: N803  # Java's names
    """Let a consumer go on with a snapshot; without one it is forgotten."""
    if nextSnapshotId is None:
        table.consumers.delete(consumerId)
    else:
        table.consumers.reset(consumerId, nextSnapshotId)
    return DONE


@procedure("clear_consumers", Argument("includingConsumers"), Argument("excludingConsumers"))
def clear_consumers(
    table: Table,
    includingConsumers: str | None = None,  # noqa: N803  # Java's name
    excludingConsumers: str | None = None,  # noqa: N803  # Java's name
) -> Answer:
    """Forget the consumers whose whole name fits one pattern and not the other one."""
    including = pattern("includingConsumers", includingConsumers or ".*")
    excluding = pattern("excludingConsumers", excludingConsumers) if excludingConsumers else None
    for consumer in table.consumers.list():
        if including.fullmatch(consumer.id) and not (excluding and excluding.fullmatch(consumer.id)):
            table.consumers.delete(consumer.id)
    return DONE


def pattern(name: str, text: str) -> re.Pattern[str]:
    """A pattern for names.

    Raises:
        InvalidArgument: It is none.
    """
    try:
        return re.compile(text)
    except re.error as error:
        raise InvalidArgument(f"{shown(text)} is not a regular expression (argument '{name}'): {error}") from None
