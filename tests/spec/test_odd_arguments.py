"""Every public function and method, with an odd value for each of its arguments: what is wrong with it is told by one of
siltstone's own errors, never by an AttributeError, a TypeError or a UnicodeEncodeError from within."""

import inspect
import itertools

import pytest
import siltstone as st
from siltstone import errors as e

ODD = [None, 3, object(), "\ud800", {}, 2**70, b"x", [object()]]
#: What else a call needs.
NEEDED = {
    "keys": [(1, 1)], "data": [{"p": 1, "k": 1, "v": "a"}], "where": "k = 1", "set": {"v": "'a'"}, "columns": ["k"],
    "type": "INT", "tasks": 1, "overwrite": False, "messages": [], "values": [1], "schema": {"id": "INT"},
    "name": "v1", "tag": "v1", "options": {}, "time": 0, "older_than": "1d",
}  # fmt: skip
#: Made by siltstone itself, as their documentation says; typing's.
OTHERS = {"Scan", "Table", "Catalog", "Merge", "Expression", "Any", "unknown_name", "Partition", "TableStats"}
OTHERS |= {"Snapshot", "CommitReport", "MergeReport"}


def build(warehouse):
    cat = st.connect(str(warehouse))
    cat.create_database("db", if_not_exists=True)
    options = {"bucket": "1", "siltstone.sync": "false"}
    columns = {"p": "INT", "k": "INT", "v": "STRING"}
    t = cat.create_table(
        "db.t", columns, primary_key=["p", "k"], partition_by=["p"], options=options, exist_ok=True
    )  # fmt: skip
    if t.snapshot() is None:
        t.append([{"p": 1, "k": 1, "v": "a"}])
        t.tags.create("v1")
        t.branches.create("b", tag="v1")
    return cat, t


#: What methods are called on, made anew for each call.
ON = {
    "siltstone": lambda cat, t: st,
    "Catalog": lambda cat, t: cat,
    "Table": lambda cat, t: t,
    "Tags": lambda cat, t: t.tags,
    "Branches": lambda cat, t: t.branches,
    "Consumers": lambda cat, t: t.consumers,
    "Maintenance": lambda cat, t: t.maintenance,
    "Alter": lambda cat, t: t.alter(),
    "Scan": lambda cat, t: t.scan(),
    "SystemScan": lambda cat, t: t.inspect("snapshots"),
    "Split": lambda cat, t: t.scan().splits()[0],
    "Merge": lambda cat, t: t.merge([{"p": 1, "k": 1, "v": "q"}], on=["p", "k"]),
    "TableWrite": lambda cat, t: t.writer(),
    "SharedWrites": lambda cat, t: t.shared_writes,
    "Column": lambda cat, t: st.col("k"),
    "Expression": lambda cat, t: st.col("k") == 1,
}


def methods(tmp):
    """Public ones that take arguments, by what they are of."""
    cat, t = build(tmp)
    for kind, made in ON.items():
        thing = made(cat, t)
        for name in dir(thing):
            if name.startswith("_") or (kind == "siltstone" and name in OTHERS):
                continue
            member = inspect.getattr_static(thing, name)
            method = None if isinstance(member, property) else getattr(thing, name)
            if not callable(method) or (inspect.isclass(method) and issubclass(method, Exception)):
                continue
            if parameters := [p for p in inspect.signature(method).parameters.values() if p.kind != p.VAR_KEYWORD]:
                yield kind, name, parameters


def call(method, parameters, odd, value):
    """Call with one odd value, beside what the call needs."""
    positional, named = [], {}
    for p in parameters:
        if p is odd or (p.default is p.empty and p.kind != p.VAR_POSITIONAL):
            given = value if p is odd else NEEDED.get(p.name, "x")
            if p.kind == p.KEYWORD_ONLY or (p.kind == p.POSITIONAL_OR_KEYWORD and p.default is not p.empty):
                named[p.name] = given
            else:
                positional.append(given)
    result = method(*positional, **named)
    if inspect.isgenerator(result):
        list(itertools.islice(result, 5))


@pytest.mark.filterwarnings("ignore")  # changes that are dropped without commit()
@pytest.mark.parametrize("kind", ON)
def test_an_odd_value_is_an_error_of_siltstone(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bare, calls = [], 0
    for at, (of, name, parameters) in enumerate(methods(tmp_path / "looks")):
        if of != kind:
            continue
        for odd, value in itertools.product(parameters, ODD):
            cat, t = build(tmp_path / f"lake{at}")
            try:
                calls += 1
                call(getattr(ON[kind](cat, t), name), parameters, odd, value)
            except e.InternalError as error:
                bare.append((name, odd.name, value, repr(error)))
            except e.SiltstoneError as error:
                assert error.message
            except Exception as error:
                bare.append((name, odd.name, value, repr(error)))
    assert not bare, bare
    assert calls >= len(ODD) or kind in {"Expression", "Split"}
