"""What a session is not told: Spark's own defaults depend on the machine, and a default that is given to `conf.get` hides them."""

import zoneinfo
from types import SimpleNamespace

import pyarrow as pa
import pytest
from siltstone.errors import SchemaMismatch
from siltstone.spark.conditions import Meaning

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

_GIVEN = object()


def session(**defaults):
    """A session with entries that nobody has set, as Spark answers for them."""

    def get(key, default=_GIVEN):
        return defaults[key.rpartition(".")[2]] if default is _GIVEN else default

    return SimpleNamespace(conf=SimpleNamespace(get=get))


def test_times_are_of_the_machines_zone():
    """`DELETE ... WHERE l < TIMESTAMP '2024-01-01 00:00:00'` took the time for one of UTC, and left rows, or deleted more."""
    assert Meaning.of(session(timeZone="America/New_York"), "1").zone == zoneinfo.ZoneInfo("America/New_York")
    assert Meaning.of(session(timeZone="+08:00"), "1").zone is None


def test_casts_are_those_of_the_environment(make):
    """SPARK_ANSI_SQL_MODE=false switches them off without a setting."""
    pytest.importorskip("pyspark")
    from pyspark.sql.types import IntegerType, StructField, StructType
    from siltstone.spark.statements.assignment import assigned

    t = make({"v": "TINYINT"})
    schema = StructType([StructField("v", IntegerType())])
    frame = SimpleNamespace(sparkSession=session(enabled="false"), columns=["v"], schema=schema)
    frame.toDF = lambda *_: {"c0": None}
    with pytest.raises(SchemaMismatch, match="ansi.enabled"):
        assigned(frame, t, None, {}, by_name=False)
    assert pa.types.is_int8(t.schema.field("v").type)
