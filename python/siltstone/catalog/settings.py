"""Catalogs that are described outside of a program: ``siltstone.toml``, and variables of the environment.

Example:
    .. code-block:: toml

        [catalogs.prod]
        warehouse = "/data/lake"
        metastore = "jdbc"
        uri = "jdbc:postgresql://db.example.com/paimon"
        "jdbc.user" = "paimon"
        "jdbc.password" = "${PAIMON_DB_PASSWORD}"
"""

from __future__ import annotations

import difflib
import os
import pathlib
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from siltstone._args import option_texts, shown
from siltstone.errors import InvalidArgument

#: The file that is read instead of the usual ones.
CONFIG_VARIABLE = "SILTSTONE_CONFIG"
#: The catalog that is meant where none is named.
CATALOG_VARIABLE = "SILTSTONE_CATALOG"
_WAREHOUSE_VARIABLES = ("SILTSTONE_WAREHOUSE", "PAIMON_WAREHOUSE")
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def config_file() -> pathlib.Path | None:
    """The file with the catalogs: ``$SILTSTONE_CONFIG``, ``siltstone.toml`` here, or the user's.

    Raises:
        InvalidArgument: ``$SILTSTONE_CONFIG`` names no file.
    """
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        path = pathlib.Path(named).expanduser()
        if not path.is_file():
            raise InvalidArgument(f"${CONFIG_VARIABLE} names {shown(named)}, which is no file")
        return path
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    places = [pathlib.Path("siltstone.toml"), pathlib.Path(home).expanduser() / "siltstone" / "siltstone.toml"]
    return next((place for place in places if place.is_file()), None)


def catalogs(file: pathlib.Path | None = None) -> dict[str, dict[str, str]]:
    """Options of all catalogs in the file, by name; values as they stand there, variables not yet replaced.

    Raises:
        InvalidArgument: The file is not such a file.
    """
    path = file or config_file()
    if path is None:
        return {}
    try:
        parsed = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise InvalidArgument(f"{path} cannot be read: {e}") from None
    if unknown := [key for key in parsed if key != "catalogs"]:
        raise InvalidArgument(f"{path} has the unknown section {shown(unknown[0])}", hint="write [catalogs.NAME]")
    tables = parsed.get("catalogs", {})
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        raise InvalidArgument(
            f"{path}: 'catalogs' must hold one section for each catalog", hint="write [catalogs.NAME]"
        )
    return {name: _options(path, name, table) for name, table in tables.items()}


def _options(path: pathlib.Path, name: str, table: Mapping[str, Any]) -> dict[str, str]:
    try:
        return option_texts(_flat(table))
    except InvalidArgument as e:
        raise InvalidArgument(f"{path}, catalog {shown(name)}: {e.message}") from None


def _flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """``jdbc.user = "x"`` without quotes is a table in TOML."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        inside = _flat(value, f"{before}{key}.") if isinstance(value, Mapping) else {f"{before}{key}": value}
        flat.update(inside)
    return flat


def by_name(name: str, file: pathlib.Path | None = None) -> dict[str, str]:
    """Options of one catalog of a file, or of the usual one; ``${NAME}`` in them is a variable of the environment.

    Raises:
        InvalidArgument: There is no such catalog, or no such variable.
    """
    known = catalogs(file)
    if name not in known:
        path = file or config_file()
        if path is None:
            text = f"there is no catalog {shown(name)}: there is no siltstone.toml"
            raise InvalidArgument(
                text,
                hint=f"it may be in the current directory, in ~/.config/siltstone, or where ${CONFIG_VARIABLE} points",
            )
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"catalogs: {', '.join(known) or 'none'}"
        raise InvalidArgument(f"{path} has no catalog {shown(name)}", hint=hint)
    return {key: _replaced(name, key, value) for key, value in known[name].items()}


def _replaced(name: str, key: str, value: str) -> str:
    def of_environment(found: re.Match[str]) -> str:
        text = os.environ.get(found[1])
        if text is None:
            raise InvalidArgument(f"catalog {shown(name)}: the option '{key}' asks for ${found[1]}, which is not set")
        return text

    return _VARIABLE.sub(of_environment, value)


def by_environment() -> tuple[str | None, dict[str, str]]:
    """What is meant where nothing is said: the name of a catalog, or the options of one."""
    name = os.environ.get(CATALOG_VARIABLE)
    if name:
        return name, {}
    found = next((os.environ[variable] for variable in _WAREHOUSE_VARIABLES if os.environ.get(variable)), None)
    return None, {} if found is None else {"warehouse": found}
