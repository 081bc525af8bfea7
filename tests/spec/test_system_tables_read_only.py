"""A system table is only read: nothing that it has, by whatever way, reaches the table that it is about.

`cat.table("db.t$audit_log").delete("id = 1")` deleted rows of `db.t`; tags, rollbacks and expiries were made of it, too.
The whole API is walked, so that what comes later is not forgotten.
"""

import inspect
import os
import pickle

import click
import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.cli.__main__ import cli, main
from siltstone.inspection import SUBJECTS
from siltstone.procedures import PROCEDURES, Call, run_call
from siltstone.system import SystemTable

#: What a system table says of itself; everything else that a table has is refused.
READ = {
    *("name", "location", "branch", "path", "scan", "schema", "schema_id", "primary_key", "partition_by"),
    *("options", "dynamic_options", "comment"),
    *("count", "head", "to_arrow", "to_pylist", "to_pandas", "to_polars", "to_dataset", "to_duckdb"),
}
#: Every kind of system table, of a table and of a catalog.
SYSTEMS = [f"db.{'ids' if name == 'row_tracking' else 't'}${name}" for name in SUBJECTS]
OF_CATALOG = ["tables", "partitions", "all_table_options", "catalog_options"]


def public(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


def tree(root):
    found = {}
    for folder, _, files in os.walk(root):
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[path] = file.read()
    return found


@pytest.fixture
def lake(cat, make):
    t = make({"dt": "STRING", "id": "INT"}, ["dt", "id"], ["dt"], name="t", bucket=1, write_only="true")
    for i in range(3):
        t.upsert([{"dt": "a", "id": i}])
    make({"id": "INT"}, name="ids", row_tracking__enabled="true").append([{"id": 1}])
    t.tags.create("v")
    t.branches.create("b", tag="v")
    assert cat.table("db.t$branch_b").scan().count() == 3
    return st.connect(cat.warehouse, options={"catalog-options-table.enabled": "true"})


def asked(member, table):
    """Uses a member of a table, whatever it is."""
    value = getattr(table, member)
    return value() if callable(value) else value


@pytest.mark.parametrize("member", sorted(public(st.Table) - READ))
def test_a_system_table_refuses_whatever_a_table_has_besides_reading(lake, member):
    before = tree(lake.warehouse)
    ways = [lake.table(system) for system in SYSTEMS]
    ways += [lake.table("db.t$branch_b$audit_log"), st.open_table(lake.table("db.t").location + "$audit_log")]
    ways += [pickle.loads(pickle.dumps(ways[0])), *(lake.table(f"sys.{system}") for system in OF_CATALOG)]
    for table in ways:
        with pytest.raises(e.UnsupportedFeature, match=f"only read: it has no '{member}'") as caught:
            asked(member, table)
        about = table.name.rpartition("$")[0].rpartition("/")[2] or None
        assert caught.value.context.get("table") == about
        assert about is None or about in caught.value.hint
    assert tree(lake.warehouse) == before


def test_statements_with_arguments_leave_the_table_as_it_was(lake):
    before = tree(lake.warehouse)
    audit = lake.table("db.t$audit_log")
    rows = [{"dt": "a", "id": 9}]
    for call in (
        lambda: audit.delete("id = 1"),
        lambda: audit.delete(keys=rows),
        lambda: audit.update({"id": "5"}, "id = 1"),
        lambda: audit.rollback(version=1),
        lambda: audit.expire_snapshots(retain_max=1),
        lambda: audit.tags.create("w"),
        lambda: audit.branches.delete("b"),
        lambda: audit.maintenance.remove_orphan_files(older_than=0, dry_run=False),
        lambda: audit.consumers.reset("c", 1),
        lambda: audit.writer(overwrite=True),
        lambda: audit.commit([], overwrite={"dynamic": False}),
        lambda: audit.truncate(),
        lambda: audit.alter().set_option("bucket", "2"),
    ):
        with pytest.raises(e.UnsupportedFeature, match=r"db\.t"):
            call()
    assert tree(lake.warehouse) == before
    assert audit.scan().count() == 3


@pytest.mark.parametrize("name", SYSTEMS + [f"sys.{name}" for name in OF_CATALOG])
def test_every_member_of_a_table_gives_rows_of_a_system_table_or_is_refused(lake, name):
    """By membership: a member that Table gets later cannot reach the table that a system table is about."""
    table = lake.table(name)
    for member in public(st.Table):
        if member in {"scan", "to_arrow"}:
            found = table.scan().to_arrow() if member == "scan" else table.to_arrow()
            assert found.schema.names == table.schema.names and found.num_rows >= 0
        elif member in READ:
            asked(member, table)
        else:
            with pytest.raises(e.UnsupportedFeature):
                asked(member, table)


def test_a_system_table_is_no_table():
    """It was one by inheritance: whatever it did not refuse reached the rows of the table."""
    assert not issubclass(SystemTable, st.Table)
    with pytest.raises(AttributeError, match="no_such_member"):
        _ = SystemTable.__new__(SystemTable).no_such_member


def test_what_a_system_table_keeps_says_what_it_is_itself(lake):
    for table in (lake.table("db.t$audit_log"), lake.table("db.t$files"), lake.table("sys.tables")):
        for member in READ - {"scan"}:
            asked(member, table)
        assert (table.primary_key, table.partition_by) == ([], [])
        assert "$" in table.path or table.path == "sys.tables"
        assert table.scan().count() > 0
    assert public(SystemTable) - public(st.Table) == {"system", "refuse"}


@pytest.mark.parametrize("name", sorted(PROCEDURES.keys() - {"compact_database"}))  # which is about no single table
def test_procedures_refuse_system_tables(lake, name):
    before = tree(lake.warehouse)
    values = {str: "v", int: 1, bool: True}
    known = {"version": "1", "branch": "c", "from_branch": "b", "older_than": "1970-01-01", "consumerId": "c"}
    arguments = {a.name: known.get(a.name, values[a.kind]) for a in PROCEDURES[name].arguments[1:] if a.required}
    arguments |= {"version": "1"} if name == "rollback" else {}
    arguments |= {"expiration_time": "1 d"} if name == "expire_partitions" else {}
    for table in ("db.t$audit_log", "db.t$files", "db.t$branch_b$ro"):
        with pytest.raises(e.UnsupportedFeature, match="only read"):
            run_call(Call(name, named={"table": table, **arguments}), lake.table)
    assert tree(lake.warehouse) == before


def commands(group, path=()):
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        elif (*path, name) not in WITHOUT_TABLE:
            yield (*path, name), command


#: Commands about no table; `call` is a procedure.
WITHOUT_TABLE = {("ls",), ("version",), ("demo",), ("call",), ("sql",), ("completion",), ("help",)}
READING = {("show",), ("cat",), ("count",), ("explain",), ("export",)}


@pytest.mark.parametrize("path", [" ".join(path) for path, _ in commands(cli)])
def test_commands_read_a_system_table_or_refuse_it(lake, path, capsys, tmp_path_factory):
    before = tree(lake.warehouse)
    rows = tmp_path_factory.mktemp("files") / "rows.json"
    rows.write_text('{"id": 1}\n')
    given = {"import": str(rows), "export": str(rows.with_name("out.json")), "drop-partition": "dt=v"}.get(path, "v")
    command = dict(commands(cli))[tuple(path.split())]
    filled = {
        "where": "id = 1",
        "assignments": "id=5",
        "version": "1",
        "older_than": "1970-01-01",
        "target": "1",
        "name": "v",
    }
    arguments = ["db.t$audit_log"]
    for parameter in command.params:
        if (
            parameter.name == "place"
            or (path == "rename" and parameter.name == "source")
            or (parameter.name == "table" and isinstance(parameter, click.Argument))
        ):
            continue
        if isinstance(parameter, click.Argument):
            arguments.append("2" if isinstance(parameter.type, click.IntRange) else given)
        elif parameter.name == "columns":
            arguments += [parameter.opts[0], "id INT"]
        elif parameter.required:
            arguments += [parameter.opts[0], filled[parameter.name]]
        elif parameter.name in ("yes", "delete"):
            arguments.append(parameter.opts[0])
    code = 0
    try:
        main(["-w", str(lake.warehouse), "-o", "json", *path.split(), *arguments])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    if tuple(path.split()) in READING:
        assert code == 0, err
        assert "db.t$audit_log" in out or path != "show"
    else:
        by_name = path in ("create", "drop", "import", "rename")
        refusal = "names a branch or system table" if by_name else "only read"
        assert code != 0 and refusal in err and "db.t" in err, (code, out, err)
    assert tree(lake.warehouse) == before


def test_catalogs_do_nothing_to_the_table_of_a_system_table(lake):
    before = tree(lake.warehouse)
    for call in (
        lambda: lake.drop_table("db.t$audit_log"),
        lambda: lake.drop_table("db.t$audit_log", if_exists=True),
        lambda: lake.rename_table("db.t$audit_log", "db.u"),
        lambda: lake.rename_table("db.t", "db.u$audit_log"),
        lambda: lake.create_table("db.u$audit_log", {"a": "INT"}),
        lambda: lake.location("db.t$audit_log"),
    ):
        with pytest.raises(e.InvalidArgument, match=r"\$audit_log"):
            call()
    with pytest.raises(e.UnsupportedFeature, match="no options"):
        lake.table("sys.tables", options={"scan.version": "1"})
    assert tree(lake.warehouse) == before


def test_the_refusals_have_the_names_of_what_they_refuse(lake):
    audit = lake.table("db.t$audit_log")
    for name in public(st.Table) - READ:
        if not isinstance(inspect.getattr_static(st.Table, name), property):
            assert getattr(audit, name).__name__ == name
