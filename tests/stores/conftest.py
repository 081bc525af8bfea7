"""One S3 server for the tests of a process; each test has a bucket of its own."""

import pytest

NUMBER = iter(range(1_000_000))


@pytest.fixture(scope="session")
def s3():
    import s3_server

    server = s3_server.Server()
    yield server
    server.close()


@pytest.fixture
def bucket(s3):
    name = f"lake-{next(NUMBER)}"
    s3.make_bucket(name)
    return name


@pytest.fixture
def cat(s3, bucket):
    """An empty catalog on S3 with the database `db`."""
    import siltstone as st

    catalog = st.connect(f"s3://{bucket}/lake", options=s3.options())
    catalog.create_database("db")
    return catalog


@pytest.fixture
def behind_a_proxy(monkeypatch):
    """Servers that are found by the host names of buckets: requests go to them as to a proxy, and they end with the test."""
    servers = []

    def found(server):
        servers.append(server)
        monkeypatch.setenv("HTTP_PROXY", server.url)
        monkeypatch.setenv("http_proxy", server.url)
        return server

    yield found
    for server in servers:
        server.close()
