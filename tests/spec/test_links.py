"""Links, pipes and data directories: nothing is changed through a link, pipes are not opened, and data of a table lies
below the table or where it says."""

import json
import os
import shutil
import time

import avro
import pytest
import siltstone as st
from forging import edit, patch_entries, sizes
from forging import tree as tree_with_times
from siltstone import errors as e

OLD = time.time() - 10 * 86_400


def tree(place):
    return tree_with_times(place, times=False)


def age(place):
    for folder, folders, files in os.walk(place):
        for name in folders + files:
            os.utime(os.path.join(folder, name), (OLD, OLD), follow_symlinks=False)


@pytest.fixture
def victim(tmp_path):
    """A directory of somebody else that looks like parts of a table."""
    place = tmp_path / "victim"
    for name in (
        "keep.parquet",
        "bucket-0/keep.parquet",
        "dt=zz/bucket-0/keep.parquet",
        "snapshot-99",
        "LATEST",
        "schema/schema-0",
        ".x.tmp",
    ):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("precious")
    age(place)
    return str(place)


@pytest.fixture
def t(cat):
    t = cat.create_table(
        "db.t",
        {"id": "BIGINT", "s": "STRING"},
        primary_key=["id"],
        options={"bucket": "1", "write-only": "true", "commit.max-retries": "2"},
    )
    t.upsert([{"id": 1, "s": "x"}])
    t.upsert([{"id": 2, "s": "x"}])
    return t


def link(source, path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(source, path)


LINKS = {
    "bucket-7": "",
    "index": "",
    "statistics": "",
    "changelog": "",
    "tag": "",
    "consumer": "",
    "branch/.hidden": "",
    "branch/branch-x": "",
    "branch": "",
    "siltstone": "",
    "siltstone/upkeep.lock": "keep.parquet",
    "manifest/x": "keep.parquet",
    "snapshot/x": "keep.parquet",
    "bucket-0/data-x.parquet": "keep.parquet",
    "schema/.x.tmp": ".x.tmp",
}
CLEANING = {
    "remove orphans": lambda t: t.maintenance.remove_orphan_files(older_than="1d", dry_run=False),
    "expire": lambda t: t.maintenance.expire_snapshots(retain_max=1),
    "fsck": lambda t: t.maintenance.fsck(deep=True),
    "delete branch": lambda t: t.branches.delete("x"),
    "drop table": lambda t: lake(t).drop_table("db.t"),
    "drop database": lambda t: lake(t).drop_database("db", cascade=True),
}


def lake(t):
    return st.connect(os.path.dirname(os.path.dirname(t.location)))


@pytest.mark.parametrize("operation", CLEANING)
@pytest.mark.parametrize("where", LINKS)
def test_nothing_behind_a_link_is_deleted(t, victim, where, operation):
    link(os.path.join(victim, LINKS[where]), f"{t.location}/{where}")
    age(t.location)
    before = tree(victim)
    try:
        CLEANING[operation](st.open_table(t.location))
    except e.SiltstoneError as caught:
        assert not isinstance(caught, e.InternalError), caught
    assert tree(victim) == before


def test_links_to_partitions_and_above_the_table_are_not_entered(cat, victim):
    t = cat.create_table(
        "db.p",
        {"dt": "STRING", "id": "BIGINT"},
        primary_key=["dt", "id"],
        partition_by=["dt"],
        options={"bucket": "1"},
    )
    t.upsert([{"dt": "a", "id": 1}])
    for name, to in {"dt=zz": victim + "/dt=zz", "dt=b": t.location, "dt=c": "dt=c", "dt=d": ".."}.items():
        os.symlink(to, f"{t.location}/{name}")
    os.symlink(victim, f"{t.location}/dt=a/bucket-3")
    age(t.location)
    before = tree(victim)
    CLEANING["remove orphans"](t)
    assert tree(victim) == before
    assert t.scan().count() == 1


def test_orphan_cleaning_says_which_directories_it_left_alone(t, victim):
    link(victim, t.location + "/index")
    report = CLEANING["remove orphans"](t)
    assert [note for note in report.notes if "index is reached through a link" in note]


@pytest.mark.parametrize("part", ["bucket-0", "snapshot", "manifest", "tag", "consumer", "schema", "statistics"])
def test_nothing_is_written_through_a_link(t, tmp_path, part):
    """A part of the table was moved elsewhere: it reads as before, and nothing is changed there."""
    t.tags.create("v")
    t.consumers.reset("c", 1)
    t.maintenance.analyze()
    moved = str(tmp_path / "moved")
    os.rename(f"{t.location}/{part}", moved)
    os.symlink(moved, f"{t.location}/{part}")
    before = tree(moved)
    t = st.open_table(t.location)
    assert t.scan().count() == 2
    works = {
        "bucket-0": lambda: t.upsert([{"id": 3, "s": "y"}]),
        "snapshot": lambda: t.upsert([{"id": 3, "s": "y"}]),
        "manifest": lambda: t.upsert([{"id": 3, "s": "y"}]),
        "tag": lambda: t.tags.create("w"),
        "consumer": lambda: t.consumers.reset("c", 2),
        "schema": lambda: t.alter().set_option("snapshot.num-retained.max", "99").commit(),
        "statistics": t.maintenance.analyze,
    }
    with pytest.raises(e.CorruptFile, match="is a link: nothing is changed through it"):
        works[part]()
    for clean in ("remove orphans", "expire"):
        try:
            CLEANING[clean](t)
        except e.CorruptFile as caught:
            assert "link" in str(caught)  # noqa: PT017
    assert tree(moved) == before


def test_the_table_itself_may_be_a_link(t, tmp_path):
    real = str(tmp_path / "real")
    os.rename(t.location, real)
    os.symlink(real, t.location)
    t = st.open_table(t.location)
    t.upsert([{"id": 3, "s": "y"}])
    t.tags.create("v")
    t.tags.delete("v")
    t.compact(full=True)
    CLEANING["expire"](t)
    CLEANING["remove orphans"](t)
    assert t.scan().count() == 3
    before = tree(real)
    lake(t).drop_table("db.t")
    assert not os.path.lexists(t.location)
    assert tree(real) == before, "dropping a linked table drops the link"


def test_a_database_may_be_a_link(t, tmp_path):
    database = os.path.dirname(t.location)
    real = str(tmp_path / "real")
    os.rename(database, real)
    os.symlink(real, database)
    cat = lake(t)
    assert cat.tables("db") == ["t"]
    cat.table("db.t").upsert([{"id": 3, "s": "y"}])
    before = tree(real)
    cat.drop_database("db", cascade=True)
    assert not os.path.lexists(database)
    assert tree(real) == before


def test_deleting_a_tag_that_is_a_link_deletes_the_link(t, tmp_path):
    t.tags.create("v")
    real = str(tmp_path / "tag")
    os.rename(t.location + "/tag/tag-v", real)
    os.symlink(real, t.location + "/tag/tag-v")
    assert t.scan(tag="v").count() == 2
    t.tags.delete("v")
    assert os.path.exists(real)
    assert not t.tags.exists("v")


def test_another_name_of_a_deleted_file_stays(t, tmp_path):
    """Hard links: an expiry removes the table's name of a file and not its content."""
    names = [f["path"] for f in t.files()]
    for i, path in enumerate(names):
        os.link(path, tmp_path / f"copy-{i}")
    t.compact(full=True)
    CLEANING["expire"](t)
    assert not any(map(os.path.exists, names))
    for i in range(len(names)):
        assert (tmp_path / f"copy-{i}").stat().st_size > 0


# pipes and devices

PLACES = {
    "schema": "schema/schema-0",
    "newest schema": "schema/schema-5",
    "snapshot": "snapshot/snapshot-2",
    "newer snapshot": "snapshot/snapshot-3",
    "LATEST": "snapshot/LATEST",
    "EARLIEST": "snapshot/EARLIEST",
    "tag": "tag/tag-f",
    "consumer": "consumer/consumer-f",
    "changelog": "changelog/changelog-1",
    "changelog hint": "changelog/LATEST",
    "branch": "branch/branch-b/schema/schema-0",
    "directory of snapshots": "snapshot",
    "directory of tags": "tag",
    "directory of branches": "branch",
    "bucket": "bucket-0",
    "lock of the upkeep": "siltstone/upkeep.lock",
    "removal record": "siltstone/removal-1",
    "removal hint": "siltstone/LATEST",
    "orphan": "bucket-0/data-f-0.parquet",
    "data file": None,
    "manifest": None,
    "manifest list": None,
    "index manifest": None,
    "index file": None,
    "statistics": None,
}


def works(location):
    def table():
        return st.open_table(location)

    return {
        "read": lambda: table().scan().to_arrow(),
        "changes": lambda: list(table().changes(consumer="f", follow=False)),
        "tags": lambda: table().tags.list(),
        "branches": lambda: table().branches.list(),
        "consumers": lambda: table().consumers.list(),
        "statistics": lambda: table().inspect("statistics"),
        "tag": lambda: table().scan(tag="f").count(),
        "branch": lambda: st.open_table(location, branch="b").scan().count(),
        "write": lambda: table().upsert([{"id": 7, "s": "n"}]),
        "fsck": lambda: table().maintenance.fsck(deep=True),
        "expire": lambda: table().maintenance.expire_snapshots(retain_max=1),
        "orphans": lambda: table().maintenance.remove_orphan_files(older_than="1ms", dry_run=False),
        "drop": lambda: st.connect(os.path.dirname(os.path.dirname(location))).drop_table("db.t"),
    }


def place_of(t, kind):
    if kind == "data file":
        return t.files()[0]["path"]
    snapshot = t.snapshot().raw
    if kind == "statistics":
        return f"{t.location}/statistics/{snapshot['statistics']}"
    manifests = t.location + "/manifest/"
    if kind == "manifest list":
        return manifests + snapshot["deltaManifestList"]
    if kind == "manifest":
        return manifests + avro.read(manifests + snapshot["baseManifestList"])[1][0]["_FILE_NAME"]
    if kind == "index manifest":
        return manifests + snapshot["indexManifest"]
    if kind == "index file":
        return t.location + "/index/" + avro.read(manifests + snapshot["indexManifest"])[1][0]["_FILE_NAME"]
    return f"{t.location}/{PLACES[kind]}"


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """A table with files of every kind."""
    root = tmp_path_factory.mktemp("pipes") / "lake"
    cat = st.connect(root)
    cat.create_database("db")
    options = {
        "bucket": "1",
        "deletion-vectors.enabled": "true",
        "manifest.compression": "null",
        "commit.max-retries": "2",
    }
    t = cat.create_table("db.t", {"id": "BIGINT", "s": "STRING"}, primary_key=["id"], options=options)
    for n in range(3):
        t.upsert([{"id": i, "s": f"{n}"} for i in range(n, 5)])
    t.maintenance.analyze()
    return root


@pytest.mark.timeout(60, method="thread")
@pytest.mark.parametrize("kind", PLACES)
def test_a_pipe_in_place_of_a_file_is_never_waited_for(rich, tmp_path, kind):
    shutil.copytree(rich, tmp_path / "lake")
    t = st.connect(tmp_path / "lake").table("db.t")
    path = place_of(t, kind)
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.mkfifo(path)
    for work in works(t.location).values():
        try:
            work()
        except e.SiltstoneError as caught:
            assert not isinstance(caught, e.InternalError), caught
    assert not os.path.exists(t.location)


def test_a_device_is_not_read(rich, tmp_path):
    shutil.copytree(rich, tmp_path / "lake")
    t = st.connect(tmp_path / "lake").table("db.t")
    link("/dev/zero", t.location + "/snapshot/LATEST")
    assert t.scan().count() == 5
    path = place_of(t, "data file")
    link("/dev/zero", path)
    with pytest.raises(e.CorruptFile, match="a pipe, socket or device"):
        t.scan().to_arrow()


# where a table says that its data lies


@pytest.mark.parametrize(
    "directory", ["../good", "..", "/tmp", "a/../..", "data/../../good", "a//b", ".", "file:/x", "x\\y"]
)
def test_a_data_directory_outside_of_the_table_is_refused(cat, t, directory):
    options = {"bucket": "1", "data-file.path-directory": directory}
    with pytest.raises(e.InvalidOption, match="data-file.path-directory"):
        cat.create_table("db.evil", {"id": "INT"}, primary_key=["id"], options=options)
    with pytest.raises((e.InvalidOption, e.IllegalSchemaChange)):
        t.alter().set_option("data-file.path-directory", directory).commit()
    with pytest.raises(e.SiltstoneError):
        st.open_table(t.location, options={"data-file.path-directory": directory}).upsert([{"id": 1, "s": ""}])


def test_a_data_directory_below_the_table_is_fine(cat):
    options = {"bucket": "1", "data-file.path-directory": "a/b"}
    t = cat.create_table("db.d", {"id": "INT"}, primary_key=["id"], options=options)
    t.upsert([{"id": 1}])
    t.upsert([{"id": 2}])
    stray = t.location + "/a/b/bucket-0/data-x.parquet"
    with open(stray, "w") as f:
        f.write("x")
    age(t.location)
    CLEANING["remove orphans"](t)
    CLEANING["expire"](t)
    assert not os.path.exists(stray)
    assert t.scan().count() == 2


def test_a_table_whose_data_lies_in_another_one_is_read_as_java_does_and_never_cleaned(cat, t):
    """The option is in the schema file, as Java would have taken it."""
    good = cat.create_table("db.good", {"id": "BIGINT"}, primary_key=["id"], options={"bucket": "1"})
    good.upsert([{"id": 7}])
    data = good.location + "/bucket-0"
    before = tree(good.location)
    for directory in ("../good", good.location, good.location + "/", "x/../../good"):
        evil = cat.create_table("db.evil", {"id": "BIGINT"}, primary_key=["id"], options={"bucket": "1"})
        evil.upsert([{"id": 1}])
        evil.tags.create("v")
        evil.upsert([{"id": 2}])
        for file in evil.files():
            shutil.copy(file["path"], data)
        written = tree(good.location)
        shutil.rmtree(evil.location + "/bucket-0")
        path = evil.location + "/schema/schema-0"
        with open(path) as f:
            schema = json.load(f)
        schema["options"]["data-file.path-directory"] = directory
        with open(path, "w") as f:
            json.dump(schema, f)
        age(good.location)
        evil = st.open_table(evil.location)
        assert evil.scan().count() == 2
        for work in (
            lambda: evil.upsert([{"id": 3}]),
            lambda: evil.compact(full=True),
            evil.truncate,
            lambda: evil.maintenance.remove_orphan_files(older_than="1ms", dry_run=False),
            lambda: evil.maintenance.remove_orphan_files(older_than="1ms", dry_run=True),
            lambda: evil.maintenance.expire_snapshots(retain_max=1),
            lambda: evil.rollback(version=1),
            lambda: evil.tags.delete("v"),
        ):
            with pytest.raises(e.InvalidOption, match="data-file.path-directory"):
                work()
        assert tree(good.location) == written
        cat.drop_table("db.evil")
        assert tree(good.location) == written
        for name in set(written) - set(before):
            os.remove(f"{good.location}/{name}")
    assert good.scan().count() == 1


# external paths


@pytest.fixture
def external(cat, tmp_path):
    """external(declared, place): a table whose first file lies at `place`, outside of the table."""

    def build(declared, place):
        t = cat.create_table(
            "db.x",
            {"id": "BIGINT"},
            primary_key=["id"],
            options={"bucket": "1", "write-only": "true", "manifest.compression": "null"},
        )
        t.upsert([{"id": 1}])
        name = os.path.basename(t.files()[0]["path"])
        target = os.path.join(place, name)
        os.makedirs(place, exist_ok=True)
        shutil.copy(t.files()[0]["path"], target)
        t.upsert([{"id": 1}])
        t.compact(full=True)

        def outside(entry):
            if entry["_FILE"]["_FILE_NAME"] == name:
                entry["_FILE"]["_EXTERNAL_PATH"] = "file://" + target

        patch_entries(t.location, outside)
        sizes(t.location)
        if declared is not None:
            declare = {"data-file.external-paths": declared}
            edit(t.location + "/schema/schema-0", lambda schema: schema["options"].update(declare))
        return st.open_table(t.location), target

    return build


def test_files_at_declared_external_paths_are_read_and_expire(external, tmp_path):
    outside = tmp_path / "outside"
    t, target = external(f"s3://no, FILE://{outside}/", str(outside / "bucket-0"))
    assert t.scan(version=1).count() == 1
    t.maintenance.expire_snapshots(retain_max=1)
    assert not os.path.exists(target)
    assert t.scan().count() == 1


def refused(t, target):
    assert t.scan(version=1).count() == 1
    before = tree(t.location)
    for dry_run in (True, False):
        with pytest.raises(e.CorruptFile, match="outside of the table|in another table|is a link"):
            t.maintenance.expire_snapshots(retain_max=1, dry_run=dry_run)
    assert os.path.exists(target)
    left = tree(t.location)
    assert not [path for path in before if path not in left], "an expiry that was refused deleted something"


@pytest.mark.parametrize(
    "declared", [None, "/", "file:///", "", ",", "relative", "/tmp/../", "{outside}-2", "{outside}/other"]
)
def test_files_at_external_paths_that_are_not_declared_are_read_and_stay(external, tmp_path, declared):
    outside = tmp_path / "outside"
    refused(*external(declared and declared.format(outside=outside), str(outside / "bucket-0")))


def test_only_files_of_buckets_expire_at_external_paths(external, tmp_path):
    refused(*external(str(tmp_path / "outside"), str(tmp_path / "outside" / "home")))


def test_an_external_path_in_another_table_is_not_the_tables(external, t):
    refused(*external(t.location, t.location + "/bucket-0"))


def test_an_external_path_behind_a_link_is_not_the_tables(external, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "outside").mkdir()
    os.symlink(tmp_path / "real", tmp_path / "outside" / "bucket-0")
    refused(*external(str(tmp_path / "outside"), str(tmp_path / "outside" / "bucket-0")))


def test_schemes_are_read_in_any_case(t):
    for scheme in ("file://", "FILE://", "File:"):
        assert st.open_table(scheme + t.location).scan().count() == 2
        root = os.path.dirname(os.path.dirname(t.location))
        assert st.connect(scheme + root).table("db.t").scan().count() == 2


def test_a_commit_through_a_linked_snapshot_directory_is_refused_at_once(t):
    """Nothing was published, and that is certain: the outcome is not unknown, and what was prepared goes."""
    elsewhere = t.location + ".elsewhere"
    os.rename(f"{t.location}/snapshot", elsewhere)
    os.symlink(elsewhere, f"{t.location}/snapshot")
    before, manifests = tree(elsewhere), set(os.listdir(f"{t.location}/manifest"))
    with t.writer() as w:
        w.write([{"id": 3, "s": "x"}])
        with pytest.raises(e.CorruptFile, match="a directory of the table is a link") as caught:
            w.commit()
    assert "not known" not in str(caught.value), caught.value
    assert tree(elsewhere) == before
    assert set(os.listdir(f"{t.location}/manifest")) == manifests
    os.remove(f"{t.location}/snapshot")
    os.rename(elsewhere, f"{t.location}/snapshot")
    t.upsert([{"id": 3, "s": "x"}])
    assert t.scan().count() == 3
