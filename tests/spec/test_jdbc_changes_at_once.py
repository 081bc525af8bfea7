"""Several connections of JDBC catalogs that change the same database, or give tables one name, at the same time."""

import concurrent.futures
import sqlite3

import postgres
import pytest
import siltstone as st
from siltstone import errors as e

pytest.importorskip("sqlalchemy")

COLUMNS = {"id": "BIGINT"}


@pytest.fixture(params=["sqlite", "postgresql"])
def connect(tmp_path, request, tmp_path_factory):
    """Makes connections to one catalog."""
    options, made = {"lock.enabled": "true", "jdbc.user": "siltstone"}, []

    def connect_to(uri):
        made.append(st.connect(tmp_path / "lake", metastore="jdbc", uri=uri, options=options))
        return made[-1]

    if request.param == "sqlite":
        yield lambda: connect_to(f"jdbc:sqlite:{tmp_path / 'names.db'}")
    else:
        with postgres.server(tmp_path_factory.mktemp("postgres")) as port:
            yield lambda: connect_to(f"jdbc:postgresql://127.0.0.1:{port}/postgres")
            for catalog in made:  # the driver complains of connections that nobody closed
                catalog._metastore._database._engine().dispose()


def at_once(work, number):
    with concurrent.futures.ThreadPoolExecutor(number) as pool:
        return list(pool.map(work, range(number)))


def test_properties_that_several_set_at_once_are_all_there(connect):
    """Each wrote back what it had read of the others' properties: acknowledged values were lost, or IntegrityError came."""
    connect().create_database("d", properties={"a": "0", "gone": "1"})

    def work(i):
        cat = connect()
        for n in range(10):
            cat.alter_database("d", properties={f"p{i}": str(n)}, remove=["gone"])

    at_once(work, 4)
    found = connect().database("d")
    found.pop("location")
    assert found == {"a": "0", **{f"p{i}": "9" for i in range(4)}}


def test_one_property_that_several_set_and_remove_at_once_never_fails(connect):
    """Two that inserted the same row let a raw IntegrityError of SQLAlchemy out, with the SQL in it."""
    connect().create_database("d")

    def work(i):
        cat = connect()
        for n in range(10):
            cat.alter_database("d", **({"properties": {"p": str(n)}} if (i + n) % 2 else {"remove": ["p"]}))

    at_once(work, 4)
    assert set(connect().database("d")) <= {"p", "location"}


def test_a_name_that_two_tables_are_given_at_once_is_that_of_one(connect):
    """The second one's error once was a UniqueViolation of the driver, and no error of siltstone."""
    cat = connect()
    cat.create_database("d")
    for n in range(4):
        cat.create_table(f"d.t{n}", COLUMNS).append([{"id": n}])

    def work(n):
        try:
            connect().rename_table(f"d.t{n}", "d.new")
        except e.TableExists:
            return False
        return True

    renamed = at_once(work, 4)
    assert renamed.count(True) == 1
    assert cat.table("d.new").scan().to_arrow().to_pylist() == [{"id": renamed.index(True)}]
    assert sorted(cat.tables("d")) == sorted(["new", *(f"t{n}" for n in range(4) if not renamed[n])])


def test_properties_that_a_dropped_table_left_are_in_nobodys_way(tmp_path):
    """Copies of properties that a stopped DROP had left made each RENAME to the name an IntegrityError."""
    cat = st.connect(tmp_path / "lake", metastore="jdbc", uri=f"jdbc:sqlite:{tmp_path / 'names.db'}")
    cat.create_database("d")
    cat.create_table("d.t", COLUMNS, options={"bucket": "1", "bucket-key": "id"})
    with sqlite3.connect(tmp_path / "names.db") as names:
        names.execute(
            "INSERT INTO paimon_table_properties (catalog_key, database_name, table_name, property_key, property_value)"
            " VALUES ('jdbc', 'd', 'new', 'bucket', '7')"
        )
    names.close()
    cat.rename_table("d.t", "d.new")
    with sqlite3.connect(tmp_path / "names.db") as names:
        kept = names.execute(
            "SELECT table_name, property_value FROM paimon_table_properties WHERE property_key = 'bucket'"
        )
        assert kept.fetchall() == [("new", "1")]
    names.close()
