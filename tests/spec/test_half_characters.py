"""A text with half a character (a lone surrogate) cannot be written as UTF-8: an ``InvalidArgument`` that names the
argument, wherever a text gets in, and never Python's own UnicodeEncodeError."""

import inspect
import re

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.alter import Alter
from siltstone.branches import Branches
from siltstone.changes import Consumers
from siltstone.checking import check_directory
from siltstone.maintenance import Maintenance
from siltstone.predicate import Column, col
from siltstone.tags import Tags
from siltstone.write import TableWrite

HALF = "v" + chr(0xD800)
ID = {"id": "INT"}


def alter(change):
    def call(cat, t):
        chain = t.alter()
        try:
            change(chain)
            chain.commit()
        finally:
            chain._tried = True  # a chain that was refused need not warn

    return call


def condition(make):
    return lambda cat, t: t.scan(filter=make()).to_arrow()


# what is called, the argument, and the call
CALLS = {
    "Catalog.alter_database(name)": lambda cat, t: cat.alter_database(HALF, properties={"a": "b"}),
    "Catalog.alter_database(remove)": lambda cat, t: cat.alter_database("db", remove=[HALF]),
    "connect(warehouse)": lambda cat, t: st.connect(HALF),
    "connect(name)": lambda cat, t: st.connect(cat.warehouse, name=HALF),
    "connect(metastore)": lambda cat, t: st.connect(cat.warehouse, metastore=HALF),
    "connect(uri)": lambda cat, t: st.connect(cat.warehouse, metastore="jdbc", uri=HALF),
    "connect(options)": lambda cat, t: st.connect(cat.warehouse, options={HALF: "1"}),
    "connect(options) values": lambda cat, t: st.connect(cat.warehouse, options={"table-default.k": HALF}),
    "open_table(path)": lambda cat, t: st.open_table("/" + HALF),
    "open_table(branch)": lambda cat, t: st.open_table(t.location, branch=HALF),
    "open_table(options)": lambda cat, t: st.open_table(t.location, options={HALF: "1"}),
    "open_table(options) values": lambda cat, t: st.open_table(t.location, options={"scan.tag-name": HALF}),
    "check_directory(location)": lambda cat, t: check_directory("/" + HALF),
    "Catalog.__init__(warehouse)": lambda cat, t: st.Catalog(HALF),
    "Catalog.__init__(options)": lambda cat, t: st.Catalog(cat.warehouse, {"table-default.k": HALF}),
    "Catalog.create_database(name)": lambda cat, t: cat.create_database(HALF),
    "Catalog.create_database(properties)": lambda cat, t: cat.create_database("x", properties={HALF: "1"}),
    "Catalog.database(name)": lambda cat, t: cat.database(HALF),
    "Catalog.drop_database(name)": lambda cat, t: cat.drop_database(HALF),
    "Catalog.tables(database)": lambda cat, t: cat.tables(HALF),
    "Catalog.location(name)": lambda cat, t: cat.location("db." + HALF),
    "Catalog.table(name)": lambda cat, t: cat.table("db." + HALF),
    "Catalog.table(branch)": lambda cat, t: cat.table("db.t", branch=HALF),
    "Catalog.table(options)": lambda cat, t: cat.table("db.t", options={"scan.tag-name": HALF}),
    "Catalog.rename_table(source)": lambda cat, t: cat.rename_table("db." + HALF, "db.u"),
    "Catalog.rename_table(target)": lambda cat, t: cat.rename_table("db.t", "db." + HALF),
    "Catalog.drop_table(name)": lambda cat, t: cat.drop_table("db." + HALF),
    "Catalog.create_table(name)": lambda cat, t: cat.create_table("db." + HALF, ID),
    "Catalog.create_table(schema)": lambda cat, t: cat.create_table("db.u", {HALF: "INT"}),
    "Catalog.create_table(schema) types": lambda cat, t: cat.create_table("db.u", {"id": HALF}),
    "Catalog.create_table(schema) fields": lambda cat, t: cat.create_table("db.u", [{"name": HALF, "type": "INT"}]),
    "Catalog.create_table(primary_key)": lambda cat, t: cat.create_table("db.u", ID, primary_key=[HALF]),
    "Catalog.create_table(partition_by)": lambda cat, t: cat.create_table("db.u", ID, partition_by=[HALF]),
    "Catalog.create_table(options)": lambda cat, t: cat.create_table("db.u", ID, options={"bucket": HALF}),
    "Catalog.create_table(comment)": lambda cat, t: cat.create_table("db.u", ID, comment=HALF),
    "Table.append(data)": lambda cat, t: t.append([{HALF: 1}]),
    "Table.append(data) values": lambda cat, t: t.append([{"id": 1, "v": HALF}]),
    "Table.append(row_kind)": lambda cat, t: t.append([{"id": 1}], row_kind=HALF),
    "Table.append(row_kind) list": lambda cat, t: t.append([{"id": 1}], row_kind=[HALF]),
    "Table.upsert(data)": lambda cat, t: t.upsert([{HALF: 1}]),
    "Table.overwrite(data)": lambda cat, t: t.overwrite([{HALF: 1}]),
    "Table.overwrite(partition)": lambda cat, t: t.overwrite([], partition={HALF: 1}),
    "Table.overwrite(partition) values": lambda cat, t: t.overwrite([], partition={"p": HALF}),
    "Table.truncate(partitions)": lambda cat, t: t.truncate({"p": HALF}),
    "Table.rescale(partition)": lambda cat, t: t.rescale(2, partition={"p": HALF}),
    "Table.rewrite_file_index(partition)": lambda cat, t: t.rewrite_file_index(partition={"p": HALF}),
    "Table.rescale(where)": lambda cat, t: t.rescale(2, where=f"v = '{HALF}'"),
    "Table.delete(where)": lambda cat, t: t.delete(where=f"v = '{HALF}'"),
    "Table.delete(keys)": lambda cat, t: t.delete(keys=[{HALF: 1}]),
    "Table.update(set)": lambda cat, t: t.update({HALF: "1"}, where="id = 1"),
    "Table.update(set) values": lambda cat, t: t.update({"v": f"'{HALF}'"}, where="id = 1"),
    "Table.update(where)": lambda cat, t: t.update({"v": "'a'"}, where=HALF),
    "Table.routes(data)": lambda cat, t: t.routes([{HALF: 1}]),
    "Table.writer(commit_user)": lambda cat, t: t.writer(commit_user=HALF),
    "Table.writer(memory_limit)": lambda cat, t: t.writer(memory_limit=HALF),
    "Table.writer(spill_dir)": lambda cat, t: t.writer(spill_dir="/" + HALF),
    "Table.commit(commit_user)": lambda cat, t: t.commit([], commit_user=HALF),
    "Table.commit(overwrite)": lambda cat, t: t.commit([], overwrite={"partition": {"p": HALF}}),
    "Table.commit(overwrite) keys": lambda cat, t: t.commit([], overwrite={HALF: 1}),
    "Table.compact(where)": lambda cat, t: t.compact(where=HALF),
    "Table.compact(partitions)": lambda cat, t: t.compact(partitions={"p": HALF}),
    "Table.compact(idle)": lambda cat, t: t.compact(idle=HALF),
    "Table.compact(order_by)": lambda cat, t: t.compact(order_by=HALF),
    "Table.compact(strategy)": lambda cat, t: t.compact(order_by="p", strategy=HALF),
    "Table.expire_snapshots(older_than)": lambda cat, t: t.expire_snapshots(older_than=HALF),
    "Table.rollback(tag)": lambda cat, t: t.rollback(tag=HALF),
    "Table.rollback(version)": lambda cat, t: t.rollback(version=HALF),
    "Table.rollback(as_of)": lambda cat, t: t.rollback(as_of=HALF),
    "Table.changes(start)": lambda cat, t: t.changes(start=HALF),
    "Table.changes(end)": lambda cat, t: t.changes(end=HALF),
    "Table.changes(consumer)": lambda cat, t: t.changes(consumer=HALF),
    "Table.changes(columns)": lambda cat, t: t.changes(columns=[HALF]),
    "Table.changes(filter)": lambda cat, t: t.changes(filter=HALF),
    "Table.changes(memory_limit)": lambda cat, t: t.changes(memory_limit=HALF),
    "Table.count(filter)": lambda cat, t: t.count(f"v = '{HALF}'"),
    "Table.drop_partitions(partitions)": lambda cat, t: t.drop_partitions({"p": HALF}),
    "Table.get(keys)": lambda cat, t: t.get([(1, HALF)]),
    "Table.get(keys) names": lambda cat, t: t.get([{"id": 1, HALF: "a"}]),
    "Table.get(columns)": lambda cat, t: t.get([(1, "a")], [HALF]),
    "Table.head(columns)": lambda cat, t: t.head(1, [HALF]),
    "Table.merge(source)": lambda cat, t: t.merge([{"id": 1, "p": HALF}], on="id").when_matched_delete().execute(),
    "Table.merge(on)": lambda cat, t: t.merge([{"id": 1}], on=HALF).when_matched_delete().execute(),
    "Table.merge(memory_limit)": lambda cat, t: t.merge([{"id": 1}], on="id", memory_limit=HALF),
    "Table.to_pandas(dtype_backend)": lambda cat, t: t.to_pandas(dtype_backend=HALF),
    "Table.to_arrow(filter)": lambda cat, t: t.to_arrow(filter=HALF),
    "Table.to_pandas(filter)": lambda cat, t: t.to_pandas(filter=HALF),
    "Table.to_polars(filter)": lambda cat, t: t.to_polars(filter=HALF),
    "Table.to_pylist(filter)": lambda cat, t: t.to_pylist(filter=HALF),
    "Table.scan(columns)": lambda cat, t: t.scan([HALF]).to_arrow(),
    "Table.scan(filter)": lambda cat, t: t.scan(filter=f"v = '{HALF}'").to_arrow(),
    "Table.scan(version)": lambda cat, t: t.scan(version=HALF).to_arrow(),
    "Table.scan(tag)": lambda cat, t: t.scan(tag=HALF).to_arrow(),
    "Table.scan(as_of)": lambda cat, t: t.scan(as_of=HALF).to_arrow(),
    "Table.scan(between)": lambda cat, t: t.scan(between=(HALF, HALF)).to_arrow(),
    "Table.scan(mode)": lambda cat, t: t.scan(between=(0, 1), mode=HALF).to_arrow(),
    "Table.scan(memory_limit)": lambda cat, t: t.scan(memory_limit=HALF).to_arrow(),
    "Table.inspect(name)": lambda cat, t: t.inspect(HALF),
    "Table.inspect(columns)": lambda cat, t: t.inspect("files", [HALF]),
    "Table.inspect(columns) of a view": lambda cat, t: t.inspect("ro", [HALF]),
    "Table.inspect(filter)": lambda cat, t: t.inspect("files", filter=HALF),
    "Table.inspect(version)": lambda cat, t: t.inspect("files", version=HALF).to_arrow(),
    "Table.inspect(tag)": lambda cat, t: t.inspect("files", tag=HALF).to_arrow(),
    "Table.inspect(as_of)": lambda cat, t: t.inspect("files", as_of=HALF).to_arrow(),
    "Table.inspect(between)": lambda cat, t: t.inspect("ro", between=(HALF, HALF)).to_arrow(),
    "Table.inspect(mode)": lambda cat, t: t.inspect("ro", mode=HALF, between=(0, 1)).to_arrow(),
    "Table.inspect(memory_limit)": lambda cat, t: t.inspect("ro", memory_limit=HALF).to_arrow(),
    "Table.report(html)": lambda cat, t: t.report(html=HALF),
    "TableWrite.write(data)": lambda cat, t: t.writer().write([{HALF: 1}]),
    "TableWrite.write(row_kind)": lambda cat, t: t.writer().write([{"id": 1}], HALF),
    "Tags.create(name)": lambda cat, t: t.tags.create(HALF),
    "Tags.create(version)": lambda cat, t: t.tags.create("x", version=HALF),
    "Tags.create(as_of)": lambda cat, t: t.tags.create("x", as_of=HALF),
    "Tags.create(retain)": lambda cat, t: t.tags.create("x", retain=HALF),
    "Tags.replace(name)": lambda cat, t: t.tags.replace(HALF),
    "Tags.replace(version)": lambda cat, t: t.tags.replace("v", version=HALF),
    "Tags.replace(as_of)": lambda cat, t: t.tags.replace("v", as_of=HALF),
    "Tags.replace(retain)": lambda cat, t: t.tags.replace("v", retain=HALF),
    "Tags.create_from_timestamp(name)": lambda cat, t: t.tags.create_from_timestamp(HALF, 0),
    "Tags.create_from_timestamp(time)": lambda cat, t: t.tags.create_from_timestamp("x", HALF),
    "Tags.create_from_timestamp(retain)": lambda cat, t: t.tags.create_from_timestamp("x", 0, retain=HALF),
    "Tags.delete(name)": lambda cat, t: t.tags.delete(HALF),
    "Tags.exists(name)": lambda cat, t: t.tags.exists(HALF),
    "Tags.get(name)": lambda cat, t: t.tags.get(HALF),
    "Tags.next(name)": lambda cat, t: t.tags.next(HALF),
    "Tags.previous(name)": lambda cat, t: t.tags.previous(HALF),
    "Tags.rename(source)": lambda cat, t: t.tags.rename(HALF, "x"),
    "Tags.rename(target)": lambda cat, t: t.tags.rename("v", HALF),
    "Tags.expire(older_than)": lambda cat, t: t.tags.expire(older_than=HALF),
    "Branches.create(name)": lambda cat, t: t.branches.create(HALF),
    "Branches.create(tag)": lambda cat, t: t.branches.create("x", tag=HALF),
    "Branches.create(version)": lambda cat, t: t.branches.create("x", version=HALF),
    "Branches.delete(name)": lambda cat, t: t.branches.delete(HALF),
    "Branches.exists(name)": lambda cat, t: t.branches.exists(HALF),
    "Branches.fast_forward(name)": lambda cat, t: t.branches.fast_forward(HALF),
    "Branches.rename(source)": lambda cat, t: t.branches.rename(HALF, "x"),
    "Branches.rename(target)": lambda cat, t: t.branches.rename("b", HALF),
    "Consumers.reset(consumer)": lambda cat, t: t.consumers.reset(HALF, 1),
    "Consumers.delete(consumer)": lambda cat, t: t.consumers.delete(HALF),
    "Maintenance.compact(where)": lambda cat, t: t.maintenance.compact(where=HALF),
    "Maintenance.compact(partitions)": lambda cat, t: t.maintenance.compact(partitions={"p": HALF}),
    "Maintenance.compact(idle)": lambda cat, t: t.maintenance.compact(idle=HALF),
    "Maintenance.compact(order_by)": lambda cat, t: t.maintenance.compact(order_by=[HALF]),
    "Maintenance.compact(strategy)": lambda cat, t: t.maintenance.compact(order_by="p", strategy=HALF),
    "Maintenance.plan_compaction(order_by)": lambda cat, t: t.maintenance.plan_compaction(order_by=[HALF]),
    "Maintenance.plan_compaction(strategy)": lambda cat, t: t.maintenance.plan_compaction(order_by="p", strategy=HALF),
    "Maintenance.plan_compaction(where)": lambda cat, t: t.maintenance.plan_compaction(where=HALF),
    "Maintenance.plan_compaction(partitions)": lambda cat, t: t.maintenance.plan_compaction(partitions={HALF: "a"}),
    "Maintenance.plan_compaction(idle)": lambda cat, t: t.maintenance.plan_compaction(idle=HALF),
    "Maintenance.expire_snapshots(older_than)": lambda cat, t: t.maintenance.expire_snapshots(older_than=HALF),
    "Maintenance.expire_snapshots_by_options(older_than)": lambda cat, t: t.maintenance.expire_snapshots_by_options(
        older_than=HALF
    ),
    "Maintenance.expire_consumers(older_than)": lambda cat, t: t.maintenance.expire_consumers(older_than=HALF),
    "Maintenance.remove_orphan_files(older_than)": lambda cat, t: t.maintenance.remove_orphan_files(older_than=HALF),
    "Maintenance.expire_partitions(expiration_time)": lambda cat, t: t.maintenance.expire_partitions(
        expiration_time=HALF
    ),
    "Maintenance.expire_partitions(timestamp_formatter)": lambda cat, t: t.maintenance.expire_partitions(
        timestamp_formatter=HALF
    ),
    "Maintenance.expire_partitions(timestamp_pattern)": lambda cat, t: t.maintenance.expire_partitions(
        timestamp_pattern=HALF
    ),
    "Maintenance.expire_partitions(strategy)": lambda cat, t: t.maintenance.expire_partitions(strategy=HALF),
    "Alter.add_column(name)": alter(lambda a: a.add_column(HALF, "INT")),
    "Alter.add_column(name) nested": alter(lambda a: a.add_column(["v", HALF], "INT")),
    "Alter.add_column(type)": alter(lambda a: a.add_column("x", HALF)),
    "Alter.add_column(comment)": alter(lambda a: a.add_column("x", "INT", comment=HALF)),
    "Alter.add_column(after)": alter(lambda a: a.add_column("x", "INT", after=HALF)),
    "Alter.rename_column(name)": alter(lambda a: a.rename_column(HALF, "x")),
    "Alter.rename_column(new_name)": alter(lambda a: a.rename_column("v", HALF)),
    "Alter.drop_column(name)": alter(lambda a: a.drop_column(HALF)),
    "Alter.set_type(name)": alter(lambda a: a.set_type(HALF, "INT")),
    "Alter.set_type(type)": alter(lambda a: a.set_type("v", HALF)),
    "Alter.set_nullable(name)": alter(lambda a: a.set_nullable(HALF, True)),
    "Alter.set_comment(name)": alter(lambda a: a.set_comment(HALF, "x")),
    "Alter.set_comment(comment)": alter(lambda a: a.set_comment("v", HALF)),
    "Alter.set_default(name)": alter(lambda a: a.set_default(HALF, "x")),
    "Alter.set_default(value)": alter(lambda a: a.set_default("v", HALF)),
    "Alter.move_column(name)": alter(lambda a: a.move_column(HALF, first=True)),
    "Alter.move_column(after)": alter(lambda a: a.move_column("v", after=HALF)),
    "Alter.set_option(key)": alter(lambda a: a.set_option(HALF, "x")),
    "Alter.set_option(value)": alter(lambda a: a.set_option("snapshot.num-retained.max", HALF)),
    "Alter.remove_option(key)": alter(lambda a: a.remove_option(HALF)),
    "Alter.set_table_comment(comment)": alter(lambda a: a.set_table_comment(HALF)),
    "col(name)": condition(lambda: col(HALF) == 1),
    "Column.__eq__(value)": condition(lambda: col("v") == HALF),
    "Column.__ne__(value)": condition(lambda: col("v") != HALF),
    "Column.__lt__(value)": condition(lambda: col("v") < HALF),
    "Column.__le__(value)": condition(lambda: col("v") <= HALF),
    "Column.__gt__(value)": condition(lambda: col("v") > HALF),
    "Column.__ge__(value)": condition(lambda: col("v") >= HALF),
    "Column.__init__(name)": condition(lambda: Column(HALF).is_null()),
    "Column.is_in(values)": condition(lambda: col("v").is_in(["a", HALF])),
    "Column.like(pattern)": condition(lambda: col("v").like(HALF)),
    "Column.is_not_in(values)": condition(lambda: col("v").is_not_in(["a", HALF])),
    "Column.contains(part)": condition(lambda: col("v").contains(HALF)),
    "Column.starts_with(prefix)": condition(lambda: col("v").starts_with(HALF)),
    "Column.ends_with(suffix)": condition(lambda: col("v").ends_with(HALF)),
    "Column.coalesce(others)": lambda cat, t: t.update({"v": col("v").coalesce(HALF)}, where="id = 1"),
    "Column.concat(others)": lambda cat, t: t.update({"v": col("v").concat(HALF)}, where="id = 1"),
    "Column.between(low)": condition(lambda: col("v").between(HALF, "b")),
    "Column.between(high)": condition(lambda: col("v").between("a", HALF)),
}


@pytest.mark.parametrize("what", CALLS)
def test_half_a_character_is_refused_by_name(cat, make, what):
    t = make({"id": "INT", "p": "STRING", "v": "STRING"}, ["id", "p"], ["p"], bucket=1)
    t.append([{"id": 1, "p": "a", "v": "b"}])
    t.tags.create("v")
    t.branches.create("b", tag="v")
    with pytest.raises(e.SiltstoneError, match=r"\\ud800") as caught:
        CALLS[what](cat, t)
    assert isinstance(caught.value, (e.InvalidArgument, e.SchemaMismatch, e.InvalidRowKind)), repr(caught.value)
    str(caught.value).encode()
    assert t.snapshot().id == 1


PUBLIC = [
    st.connect, st.open_table, check_directory, col,
    st.Catalog, st.Table, TableWrite, Tags, Branches, Consumers, Maintenance, Alter, Column,
]  # fmt: skip
COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
TEXTS = re.compile(r"\b(str|Any|object|Time|Duration|Size|RowKinds|Between|Start|Column|Schema)\b")
#: Made by siltstone itself, or checked as a whole where it arrives.
OTHERWISE = {"self", "core", "table", "catalog", "plan", "progress", "messages", "done", "tasks", "run", "properties",
             "connection", "other"}  # fmt: skip


def arguments():
    """Each public function and method with each argument that takes a text in some form."""
    for thing in PUBLIC:
        if inspect.isclass(thing):
            methods = inspect.getmembers(thing, inspect.isfunction)
            named = {
                f"{thing.__name__}.{name}": f
                for name, f in methods
                if not name.startswith("_")
                or (name in {"__init__", *COMPARISONS} and thing in (Column, st.Catalog) and name in vars(thing))
            }
        else:
            named = {thing.__name__: thing}
        for name, function in named.items():
            for parameter in inspect.signature(function).parameters.values():
                if parameter.name not in OTHERWISE and TEXTS.search(str(parameter.annotation)):
                    yield f"{name}({parameter.name})"


def test_every_argument_that_takes_a_text_is_tried():
    missing = [name for name in arguments() if name not in CALLS]
    assert missing == []
