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
