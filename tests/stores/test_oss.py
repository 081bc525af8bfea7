"""OSS, by a server of the tests: every request is signed, and what must not replace anything says so."""

import oss_server
import pyarrow as pa
import pytest
import siltstone as st
from siltstone.errors import InvalidOption, StorageError, TableExists, UnsupportedFeature

pytestmark = pytest.mark.stores


@pytest.fixture
def make_server(behind_a_proxy):
    return lambda **options: behind_a_proxy(oss_server.Server(**options))


@pytest.fixture
def oss(make_server):
    return make_server()


def rows(*ids):
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(t, **query):
    return sorted(t.scan(**query).to_arrow().column("id").to_pylist())


def test_the_life_of_a_table_in_signed_requests(oss):
    cat = st.connect("oss://lake/w", options=oss.options())
    cat.create_database("db")
    t = cat.create_table("db.t", {"id": "BIGINT NOT NULL"}, primary_key=["id"], options={"bucket": "1"})
    with pytest.raises(TableExists):
        cat.create_table("db.t", {"id": "BIGINT"})
    t.upsert(rows(1, 2))
    t.upsert(rows(3))
    t.compact(full=True)
    t.tags.create("v1")
    t.delete("id = 1")
    assert ids(t) == [2, 3] and ids(t, tag="v1") == [1, 2, 3]
    t.rollback(tag="v1")
    t.upsert(rows(4))
    assert t.expire_snapshots(retain_max=1).snapshots
    t.tags.delete("v1")
    assert t.maintenance.fsck(deep=True).ok and ids(t) == [1, 2, 3, 4]
    cat.drop_table("db.t")
    cat.drop_database("db")
    assert oss.objects == {} and oss.unsigned == []


def test_snapshots_and_schemas_are_put_only_where_their_names_are_free(oss):
    cat = st.connect("oss://lake/w", options=oss.options())
    cat.create_database("db")
    t = cat.create_table("db.t", {"id": "BIGINT"})
    t.append(rows(1))
    t.tags.create("v1")
    puts = [(path, headers) for method, path, headers in oss.requests if method == "PUT"]
    for part in ("/schema/schema-0", "/snapshot/snapshot-1", "/tag/tag-v1", "/manifest/manifest-"):
        [*found] = [headers for path, headers in puts if part in path]
        assert found and all(headers.get("x-oss-forbid-overwrite") == "true" for headers in found), part
    hints = [headers for path, headers in puts if path.endswith("/LATEST")]
    assert hints and not any("x-oss-forbid-overwrite" in headers for headers in hints)


def test_a_file_in_parts(oss):
    t = st.connect("oss://lake/w", options=oss.options())
    t.create_database("db")
    t = t.create_table("db.big", {"b": "BYTES"}, options={"file.compression": "none"})
    data = [bytes([n]) * (1 << 20) for n in range(10)]
    t.append(pa.table({"b": data}))
    assert any("uploadId=" in path for _, path, _ in oss.requests)
    assert sorted(t.scan().to_arrow().column("b").to_pylist()) == data and oss.unsigned == []


def test_a_bucket_with_versions_is_not_written_to(make_server):
    """There the store replaces what a request says must not be replaced."""
    server = make_server(versions=True)
    cat = st.connect("oss://lake/w", options=server.options())
    cat.create_database("db")
    with pytest.raises(UnsupportedFeature, match="writing to this store"):
        cat.create_table("db.t", {"id": "BIGINT"})
    assert not [key for key in server.objects if "schema-0" in key]


def test_what_is_wrong_is_said_without_secrets(oss):
    with pytest.raises(StorageError) as caught:
        st.connect("oss://lake/w", options=oss.options(**{"fs.oss.accessKeySecret": "wrong-secret"})).databases()
    text = f"{caught.value} {caught.value.hint}"
    assert "fs.oss.accessKeySecret" in text and "wrong-secret" not in text
    with pytest.raises(StorageError, match="no such bucket"):
        st.connect("oss://other/w", options=oss.options()).databases()
    keys = {key: value for key, value in oss.options().items() if "endpoint" not in key}
    with pytest.raises(InvalidOption, match=r"fs\.oss\.endpoint"):
        st.connect("oss://lake/w", options=keys).databases()
