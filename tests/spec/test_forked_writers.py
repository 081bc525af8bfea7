"""A writer that a forked process has inherited: its files are its parent's."""

import os

import pytest
import siltstone as st
from siltstone import errors as e

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def drops(w):
    del w


def discards(w):
    w.discard()


def leaves_its_block(w):
    w.__exit__(None, None, None)


def writes(w):
    with pytest.raises(e.InvalidArgument, match="belongs to the process that was forked"):
        w.write([{"id": 1}])


def commits(w):
    with pytest.raises(e.InvalidArgument, match="belongs to the process that was forked"):
        w.commit()


def prepares(w):
    with pytest.raises(e.InvalidArgument, match="belongs to the process that was forked"):
        w.prepare_commit()


@pytest.mark.parametrize("key", [None, ["id"]])
@pytest.mark.parametrize("work", [drops, discards, leaves_its_block, writes, commits, prepares])
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_leaves_the_files_of_its_parents_writer_alone(make, key, work):
    """The child's interpreter dropped the writer and deleted its files; the parent's commit named them, acknowledged."""
    small = {"write_buffer_size": "256 kb", "page_size": "64 kb", "target_file_size": "100 kb"}
    t = make({"id": "INT", "v": "STRING"}, key or [], bucket=1 if key else -1, **small)
    w = t.writer()
    for start in range(0, 8000, 1000):
        w.write([{"id": start + i, "v": os.urandom(100).hex()} for i in range(1000)])
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work(w)
            status = 0
        finally:
            del w
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert w.commit().rows == 8000
    assert st.open_table(t.location).scan().count() == 8000
    assert t.scan().to_arrow().num_rows == 8000
    assert t.maintenance.fsck(deep=True).ok


def open_data_files():
    """Those of this process that tables have written."""
    places = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return [target for place in places if "/data-" in (target := os.readlink(place) if os.path.islink(place) else "")]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_does_not_make_the_files_of_its_parent_durable(make):
    """The child waited for ever for a thread of its parent that was at it, and might have taken an error that was its parent's."""
    small = {"write_buffer_size": "256 kb", "page_size": "64 kb", "target_file_size": "100 kb"}
    t = make({"p": "INT", "v": "STRING"}, partition_by=["p"], **small)
    w = t.writer()
    for start in range(0, 8000, 1000):
        w.write([{"p": i % 4, "v": os.urandom(100).hex()} for i in range(start, start + 1000)])
    waiting = open_data_files()
    assert waiting
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert not open_data_files()
            st.open_table(t.location).append([{"p": 1, "v": "the child's"}])
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert set(waiting) <= set(open_data_files())
    assert w.commit().rows == 8000
    assert st.open_table(t.location).scan().count() == 8001
