"""``t.get(keys)``: keys are taken by the rule of writes, and found as the table tells them apart.

It cast keys as Arrow does: the text ``1`` found the key 1, a boolean found nothing without a word. It compared values of
Python: of 0.0, -0.0 and NaN, which are three keys, it gave the wrong row or none, and days after the year 9999 ended in an
OverflowError.
"""

import datetime as dt
import decimal

import pyarrow as pa
import pytest
import siltstone as st
from siltstone import errors as e

NAN = float("nan")


@pytest.fixture
def make(tmp_path):
    cat = st.connect(tmp_path / "lake")
    cat.create_database("db")

    def make(kind, keys, bucket="4"):
        """A table of this type of key, with the place of each key as its value; every key is a commit."""
        t = cat.create_table("db.t", {"k": kind, "v": "INT"}, primary_key=["k"], options={"bucket": bucket})
        for at, key in enumerate(keys):
            t.upsert(
                pa.table({"k": keys[at : at + 1], "v": pa.array([at], pa.int32())})
                if isinstance(keys, pa.Array)
                else [{"k": key, "v": at}]
            )
        return t

    return make


def values(t, keys):
    return t.get(keys)["v"].to_pylist()


WRONG = {
    "INT": [pa.array(["1"]), pa.array([True]), pa.array([1.5]), pa.array([1 << 40]), pa.array([dt.date(1970, 1, 2)]),
            pa.array(["1"]).dictionary_encode()],
    "BIGINT": [pa.array([b"1"]), pa.array([decimal.Decimal("1.5")]), pa.array([1], pa.timestamp("s"))],
    "STRING": [pa.array([1]), pa.array([b"1"])],
    "DATE": [pa.array(["1970-01-02"]), pa.array([1], pa.int32()), pa.array([1], pa.timestamp("s")),
             pa.array([1], pa.int64()).view(pa.date64())],
    "TIMESTAMP(3)": [pa.array([1], pa.timestamp("us")), pa.array([1], pa.timestamp("ms", "UTC")), pa.array([1])],
    "DECIMAL(5, 2)": [pa.array([1.5]), pa.array([decimal.Decimal("1.005")]), pa.array([10_000])],
    "BOOLEAN": [pa.array([1]), pa.array(["true"])],
    "TIME(3)": [pa.array([1], pa.time64("us")), pa.array([1], pa.int32())],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "given"), [(kind, given) for kind, all_of in WRONG.items() for given in all_of])
def test_what_a_delete_refuses_get_refuses(make, kind, given):
    t = make(kind, [])
    keys = pa.table({"k": given})
    with pytest.raises(e.SchemaError):
        t.delete(keys=keys)
    with pytest.raises(e.SchemaError) as caught:
        t.get(keys)
    assert caught.value.context["column"] == "k"
    assert caught.value.hint


@pytest.mark.parametrize("keys", [[True], True, ["1"], [1.5], [None], [{"k": None}]])
def test_values_of_python_that_a_delete_refuses(make, keys):
    t = make("INT", [1])
    if keys is not True:
        with pytest.raises(e.SchemaError):
            t.delete(keys=keys)
    with pytest.raises(e.SchemaError):
        t.get(keys)


def test_a_null_is_no_key(make):
    with pytest.raises(e.NullInKey, match="row 1 of the keys"):
        make("INT", [1]).get(pa.table({"k": pa.array([1, None], pa.int32())}))


@pytest.mark.parametrize(
    ("kind", "stored", "given"),
    [
        ("INT", [1, 2], pa.array([2, 1], pa.int64())),
        ("INT", [1, 2], pa.array([2.0, 1.0])),
        ("INT", [1, 2], pa.array([2, 1], pa.int8()).dictionary_encode()),
        ("STRING", ["a", "b"], pa.array(["b", "a"], pa.large_string())),
        ("STRING", ["a", "b"], pa.array(["b", "a"], pa.string_view())),
        ("DOUBLE", [1.5, 0.1], pa.array([0.1, 1.5])),
        ("DECIMAL(5, 2)", [1, 2], pa.array([decimal.Decimal(2), decimal.Decimal("1.000")])),
        ("DATE", [dt.date(1970, 1, 2), dt.date(1970, 1, 3)], pa.array([2, 1], pa.int32()).cast(pa.date32()).cast(pa.date64())),
        ("TIMESTAMP(6)", [dt.datetime(1970, 1, 1, 0, 0, 1), dt.datetime(1970, 1, 1, 0, 0, 2)], pa.array([2, 1], pa.timestamp("s"))),
        ("TIMESTAMP_LTZ(3)", [dt.datetime(1970, 1, 1, 0, 0, 1), dt.datetime(1970, 1, 1, 0, 0, 2)],
         pa.array([2, 1], pa.timestamp("s", "Asia/Tokyo"))),
        ("TIME(3)", [dt.time(0, 0, 1), dt.time(0, 0, 2)], pa.array([2, 1], pa.time32("s"))),
        ("BYTES", [b"a", b"b"], pa.array([b"b", b"a"], pa.binary(1))),
    ],
)  # fmt: skip
def test_equal_values_of_another_type_are_found(make, kind, stored, given):
    t = make(kind, stored)
    assert values(t, pa.table({"k": given})) == [1, 0]
    t.delete(keys=pa.table({"k": given[:1]}))
    assert values(t, pa.table({"k": given})) == [0]


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
@pytest.mark.parametrize("bucket", ["1", "16"])
def test_zeros_and_nan_are_keys_of_their_own(make, kind, bucket):
    """[-0.0] gave the row of 0.0, [0.0, -0.0] gave it twice, and NaN was never found."""
    t = make(kind, [0.0, -0.0, NAN, 5.0], bucket)
    assert t.count() == 4
    assert values(t, [-0.0]) == [1]
    assert values(t, [0.0]) == [0]
    assert values(t, [0.0, -0.0]) == [0, 1]
    assert values(t, [NAN]) == [2]
    assert values(t, [5.0, -NAN, 7.0, -0.0]) == [3, 2, 1]


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("DATE", pa.array([3_000_000, 1, -800_000, 2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32())),
        ("TIMESTAMP(0)", pa.array([300_000_000_000, 1, -100_000_000_000, -1], pa.timestamp("s"))),
        ("TIMESTAMP(3)", pa.array([2**62, 1, -(2**62), -1], pa.timestamp("ms"))),
        ("TIMESTAMP_LTZ(6)", pa.array([2**62, 1, -(2**62), -1], pa.timestamp("us", "UTC"))),
        ("TIMESTAMP(9)", pa.array([2**62, 1, -(2**62), -1], pa.timestamp("ns"))),
    ],
)
def test_moments_that_python_does_not_have_are_found(make, kind, keys):
    t = make(kind, keys)
    everything = list(range(len(keys)))
    assert values(t, pa.table({"k": keys})) == everything
    assert values(t, pa.table({"k": keys[::-1]})) == everything[::-1]
    for at in everything:
        assert values(t, pa.table({"k": keys[at : at + 1]})) == [at]


def test_no_keys_find_no_rows(make):
    t = make("DATE", [dt.date(1970, 1, 1)])
    assert t.get([]).num_rows == 0
    assert t.get(pa.table({"k": pa.array([], pa.date32())})).num_rows == 0
