"""Partitions as they are named: values are not escaped in `$partitions`, so that its names cannot be taken apart."""

import datetime as dt
import pathlib

import pytest
from siltstone import errors as e

ODD = ["a", "a/b", "a%41", "x=y", "k=v/p=w", "\U0001f600", None]


def test_specs_have_the_values_and_drop_what_they_name(make):
    """`a%41` was shown as `aA`, and `a/b` as `a`: dropping them dropped others."""
    t = make({"p": "STRING", "q": "INT", "id": "INT"}, partition_by=["p", "q"])
    t.append([{"p": p, "q": q, "id": n} for n, p in enumerate(ODD) for q in (1, None)])
    found = t.partitions()
    assert sorted((str(p.spec["p"]), str(p.spec["q"])) for p in found) == sorted(
        (str(p), q) for p in ODD for q in ("1", "None")
    )
    assert all(p.rows == 1 and p.files == 1 and p.last_update is not None for p in found)
    for partition in [p for p in found if p.spec["p"] != "a"]:
        t.drop_partitions(partition.spec)
    assert sorted(r["id"] for r in t.scan().to_pylist()) == [0, 0]


@pytest.mark.parametrize(
    ("kind", "values", "largest"),
    [
        ("DECIMAL(5,1)", ["9.5", "10.5"], "10.5"), ("DOUBLE", [9.5, 10.5, None], "10.5"), ("INT", [9, 10, None], "10"),
        ("STRING", ["a/b", "A", None], "a/b"), ("STRING", ["\uffff", "\U0001f600"], "\U0001f600"),
        ("DATE", ["1999-12-31", "0012-01-01"], "1999-12-31"),
        ("DOUBLE", [1.5, float("nan"), 2.5], "NaN"), ("DOUBLE", [float("nan"), 1.5], "NaN"),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", [1, 2], "1970-01-01 00:00:00.000002 UTC"),
        ("TIME", [dt.time(0, 0, 1), dt.time(0, 0, 2)], "00:00:02"), ("STRING", [None], None),
    ],
)  # fmt: skip
def test_max_pt_compares_values_of_the_columns_type(make, kind, values, largest):
    pytest.importorskip("pyspark")
    from siltstone.spark.max_partition import with_max_partitions

    t = make({"p": kind, "id": "INT"}, partition_by=["p"])
    t.append(arrow_rows(t, values))
    text = with_max_partitions("SELECT sys.max_pt('db.t')", lambda _: t)
    assert (f"'{largest}'" if largest is not None else "NULL") in text


def arrow_rows(t, values):
    import pyarrow as pa

    column = pa.array(values)
    if pa.types.is_string(column.type):
        column = column.cast(t.schema.field("p").type)
    return pa.table({"p": column.cast(t.schema.field("p").type), "id": pa.array(range(len(values)), pa.int32())})


def test_messages_and_plans_have_days_as_they_are_written(make):
    """Partitions of days were numbers of days since 1970 there: ``d=20459``."""
    t = make({"d": "DATE", "k": "INT"}, ["d", "k"], ["d"], bucket=1, write_only="true")
    t.append([{"d": dt.date(2026, 1, 5), "k": 1}])
    t.append([{"d": dt.date(2026, 1, 5), "k": 2}])
    assert [task.partition for task in t.maintenance.plan_compaction(full=True).tasks] == ["d=2026-01-05"]
    assert {file["partition"] for file in t.files()} == {"d=2026-01-05"}
    with pytest.raises(e.InvalidArgument, match="the changes in d=2026-01-06 does not belong"):
        t.overwrite([{"d": dt.date(2026, 1, 6), "k": 3}], partition={"d": "2026-01-05"})
    assert t.rescale(2, dry_run=True).notes[-1] == "d=2026-01-05 would get 2 buckets instead of 1"
    t.alter().set_option("bucket", "2").commit()
    with pytest.raises(e.SiltstoneError, match="partition d=2026-01-05 with a new bucket num 2"):
        t.append([{"d": dt.date(2026, 1, 5), "k": 3}])
    assert "d=20458" in {folder.name for folder in pathlib.Path(t.location).iterdir()}  # as Java's are called


def test_another_number_of_buckets_is_told_when_the_option_is_set(make, caplog):
    t = make({"k": "INT"}, ["k"], bucket=1)
    t.append([{"k": 1}])
    t.alter().set_option("bucket", "3").commit()
    said = "rows lie in 1 buckets, and 'bucket' is 3 now: writes to them are refused until the table is rescaled"
    assert [message.partition(" table=")[0] for message in caplog.messages] == [said]
