"""A REST catalog whose answers are lost, or come from a gateway: what a request has done is not done to somebody else's things."""

import pytest
import recording
import siltstone as st
from recording import ok
from siltstone import errors as e

pytest.importorskip("urllib3")

LOST = None, {}, None
GATEWAY = 503, {"Content-Type": "text/plain"}, b"upstream connect error or disconnect/reset before headers"
GATEWAY_JSON = 503, {}, {"message": "no healthy upstream"}


class Names:
    """A server with one database and its tables, by id; once it has done what it was asked, and its answer does not come."""

    def __init__(self):
        self.tables, self.branches, self.made = {"t": "id-1"}, ["b"], 1
        self.database = "database-1"
        self.lose, self.meanwhile = None, lambda: None

    def make(self, name):
        self.made += 1
        self.tables[name] = f"id-{self.made}"

    def __call__(self, method, path):
        answer = self._done(method, path)
        if method != "GET" and self.lose:
            lost, self.lose = self.lose, None
            self.meanwhile()
            return lost
        return answer

    def _done(self, method, path):
        place = path.partition("?")[0].removeprefix("/v1/").split("/")
        if place == ["config"]:
            return ok({"defaults": {}, "overrides": {}})
        if method == "POST" and place[-1] == "databases":
            return self._missing("DATABASE") if self.database else ok({})
        if place[:2] == ["databases", "d"] and self.database:
            return self._database(method, place[2:])
        return self._missing("DATABASE")

    def _database(self, method, place):
        if not place:
            if method == "DELETE":
                self.database = None
            return ok({"id": self.database, "name": "d", "options": {}})
        name = place[1] if len(place) > 1 else None
        if place[0] == "views" or (name and name not in self.tables):
            return self._missing("TABLE")
        if place[2:3] == ["branches"]:
            if method == "DELETE":
                self.branches.remove(place[3])
            return ok({"branches": self.branches})
        if name and method == "DELETE":
            del self.tables[name]
        known = {"id": self.tables.get(name), "path": "/nowhere", "schemaId": 0, "schema": {}}
        return ok(known if name else {"tables": [*self.tables]})

    def _missing(self, kind):
        return 404, {}, {"message": "there is none", "resourceType": kind, "resourceName": "x", "code": 404}


@pytest.fixture
def server():
    with recording.server() as started:
        started.route = Names()
        yield started


@pytest.fixture
def catalog(server):
    return st.connect("wh", metastore="rest", uri=server.url, options={"token": "t"})._metastore


def sent(server, method):
    return [path for asked, path, *_ in server.asked if asked == method]


@pytest.mark.parametrize("lost", [LOST, GATEWAY, GATEWAY_JSON])
def test_a_drop_whose_answer_is_lost_takes_nobody_elses_table(server, catalog, lost):
    """The second DELETE took the table that somebody had made since, with the rows that it had committed."""
    names = server.route
    names.lose, names.meanwhile = lost, lambda: names.make("t")
    assert catalog.drop_table("d", "t")
    assert names.tables == {"t": "id-2"}
    assert len(sent(server, "DELETE")) == 1


def test_a_drop_that_the_server_has_not_seen_is_sent_again(server, catalog):
    names = server.route
    done, names._done = names._done, lambda method, path: ok({}) if method == "DELETE" else done(method, path)

    def seen():
        names._done = done

    names.lose, names.meanwhile = LOST, seen
    assert catalog.drop_table("d", "t")
    assert names.tables == {}
    assert len(sent(server, "DELETE")) == 2
    assert not catalog.drop_table("d", "t")
    assert len(sent(server, "DELETE")) == 2


def test_a_database_whose_drop_was_not_answered_is_looked_for(server, catalog):
    names = server.route

    def make_again():
        names.database = "database-2"

    names.lose, names.meanwhile = GATEWAY, make_again
    assert catalog.drop_database("d")
    assert names.database == "database-2"


def test_a_branch_that_is_there_after_a_lost_answer_may_be_another_one(server, catalog):
    names = server.route
    names.lose = LOST
    catalog.drop_branch("d", "t", "b")
    assert names.branches == []
    names.branches.append("b")
    names.lose, names.meanwhile = LOST, lambda: names.branches.append("b")
    with pytest.raises(e.StorageError):
        catalog.drop_branch("d", "t", "b")
    assert names.branches == ["b"]


@pytest.mark.parametrize("lost", [LOST, GATEWAY, GATEWAY_JSON])
def test_what_makes_or_changes_is_not_sent_again_where_it_may_be_done(server, catalog, lost):
    """The second try met the first: a table that was made was "there already", a column that was added, too."""
    names = server.route
    names.database, names.lose = None, lost
    with pytest.raises(e.StorageError, match="cannot be asked|may have passed the request on"):
        catalog.create_database("d", {})
    assert len(sent(server, "POST")) == 1
