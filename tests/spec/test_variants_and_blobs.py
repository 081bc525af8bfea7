"""Columns of the types VARIANT and BLOB: what they take, what they give, and what is refused."""

import pickle

import pyarrow as pa
import pytest
import siltstone as st

EVOLVING = {"row_tracking__enabled": "true", "data_evolution__enabled": "true"}


@pytest.mark.parametrize("text", ["", "{'a': 1}", '{"a": 1, "a": 2}', "1e400", "[1,]"])
def test_what_is_no_json_is_refused(make, text):
    t = make({"k": "INT", "v": "VARIANT"})
    with pytest.raises(st.errors.SchemaMismatch, match="row 1 does not fit column 'v'"):
        t.append([{"k": 0, "v": "{}"}, {"k": 1, "v": text}])
    assert t.scan().count() == 0


def test_variants_lie_in_nested_types_and_come_in_the_form_that_is_asked_for(make):
    t = make({"k": "INT", "v": "VARIANT", "m": "MAP<STRING, VARIANT>", "l": "ARRAY<ROW<v VARIANT>>"})
    row = {"k": 1, "v": "[1]", "m": [("a", "null"), ("b", None)], "l": [{"v": '"x"'}, {"v": None}, None]}
    t.append([row, {"k": 2}])
    assert t.scan().to_arrow().to_pylist() == [row, {"k": 2, "v": None, "m": None, "l": None}]
    assert t.schema.field("v").type == pa.string()
    assert t.scan(["k"], "v is not null").to_arrow()["k"].to_pylist() == [1]
    split = pickle.loads(pickle.dumps(t.scan().splits()[0]))
    assert pa.Table.from_batches(split.read())["v"].to_pylist() == ["[1]", None]
    [changes] = t.changes()
    assert pa.record_batch(changes)["v"].to_pylist() == ["[1]", None]
    binary = st.open_table(t.location, options={"siltstone.variant": "binary"})
    assert binary.scan(["l"]).to_arrow()["l"].to_pylist()[0][0] == {
        "v": {"value": b"\x05x", "metadata": b"\x01\x00\x00"}
    }
    assert binary.schema.field("v").type.field("value").type == pa.binary()
    with pytest.raises(st.errors.InvalidOption, match="siltstone.variant"):
        st.open_table(t.location, options={"siltstone.variant": "text"})


@pytest.mark.parametrize("kind", ["orc", "avro"])
def test_variants_are_written_to_parquet_only(make, kind):
    with pytest.raises(st.errors.UnsupportedFeature, match="VARIANT"):
        make({"k": "INT", "v": "VARIANT"}, file__format=kind)


def test_blobs_of_partitions_are_read_overwritten_and_travelled_to(make):
    t = make({"p": "INT", "k": "INT", "b": "BLOB"}, partition_by=["p"], **EVOLVING, blob__target_file_size="10 b")
    rows = [{"p": k % 2, "k": k, "b": None if k == 3 else b"b" * k} for k in range(8)]
    t.append(rows)
    t.append([{"p": 0, "k": 8, "b": b""}])

    def found(**scan):
        return t.scan(**scan).to_arrow().sort_by("k").to_pylist()

    assert found() == [*rows, {"p": 0, "k": 8, "b": b""}]
    assert found(version=1) == rows
    assert found(filter="p = 1 and k > 4") == [rows[5], rows[7]]
    assert found(filter="b is null") == [rows[3]]
    assert t.scan(filter="p = 0").count() == 5
    t.overwrite([{"p": 1, "k": 1, "b": b"new"}], partition={"p": 1})
    assert found(filter="p = 1") == [{"p": 1, "k": 1, "b": b"new"}]
    t.compact(full=True)
    assert len(found()) == 6
    assert t.maintenance.fsck(deep=True).problems == []


def test_what_cannot_be_a_blob_column_is_refused(make):
    evolving = {"row_tracking__enabled": "true", "data_evolution__enabled": "true"}
    for columns, options in [
        ({"k": "INT", "b": "BLOB"}, {}),
        ({"b": "BLOB"}, evolving),
        ({"k": "INT", "b": "ARRAY<BLOB>"}, evolving),
    ]:
        with pytest.raises(st.errors.UnsupportedFeature, match="BLOB"):
            make(columns, **options)
    t = make({"k": "INT", "picture": "BLOB"}, **evolving)
    t.append([{"k": 4, "picture": b"x"}])
    with pytest.raises(st.errors.UnsupportedFeature, match="BLOB"):
        t.update({"picture": "null"}, where="k = 4")
    with pytest.raises(st.errors.UnsupportedFeature, match="blob-as-descriptor"):
        st.open_table(t.location, options={"blob-as-descriptor": "true"}).append([{"k": 5}])
