"""Which statements ``ss.sql`` hands to Spark: those that leave no table behind.

Spark knows no Paimon catalog here. ``CREATE TABLE`` would make a Parquet table of Spark's own, ``DROP DATABASE IF
EXISTS`` would say that it succeeded and drop nothing. So the list is of what is let through, not of what is refused.
"""

from __future__ import annotations

import difflib
import re

from siltstone.errors import InvalidArgument, UnsupportedFeature
from siltstone.spark.blanks import bare, without_comments

_BLANK = re.compile(r"[\s(]+")
_WORDS = re.compile(r"[A-Za-z_]+|\S")
#: How many words say what a statement is.
_FIRST = 6

_QUERIES = ("SELECT", "VALUES", "TABLE")
#: Queries that may have INSERT, UPDATE or DELETE behind them.
_BEFORE_QUERIES = ("WITH", "FROM")
_HARMLESS = (
    ("SET",),
    ("RESET",),
    ("USE",),
    ("SHOW",),
    ("DESC",),
    ("DESCRIBE",),
    ("EXPLAIN",),
    ("DECLARE",),
    ("CACHE",),
    ("UNCACHE",),
    ("CLEAR", "CACHE"),
    ("REFRESH",),
    ("ADD",),
    ("LIST",),
    ("CREATE", "TEMPORARY"),
    ("CREATE", "TEMP"),
    ("CREATE", "GLOBAL", "TEMPORARY"),
    ("CREATE", "GLOBAL", "TEMP"),
    ("CREATE", "OR", "REPLACE", "TEMPORARY"),
    ("CREATE", "OR", "REPLACE", "TEMP"),
    ("CREATE", "OR", "REPLACE", "GLOBAL", "TEMPORARY"),
    ("CREATE", "OR", "REPLACE", "GLOBAL", "TEMP"),
    ("DROP", "TEMPORARY"),
)
#: What lives in the session alone; ``CREATE TEMPORARY TABLE`` is not among it.
_TEMPORARY = ("VIEW", "FUNCTION", "VARIABLE")
_CATALOG = "siltstone.connect(warehouse)"
#: The Python call by the words that a statement begins with; the first that fits.
_INSTEAD = (
    (
        ("CREATE", "OR", "REPLACE", "TABLE"),
        f"{_CATALOG}.drop_table(name), then CREATE TABLE; truncate() of the table keeps its columns and options",
    ),
    (
        ("CREATE", "EXTERNAL", "TABLE"),
        "CREATE TABLE without EXTERNAL; one that is there is read by its directory: siltstone.spark.read(spark, path)",
    ),
    (("CREATE", "TABLE"), f"{_CATALOG}.create_table(name, schema, primary_key=..., options=...)"),
    (("REPLACE", "TABLE"), f"{_CATALOG}.drop_table(name) and create_table(name, schema)"),
    (("CREATE", "DATABASE"), f"{_CATALOG}.create_database(name)"),
    (("CREATE", "SCHEMA"), f"{_CATALOG}.create_database(name)"),
    (("CREATE", "NAMESPACE"), f"{_CATALOG}.create_database(name)"),
    (("CREATE", "VIEW"), "CREATE TEMPORARY VIEW over a table of Spark, or frame.createOrReplaceTempView(name)"),
    (("DROP", "TABLE"), f"{_CATALOG}.drop_table(name)"),
    (("DROP", "DATABASE"), f"{_CATALOG}.drop_database(name, cascade=...)"),
    (("DROP", "SCHEMA"), f"{_CATALOG}.drop_database(name, cascade=...)"),
    (("DROP", "NAMESPACE"), f"{_CATALOG}.drop_database(name, cascade=...)"),
    (("DROP", "VIEW"), "spark.catalog.dropTempView(name)"),
    (("ALTER", "TABLE"), f"{_CATALOG}.table(name).alter(), or rename_table(source, target) of the catalog"),
    (("INSERT", "OVERWRITE"), "siltstone.spark.write(frame, name, mode='overwrite')"),
    (("INSERT",), "siltstone.spark.write(frame, name)"),
    (("MERGE",), "siltstone.spark.write(frame, name, mode='upsert')"),
    (("UPDATE",), f"{_CATALOG}.table(name).update(set, where)"),
    (("DELETE",), f"{_CATALOG}.table(name).delete(where)"),
    (("TRUNCATE",), f"{_CATALOG}.table(name).truncate(partitions)"),
    (("ANALYZE",), f"{_CATALOG}.table(name).maintenance.analyze()"),
    (("CALL",), "CALL sys.<procedure>(...)"),
    (("OPTIMIZE",), "CALL sys.compact(table => 'db.t')"),
    (("VACUUM",), "CALL sys.expire_snapshots(table => 'db.t'), and sys.remove_orphan_files for what crashes left"),
    (("RESTORE",), "CALL sys.rollback(table => 'db.t', version => 'v1')"),
)
#: Words that statements of Spark begin with, beside those above.
_OTHERS = ("ALTER", "BEGIN", "COMMENT", "DROP", "EXECUTE", "GRANT", "LOAD", "MSCK", "REPAIR", "REVOKE", "UNSET")
_CHANGES = re.compile(
    r"\b(?:INSERT\s+(?:INTO|OVERWRITE)|MERGE\s+(?:WITH\s+SCHEMA\s+EVOLUTION\s+)?INTO|DELETE\s+FROM"
    r"|UPDATE\b[^;]*?\bSET)\b",
    re.IGNORECASE,
)


def check(query: str) -> None:
    """Let queries and what stays in the session pass.

    Args:
        query: One statement, without EXPLAIN before it.

    Raises:
        UnsupportedFeature: The statement makes, changes or drops something; the hint names the Python call that does it
            for Paimon tables.
        InvalidArgument: It begins with a word that is written wrong.
    """
    words = first_words(query)
    if not words or words[0] in _QUERIES:
        return
    if words[0] in _BEFORE_QUERIES:
        if (change := changes_rows(query)) is not None:
            raise refusal(change)
        return
    fits = [known for known in _HARMLESS if tuple(words[: len(known)]) == known]
    if not fits or (words[0] in ("CREATE", "DROP") and words[len(fits[0])] not in _TEMPORARY):
        raise refusal(words)


def changes_rows(query: str) -> list[str] | None:
    """The first words of the INSERT, MERGE, DELETE or UPDATE that a query has behind it; None without one."""
    change = _CHANGES.search(bare(query))
    return None if change is None else first_words(change[0])


def first_words(query: str) -> list[str]:
    """The words that a statement begins with, in capitals, without comments and brackets before them."""
    plain = without_comments(query)
    start = _BLANK.match(plain)
    words = [
        m[0].upper() for _, m in zip(range(_FIRST), _WORDS.finditer(plain, start.end() if start else 0), strict=False)
    ]
    return [*words, *[""] * (_FIRST - len(words))] if words else []


def refusal(words: list[str]) -> UnsupportedFeature | InvalidArgument:
    """The error for a statement that begins with these words."""
    if near := _meant(words[0]):
        return InvalidArgument(f"no statement of SQL begins with {words[0]}", hint=f"did you mean {near}?")
    kept = [w for w in words if w not in ("IF", "EXISTS", "")] if words[0] == "CREATE" else words
    if "TABLE" not in kept:
        kept = [w for w in kept if w not in ("OR", "REPLACE")]
    instead = next((call for first, call in _INSTEAD if tuple(kept[: len(first)]) == first), None)
    shown = " ".join(_kind(kept))
    advice = f"for a Paimon table use {instead}; " if instead else ""
    return UnsupportedFeature(
        f"{shown} is not supported in siltstone.spark.sql: Spark would do it to a table of its own, or to nothing",
        hint=f"{advice}what is meant for Spark's own tables goes through spark.sql(...)",
    )


def _meant(word: str) -> str | None:
    """The word that was meant by one that no statement begins with."""
    known = {*_QUERIES, *_BEFORE_QUERIES, *_OTHERS, *(first[0] for first, *_ in [*_INSTEAD, *zip(_HARMLESS)])}
    near = [] if word in known else difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.75)
    return near[0] if near else None


def _kind(words: list[str]) -> list[str]:
    """The words that say what a statement is."""
    if words[0] == "CREATE" and "TABLE" in words:
        return words[: words.index("TABLE") + 1]
    return words[:2] if words[0] in ("CREATE", "DROP", "ALTER", "INSERT", "REPLACE") else words[:1]
