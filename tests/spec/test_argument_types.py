"""Every argument that is a bool, a text or a whole number, of every public method, with a value of another type: an
``InvalidArgument`` that names it or quotes the value, and never a TypeError of the binding, or one much later."""

import inspect

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.alter import Alter
from siltstone.branches import Branches
from siltstone.changes import Consumers
from siltstone.checking import check_directory
from siltstone.maintenance import Maintenance
from siltstone.tags import Tags
from siltstone.write import TableWrite

PUBLIC = [
    st.connect, st.open_table, check_directory, st.Catalog, st.Table, TableWrite, Tags, Branches, Consumers,
    Maintenance, Alter,
]  # fmt: skip
WRONG = {"bool": [1, "x"], "str": [5, b"x"], "int": ["x", 1.5, True]}
#: Made by siltstone itself.
OTHERWISE = {"self", "core", "table", "plan", "done", "tasks", "run"}
#: What else a call needs.
NEEDED = {
    "path": "/none", "location": "/none", "name": "v", "schema": {"id": "INT"}, "data": [{"id": 1}], "source": "v",
    "target": "w", "database": "db", "type": "INT", "new_name": "w", "key": "k", "value": "v", "comment": None,
    "nullable": True, "consumer": "c", "next_snapshot": 1, "older_than": "1d", "set": {"v": "'a'"}, "where": "id = 1",
    "messages": [], "warehouse": "/none", "time": 0, "on": "id", "partitions": [{"dt": "a"}], "keys": [1],
}  # fmt: skip


def arguments():
    for thing in PUBLIC:
        named = {thing.__name__: thing}
        if inspect.isclass(thing):
            methods = inspect.getmembers(thing, inspect.isfunction)
            named = {f"{thing.__name__}.{name}": f for name, f in methods if not name.startswith("_")}
        for name, function in named.items():
            for parameter in inspect.signature(function).parameters.values():
                kind, _, optional = str(parameter.annotation).partition(" | ")
                if kind in WRONG and optional in ("", "None") and parameter.name not in OTHERWISE:
                    values = [*WRONG[kind], None] if kind == "bool" and not optional else WRONG[kind]
                    for value in values:
                        yield pytest.param(name, parameter.name, value, id=f"{name}({parameter.name}={value!r})")


def target(cat, t, name):
    """What the method is called on, and the method."""
    kind, _, method = name.partition(".")
    if not method:
        return next(thing for thing in PUBLIC if thing.__name__ == name)
    on = {
        "FilesystemCatalog": cat, "Catalog": cat, "Table": t, "TableWrite": t.writer(), "Tags": t.tags,
        "Branches": t.branches, "Consumers": t.consumers, "Maintenance": t.maintenance, "Alter": t.alter(),
    }[kind]  # fmt: skip
    return getattr(on, method)


@pytest.mark.parametrize(("name", "argument", "value"), list(arguments()))
def test_a_value_of_another_type_is_refused(cat, make, name, argument, value):
    t = make({"id": "INT", "v": "STRING"}, ["id"], bucket=1)
    t.append([{"id": 1, "v": "a"}])
    call = target(cat, t, name)
    needed = {
        p.name: NEEDED[p.name] for p in inspect.signature(call).parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }  # fmt: skip
    if name == "Table.inspect":
        needed["name"] = "ro"
    with pytest.raises(e.InvalidArgument) as caught:
        call(**needed | {argument: value})
    assert argument in str(caught.value) or repr(value) in str(caught.value), str(caught.value)
    assert t.snapshot().id == 1


def test_the_walk_finds_the_arguments():
    found = {f"{p.values[0]}({p.values[1]})" for p in arguments()}
    assert {
        "Table.writer(overwrite)",
        "Tags.expire(dry_run)",
        "TableWrite.compact(full)",
        "Alter.rename_column(new_name)",
    } <= found
    assert len(found) > 80


def test_a_chain_of_changes_refuses_what_it_could_not_commit(make):
    """A name of bytes once broke the chain at commit(), and with it the changes before."""
    t = make({"id": "INT"}, ["id"], bucket=1)
    chain = t.alter().add_column("v", "STRING")
    for name in (b"x", 5, None, [], [b"x"], {"a": 1}):
        with pytest.raises(e.InvalidArgument):
            chain.add_column(name, "INT")
    with pytest.raises(e.InvalidArgument, match="'k'"):
        chain.set_option("k", None)
    chain.set_option("snapshot.num-retained.max", 20).set_option("write-only", True)
    chain.commit()
    assert t.schema.names == ["id", "v"]
    assert (t.options["snapshot.num-retained.max"], t.options["write-only"]) == ("20", "true")


def test_a_location_that_is_too_long_for_a_name_is_no_table(make):
    """Python's OSError once came out of looking for `$branch_...` as a directory."""
    t = make({"id": "INT"}, ["id"], bucket=1)
    with pytest.raises(e.SiltstoneError):
        st.open_table(f"{t.location}$branch_{'x' * 300}")
