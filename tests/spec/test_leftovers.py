"""What cleans up after an outcome does not replace it."""

import dataclasses

import pytest
from siltstone import errors as e
from siltstone._bridge import WriteJob, Written
from siltstone._leftovers import delete_leftovers


@dataclasses.dataclass
class CannotAbort:
    """A table beside an expiry of Java: the search for the files fails, though nothing is missing."""

    error: BaseException

    def abort(self, _messages):
        raise self.error


def test_files_that_cannot_be_deleted_now_are_left_with_a_line(caplog):
    """A compaction that another commit had overtaken ended with this error, in the place of being done again."""
    delete_leftovers(CannotAbort(e.FileMissing("manifest-list-1 does not exist")), [b"message"])
    assert "manifest-list-1" in caplog.text


def test_what_ends_a_program_ends_it_here_too():
    with pytest.raises(KeyboardInterrupt):
        delete_leftovers(CannotAbort(KeyboardInterrupt()), [b"message"])


def test_an_error_of_a_task_stays_the_error_of_its_job():
    job = WriteJob(
        CannotAbort(e.UpkeepRunning("an expiry is at work")), *[None] * (len(dataclasses.fields(WriteJob)) - 1)
    )
    with pytest.raises(e.SchemaMismatch, match="a column is missing"):
        job.commit([Written([], e.SchemaMismatch("a column is missing"))])
