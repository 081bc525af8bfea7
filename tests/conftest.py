"""Fixtures and profiles shared by all tests; see README.md beside this file."""

import os
import pathlib
import signal
import sys
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE / "support"))

settings.register_profile(
    "ci",
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
settings.register_profile("slow", max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser):
    parser.addoption("--slice", type=int, default=1, metavar="N", help="of a test with many cases run one in N")
    parser.addoption("--share", type=int, default=1, metavar="N", help="of the tests of a file run one in N")


#: For a JVM that lives minutes: its second compiler would take more time than it gains.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def pytest_configure(config):
    """Settings of all processes that tests start."""
    import watch

    watch.configure(config)
    os.environ.setdefault("SPARK_SUBMIT_OPTS", SHORT_LIVED)
    os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", SHORT_LIVED)
    # a shell starts what runs in the background deaf to Ctrl-C
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item):
    """One process has the Spark session: starting another one takes longer than most of its tests."""
    if "spark" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("xdist_group"):
        item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    step, share = config.getoption("slice"), config.getoption("share")
    cases, tests, kept, left = Counter(), {}, [], []
    for item in items:
        test = item.nodeid.partition("[")[0]
        of_file = tests.setdefault(item.path, {})
        place = of_file.setdefault(test, len(of_file))
        (left if cases[test] % step or place % share else kept).append(item)
        cases[test] += 1
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    import watch

    with watch.ended_when_it_hangs(item):
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item):
    import watch

    watch.free_log_lock()
    watch.begin_again(item)


def pytest_runtest_setup(item):
    if item.get_closest_marker("java"):
        import java_oracle

        java_oracle.require()


@pytest.fixture
def config(tmp_path, monkeypatch):
    """The place of the only siltstone.toml, in an environment that names no catalog."""
    for name in ("SILTSTONE_CATALOG", "SILTSTONE_WAREHOUSE", "PAIMON_WAREHOUSE"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "siltstone.toml"
    monkeypatch.setenv("SILTSTONE_CONFIG", str(file))
    return file


@pytest.fixture
def cat(tmp_path):
    """An empty catalog with the database `db`."""
    import siltstone as st

    catalog = st.connect(tmp_path / "lake")
    catalog.create_database("db")
    return catalog


@pytest.fixture
def make(cat):
    """make(schema, primary_key=[...], **options): a new table in `db`."""
    count = iter(range(1_000_000))

    def make(schema, primary_key=(), partition_by=(), name=None, **options):
        return cat.create_table(
            f"db.{name or f't{next(count)}'}",
            schema,
            primary_key=list(primary_key),
            partition_by=list(partition_by),
            options={k.replace("__", ".").replace("_", "-"): str(v) for k, v in options.items()},
        )

    return make


@pytest.fixture(scope="session")
def oracle():
    """Real Java Paimon in one long-lived process; a skip where there is no Java, a failure in CI."""
    from java_oracle import open_oracle

    with open_oracle() as o:
        yield o


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """One local Spark session for all Spark tests."""
    from spark_session import local_session

    session = local_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def shop(spark, tmp_path):
    """The empty database `shop`, whose warehouse the session has."""
    import siltstone as st
    import siltstone.spark as ss
    from siltstone.spark.session import DATABASE_CONF

    catalog = st.connect(tmp_path / "lake")
    catalog.create_database("shop")
    ss.enable(spark, warehouse=str(tmp_path / "lake"))
    yield catalog
    spark.conf.unset(DATABASE_CONF)


@pytest.fixture
def sql(spark):
    """sql(text): the rows of a statement as tuples."""
    import siltstone.spark as ss

    return lambda text: [tuple(row) for row in ss.sql(spark, text).collect()]
