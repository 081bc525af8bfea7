"""Azure Blob Storage and Google Cloud Storage: what tables do on S3 they do there.

Against servers of the tests, which look at signatures and conditions of requests, and against Azurite for who has it (`make servers`).
"""

import multiprocessing
import pickle
import random
import socket
import time

import azure_server
import gcs_server
import pyarrow as pa
import pytest
import siltstone as st
import store_servers
from siltstone.errors import InvalidOption, StorageError, TableExists, TableNotFound, UnsupportedFeature

pytestmark = pytest.mark.stores

SCHEMA = {"id": "BIGINT NOT NULL", "v": "STRING"}
NUMBER = iter(range(1_000_000))
SERVERS = {
    "azure": azure_server.Server,
    "hierarchical": lambda: azure_server.Server(hierarchical=True),
    "gs": gcs_server.Server,
    "azurite": store_servers.Azurite,
}
#: Of the tests: what they keep, and what was asked of them, can be looked at.
OWN = ("azure", "hierarchical", "gs")


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch, tmp_path):
    """Neither keys nor proxies of the machine that the tests run on."""
    for name in (
        "AZURE_STORAGE_KEY",
        "AZURE_STORAGE_CONNECTION_STRING",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "HTTP_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(scope="module")
def processes():
    """Servers that are processes, which take seconds to start: one of each."""
    running = {}
    yield running
    for server in running.values():
        server.close()


@pytest.fixture
def make_server(monkeypatch, processes):
    servers = []

    def make(name):
        if name not in OWN:
            processes[name] = processes.get(name) or SERVERS[name]()
            processes[name].path = f"w{next(NUMBER)}"
            return processes[name]
        servers.append(SERVERS[name]())
        if name == "gs":
            monkeypatch.setenv("GCE_METADATA_HOST", servers[-1].metadata_host)
        return servers[-1]

    yield make
    for server in servers:
        server.close()


@pytest.fixture(params=SERVERS)
def server(request, make_server):
    return make_server(request.param)


@pytest.fixture
def cat(server):
    catalog = st.connect(server.location(), options=server.options())
    catalog.create_database("db")
    return catalog


def rows(*pairs):
    ids, values = pa.array([i for i, _ in pairs], pa.int64()), pa.array([v for _, v in pairs], pa.string())
    return pa.table({"id": ids, "v": values})


def content(t, **query):
    return sorted((r["id"], r["v"]) for r in t.scan(**query).to_arrow().to_pylist())


def test_the_life_of_a_table_with_keys(cat, server):
    vectors = "true" if isinstance(server, azure_server.Server | store_servers.Azurite) else "false"
    options = {"bucket": "1", "changelog-producer": "lookup", "deletion-vectors.enabled": vectors}
    t = cat.create_table("db.t", SCHEMA, primary_key=["id"], options=options)
    with pytest.raises(TableExists):
        cat.create_table("db.t", SCHEMA)
    assert cat.databases() == ["db"] and cat.tables("db") == ["t"]
    t.upsert(rows((1, "a"), (2, "b")))
    t.upsert(rows((2, "B"), (3, "c")))
    t.compact(full=True)
    t.delete("id = 1")
    assert content(t) == [(2, "B"), (3, "c")]

    t.tags.create("v1")
    t.branches.create("dev", tag="v1")
    dev = cat.table("db.t$branch_dev")
    dev.upsert(rows((7, "dev")))
    assert content(dev) == [(2, "B"), (3, "c"), (7, "dev")]
    t.upsert(rows((9, "z")))
    assert content(t, tag="v1") == [(2, "B"), (3, "c")]
    assert [r["id"] for batch in t.changes(consumer="c") for r in batch.to_pylist()][-1] == 9
    t.branches.delete("dev")
    t.rollback(tag="v1")
    for n in range(3):
        t.upsert(rows((n, str(n))))
    assert t.expire_snapshots(retain_max=1).snapshots
    t.tags.delete("v1")
    assert content(t) == [(0, "0"), (1, "1"), (2, "2"), (3, "c")]
    assert t.maintenance.fsck(deep=True).ok
    if hasattr(server, "put"):
        orphan = "w/db.db/t/bucket-0/data-00000000-0000-0000-0000-000000000000-0.parquet"
        server.put(orphan, b"x")
        t.maintenance.remove_orphan_files(older_than="0 s", dry_run=False)
        assert orphan not in server.keys() and t.maintenance.fsck(deep=True).ok

    cat.drop_table("db.t")
    assert cat.tables("db") == []
    with pytest.raises(TableNotFound):
        t.upsert(rows((1, "after")))
    again = cat.create_table("db.t", SCHEMA)
    again.append(rows((1, "again")))
    assert content(again) == [(1, "again")]
    cat.drop_database("db", cascade=True)
    assert cat.databases() == []
    if hasattr(server, "keys"):
        assert server.keys("w/db.db") == [] and server.unsigned == []


def test_a_large_file_goes_in_parts(cat):
    t = cat.create_table("db.big", {"id": "BIGINT", "b": "BYTES"}, options={"bucket": "-1", "file.compression": "none"})
    data = [random.Random(n).randbytes(1 << 20) for n in range(20)]
    with t.writer() as w:
        w.write(pa.table({"id": pa.array(range(20), pa.int64()), "b": data}))
        w.commit()
    assert t.scan().to_arrow().column("b").to_pylist() == data


def append(location, options, number, reports):
    t = st.open_table(location, options=options)
    for n in range(5):
        report = t.append(pa.table({"id": pa.array([number * 1000 + n], pa.int64())}))
        reports.put((number * 1000 + n, [s.id for s in report.snapshots]))


def test_of_two_committers_each_snapshot_has_one(cat, server):
    options = {"bucket": "-1", "commit.max-retries": "200", "snapshot.num-retained.min": "500"}
    t = cat.create_table("db.race", {"id": "BIGINT"}, options={**options, "snapshot.num-retained.max": "500"})
    spawn = multiprocessing.get_context("spawn")
    reports = spawn.Queue()
    jobs = [spawn.Process(target=append, args=(t.location, server.options(), n, reports)) for n in range(2)]
    [job.start() for job in jobs]
    told = [reports.get(timeout=120) for _ in range(10)]
    [job.join(60) for job in jobs]
    assert sorted(i for _, snapshots in told for i in snapshots) == list(range(1, 11))
    assert sorted(t.scan().to_arrow().column("id").to_pylist()) == sorted(row for row, _ in told)


@pytest.mark.parametrize("server", OWN, indirect=True)
def test_listings_have_pages_and_deletions_go_in_batches(cat, server):
    t = cat.create_table("db.many", {"id": "BIGINT", "p": "INT"}, partition_by=["p"], options={"bucket": "-1"})
    for first in (0, 60):
        ids = range(first, first + 60)
        t.append(pa.table({"id": pa.array(ids, pa.int64()), "p": pa.array(ids, pa.int32())}))
    assert t.scan().count() == 120 and len(t.partitions()) == 120
    assert t.maintenance.fsck(deep=True).ok
    cat.drop_table("db.many")
    assert server.keys("w/db.db/many") == [] and max(server.batches) > 50 and server.unsigned == []


@pytest.mark.parametrize("server", OWN, indirect=True)
def test_what_must_be_new_is_put_on_that_condition(cat, server):
    t = cat.create_table("db.t", {"id": "BIGINT"})
    t.append(pa.table({"id": pa.array([1], pa.int64())}))
    t.tags.create("v1")
    said = {"azure": lambda path, headers: headers.get("if-none-match") == "*"}
    conditional = said.get(server.name, lambda path, headers: "ifGenerationMatch=0" in path)
    puts = [
        (path.replace("%2F", "/"), headers)
        for method, path, headers in server.requests
        if method in ("PUT", "POST") and ("BlockBlob" in headers.values() or "/upload/" in path)
    ]
    for part in ("/schema/schema-0", "/snapshot/snapshot-1", "/tag/tag-v1", "/manifest/manifest-"):
        found = [conditional(path, headers) for path, headers in puts if part in path]
        assert found and all(found), part
    hints = [conditional(path, headers) for path, headers in puts if "/LATEST" in path]
    assert hints and not any(hints)


def test_secrets_stay_in_the_process(cat, server):
    t = cat.create_table("db.s", SCHEMA)
    t.append(rows((1, "a")))
    texts = [repr(cat), repr(t), str(t.options), str(t.dynamic_options)]
    data = [pickle.dumps(made) for made in (cat, t, t.scan(), *t.scan().splits())]
    for secret in server.secrets:
        assert not any(secret in text for text in texts) and not any(secret.encode() in made for made in data)
    assert content(pickle.loads(data[1])) == [(1, "a")]


def test_a_bucket_that_is_not_there_says_so(server):
    with pytest.raises(StorageError, match="no such bucket"):
        st.connect(server.location("not-there"), options=server.options()).databases()


def refused(location, options, error=StorageError):
    begun = time.monotonic()
    with pytest.raises(error) as caught:
        st.connect(location, options=options).databases()
    assert time.monotonic() - begun < 10
    return f"{caught.value!r} {caught.value} {getattr(caught.value, 'hint', '')}"


@pytest.mark.parametrize("server", ["azure", "azurite"], indirect=True)
def test_a_wrong_key_of_azure(server):
    text = refused(server.location(), {**server.options(), **server.wrong})
    assert "credentials" in text and "fs.azure.account.key" in text
    assert not any(secret in text for secret in server.wrong.values())
    key = next(iter(server.wrong))
    assert "base64" in refused(server.location(), {**server.options(), key: "not base64!"}, InvalidOption)


def test_a_wrong_token_of_google_and_none(make_server):
    server = make_server("gs")
    server.token = "another-token"
    text = refused(server.location(), server.options())
    assert "credentials are not valid" in text and "another-token" not in text
    server.without_tokens = True
    text = refused(server.location("no-token"), server.options(**{"fs.gs.http.max.retry": "0"}))
    assert "no credentials were found" in text and "GOOGLE_APPLICATION_CREDENTIALS" in text
    keys = {"fs.gs.auth.service.account.json.keyfile": "/not/there.json"}
    assert "/not/there.json" in refused(
        server.location(), {"fs.gs.storage.root.url": server.root, **keys}, InvalidOption
    )


@pytest.mark.parametrize("name", ["azure", "gs"])
def test_nobody_listens(make_server, name):
    server = make_server(name)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"http://127.0.0.1:{listener.getsockname()[1]}"
    option = "fs.azure.endpoint" if name == "azure" else "fs.gs.storage.root.url"
    text = refused(server.location(), server.options(**{option: place}))
    assert "cannot be reached" in text and option in text


def test_a_signature_that_stands_for_the_key_of_azure(make_server):
    server = make_server("azure")
    options = {"fs.azure.endpoint": server.url}
    sas = f"fs.azure.sas.lake.{azure_server.ACCOUNT}.dfs.core.windows.net"
    cat = st.connect(server.location(), options={**options, sas: f"?{azure_server.SIGNATURE}"})
    cat.create_database("db")
    t = cat.create_table("db.t", {"id": "BIGINT"})
    for n in range(3):
        t.append(pa.table({"id": pa.array([n], pa.int64())}))
    cat.drop_table("db.t")
    assert server.keys("w/db.db/t") == [] and server.unsigned == []
    both = {**server.options(), sas: azure_server.SIGNATURE}
    assert "fs.azure.account.auth.type" in refused(server.location(), both, InvalidOption)


def test_tokens_for_a_program_on_azure(make_server):
    server = make_server("azure")
    name, secret = azure_server.CLIENT
    oauth = "fs.azure.account.oauth2.client"
    options = {
        "fs.azure.endpoint": server.url,
        "fs.azure.account.auth.type": "OAuth",
        "fs.azure.account.oauth.provider.type": "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider",
        f"{oauth}.id": name,
        f"{oauth}.secret": secret,
        f"{oauth}.endpoint": f"{server.root}/tenant-1/oauth2/token",
    }
    cat = st.connect(server.location(), options=options)
    cat.create_database("db")
    assert cat.databases() == ["db"] and server.unsigned == []
    assert secret.encode() not in pickle.dumps(cat) and secret not in repr(cat)
    text = refused(server.location(), {**options, f"{oauth}.secret": "wrong-secret"})
    assert "no token" in text and f"{oauth}.id" in text and "wrong-secret" not in text


def test_connections_of_the_environment(make_server, monkeypatch):
    server = make_server("azure")
    text = f"AccountName={azure_server.ACCOUNT};AccountKey={azure_server.KEY};BlobEndpoint={server.url};"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
    # of the other place the process knows options
    cat = st.connect(server.location().replace("/w", "/of-the-environment"))
    cat.create_database("db")
    assert cat.databases() == ["db"] and server.unsigned == []


def test_hints_that_change_more_often_than_google_takes(monkeypatch):
    """It takes one write of an object in a second: more of them are sent again, and no commit waits for long."""
    server = gcs_server.Server(seconds_between_writes=0.3)
    monkeypatch.setenv("GCE_METADATA_HOST", server.metadata_host)
    cat = st.connect(server.location(), options=server.options())
    cat.create_database("db")
    t = cat.create_table("db.t", {"id": "BIGINT"})
    for n in range(4):
        t.append(pa.table({"id": pa.array([n], pa.int64())}))
    assert server.refused and t.scan().count() == 4
    server.close()


def test_a_store_that_replaces_what_is_there_is_not_written_to(make_server, monkeypatch):
    server = make_server("gs")
    monkeypatch.setattr(gcs_server._Handler, "_is_taken", lambda *_: False)
    cat = st.connect(server.location(), options=server.options())
    cat.create_database("db")
    with pytest.raises(UnsupportedFeature, match="writing to this store"):
        cat.create_table("db.t", {"id": "BIGINT"})
    assert not [key for key in server.keys() if "schema-0" in key]
