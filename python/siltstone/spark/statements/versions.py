"""Tags and branches in ``ALTER TABLE``.

Source: ``PaimonSqlExtensions.g4``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from siltstone.spark.statements.words import Words

if TYPE_CHECKING:
    from siltstone import Table

_UNITS = {"DAYS": "d", "HOURS": "h", "MINUTES": "min"}


def _tag_name(words: Words) -> str:
    """A name, also one in quotes, as tags may have any."""
    return words.string() if words.is_text else words.identifier()


def tag_clause(table: Table, words: Words) -> bool:
    """Carry ``CREATE``, ``REPLACE``, ``DELETE`` or ``RENAME TAG`` out; False when it is something else."""
    tags = table.tags
    if words.take("CREATE", "TAG"):
        exists = words.take("IF", "NOT", "EXISTS")
        name, version, retain = _tag(words)
        tags.create(name, version=version, retain=retain, if_not_exists=exists)
    elif (anew := words.take("CREATE", "OR", "REPLACE", "TAG")) or words.take("REPLACE", "TAG"):
        name, version, retain = _tag(words)
        (tags.create if anew and not tags.exists(name) else tags.replace)(name, version=version, retain=retain)
    elif words.take("DELETE", "TAG"):
        _delete_tags(table, words)
    elif words.take("RENAME", "TAG"):
        tags.rename(*_renamed(words))
    else:
        return False
    return True


def _delete_tags(table: Table, words: Words) -> None:
    missing_is_fine = words.take("IF", "EXISTS")
    names = [_tag_name(words)]
    while words.take(","):
        names.append(_tag_name(words))
    words.end()
    for name in names:
        if not missing_is_fine or table.tags.exists(name):
            table.tags.delete(name)


def _renamed(words: Words) -> tuple[str, str]:
    name = _tag_name(words)
    words.expect("TO")
    new = _tag_name(words)
    words.end()
    return name, new


def _tag(words: Words) -> tuple[str, int | None, str | None]:
    """``v1 AS OF VERSION 3 RETAIN 7 DAYS``."""
    name = _tag_name(words)
    version = words.number() if words.take("AS", "OF", "VERSION") else None
    retain = None
    if words.take("RETAIN"):
        number = words.number()
        retain = f"{number} {_UNITS[words.one_of(*_UNITS)]}"
    words.end()
    return name, version, retain


def branch_clause(table: Table, words: Words) -> bool:
    """Carry ``CREATE``, ``DELETE``, ``RENAME`` or ``FAST FORWARD BRANCH`` out; False when it is something else."""
    if words.take("CREATE", "BRANCH"):
        exists = words.take("IF", "NOT", "EXISTS")
        name = _tag_name(words)
        tag = _tag_name(words) if words.take("AS", "OF", "TAG") else None
        words.end()
        if not (exists and table.branches.exists(name)):
            table.branches.create(name, tag=tag)
    elif words.take("DELETE", "BRANCH") or words.take("DROP", "BRANCH"):
        missing_is_fine = words.take("IF", "EXISTS")
        name = _tag_name(words)
        words.end()
        if not missing_is_fine or table.branches.exists(name):
            table.branches.delete(name)
    elif words.take("RENAME", "BRANCH"):
        table.branches.rename(*_renamed(words))
    else:
        return False
    return True
