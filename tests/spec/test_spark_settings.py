"""What a session says of tables, and what it must have; no session is needed to decide that."""

import pytest
from siltstone import errors as e

pytest.importorskip("pyspark")

from siltstone.spark.checks import check_version  # noqa: E402
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
