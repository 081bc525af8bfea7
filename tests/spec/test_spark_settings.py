"""What a session says of tables, and what it must have; no session is needed to decide that."""

import importlib
import sys
from types import SimpleNamespace

import pytest
from siltstone import errors as e

pytest.importorskip("pyspark")

import siltstone.spark  # noqa: E402
from siltstone.spark.checks import check_packages, check_version  # noqa: E402
from siltstone.spark.parallelism import write_tasks  # noqa: E402
from siltstone.spark.settings import options_of  # noqa: E402

SETTINGS = {
    "scan.snapshot-id": "1",
    "fields.v.aggregate-function": "sum",
    "paimon.shop.orders.scan.snapshot-id": "2",
    "*.shop.*.read.batch-size": "10",
    "*.*.clicks.scan.tag-name": "v1",
    "paimon.other.orders.scan.snapshot-id": "3",
}
OF_ALL = {"scan.snapshot-id": "1", "fields.v.aggregate-function": "sum"}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("shop.orders", OF_ALL | {"scan.snapshot-id": "2", "read.batch-size": "10"}),
        ("shop.orders$files", OF_ALL | {"scan.snapshot-id": "2", "read.batch-size": "10"}),
        ("/lake/shop.db/orders", OF_ALL | {"scan.snapshot-id": "2", "read.batch-size": "10"}),
        ("web.clicks", OF_ALL | {"scan.tag-name": "v1"}),
        ("web.orders", OF_ALL),
    ],
)
def test_settings_of_one_table_win_over_those_of_all(name, options):
    assert options_of(SETTINGS, name) == options


@pytest.mark.parametrize("version", ["4.1.0", "4.3.0", "5.0.0-preview", "4.10.1"])
def test_spark_from_4_1_on_will_do(version):
    check_version(version)


@pytest.mark.parametrize("version", ["3.5.7", "4.0.1", "4.0.0-SNAPSHOT"])
def test_an_older_spark_is_refused_with_the_reason(version):
    with pytest.raises(e.UnsupportedFeature, match=version) as raised:
        check_version(version)
    assert "repartitionById" in raised.value.hint


def test_a_pyspark_without_pandas_is_refused_with_the_command_to_type(monkeypatch):
    """``pip install 'siltstone[spark-local]'`` brought none, and ``ss.enable`` ended with a traceback of PySpark's."""
    check_packages()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(e.InvalidArgument, match=r"(?i)pandas >= \d") as raised:
        check_packages()
    assert raised.value.hint == "pip install 'siltstone[spark]'"


def test_without_pyspark_the_import_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'siltstone\[spark-local\]'"):
        importlib.reload(siltstone.spark)


@pytest.mark.parametrize(
    ("said", "least", "tasks"),
    [
        ({"spark.master": "local[2]"}, 1, 4),
        ({"spark.master": "local[2]"}, 16, 16),
        ({"spark.master": "local[2]"}, 1000, 200),
        ({"spark.master": "local[2]", "spark.sql.shuffle.partitions": "64"}, 1, 64),
        ({"spark.executor.instances": "10", "spark.executor.cores": "4"}, 1, 80),
        ({"spark.executor.instances": "100", "spark.executor.cores": "4"}, 1, 200),
        ({"spark.master": "yarn"}, 1, 200),
    ],
)
def test_two_rows_need_no_200_tasks(said, least, tasks):
    """The first write of the quick start took more than a minute: two shuffles to 200 tasks each, for two rows."""
    session = SimpleNamespace(conf=SimpleNamespace(get=lambda key, default=None: said.get(key, default)))
    assert write_tasks(session, least) == tasks
