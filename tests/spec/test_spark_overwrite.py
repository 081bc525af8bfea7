"""What an overwrite from Spark replaces, decided without a session."""

from types import SimpleNamespace

import pytest
from siltstone import errors as e

pytest.importorskip("pyspark")

from siltstone.spark.source_options import overwritten  # noqa: E402
from siltstone.spark.writing import _default_parallelism, _overwrite, _replaced, replaces_found  # noqa: E402


def session(mode):
    known = {} if mode is None else {"spark.sql.sources.partitionOverwriteMode": mode}
    return SimpleNamespace(conf=known)


@pytest.mark.parametrize(
    ("conf", "mode", "given", "replaced"),
    [
        (None, "overwrite", None, "full"),
        ("static", "overwrite", None, "full"),
        ("STATIC", "overwrite", None, "full"),
        ("dynamic", "overwrite", None, "dynamic"),
        ("DYNAMIC", "overwrite", None, "dynamic"),
        ("dynamic", "overwrite", "static", "full"),
        ("static", "overwrite", "dynamic", "dynamic"),
        ("static", "overwrite-partitions", None, "dynamic"),
        ("dynamic", "append", None, None),
        ("dynamic", "upsert", None, None),
    ],
)
def test_the_write_says_what_is_replaced_else_the_session(conf, mode, given, replaced):
    assert _replaced(session(conf), mode, given) == replaced


@pytest.mark.parametrize(
    ("conf", "static", "found"),
    [
        ("dynamic", {}, True),
        ("dynamic", {"dt": "a"}, True),
        ("dynamic", {"dt": "a", "h": 1}, False),
        ("static", {"dt": "a"}, False),
        (None, {}, False),
    ],
)
def test_rows_of_part_of_a_partition_replace_what_they_find_if_the_session_says_so(conf, static, found):
    assert replaces_found(session(conf), SimpleNamespace(partition_by=["dt", "h"]), static) is found


def test_a_whole_partition_is_replaced_whatever_the_session_says():
    t = SimpleNamespace(partition_by=["dt", "h"])
    whole = {"dt": "a", "h": 1}
    assert _overwrite(t, session("dynamic"), "overwrite", None, whole) == {"partition": whole}
    assert _overwrite(t, session("dynamic"), "overwrite", "static", {"dt": "a"}) == {"partition": {"dt": "a"}}
    with pytest.raises(e.InvalidArgument, match="dynamic overwrite replaces those of the rows"):
        _overwrite(t, session("dynamic"), "overwrite", None, {"dt": "a"})


@pytest.mark.parametrize(
    ("mode", "given"),
    [
        ("overwrite", "full"),
        ("overwrite", ""),
        ("append", "dynamic"),
        ("overwrite-partitions", "static"),
        ("overwrite", True),
    ],
)
def test_a_partition_overwrite_that_cannot_be_meant_is_refused(mode, given):
    with pytest.raises(e.InvalidArgument, match="partition_overwrite"):
        _replaced(session(None), mode, given)


@pytest.mark.parametrize(
    ("options", "overwrite"),
    [
        ({"overwrite.mode": "full"}, {"dynamic": False}),
        ({"overwrite.mode": "dynamic"}, {"dynamic": True}),
        ({"overwrite.mode": "static", "overwrite.partition": "dt=a, h=1"}, {"partition": {"dt": "a", "h": "1"}}),
        ({"partitionOverwriteMode": "dynamic"}, {"dynamic": True}),
        ({"partitionoverwritemode": "STATIC"}, {"dynamic": False}),
        ({"overwrite.mode": "dynamic", "partitionOverwriteMode": "static"}, {"dynamic": True}),
    ],
)
def test_the_options_of_the_format_say_what_is_replaced(options, overwrite):
    assert overwritten(options, overwrite=True) == overwrite


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"overwrite.mode": "static"},  # of what partition? it meant the whole table
        {"overwrite.mode": "full", "overwrite.partition": "dt=a"},
        {"overwrite.mode": "dynamic", "overwrite.partition": "dt=a"},
        {"overwrite.partition": "dt=a"},
        {"overwrite.partition": "dt=a", "partitionOverwriteMode": "static"},
        {"overwrite.mode": "static", "overwrite.partition": "dt=a;dt=b"},
        {"overwrite.mode": "static", "overwrite.partition": ""},
        {"overwrite.mode": "static", "overwrite.partition": "dt"},
        {"overwrite.mode": "nope"},
        {"partitionOverwriteMode": "nope"},
    ],
)
def test_an_overwrite_that_does_not_say_what_it_replaces_is_refused(options):
    with pytest.raises(e.InvalidArgument):
        overwritten(options, overwrite=True)


def test_an_append_takes_no_options_of_an_overwrite():
    for options in ({"overwrite.mode": "full"}, {"overwrite.partition": "dt=a"}):
        with pytest.raises(e.InvalidArgument, match="is for mode"):
            overwritten(options, overwrite=False)
    assert overwritten({"partitionOverwriteMode": "dynamic"}, overwrite=False) is None


@pytest.mark.parametrize(
    ("shuffle", "buckets", "partitioned", "tasks"),
    [(200, "8", False, 8), (4, "8", False, 4), (200, "8", True, 200), (2, "1", True, 2), (200, "1", False, 1)],
)
def test_tasks_are_as_many_as_buckets_or_as_the_session_shuffles_to(shuffle, buckets, partitioned, tasks):
    given = SimpleNamespace(conf={"spark.sql.shuffle.partitions": str(shuffle)})
    table = SimpleNamespace(options={"bucket": buckets}, partition_by=["dt"] if partitioned else [])
    assert _default_parallelism(given, table) == tasks
