"""Names that people know from other libraries, and what they are called here."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from siltstone._elsewhere import ARGUMENTS, MISSING, NAMES
from siltstone._pyarrow import MissingAttribute, has_pyarrow

P = ParamSpec("P")
R = TypeVar("R")

#: Names that are less alike mislead.
_NEAR = 0.7


def unknown_attribute(thing: Any, name: str) -> AttributeError:
    """The error for an attribute that there is not, with what it is called here."""
    kind = type(thing)
    if name == "schema" and hasattr(kind, name) and not has_pyarrow():
        return MissingAttribute()
    text = f"a {kind.__name__} has no '{name}'"
    families = [base.__name__ for base in kind.__mro__]
    known = next((NAMES[family][name] for family in families if name in NAMES.get(family, {})), None)
    if known is None and not name.startswith("_"):
        public = [other for other in dir(kind) if not other.startswith("_")]
        near = difflib.get_close_matches(name, public, n=2, cutoff=_NEAR)
        known = " or ".join(f".{other}" for other in near) or None
    return AttributeError(text if known is None else f"{text}: use {known}", name=name, obj=thing)


def _wrong_call(method: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> TypeError | None:
    """The error of a call whose arguments are not those of the method, with what to give instead; None: they are."""
    signature = inspect.signature(method)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as e:
        said = str(e)
    else:
        return None
    name, takes = method.__name__, [p for p in signature.parameters.values() if p.name != "self"]
    known = {parameter.name: parameter for parameter in takes}
    unknown = next((given for given in kwargs if given not in known), None)
    if unknown is not None:
        near = difflib.get_close_matches(unknown, known, n=1)
        elsewhere = {**ARGUMENTS.get(name, {}), **vars(method).get("elsewhere", {})}
        hint = elsewhere.get(unknown) or next((f"{other}=..." for other in near), "")
        said = f"has no argument '{unknown}'"
        hint = f"use {hint}" if hint else f"it takes {', '.join(known)}" if known else "it takes none"
    elif said.startswith("missing"):
        hint = next((hint for lacking, hint in MISSING.get(name, {}).items() if f"'{lacking}'" in said), "")
    else:
        by_name = [f"{p.name}=..." for p in takes if p.kind is p.KEYWORD_ONLY]
        hint = f"give by name what it takes: {', '.join(by_name)}" if by_name else ""
    return TypeError(f"{name}() {said}{': ' if hint else ''}{hint}")


def hinted(method: Callable[P, R]) -> Callable[P, R]:
    """The function or method; a call with arguments that it does not have says what they are called here."""

    @functools.wraps(method)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except TypeError:
            wrong = _wrong_call(method, args, kwargs)
            if wrong is None:
                raise
        raise wrong

    return checked


class Hinted:
    """Something that says what names of other libraries, of calls and of their arguments, are called here."""

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give the public methods their hints, also those that come from classes without."""
        super().__init_subclass__(**kwargs)
        for family in cls.__mro__:
            if family is object or family is Hinted or (family is not cls and issubclass(family, Hinted)):
                continue
            for name, method in vars(family).items():
                if inspect.isfunction(method) and not name.startswith("_") and getattr(cls, name) is method:
                    setattr(cls, name, hinted(method))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Refuse what other libraries have under this name, and say what it is here."""
            raise unknown_attribute(self, name)


#: What takes the conditions of other libraries.
_CONDITIONS = {
    "pyarrow": "t.to_dataset().to_table(filter=...) takes expressions of pyarrow",
    "polars": "st.scan_polars(t).filter(...) takes expressions of polars",
}


def condition_hint(value: object) -> str | None:
    """Where a condition of another library is taken."""
    return _CONDITIONS.get(type(value).__module__.partition(".")[0])


def unknown_name(name: str, public: Sequence[str]) -> AttributeError:
    """The error for a name that the package does not have."""
    text = f"siltstone has no '{name}'"
    known = NAMES["siltstone"].get(name)
    if known is None and not name.startswith("_"):
        known = (
            " or ".join(f"st.{other}" for other in difflib.get_close_matches(name, public, n=2, cutoff=_NEAR)) or None
        )
    return AttributeError(text if known is None else f"{text}: use {known}", name=name)


def known_as(**elsewhere: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Say what arguments are called here, to whom calls by other libraries' names what is :func:`hinted`.

    Args:
        elsewhere: The argument here, by its name elsewhere.
    """

    def with_names(method: Callable[P, R]) -> Callable[P, R]:
        vars(method)["elsewhere"] = elsewhere
        return method

    return with_names
