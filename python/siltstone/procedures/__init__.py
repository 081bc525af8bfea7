"""Procedures by their Java names: what ``CALL sys.*`` runs in Spark and ``siltstone call`` on the command line.

Source: semantics i.1; one entry of ``PROCEDURES`` each, with Java's argument and result names.
"""

from __future__ import annotations

from siltstone.procedures.model import PROCEDURES, Answer, Argument, CallResult, Procedure, run_call
from siltstone.procedures.parse import Call, is_call, parse_call

# the modules enter their procedures into PROCEDURES
from siltstone.procedures import branches, consumers, maintenance, tags, versions  # isort: skip

__all__ = [
    "PROCEDURES",
    "Answer",
    "Argument",
    "Call",
    "CallResult",
    "Procedure",
    "branches",
    "consumers",
    "is_call",
    "maintenance",
    "parse_call",
    "run_call",
    "tags",
    "versions",
]
