"""Addresses of SQL databases, as Java's drivers write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from siltstone.errors import InvalidOption

if TYPE_CHECKING:
    import sqlalchemy as sa

#: What stands behind ``jdbc:``, and the driver that is used for it.
DRIVERS = {
    "sqlite": ("sqlite", "sqlite3"),
    "postgresql": ("postgresql+psycopg", "psycopg"),
    "mysql": ("mysql+pymysql", "pymysql"),
    "mariadb": ("mysql+pymysql", "pymysql"),
}
_URI = re.compile(r"jdbc:(\w+):(.*)", re.DOTALL)


def url_of(sa: Any, options: Mapping[str, str]) -> tuple[sa.URL, str]:
    """The address as SQLAlchemy has it, and the kind of database.

    Raises:
        InvalidOption: The option ``uri`` is missing, or cannot be used.
    """
    uri = options.get("uri")
    found = _URI.fullmatch(uri or "")
    if found is None or found[1] not in DRIVERS:
        known = ", ".join(f"jdbc:{name}:" for name in DRIVERS)
        text = "the catalog option 'uri' is missing" if uri is None else "the catalog option 'uri' cannot be used"
        raise InvalidOption(text, hint=f"it begins with one of {known}", context={"option": "uri"})
    dialect, rest = found[1], found[2]
    driver = DRIVERS[dialect][0]
    # Java's drivers take what follows '?' as properties of their own, as they do those that begin with 'jdbc.'
    given = {key.removeprefix("jdbc."): value for key, value in options.items() if key.startswith("jdbc.")}
    if dialect == "sqlite":
        _user_of(given)  # who connects is nothing to a file, in Java, too
        return sa.URL.create(driver, database=rest.removeprefix("file:")), dialect
    try:
        url = sa.make_url(f"{driver}:{rest}")
    except sa.exc.ArgumentError:
        raise InvalidOption("the catalog option 'uri' cannot be used", context={"option": "uri"}) from None
    user, password = _user_of({**dict(url.query), **given})
    url = url.set(query={})
    return url.set(username=user or url.username, password=password or url.password), dialect


def _user_of(properties: dict[str, Any]) -> tuple[Any, Any]:
    """User and password among the properties of a driver; others would do nothing here."""
    if others := [name for name in properties if name not in ("user", "password")]:
        raise InvalidOption(
            f"the property '{others[0]}' of the database's driver is not known here",
            context={"option": f"jdbc.{others[0]}"},
        )
    return properties.get("user"), properties.get("password")
