"""Handles that were opened before their table was renamed, dropped, made again or rescaled."""

from pathlib import Path

import pytest
import siltstone as st
from siltstone import errors as e

SCHEMA = {"id": "BIGINT", "v": "STRING"}


@pytest.fixture
def t(cat):
    t = create(cat)
    t.upsert([{"id": 1, "v": "first"}])
    return t


def create(cat, **options):
    return cat.create_table("db.t", SCHEMA, primary_key=["id"], options={"bucket": "1", **options})


def ids(t):
    return sorted(row["id"] for row in t.scan(["id"]).to_arrow().to_pylist())


def is_whole(t):
    return t.maintenance.fsck(deep=True).ok


def test_rows_of_an_old_handle_do_not_get_into_the_table_that_was_made_in_its_place(cat, t):
    with t.writer() as w:
        w.write([{"id": 2, "v": "of the old table"}])
        cat.drop_table("db.t")
        new = create(cat)
        new.upsert([{"id": 3, "v": "of the new table"}])
        with pytest.raises(e.CommitConflict, match="made again"):
            w.commit()
    with pytest.raises(e.CommitConflict, match="made again"):
        t.upsert([{"id": 4, "v": "too late"}])
    with pytest.raises(e.CommitConflict):
        t.alter().set_option("my.option", "x").commit()
    assert ids(new) == [3]
    assert ids(cat.table("db.t")) == [3]
    assert is_whole(new)


def test_an_old_handle_does_not_bring_the_directory_of_a_renamed_table_back(cat, t):
    place = Path(t.location)
    with t.writer() as w:
        w.write([{"id": 2, "v": "x"}])
        cat.rename_table("db.t", "db.u")
        with pytest.raises(e.TableNotFound, match="renamed"):
            w.commit()
    with pytest.raises(e.TableNotFound):
        t.upsert([{"id": 3, "v": "x"}])
    assert not place.exists()
    assert cat.tables("db") == ["u"]
    renamed = cat.table("db.u")
    renamed.upsert([{"id": 4, "v": "x"}])
    assert ids(renamed) == [1, 4]
    assert is_whole(renamed)


def test_an_old_handle_does_not_bring_a_dropped_table_back(cat, t):
    cat.drop_table("db.t")
    with pytest.raises(e.TableNotFound):
        t.upsert([{"id": 2, "v": "x"}])
    assert not Path(t.location).exists()
    # nothing hidden is left of it either
    assert list(Path(t.location).parent.iterdir()) == []


def test_an_old_handle_does_not_bring_a_deleted_branch_back(cat, t):
    t.branches.create("b")
    old = cat.table("db.t$branch_b")
    t.branches.delete("b")
    with pytest.raises(e.BranchNotFound):
        old.upsert([{"id": 2, "v": "x"}])
    assert t.branches.list() == []
    assert ids(t) == [1]


def test_rows_of_a_writer_from_before_a_rescale_are_refused_and_not_put_into_old_buckets(cat, t):
    with t.writer() as w:
        w.write([{"id": 2, "v": "one bucket"}])
        now = cat.table("db.t")
        now.alter().set_option("bucket", "3").commit()
        now = cat.table("db.t")
        now.overwrite([{"id": 1, "v": "three buckets"}])
        with pytest.raises(e.CommitConflict, match="bucket num"):
            w.commit()
    now.upsert([{"id": 5, "v": "three buckets"}])
    assert ids(now) == [1, 5]
    assert is_whole(now)


def test_a_table_is_dropped_with_what_is_below_it_though_it_cannot_be_read(cat, t):
    (Path(t.location) / "schema" / "schema-0").write_text("{")
    cat.drop_table("db.t")
    assert not Path(t.location).exists()


REDEFINED = [
    ({"bucket": "4", "bucket-key": "k"}, "bucket-key", "v"),
    ({"bucket": "4", "bucket-key": "v"}, "bucket-function.type", "mod"),
    ({"bucket": "4", "bucket-key": "k"}, "data-file.path-directory", "data"),
]


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize(("options", "key", "value"), REDEFINED)
def test_rows_that_were_written_before_a_fixed_option_changed_are_not_committed(cat, options, key, value, prepared):
    """Before the first snapshot it may change; the commit was reported, and filters missed its rows, or nobody read them."""
    t = cat.create_table("db.r", {"k": "INT", "v": "INT"}, options=options)
    rows = [{"k": i, "v": i * 7} for i in range(20)]
    with t.writer() as w:
        w.write(rows)
        messages = w.prepare_commit() if prepared else None
        cat.table("db.r").alter().set_option(key, value).commit()
        with pytest.raises(e.CommitConflict) as caught:
            cat.table("db.r").commit(messages) if prepared else w.commit()
    # where the place of files has changed, those of messages are not found there
    assert caught.value.context.get("option") == key or (prepared and "file" in caught.value.context)
    t = cat.table("db.r")
    assert t.scan().count() == 0
    t.append(rows)
    assert [t.scan(filter=f"v = {i * 7}").count() for i in range(20)] == [1] * 20
    assert is_whole(t)


@pytest.mark.parametrize(("key", "value"), [("partition.legacy-name", "false"), ("partition.default-name", "NONE")])
def test_names_of_partitions_stay_once_there_are_some(cat, key, value):
    """Where a file lies follows from them: neither the rows before nor those after were found."""
    t = cat.create_table("db.p", {"p": "DATE", "k": "INT"}, partition_by=["p"])
    t.append([{"p": None, "k": 1}])
    with pytest.raises(e.IllegalSchemaChange) as caught:
        t.alter().set_option(key, value).commit()
    assert caught.value.context["option"] == key
    with pytest.raises(e.InvalidOption) as caught:
        cat.table("db.p", options={key: value})
    assert caught.value.context["option"] == key
    t.append([{"p": None, "k": 2}])
    assert cat.table("db.p").scan().count() == 2
    assert is_whole(t)


@pytest.mark.parametrize("gone", ["renamed", "dropped"])
def test_a_stream_of_a_table_that_is_not_there_any_more_says_so(cat, t, gone):
    """A stream that had begun said that its version was expired, and advised to raise the retention."""
    changes = iter(t.changes(follow=True))
    next(changes)
    if gone == "renamed":
        cat.rename_table("db.t", "db.u")
    else:
        cat.drop_table("db.t")
    with pytest.raises(e.TableNotFound):
        next(changes)


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: t.truncate(),
        lambda t: t.compact(full=True),
        lambda t: t.maintenance.analyze(),
        lambda t: t.history(),
        lambda t: t.snapshot(),
        lambda t: t.tags.list(),
        lambda t: t.branches.list(),
        lambda t: t.scan().count(),
        lambda t: t.scan().to_arrow(),
        lambda t: t.scan().splits(),
        lambda t: t.delete("id = 1"),
        lambda t: list(t.changes()),
        lambda t: t.maintenance.fsck(),
        lambda t: t.maintenance.remove_orphan_files(),
        lambda t: t.consumers.list(),
        lambda t: t.inspect("schemas"),
        lambda t: t.snapshot(1),
    ],
    ids=(
        "truncate compact analyze history snapshot tags branches count scan splits delete changes "
        "fsck orphans consumers schemas version"
    ).split(),
)
@pytest.mark.parametrize("gone", ["renamed", "dropped"])
def test_a_table_that_is_not_there_any_more_is_no_empty_one(cat, t, ask, gone):
    """TRUNCATE reported a success, reads no rows."""
    if gone == "renamed":
        cat.rename_table("db.t", "db.u")
    else:
        cat.drop_table("db.t")
    with pytest.raises(e.TableNotFound):
        ask(t)
    if gone == "renamed":
        assert ids(cat.table("db.u")) == [1]


def test_automatic_tags_have_a_period_of_one_millisecond_or_more(cat):
    """It was taken, and every commit was published and then failed in the middle."""
    options = {"tag.automatic-creation": "process-time", "tag.creation-period-duration": "999 us"}
    with pytest.raises(e.InvalidOption, match="one millisecond"):
        create(cat, **options)


@pytest.mark.parametrize("uri", ["file:lake", "file:./lake", "file:"])
def test_a_file_uri_has_an_absolute_path(tmp_path, monkeypatch, uri):
    """It named a directory in the root."""
    import siltstone as st

    monkeypatch.chdir(tmp_path)
    with pytest.raises(e.InvalidArgument, match="absolute path"):
        st.connect(uri).create_database("d")


def test_a_file_uri_is_of_this_machine(tmp_path):
    import siltstone as st

    st.connect(f"file://localhost{tmp_path}/lake").create_database("d")
    assert (tmp_path / "lake" / "d.db").is_dir()
    with pytest.raises(e.UnsupportedFeature, match="host 'data'"):
        st.connect("file://data/lake").create_database("d")


@pytest.mark.parametrize("key", [["id"], []])
def test_what_is_open_while_a_fast_forward_takes_its_schema_away_says_so(make, key):
    """A compaction said that a file was missing."""
    t = make({"id": "INT", "v": "INT"}, key)
    t.append([{"id": 1, "v": 1}])
    t.branches.create("b")
    st.open_table(t.location, branch="b").append([{"id": 2, "v": 2}])
    t.alter().add_column("extra", "INT").commit()
    with t.writer() as w:
        w.write([{"id": 3, "v": 3}])
        t.branches.fast_forward("b")
        for call in (w.commit, t.compact, lambda: t.compact(full=True), lambda: t.append([{"id": 4, "v": 4}])):
            with pytest.raises((e.CommitConflict, e.TableNotFound), match="fast-forward") as raised:
                call()
            assert "open the table again" in raised.value.hint
            w.discard()
    t = st.open_table(t.location)
    t.append([{"id": 4, "v": 4}])
    t.compact(full=True)
    assert sorted(r["id"] for r in t.scan().to_arrow().to_pylist()) == [2, 4]
