"""What travels between processes arrives as it was sent, at the table that it was made for, or is refused."""

import dataclasses
import pickle
import shutil

import pytest
import siltstone as st
from siltstone import errors as e
from siltstone.compaction import CompactionPlan, run_task

SCHEMA = {"dt": "STRING", "id": "INT", "v": "STRING"}


@pytest.fixture
def t(make):
    t = make(SCHEMA, ["dt", "id"], ["dt"], name="t", bucket=1, write_only="true")
    for i in range(2):
        t.upsert([{"dt": "a", "id": i, "v": "x"}])
    return t


def prepared(t, *rows):
    with t.writer() as w:
        w.write(list(rows) or [{"dt": "a", "id": 9, "v": "y"}])
        [message] = w.prepare_commit()
    return message


def damaged(good):
    """With one byte changed: a bit, or all of it; cut off, longer, empty."""
    for at in range(len(good)):
        for change in (0x01, 0x80, 0xFF):
            yield good[:at] + bytes([good[at] ^ change]) + good[at + 1 :]
        yield good[:at]
    yield good + b"\0"
    yield good + good


def test_a_damaged_commit_message_is_never_committed(t):
    good = prepared(t)
    for bad in damaged(good):
        with pytest.raises(e.CorruptFile):
            t.commit([bad])
    with pytest.raises(e.CorruptFile):
        t.commit([good, good[:-1]])
    with pytest.raises(e.CorruptFile):
        t.abort([good, good[:-1]])
    assert t.snapshot().id == 2
    assert t.commit([good]).rows == 1  # its file is still there


def test_a_damaged_split_is_never_read(t):
    good = t.scan().splits()[0].to_bytes()
    for bad in damaged(good):
        with pytest.raises(e.CorruptFile):
            st.Split(bad)
    with pytest.raises(e.CorruptFile):
        pickle.loads(pickle.dumps(st.Split(good)).replace(good, good[:-1] + bytes([good[-1] ^ 1])))
    assert sum(b.num_rows for b in st.Split(good).read()) == 2


def test_a_damaged_compaction_task_is_never_run(t):
    [task] = t.maintenance.plan_compaction(full=True).tasks
    for bad in damaged(task.token):
        with pytest.raises(e.CorruptFile):
            run_task(bad)
        with pytest.raises(e.CorruptFile):
            t.maintenance.compact(CompactionPlan([dataclasses.replace(task, token=bad)]))
    message = run_task(task.token)
    for bad in damaged(message):
        with pytest.raises(e.CorruptFile):
            t.maintenance.commit_compaction([bad])
    assert t.snapshot().id == 2
    assert t.maintenance.commit_compaction([message]).tasks == 1


@pytest.mark.parametrize("overwrite", [None, {"dynamic": True}, {"dynamic": False}])
def test_a_message_of_another_table_is_refused_and_both_are_named(t, make, overwrite):
    other = make(SCHEMA, ["dt", "id"], ["dt"], name="other", bucket=1, write_only="true")
    message = prepared(other)
    with pytest.raises(e.InvalidArgument, match="another table") as caught:
        t.commit([message], overwrite=overwrite)
    assert t.location in str(caught.value) and other.location in str(caught.value)
    with pytest.raises(e.InvalidArgument, match="another table"):
        t.abort([message])
    assert t.snapshot().id == 2
    assert other.commit([message]).rows == 1


def test_a_message_of_another_branch_is_refused(t):
    t.tags.create("v")
    t.branches.create("b", tag="v")
    branch = st.open_table(t.location, branch="b")
    message = prepared(branch)
    with pytest.raises(e.InvalidArgument, match="another table") as caught:
        t.commit([message])
    assert f"{t.location}$branch_b" in str(caught.value)
    with pytest.raises(e.InvalidArgument, match="another table"):
        branch.commit([prepared(t)])
    assert branch.commit([message]).rows == 1
    assert t.snapshot().id == 2


def test_a_message_of_a_copy_of_the_table_is_refused(t, tmp_path):
    shutil.copytree(t.location, tmp_path / "copy")
    copy = st.open_table(tmp_path / "copy")
    [task] = copy.maintenance.plan_compaction(full=True).tasks
    with pytest.raises(e.InvalidArgument, match="another table"):
        t.maintenance.commit_compaction([task.run()])
    assert t.snapshot().id == 2


def test_what_was_made_for_a_table_that_was_there_before_is_refused(cat, t):
    message, split = prepared(t), t.scan().splits()[0]
    [task] = t.maintenance.plan_compaction(full=True).tasks
    cat.drop_table("db.t")
    new = cat.create_table("db.t", SCHEMA, primary_key=["dt", "id"], partition_by=["dt"], options={"bucket": "1"})
    for call in (
        lambda: new.commit([message]),
        lambda: new.abort([message]),
        lambda: list(st.Split(split.to_bytes()).read()),
        task.run,
        lambda: new.maintenance.compact(CompactionPlan([task])),
    ):
        with pytest.raises(e.InvalidArgument, match="before"):
            call()
    assert new.snapshot() is None


def test_a_plan_of_another_table_is_refused_before_it_is_run(t, make):
    other = make(SCHEMA, ["dt", "id"], ["dt"], name="other", bucket=1, write_only="true")
    for i in range(2):
        other.upsert([{"dt": "a", "id": i}])
    with pytest.raises(e.InvalidArgument, match="another table"):
        t.maintenance.compact(other.maintenance.plan_compaction(full=True))
    assert other.maintenance.remove_orphan_files(older_than="0s").deleted_files == 0


def test_a_message_is_committed_under_a_later_schema_and_through_a_link(t, tmp_path):
    message = prepared(t)
    t.alter().add_column("w", "INT").commit()
    (tmp_path / "link").symlink_to(t.location)
    assert st.open_table(tmp_path / "link").commit([message]).rows == 1


def test_java_bytes_do_not_say_whose_they_are(t):
    """They have no checksum and no table: a changed length or statistic would be committed."""
    sealed = prepared(t)
    header = int.from_bytes(sealed[5:9], "little")
    java = sealed[9 + header : -4]
    with pytest.raises(e.InvalidArgument, match="Java's bytes"):
        t.commit([java])
    assert t.snapshot().id == 2
