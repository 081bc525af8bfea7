"""Values that hold within a block end with it, wherever a signal handler raises."""

import contextlib
import pathlib
import sys

import pytest
import siltstone as st
from siltstone._operation import _within, operation
from siltstone._progress import _asked, progress
from siltstone._scoped import Scoped


class Stop(Exception):
    """What a signal handler raises."""


#: Whose steps are tried. Not those of logging and OpenTelemetry: a lock of theirs would stay taken for all later tests.
OURS = (str(pathlib.Path(st.__file__).parent), contextlib.__file__, __file__)


@contextlib.contextmanager
def raising_before_step(number):
    """Raise before this step of ours; yields a list that has an element when there was such a step."""
    left, raised = number, []

    def trace(frame, event, _argument):
        nonlocal left
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                raised.append(frame.f_code.co_name)
                raise Stop
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield raised
    finally:
        sys.settrace(before)


def operations():
    with operation("append", "db.t") as done, operation("commit", "db.t") as inner:
        inner(2)
        done(1)


def asked():
    with progress(False):
        pass


@pytest.mark.parametrize(("block", "value"), [(operations, _within), (asked, _asked)])
def test_a_value_ends_with_its_block_wherever_a_signal_ends_it(block, value):
    """A Ctrl-C between two steps of an append left all later operations of the session without their lines."""
    for step in range(1, 100_000):
        with contextlib.suppress(Stop), raising_before_step(step) as raised:
            block()
        assert value.get() is None, (step, raised)
        if not raised:
            break
    assert step > 50


def test_a_block_that_is_ended_late_takes_back_only_its_own_value():
    value = Scoped("value")
    late = value.hold("late")
    late.__enter__()
    with value.hold("inner"):
        late.__exit__(None, None, None)
        assert value.get() == "inner"
    assert value.get() is None


def test_a_value_of_a_block_inside_another_one_gives_way_to_it():
    value = Scoped("value")
    with value.hold(1):
        with value.hold(2):
            assert value.get() == 2
        assert value.get() == 1
    assert value.get() is None
