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
from siltstone._args import text as valid_text
from siltstone.catalog.config_files import file_bytes, home_path, is_file
from siltstone.errors import InvalidArgument

#: The file that is read instead of the usual ones.
CONFIG_VARIABLE = "SILTSTONE_CONFIG"
#: The catalog that is meant where none is named.
CATALOG_VARIABLE = "SILTSTONE_CATALOG"
_WAREHOUSE_VARIABLES = ("SILTSTONE_WAREHOUSE", "PAIMON_WAREHOUSE")
#: A key of more parts is none of a catalog; the time of tomllib grows with their square.
_MOST_DOTS = 100
_HINT = "options are texts, numbers or booleans, by Paimon's names"
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def config_file() -> pathlib.Path | None:
    """The file with the catalogs: ``$SILTSTONE_CONFIG``, ``siltstone.toml`` here, or the user's.

    Raises:
        InvalidArgument: ``$SILTSTONE_CONFIG`` names no file.
    """
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        path = home_path(named)
        if not is_file(path):
            raise InvalidArgument(
                f"${CONFIG_VARIABLE} names {shown(named)}, which is no file",
                hint="name a file with sections [catalogs.NAME], or unset the variable",
            )
        return path
    here = pathlib.Path("siltstone.toml")
    if is_file(here):
        return here
    home = home_path(os.environ.get("XDG_CONFIG_HOME") or "~/.config") / "siltstone" / "siltstone.toml"
    return home if is_file(home) else None


def catalogs(file: pathlib.Path | None = None) -> dict[str, dict[str, str]]:
    """Options of all catalogs in the file, by name; values as they stand there, variables not yet replaced.

    Raises:
        InvalidArgument: The file is not such a file.
    """
    path = file or config_file()
    if path is None:
        return {}
    parsed = _parsed(path)
    if unknown := [key for key in parsed if key != "catalogs"]:
        raise InvalidArgument(f"{path} has the unknown section {shown(unknown[0])}", hint="write [catalogs.NAME]")
    tables = parsed.get("catalogs", {})
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        raise InvalidArgument(
            f"{path}: 'catalogs' must hold one section for each catalog", hint="write [catalogs.NAME]"
        )
    return {name: _options(path, name, table) for name, table in tables.items()}


def _parsed(path: pathlib.Path) -> dict[str, Any]:
    """What the file says; a line of very many dots and very deep brackets are no configuration, and cost gigabytes."""
    hint = 'write [catalogs.NAME], and below it lines such as warehouse = "/data/lake"'
    try:
        text = file_bytes(path).decode("utf-8")
        dotted = next((at for at, line in enumerate(text.split("\n"), 1) if line.count(".") > _MOST_DOTS), None)
        if dotted is None:
            return tomllib.loads(text)
        reason = f"line {dotted} has more than {_MOST_DOTS} dots"
    except RecursionError:
        reason = "its values are nested too deep"
    except (OSError, ValueError) as e:  # those of tomllib, too, and integers of too many digits
        reason = str(e)
    raise InvalidArgument(f"{path} cannot be read: {reason}", hint=hint)


def _options(path: pathlib.Path, name: str, table: Mapping[str, Any]) -> dict[str, str]:
    try:
        return option_texts(_flat(table))
    except RecursionError:
        raise InvalidArgument(f"{path}, catalog {shown(name)}: its options are nested too deep", hint=_HINT) from None
    except InvalidArgument as e:
        raise InvalidArgument(f"{path}, catalog {shown(name)}: {e.message}", hint=e.hint or _HINT) from None


def _flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """``jdbc.user = "x"`` without quotes is a table in TOML."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        inside = _flat(value, f"{before}{key}.") if isinstance(value, Mapping) else {f"{before}{key}": value}
        if twice := next((key for key in inside if key in flat), None):
            raise InvalidArgument(f"the option '{twice}' is there twice", hint="say it with quotes or without, once")
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
        value = os.environ.get(found[1])
        if value is None:
            raise InvalidArgument(
                f"catalog {shown(name)}: the option '{key}' asks for ${found[1]}, which is not set",
                hint=f"export {found[1]}=...",
            )
        return valid_text(f"${found[1]}", value)

    return _VARIABLE.sub(of_environment, value)


def by_environment() -> tuple[str | None, dict[str, str]]:
    """What is meant where nothing is said: the name of a catalog, or the options of one."""
    name = os.environ.get(CATALOG_VARIABLE)
    if name:
        return name, {}
    found = next((os.environ[variable] for variable in _WAREHOUSE_VARIABLES if os.environ.get(variable)), None)
    return None, {} if found is None else {"warehouse": found}
