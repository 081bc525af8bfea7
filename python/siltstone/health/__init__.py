"""The health of a table on one page: ``t.report()``."""

from __future__ import annotations

from siltstone.health.figures import (
    Advice,
    Bucket,
    Keeper,
    LargePartition,
    Level,
    Moment,
    PartitionClass,
    SizeClass,
    Totals,
)
from siltstone.health.files import AGES
from siltstone.health.report import HealthReport, report_of

__all__ = [
    "AGES",
    "Advice",
    "Bucket",
    "HealthReport",
    "Keeper",
    "LargePartition",
    "Level",
    "Moment",
    "PartitionClass",
    "SizeClass",
    "Totals",
    "report_of",
]
