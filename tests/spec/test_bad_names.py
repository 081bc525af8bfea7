"""Names that lead out of the table, in metadata and from users: refused, and nothing outside changes."""

import glob
import os
import shutil

import avro
import pytest
import siltstone as st
from forging import edit, patch, patch_entries, sizes, tree, versions
from siltstone import errors as e

UP = "../../../../victim/"
"""From the directory of a bucket, and with one part to spare from those of metadata."""

NAMES = {
    "traversal": UP + "x",
    "absolute": "/victim/x",
    "subdirectory": "a/b",
    "parent": "..",
    "self": ".",
    "empty": "",
    "backslash": "..\\x",
    "zero byte": "x\0y",
    "control character": "x\ny",
}

ENTRY_KINDS = ("data", "extra file", "external path", "external uri", "relative external path", "changelog")
SNAPSHOT_KINDS = {
    "base list": "baseManifestList",
    "delta list": "deltaManifestList",
    "statistics": "statistics",
    "index manifest": "indexManifest",
    "changelog list": "changelogManifestList",
}
KINDS = (*ENTRY_KINDS, "index", "index external path", "vector", "manifest", *SNAPSHOT_KINDS)


def build(root, kind):
    """A table with four versions, a tag and statistics, whose manifests are easy to change."""
    cat = st.connect(root)
    cat.create_database("db")
    options = {"bucket": "1", "manifest.compression": "null", "num-sorted-run.compaction-trigger": "100"}
    own = {
        "vectors": {"deletion-vectors.enabled": "true"},
        "changelog": {"changelog-producer": "input", "write-only": "true"},
        "plain": {"write-only": "true"},
    }
    t = cat.create_table("db.t", {"id": "BIGINT", "s": "STRING"}, primary_key=["id"], options={**options, **own[kind]})
    for n in range(4):
        t.upsert([{"id": i, "s": f"{n}"} for i in range(n, 5)])
    t.maintenance.analyze()
    t.tags.create("v")
    return t.location


@pytest.fixture(scope="module")
def templates(tmp_path_factory):
    made = {}

    def template(kind):
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp("names") / kind
            build(made[kind], kind)
        return made[kind]

    return template


def table_kind(kind):
    return {
        "changelog": "changelog",
        "changelog list": "changelog",
        "index": "vectors",
        "index external path": "vectors",
        "vector": "vectors",
        "index manifest": "vectors",
    }.get(kind, "plain")


@pytest.fixture
def forged(templates, tmp_path):
    """forged(kind, name): a table whose metadata names a file so; beside it lies what must not change."""

    def forge(kind, name):
        shutil.copytree(templates(table_kind(kind)), tmp_path / "lake")
        victim = tmp_path / "victim"
        victim.mkdir()
        for file in ("x", "man", "list"):
            (victim / file).write_text("precious" * 100)
        location = str(tmp_path / "lake" / "db.db" / "t")
        change(location, kind, name, str(victim))
        return location, str(victim)

    return forge


def change(location, kind, name, victim):
    manifest = location + "/manifest/"
    if kind in ENTRY_KINDS:

        def of_entry(entry):
            file = entry["_FILE"]
            if kind == "data" or (kind == "changelog" and file["_FILE_NAME"].startswith("changelog")):
                file["_FILE_NAME"] = name
            elif kind == "extra file":
                file["_EXTRA_FILES"] = [name]
            elif kind != "changelog":
                start = {"external path": "", "external uri": "file://", "relative external path": "."}[kind]
                file["_EXTERNAL_PATH"] = start + victim + "/x"

        patch_entries(location, of_entry)
    elif kind in ("index", "index external path", "vector"):

        def of_index(entry):
            if kind == "index":
                entry["_FILE_NAME"] = name
            elif kind == "vector":
                for vector in entry["_DELETIONS_VECTORS_RANGES"] or []:
                    vector["f0"] = name
            else:
                entry["_EXTERNAL_PATH"] = victim + "/x"

        for path in glob.glob(manifest + "index-manifest-*"):
            patch(path, of_index)
    elif kind == "manifest":
        for path in glob.glob(manifest + "manifest-list-*"):
            patch(path, lambda record: record.update(_FILE_NAME=name))
    else:
        for path in versions(location):
            edit(path, lambda v: v.update({SNAPSHOT_KINDS[kind]: name}))
    sizes(location)


def expire(t):
    t.maintenance.expire_snapshots(retain_max=1)


def orphans(t):
    return t.maintenance.remove_orphan_files(older_than="1ms", dry_run=False)


def branch(t):
    t.branches.create("b", tag="v")
    t.branches.delete("b")


def replaced(t):
    """Everything is replaced, so that the expiry deletes what the older versions name."""
    try:
        t.tags.delete("v")
    except e.SiltstoneError:
        os.remove(t.location + "/tag/tag-v")
    t.truncate()
    expire(t)


def compacted(t):
    os.remove(t.location + "/tag/tag-v")
    t.compact(full=True)
    expire(t)


OPERATIONS = {
    "read": lambda t: t.scan().to_arrow(),
    "fsck": lambda t: t.maintenance.fsck(deep=True),
    "compact": lambda t: t.compact(full=True),
    "roll back": lambda t: t.rollback(version=3),
    "delete tag": lambda t: t.tags.delete("v"),
    "truncate": lambda t: t.truncate(),
    "write": lambda t: t.upsert([{"id": 1, "s": "n"}]),
    "expire": expire,
    "replace and expire": replaced,
    "compact and expire": compacted,
    "remove orphans": orphans,
    "compact manifests": lambda t: t.maintenance.compact_manifests(),
    "delete rows": lambda t: t.delete("id = 1"),
    "branch": branch,
    "drop": lambda t: st.connect(os.path.dirname(os.path.dirname(t.location))).drop_table("db.t"),
}
UPKEEP = ("expire", "roll back", "delete tag", "remove orphans")


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_name_in_metadata_leads_an_operation_out_of_the_table(forged, kind, operation):
    location, victim = forged(kind, UP + "x")
    before, table = tree(victim), tree(location)
    try:
        OPERATIONS[operation](st.open_table(location))
    except e.SiltstoneError as caught:
        assert not isinstance(caught, e.InternalError), caught
        if operation in UPKEEP:
            left = tree(location)
            assert not [path for path in table if path not in left], "an upkeep that was refused deleted something"
    assert tree(victim) == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [k for k in KINDS if "external" not in k])
def test_a_name_that_is_no_plain_file_name_is_refused_where_it_is_decoded(forged, kind, name):
    location, _ = forged(kind, NAMES[name])
    with pytest.raises(e.CorruptFile, match=r"expected the name of a file, found .*field: ") as caught:
        if kind == "changelog":
            list(st.open_table(location).changes(start=1, follow=False))
        st.open_table(location).scan().to_arrow()
    assert "file" in caught.value.context or "table" in caught.value.context


@pytest.mark.parametrize(
    "change",
    [
        {"id": 0},
        {"id": -1},
        {"id": 2**63 - 1},
        {"id": 2**63},
        {"id": 1e300},
        {"schemaId": -1},
        {"schemaId": 2**63 - 1},
        {"schemaId": 2**70},
        {"baseManifestList": None},
        {"version": 2**31},
    ],
    ids=str,
)
def test_numbers_of_a_snapshot_out_of_range_are_refused(forged, change):
    location, _ = forged("statistics", "s")
    for path in glob.glob(location + "/snapshot/snapshot-*"):
        edit(path, lambda v: v.update(change))
    for operation in ("read", "write", "fsck", "expire"):
        if operation == "fsck":
            assert not st.open_table(location).maintenance.fsck().ok
            continue
        with pytest.raises((e.CorruptFile, e.UnsupportedVersion, e.FileMissing)):
            OPERATIONS[operation](st.open_table(location))


def test_a_snapshot_file_of_the_largest_number_is_no_version(make):
    t = make({"id": "BIGINT"}, ["id"], bucket=1)
    t.upsert([{"id": 1}])
    for number in (2**63 - 1, 2**63, 10**40, "-1", "0x1", "1 ", "1e3"):
        shutil.copy(t.location + "/snapshot/snapshot-1", f"{t.location}/snapshot/snapshot-{number}")
    assert t.upsert([{"id": 2}]).snapshots[0].id == 2
    assert st.open_table(t.location).scan().count() == 2


# what users call things

USER_NAMES = ["../x", "a/../../..", "a/..", "/etc", "x/", "", " ", "a\0b", "a/../../../../victim", "a/../../branch-a/."]


@pytest.fixture
def beside(tmp_path):
    """A table with a tag, a branch and traps, and another table that must not change."""
    root = tmp_path / "lake"
    cat = st.connect(root)
    cat.create_database("db")
    tables = []
    for name in ("t", "victim"):
        t = cat.create_table(f"db.{name}", {"id": "BIGINT"}, primary_key=["id"], options={"bucket": "1"})
        t.upsert([{"id": 1}])
        t.tags.create("base")
        t.branches.create("a", tag="base")
        t.consumers.reset("a", 1)
        tables.append(t)
    for trap in ("tag/tag-a", "consumer/consumer-c", "snapshot/snapshot-x"):
        os.makedirs(f"{tables[0].location}/{trap}", exist_ok=True)
    return cat, *tables


def victims():
    up = "/../../../../victim"
    return [*USER_NAMES, "a" + up, "a" + up + "/tag/tag-base", "c" + up + "/consumer/consumer-a", "x" + up + "/schema"]


BY_NAME = {
    "get tag": lambda t, n: t.tags.get(n),
    "create tag": lambda t, n: t.tags.create(n),
    "replace tag": lambda t, n: t.tags.replace(n),
    "delete tag": lambda t, n: t.tags.delete(n),
    "rename tag": lambda t, n: t.tags.rename("base", n),
    "rename tag from": lambda t, n: t.tags.rename(n, "zz"),
    "scan tag": lambda t, n: t.scan(tag=n).count(),
    "roll back": lambda t, n: t.rollback(tag=n),
    "create branch": lambda t, n: t.branches.create(n, tag="base"),
    "branch of tag": lambda t, n: t.branches.create("q", tag=n),
    "delete branch": lambda t, n: t.branches.delete(n),
    "rename branch": lambda t, n: t.branches.rename("a", n),
    "rename branch from": lambda t, n: t.branches.rename(n, "q"),
    "fast forward": lambda t, n: t.branches.fast_forward(n),
    "open branch": lambda t, n: st.open_table(t.location, branch=n or " "),
    "open $branch": lambda t, n: st.open_table(t.location + "$branch_" + n),
    "write branch": lambda t, n: st.open_table(t.location, branch=n or " ").upsert([{"id": 9}]),
    "table of branch": lambda t, n: st.connect(t.location + "/../..").table("db.t$branch_" + n),
    "branch": lambda t, n: st.open_table(t.location, options={"branch": n.strip() or "a/b"}),
    "reset consumer": lambda t, n: t.consumers.reset(n, 1),
    "changes": lambda t, n: list(t.changes(consumer=n or " ", follow=False)),
    "consumer-id": lambda t, n: list(
        st.open_table(t.location, options={"consumer-id": n or " "}).changes(follow=False)
    ),
    "scan.tag-name": lambda t, n: st.open_table(t.location, options={"scan.tag-name": n or " "}).scan().count(),
    "scan.version": lambda t, n: st.open_table(t.location, options={"scan.version": n or " "}).scan().count(),
    "scan.fallback-branch": lambda t, n: (
        st.open_table(t.location, options={"scan.fallback-branch": n.strip() or "a/b"}).scan().count()
    ),
}


@pytest.mark.parametrize("use", BY_NAME)
def test_a_name_from_a_user_never_leads_out_of_the_table(beside, use):
    _, t, victim = beside
    before = tree(victim.location)
    for name in victims():
        with pytest.raises((e.InvalidArgument, e.CatalogError, e.VersionError, e.InvalidOption)):
            BY_NAME[use](t, name)
    assert tree(victim.location) == before
    assert st.open_table(t.location).scan().count() == 1


def test_a_branch_that_nothing_can_be_called_is_an_invalid_argument(beside):
    _, t, _ = beside
    for name in ("a/../../../../victim", "a/b", "/", "a\0"):
        with pytest.raises(e.InvalidArgument, match="branch"):
            st.open_table(t.location, branch=name)
        with pytest.raises(e.InvalidArgument, match="consumer"):
            next(iter(t.changes(consumer=name, follow=False)), None)
    assert not t.tags.exists("a/../b")
    assert not t.branches.exists("a/../b")


def test_the_option_branch_opens_the_branch(beside):
    cat, t, _ = beside
    st.open_table(t.location, branch="a").upsert([{"id": 2}])
    opened = st.open_table(t.location, options={"branch": "a"})
    assert opened.scan().count() == 2
    assert cat.table("db.t", options={"branch": "a"}).scan().count() == 2
    assert sum(batch.num_rows for split in opened.scan().splits() for batch in split.read()) == 2
    assert st.open_table(t.location, branch="a", options={"branch": "a"}).scan().count() == 2
    assert st.open_table(t.location, options={"branch": "main"}).scan().count() == 1
    with pytest.raises(e.BranchNotFound, match="'b' does not exist"):
        st.open_table(t.location, options={"branch": "b"})
    with pytest.raises(e.InvalidOption, match="only one"):
        st.open_table(t.location, branch="a", options={"branch": "main"})
    with pytest.raises(e.InvalidOption, match="of itself"):
        cat.create_table("db.q", {"id": "INT"}, options={"branch": "../x"})


def test_names_of_tables_and_databases_stay_in_the_warehouse(beside):
    cat, _, victim = beside
    before = tree(victim.location)
    for name in ("../db.victim", "db.../victim", "db.t/../victim", "db..", "db.t$branch_a/../../../../victim", "/db.t"):
        for use in (
            cat.table,
            cat.drop_table,
            cat.location,
            lambda n: cat.rename_table("db.t", n),
            lambda n: cat.rename_table(n, "db.q"),
            lambda n: cat.create_table(n, {"id": "INT"}),
        ):
            with pytest.raises(e.InvalidArgument):
                use(name)
    assert tree(victim.location) == before


def test_prefixes_of_new_files_are_the_start_of_a_plain_name(cat):
    for key in ("data-file.prefix", "changelog-file.prefix"):
        for value in ("a/b", "../x", "..", "a\\b", "a\nb", "/x"):
            with pytest.raises(e.InvalidOption, match=key):
                cat.create_table("db.p", {"id": "INT"}, options={key: value})


def test_values_of_partitions_never_lead_out_of_the_table(make, tmp_path):
    values = ["..", ".", "/", "../../../../x", "a/../b", "\0", "a\\b", "%2e%2e", "..%2f", "\n", "=", "a=b/c=d"]
    t = make({"dt": "STRING", "id": "BIGINT"}, ["dt", "id"], ["dt"], bucket=1)
    outside = {p: s for p, s in tree(tmp_path).items() if not p.startswith("lake/db.db/")}
    t.upsert([{"dt": v, "id": 1} for v in values])
    assert sorted(t.scan().to_arrow()["dt"].to_pylist()) == sorted(values)
    assert {len(os.path.relpath(f["path"], t.location).split("/")) for f in t.files()} == {3}
    t.truncate()
    expire(t)
    orphans(t)
    after = {p: s for p, s in tree(tmp_path).items() if not p.startswith("lake/db.db/")}
    assert {p: s[:2] for p, s in after.items()} == {p: s[:2] for p, s in outside.items()}


def test_records_of_manifests_may_be_optional_at_the_top(templates, tmp_path):
    """Some writers declare `["null", record]` as the schema of a whole file."""
    shutil.copytree(templates("vectors"), tmp_path / "lake")
    t = st.connect(tmp_path / "lake").table("db.t")
    rows = t.scan().to_arrow()
    for path in glob.glob(t.location + "/manifest/*"):
        schema, records = avro.read(path)
        avro.write(path, ["null", schema], records)
    sizes(t.location)
    assert st.open_table(t.location).scan().to_arrow() == rows
    assert t.maintenance.fsck(deep=True).ok
    for path in glob.glob(t.location + "/manifest/manifest-list-*"):
        schema, records = avro.read(path)
        avro.write(path, schema, [*records, None])
    for path in versions(t.location):
        edit(path, lambda v: [v.pop(key) for key in list(v) if key.endswith("ManifestListSize")])
    with pytest.raises(e.CorruptFile, match="found null"):
        st.open_table(t.location).scan().to_arrow()
