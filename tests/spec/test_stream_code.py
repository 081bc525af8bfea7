"""What the code of an input stream raises, or a signal handler in it, is what the call raises, or its cause."""

import os
import signal

import pyarrow as pa
import pytest
from siltstone import errors as e

SCHEMA = pa.schema([("id", pa.int64())])


class Stop(BaseException):
    """No ``Exception``, as ``SystemExit`` is none."""


class Foreign:
    """A stream of another library, which hands on nothing but texts."""

    def __init__(self, reader):
        self.reader = reader

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__(requested_schema)


def reader(raised):
    def batches():
        yield pa.record_batch([[1]], schema=SCHEMA)
        if callable(raised):
            raised()
        raise raised

    return pa.RecordBatchReader.from_batches(SCHEMA, batches())


@pytest.fixture
def calls(make):
    t = make({"id": "BIGINT"}, ["id"], bucket=1)

    def write(data):
        with t.writer() as w:
            w.write(data)

    return [t.append, t.overwrite, lambda keys: t.delete(keys=keys), t.routes, write]


@pytest.mark.parametrize("raised", [Stop("now"), SystemExit(143), KeyboardInterrupt()])
def test_what_ends_a_program_is_raised_as_it_is(calls, raised):
    for call in calls:
        with pytest.raises(type(raised)) as caught:
            call(reader(raised))
        assert caught.value is raised


def test_another_exception_is_the_cause_whatever_its_text(calls):
    raised = ValueError("a button that says\nKeyboardInterrupt")
    for call in calls:
        with pytest.raises(e.InvalidArgument, match="the input stream failed") as caught:
            call(reader(raised))
        assert caught.value.__cause__ is raised
        with pytest.raises(e.InvalidArgument, match="the input stream failed"):
            call(Foreign(reader(raised)))


def test_ctrl_c_in_a_stream_of_another_library_is_ctrl_c(calls):
    with pytest.raises(KeyboardInterrupt):
        calls[0](Foreign(reader(KeyboardInterrupt())))


def test_a_signal_handler_in_the_code_of_a_stream_ends_the_call(calls):
    def handler(*_):
        raise Stop

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with pytest.raises(Stop):
            calls[0](reader(lambda: os.kill(os.getpid(), signal.SIGTERM)))
    finally:
        signal.signal(signal.SIGTERM, before)


def test_no_error_has_lines_of_code_in_its_text(make, tmp_path):
    """``get`` raised pyarrow's own error, and all of them had a traceback in the text."""
    t = make({"id": "BIGINT", "v": "STRING"}, ["id"], bucket=1)
    t.append([{"id": 1, "v": "a"}])
    (tmp_path / "a.csv").write_text("id\n1\n")
    (tmp_path / "b.csv").write_text("id,v\n1,x\n")
    name = str(tmp_path / "*.csv")
    calls = [t.get, lambda keys: t.delete(keys=keys), t.routes, t.append]
    merge = lambda rows: t.merge(rows, on="id").when_not_matched_insert_all().execute()  # noqa: E731
    for call in (*calls[:-1], merge):
        with pytest.raises(e.SchemaMismatch, match="different columns") as caught:
            call(name)
        assert "Traceback" not in str(caught.value)
    for call in (*calls, merge):
        raised = ValueError("boom")
        with pytest.raises(e.InvalidArgument, match="the input stream failed: .*boom") as caught:
            call(reader(raised))
        assert "Traceback" not in str(caught.value)
        assert caught.value.__cause__ is raised
