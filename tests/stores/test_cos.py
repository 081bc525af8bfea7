"""COS, by a server of the tests: every request is signed, and what must not replace anything says so."""

import cos_server
import pyarrow as pa
import pytest
import siltstone as st
from siltstone.errors import InvalidOption, StorageError, TableExists, TableNotFound, UnknownOption, UnsupportedFeature

pytestmark = pytest.mark.stores


@pytest.fixture
def make_server(behind_a_proxy):
    return lambda **options: behind_a_proxy(cos_server.Server(**options))


@pytest.fixture
def cos(make_server):
    return make_server()


@pytest.fixture
def cat(cos):
    catalog = st.connect(cos.location(), options=cos.options())
    catalog.create_database("db")
    return catalog


def rows(*ids):
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(t, **query):
    return sorted(t.scan(**query).to_arrow().column("id").to_pylist())


def test_the_life_of_a_table_in_signed_requests(cat, cos):
    options = {"bucket": "1", "changelog-producer": "lookup"}
    t = cat.create_table("db.t", {"id": "BIGINT NOT NULL"}, primary_key=["id"], options=options)
    with pytest.raises(TableExists):
        cat.create_table("db.t", {"id": "BIGINT"})
    t.upsert(rows(1, 2))
    t.upsert(rows(3))
    t.compact(full=True)
    t.tags.create("v1")
    t.branches.create("dev", tag="v1")
    cat.table("db.t$branch_dev").upsert(rows(7))
    t.delete("id = 1")
    assert ids(t) == [2, 3] and ids(t, tag="v1") == [1, 2, 3] and ids(cat.table("db.t$branch_dev")) == [1, 2, 3, 7]
    t.branches.delete("dev")
    t.rollback(tag="v1")
    t.upsert(rows(4))
    assert sorted(r["id"] for batch in t.changes(consumer="c") for r in batch.to_pylist())[-1] == 4
    assert t.expire_snapshots(retain_max=1).snapshots
    t.tags.delete("v1")
    orphan = "w/db.db/t/bucket-0/data-00000000-0000-0000-0000-000000000000-0.parquet"
    cos.put(orphan, b"x")
    t.maintenance.remove_orphan_files(older_than="0 s", dry_run=False)
    assert orphan not in cos.keys()
    assert t.maintenance.fsck(deep=True).ok and ids(t) == [1, 2, 3, 4]
    with pytest.raises(UnsupportedFeature):
        cat.rename_table("db.t", "db.u")
    cat.drop_table("db.t")
    with pytest.raises(TableNotFound):
        t.upsert(rows(5))
    cat.drop_database("db")
    assert cos.objects == {} and cos.unsigned == []


def test_both_schemes_name_the_same_table(cat, cos):
    t = cat.create_table("db.t", {"id": "BIGINT"})
    t.append(rows(1))
    other = st.open_table(t.location.replace("cosn://", "cos://"), options=cos.options())
    other.append(rows(2))
    assert ids(t) == ids(other) == [1, 2]


def test_snapshots_and_schemas_are_put_only_where_their_names_are_free(cat, cos):
    t = cat.create_table("db.t", {"id": "BIGINT"})
    t.append(rows(1))
    t.tags.create("v1")
    puts = [(path, headers) for method, path, headers in cos.requests if method == "PUT"]
    for part in ("/schema/schema-0", "/snapshot/snapshot-1", "/tag/tag-v1", "/manifest/manifest-"):
        [*found] = [headers for path, headers in puts if part in path]
        assert found and all(headers.get("x-cos-forbid-overwrite") == "true" for headers in found), part
    hints = [headers for path, headers in puts if path.endswith("/LATEST")]
    assert hints and not any("x-cos-forbid-overwrite" in headers for headers in hints)


def test_a_file_in_parts(cat, cos):
    t = cat.create_table("db.big", {"b": "BYTES"}, options={"file.compression": "none"})
    data = [bytes([n]) * (1 << 20) for n in range(10)]
    t.append(pa.table({"b": data}))
    assert any("uploadId=" in path for _, path, _ in cos.requests)
    assert sorted(t.scan().to_arrow().column("b").to_pylist()) == data and cos.unsigned == []


def test_listings_have_pages(cat, cos):
    cos.page = 7
    t = cat.create_table("db.many", {"id": "BIGINT", "p": "INT"}, partition_by=["p"], options={"bucket": "-1"})
    for n in range(12):
        t.append(pa.table({"id": pa.array([n], pa.int64()), "p": pa.array([n], pa.int32())}))
    assert t.scan().count() == 12 and len(t.history()) == 12 and t.maintenance.fsck(deep=True).ok
    assert any("marker=" in path for _, path, _ in cos.requests) and cos.unsigned == []
    cat.drop_table("db.many")
    assert cos.keys("w/db.db/many") == []


def test_a_bucket_with_versions_is_not_written_to(make_server):
    """There the store replaces what a request says must not be replaced."""
    server = make_server(versions=True)
    cat = st.connect(server.location(), options=server.options())
    cat.create_database("db")
    with pytest.raises(UnsupportedFeature, match="writing to this store"):
        cat.create_table("db.t", {"id": "BIGINT"})
    assert not [key for key in server.objects if "schema-0" in key]


def test_keys_come_from_the_environment_too(cos, monkeypatch):
    monkeypatch.setenv("TENCENTCLOUD_SECRET_ID", cos_server.ID)
    monkeypatch.setenv("TENCENTCLOUD_SECRET_KEY", cos_server.KEY)
    options = {"fs.cosn.bucket.endpoint_suffix": cos.endpoint}
    st.connect(cos.location(), options=options).create_database("db")
    assert cos.keys() and cos.unsigned == []


def test_what_is_wrong_is_said_without_secrets(cos):
    with pytest.raises(StorageError) as caught:
        st.connect(cos.location(), options=cos.options(**{"fs.cosn.userinfo.secretKey": "wrong-one"})).databases()
    text = f"{caught.value} {caught.value.hint}"
    assert "fs.cosn.userinfo.secretKey" in text and "wrong-one" not in text
    with pytest.raises(StorageError, match="no such bucket"):
        st.connect("cosn://other-1/w", options=cos.options()).databases()
    keys = {key: value for key, value in cos.options().items() if "endpoint" not in key}
    with pytest.raises(InvalidOption, match=r"fs\.cosn\.bucket\.region"):
        st.connect(cos.location(), options=keys).databases()
    with pytest.raises(UnknownOption, match=r"fs\.cosn\.bucket\.reg1on"):
        st.connect(cos.location(), options={**keys, "fs.cosn.bucket.reg1on": "ap-x"}).databases()
    with pytest.raises(InvalidOption, match="without"):
        st.connect(cos.location(), options={"fs.cosn.userinfo.secretId": "a"}).databases()
