"""Keys for the storage of a table that a REST catalog's server lends for some time."""

import json
import time

import pytest
import recording
import siltstone as st
from recording import ok
from siltstone import errors as e

pytest.importorskip("urllib3")
pytestmark = pytest.mark.stores


class Lender:
    """A server that knows one table, and lends each time another key for so many seconds."""

    def __init__(self, location, storage, seconds):
        self.location, self.storage, self.seconds = location, storage, seconds
        self.lent = 0

    def __call__(self, method, path):
        if path.startswith("/v1/config"):
            return ok({"defaults": {"data-token.enabled": "true", **self.storage}, "overrides": {}})
        if path.endswith("/databases/db"):
            return ok({"name": "db", "options": {}})
        if path.endswith("/tables/t"):
            return ok({"id": "7", "name": "t", "path": self.location, "isExternal": False, "schemaId": 0, "schema": {}})
        if path.endswith("/token"):
            self.lent += 1
            key = {"s3.access-key": f"lent-{self.lent}", "s3.secret-key": f"hidden-{self.lent}"}
            return ok({"token": key, "expiresAtMillis": int((time.time() + self.seconds) * 1000)})
        return 403, {}, {"message": "not for you", "resourceType": "TABLE", "resourceName": "t", "code": 403}


@pytest.fixture
def lending(s3, bucket):
    location = f"s3://{bucket}/lake/db.db/t"
    made = st.connect(f"s3://{bucket}/lake", options=s3.options())
    made.create_database("db")
    made.create_table("db.t", {"id": "BIGINT"}).append([{"id": 1}])
    storage = {key: value for key, value in s3.options().items() if "key" not in key}
    s3.signers()
    with recording.server() as server:

        def connect(seconds):
            server.route = Lender(location, storage, seconds)
            return st.connect("wh", metastore="rest", uri=server.url, options={"token": "t"}), server

        yield connect


def test_the_storage_is_reached_with_the_keys_that_the_server_lends(lending, s3):
    cat, server = lending(7200)
    t = cat.table("db.t")
    assert t.scan().count() == 1
    assert t.scan().to_arrow().num_rows == 1
    assert s3.signers() == {"lent-1"}
    assert server.route.lent == 1
    shown = f"{cat!r} {t!r} {t.options} {t.dynamic_options} {t.__reduce__()} {cat.__reduce__()}"
    assert "hidden" not in shown and "lent" not in shown


def test_keys_are_asked_for_again_before_they_expire(lending, s3):
    cat, server = lending(1)
    t = cat.table("db.t")
    t.scan().count()
    first = server.route.lent
    time.sleep(0.6)  # more than half of their time
    s3.signers()
    assert t.scan().to_arrow().num_rows == 1
    assert server.route.lent > first
    assert "lent-1" not in s3.signers()


def test_a_commit_that_the_server_does_not_take_leaves_nothing_but_its_data_file(lending, s3, bucket):
    cat, server = lending(7200)
    t = cat.table("db.t")

    def metadata():
        return [key for key in s3.keys(bucket) if "/bucket-0/" not in key]

    before = metadata()
    with pytest.raises(e.StorageError, match="not for you"):
        t.append([{"id": 2}])
    posted = [json.loads(body) for method, path, _, body in server.asked if path.endswith("/commit")]
    assert [(sent["tableId"], sent["snapshot"]["id"], sent["statistics"][0]["recordCount"]) for sent in posted] == [
        ("7", 2, 1)
    ]
    # the rows may be committed again: of a store orphan files are removed later
    assert metadata() == before
    assert t.scan().count() == 1
