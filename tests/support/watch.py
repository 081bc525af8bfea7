"""Runs that are cut off say why: failures are shown at once, and a process that hangs ends with its stacks.

pytest-timeout raises once, in Python: a test that swallows that, or whose fixtures then wait for a server, goes on for ever.
"""

import contextlib
import faulthandler
import logging
import os

import pytest

#: So long after its time limit a process ends.
GRACE_SECONDS = 60

STDERR = pytest.StashKey[int]()


def configure(config):
    """Keep stderr, which tests have captured; pytest captures nothing while it configures itself."""
    config.stash[STDERR] = os.dup(2)
    if "PYTEST_XDIST_WORKER" not in os.environ and os.environ.get("CI") == "true":
        config.pluginmanager.register(FailuresAtOnce(config))


class FailuresAtOnce:
    """Shows each failure when it comes, not only when the run has ended."""

    def __init__(self, config):
        self._config = config

    def pytest_runtest_logreport(self, report):
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.ensure_newline()
            terminal.write_line(
                f"{report.nodeid} failed in its {report.when}, after {report.duration:.0f} s:", red=True
            )
            terminal.write_line(report.longreprtext)


def _seconds(item):
    marked = item.get_closest_marker("timeout")
    of_command = item.config.getoption("timeout", None)
    return float(marked.args[0] if marked else of_command or item.config.getini("timeout"))


def begin_again(item):
    """Give the fixtures of a test time to end, too: pytest lets go of the watch where a test fails."""
    faulthandler.dump_traceback_later(_seconds(item) + GRACE_SECONDS, file=item.config.stash[STDERR], exit=True)


@contextlib.contextmanager
def ended_when_it_hangs(item):
    """Show all stacks and end the process, and with it the run, where a test goes on after its time limit."""
    begin_again(item)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def free_log_lock():
    """A signal that came within a function of `logging` may have left its lock taken: threads of later tests would wait for ever."""
    lock = getattr(logging, "_lock", None)
    while getattr(lock, "_is_owned", bool)():
        lock.release()
