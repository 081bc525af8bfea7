"""Rows that are too old (`record-level.expire-time`): compactions leave them out, reads show them until then."""

import datetime as dt
import time

import pytest
import siltstone as st
from siltstone import errors as e

SCHEMA = {"k": "INT", "t": "INT", "v": "INT"}
DAY = 86_400
EXPIRE = {"record_level__expire_time": "10 d", "record_level__time_field": "t"}


def now():
    return int(time.time())


def table(make, name="t", schema=SCHEMA, **options):
    return make(schema, ["k"], [], name=name, **{"bucket": 1, **EXPIRE, **options})


def rows(t):
    return {r["k"]: r["v"] for r in t.scan(["k", "v"]).to_arrow().to_pylist()}


def test_a_compaction_leaves_out_what_is_too_old(make):
    t = table(make, write_only="true")
    old, new = now() - 11 * DAY, now() - 9 * DAY
    t.upsert([{"k": 1, "t": old, "v": 1}, {"k": 2, "t": new, "v": 2}, {"k": 3, "t": None, "v": 3}])
    assert rows(t) == {1: 1, 2: 2, 3: 3}
    t.upsert([{"k": 4, "t": old, "v": 4}])
    assert len(rows(t)) == 4
    st.open_table(t.location, options={"write-only": "false"}).compact(full=True)
    assert rows(t) == {2: 2, 3: 3}
    assert t.scan(version=2).count() == 4
    assert t.maintenance.fsck(deep=True).problems == []


def test_what_is_compacted_already_expires_later(make):
    """One file at the highest level: a full compaction had nothing to do. Files without old rows stay."""
    t = table(make, target_file_size="1 kb", record_level__expire_time="100000 d", file__block_size="1 kb")
    t.upsert([{"k": k, "t": now() - (11 if k < 300 else 1) * DAY, "v": k} for k in range(3000)])
    t.compact(full=True)
    assert t.scan().count() == 3000
    before = {f["path"] for f in t.files()}
    assert len(before) > 2
    t = st.open_table(t.location, options={"record-level.expire-time": "10 d"})
    t.compact(full=True)
    assert rows(t) == {k: k for k in range(300, 3000)}
    assert before & {f["path"] for f in t.files()}
    last = t.snapshot().id
    t.compact(full=True)
    assert t.snapshot().id == last, "nothing is too old any more"
    assert t.maintenance.fsck(deep=True).problems == []


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("INT", lambda s: s),
        ("BIGINT", lambda s: s),
        ("BIGINT", lambda s: s * 1000),
        ("TIMESTAMP(3)", lambda s: dt.datetime.fromtimestamp(s, dt.UTC).replace(tzinfo=None)),
        ("TIMESTAMP_LTZ(6)", lambda s: dt.datetime.fromtimestamp(s, dt.UTC)),
    ],
)
def test_times_are_seconds_milliseconds_or_moments(make, kind, value):
    t = table(make, schema={**SCHEMA, "t": kind})
    t.upsert([{"k": k, "t": value(now() - days * DAY), "v": days} for k, days in enumerate((9, 11, 100, 1))])
    t.compact(full=True)
    assert rows(t) == {0: 9, 3: 1}


def test_each_record_is_looked_at_before_rows_are_merged(make):
    """As in Java: an old record takes no part, whether it adds or deletes."""
    old, new = now() - 11 * DAY, now() - DAY
    t = table(make, write_only="true")
    t.upsert([{"k": 1, "t": new, "v": 1}, {"k": 2, "t": old, "v": 1}, {"k": 3, "t": new, "v": 1}])
    t.upsert([{"k": 1, "t": old, "v": 2}, {"k": 2, "t": new, "v": 2}])
    t.append([{"k": 3, "t": old, "v": None}], row_kind="-D")
    assert rows(t) == {1: 2, 2: 2}
    st.open_table(t.location, options={"write-only": "false"}).compact(full=True)
    assert rows(t) == {1: 1, 2: 2, 3: 1}
    sums = table(make, "sums", merge_engine="aggregation", fields__v__aggregate_function="sum", write_only="true")
    sums.upsert([{"k": 1, "t": old, "v": 1}])
    sums.upsert([{"k": 1, "t": new, "v": 2}])
    st.open_table(sums.location, options={"write-only": "false"}).compact(full=True)
    assert rows(sums) == {1: 2}


@pytest.mark.parametrize(
    ("engine", "expected"), [("deduplicate", {1: 5}), ("partial-update", {1: 5}), ("aggregation", {1: 5})]
)
@pytest.mark.parametrize("vectors", ["true", "false"])
def test_what_is_looked_up_is_not_too_old(make, engine, expected, vectors):
    """With deletion vectors the old row is deleted all the same: it would have been a second row of its key."""
    more = {"fields__v__aggregate_function": "sum"} if engine == "aggregation" else {}
    vectors = {"deletion_vectors__enabled": vectors}
    t = table(make, record_level__expire_time="100000 d", merge_engine=engine, changelog_producer="lookup",
              **vectors, **more)  # fmt: skip
    t.upsert([{"k": k, "t": now() - 11 * DAY, "v": 1} for k in (1, 2)])
    t.compact(full=True)
    t = st.open_table(t.location, options={"record-level.expire-time": "10 d"})
    t.upsert([{"k": 1, "t": now(), "v": 5}])
    found = t.scan(["k", "v"]).to_arrow().to_pylist()
    assert sorted(r["k"] for r in found) == [1, 2]
    assert {r["k"]: r["v"] for r in found}[1] == expected[1]
    assert t.maintenance.fsck(deep=True).problems == []
    t.compact(full=True)
    assert rows(t) == expected
    assert t.maintenance.fsck(deep=True).problems == []


def test_a_first_row_that_is_too_old_is_there_until_it_is_rewritten(make):
    t = table(make, record_level__expire_time="100000 d", merge_engine="first-row")
    t.upsert([{"k": k, "t": now() - 11 * DAY, "v": k} for k in range(1, 500)])
    t.compact(full=True)
    t = st.open_table(t.location, options={"record-level.expire-time": "10 d"})
    t.upsert([{"k": 1, "t": now(), "v": 2}])
    assert rows(t) == {k: k for k in range(1, 500)}
    t.compact(full=True)
    assert rows(t) == {}
    t.upsert([{"k": 1, "t": now(), "v": 3}])
    assert rows(t) == {1: 3}


def test_the_time_may_get_another_name_and_a_larger_type(make):
    t = table(make, write_only="true")
    t.upsert([{"k": 1, "t": now() - 11 * DAY, "v": 1}, {"k": 2, "t": now(), "v": 2}])
    t.alter().rename_column("t", "seen").set_type("seen", "BIGINT").commit()
    t = st.open_table(t.location)
    assert t.options["record-level.time-field"] == "seen"
    t.upsert([{"k": 3, "seen": (now() - 11 * DAY) * 1000, "v": 3}])
    st.open_table(t.location, options={"write-only": "false"}).compact(full=True)
    assert rows(t) == {2: 2}


def test_a_table_without_a_time_column_is_refused_and_one_without_a_key_does_not_expire(make):
    for column in (None, "missing", "s"):
        options = {} if column is None else {"record_level__time_field": column}
        with pytest.raises(e.InvalidOption, match="record-level.time-field"):
            make({**SCHEMA, "s": "STRING"}, ["k"], [], name=f"t{column}", bucket=1,
                 record_level__expire_time="1 d", **options)  # fmt: skip
    t = make(SCHEMA, [], [], name="append", bucket=-1, **EXPIRE)
    for k in range(6):
        t.append([{"k": k, "t": 1, "v": 1}])
    t.compact(full=True)
    assert t.scan().count() == 6
