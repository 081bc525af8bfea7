"""A store lists what others have put there, and somebody else may answer in its place."""

import urllib.parse

import azure_server
import cos_server
import gcs_server
import oss_server
import pytest
import siltstone as st
import web_store
from siltstone.errors import StorageError

pytestmark = pytest.mark.stores

SERVERS = {"azure": azure_server.Server, "gs": gcs_server.Server, "oss": oss_server.Server, "cos": cos_server.Server}


@pytest.fixture(params=SERVERS)
def server(request, monkeypatch, tmp_path):
    for name in ("AZURE_STORAGE_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    server = SERVERS[request.param]()
    if request.param in ("oss", "cos"):
        monkeypatch.setenv("HTTP_PROXY", server.url)
        monkeypatch.setenv("http_proxy", server.url)
    else:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    if request.param == "gs":
        monkeypatch.setenv("GCE_METADATA_HOST", server.metadata_host)
    yield server
    server.close()


def connect(server):
    location = "oss://lake/w" if isinstance(server, oss_server.Server) else server.location()
    cat = st.connect(location, options=server.options())
    cat.create_database("db")
    return cat


def check_keys_of_others(cat, put):
    """`t//../o/file` below `db.t` is another key than that of the file of `db.o`."""
    for name in ("o", "t"):
        cat.create_table(f"db.{name}", {"id": "INT"}, options={"bucket": "-1"}).append([{"id": 1}])
    live = cat.table("db.o").files()[0]["path"].rpartition("/")[2]
    put(f"db.db/t//../o/bucket-0/{live}")
    with pytest.raises(StorageError, match="no request can name"):
        cat.drop_table("db.t")
    for name in ("o", "t"):
        assert cat.table(f"db.{name}").to_pylist() == [{"id": 1}]


def test_a_key_that_leads_elsewhere_is_not_followed(server):
    """A drop asked for the deletion of a file of another table."""
    check_keys_of_others(connect(server), lambda key: server.put(f"w/{key}", b"x"))


def test_a_key_on_s3_that_leads_elsewhere_is_not_followed(cat, s3, bucket):
    check_keys_of_others(cat, lambda key: s3.put(bucket, f"lake/{key}", b"x"))


@pytest.mark.parametrize("page", [b"<html><head><title>Please log in</title></head><body/></html>", b"{}", b""])
def test_a_page_of_a_proxy_is_no_listing(server, monkeypatch, page):
    """Orphan cleaning took it for an empty directory, and deleted live files."""
    t = connect(server).create_table("db.t", {"id": "INT"}, options={"bucket": "-1"})
    t.append([{"id": 1}])
    is_oss = isinstance(server, oss_server.Server)
    handler, method = (oss_server._Handler, "_answer") if is_oss else (web_store.Handler, "answer")
    answer, asked = getattr(handler, method), []

    def instead(self, status, *content, **headers):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        if self.command != "GET" or not query.get("prefix", "").endswith("/t/snapshot/"):
            return answer(self, status, *content, **headers)
        asked.append(self.path)
        return answer(self, 200, page)

    with monkeypatch.context() as proxy:
        proxy.setattr(handler, method, instead)
        with pytest.raises(StorageError, match="is no listing of objects"):
            t.maintenance.remove_orphan_files(older_than="0 s", dry_run=False)
    assert 1 <= len(asked) <= 6
    assert t.to_pylist() == [{"id": 1}]
    assert t.maintenance.fsck(deep=True).ok
