"""A JDBC catalog whose names others change between two statements of ours, or whose answers are lost."""

import pytest
import siltstone as st
from siltstone import errors as e

pytest.importorskip("sqlalchemy")

from siltstone.catalog.jdbc import JdbcMetastore

COLUMNS = {"id": "BIGINT"}


@pytest.fixture
def connect(tmp_path):
    return lambda: st.connect(tmp_path / "lake", metastore="jdbc", uri=f"jdbc:sqlite:{tmp_path / 'names.db'}")


@pytest.fixture
def around(monkeypatch):
    """around(catalog, method, before=, after=): does something once, before or after a call of the catalog's database."""

    def around(catalog, method, before=None, after=None):
        real, todo = getattr(JdbcMetastore, method), [before, after]

        def call(self, *args):
            mine = self is catalog._metastore
            first, todo[0] = (todo[0], None) if mine else (None, todo[0])
            if first:
                first()
            result = real(self, *args)
            then, todo[1] = (todo[1], None) if mine else (None, todo[1])
            if then:
                then()
            return result

        monkeypatch.setattr(JdbcMetastore, method, call)

    return around


def lost():
    raise e.StorageError("the catalog's database failed: the server closed the connection")


def rows(catalog, name):
    return catalog.table(name).scan().to_arrow().to_pylist()


def test_a_table_that_comes_while_its_database_is_dropped_stays(connect, around):
    """Its name went with the database, and its files stayed where no name reached them."""
    a, b = connect(), connect()
    a.create_database("d")
    around(a, "drop_database", before=lambda: b.create_table("d.t", COLUMNS).append([{"id": 1}]))
    with pytest.raises(e.InvalidArgument, match="not empty"):
        a.drop_database("d")
    assert rows(connect(), "d.t") == [{"id": 1}]


def test_a_table_that_comes_while_its_database_is_dropped_with_all_goes_with_its_files(connect, around, tmp_path):
    a, b = connect(), connect()
    a.create_database("d")
    a.create_table("d.x", COLUMNS)
    around(a, "drop_database", before=lambda: b.create_table("d.t", COLUMNS).append([{"id": 1}]))
    a.drop_database("d", cascade=True)
    assert connect().databases() == []
    assert not (tmp_path / "lake" / "d.db").exists()


def test_a_rename_whose_answer_is_lost_is_done(connect, around):
    """The catalog had the new name, the files had the old one, and the error said that all was done."""
    a = connect()
    a.create_database("d")
    a.create_table("d.t", COLUMNS).append([{"id": 1}])
    around(a, "rename_table", after=lost)
    a.rename_table("d.t", "d.u")
    assert connect().tables("d") == ["u"]
    assert rows(connect(), "d.u") == [{"id": 1}]


def test_a_rename_that_was_stopped_before_its_files_moved_is_finished_by_the_same_call(connect):
    """No name reached the rows: neither renaming again nor renaming back was possible."""
    a = connect()
    a.create_database("d")
    a.create_database("other")
    a.create_table("d.t", COLUMNS).append([{"id": 1}])
    a._metastore.rename_table("d", "t", "other", "u")
    with pytest.raises(e.TableNotFound, match="a rename that was stopped is finished by the same call"):
        a.table("other.u")
    a.rename_table("d.t", "other.u")
    assert rows(connect(), "other.u") == [{"id": 1}]
    with pytest.raises(e.TableNotFound):
        a.rename_table("d.t", "other.u")


@pytest.mark.parametrize(
    ("method", "change"),
    [
        ("alter_database", lambda cat: cat.alter_database("e", properties={"p": "2"})),
        ("rename_table", lambda cat: cat.rename_table("d.t", "e.t")),
        ("create_table", lambda cat: cat.create_table("e.t", COLUMNS)),
    ],
)
def test_a_database_that_was_dropped_meanwhile_does_not_come_back(connect, around, tmp_path, method, change):
    """It came back without its properties."""
    a, b = connect(), connect()
    a.create_database("d")
    a.create_database("e", properties={"p": "1"})
    a.create_table("d.t", COLUMNS).append([{"id": 1}])
    around(a, method, before=lambda: b.drop_database("e"))
    with pytest.raises(e.DatabaseNotFound):
        change(a)
    assert connect().databases() == ["d"]
    assert rows(connect(), "d.t") == [{"id": 1}]
    assert not (tmp_path / "lake" / "e.db" / "t").exists()
