"""An extension of griffe: our docstrings, whose section is called ``Example:``, as the site's generator reads them."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Docstrings(griffe.Extension):
    """Examples are code, and names of things in roles of Sphinx (``:meth:``) are names."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """One object was read."""
        if obj.docstring is not None:
            obj.docstring.value = rewritten(obj.docstring.value)


def rewritten(text: str) -> str:
    """A docstring with the plural that Google's style has, and without roles."""
    text = re.sub(r"^Example:$", "Examples:", text, flags=re.MULTILINE)
    return re.sub(r":(?:meth|class|func|attr|data|mod|exc):`~?([^`]*)`", r"`\1`", text)
