"""A signal in the middle of a call."""

import contextlib
import signal
import time


class Stop(Exception):
    """Raised by a signal handler, as KeyboardInterrupt is."""


@contextlib.contextmanager
def signal_after(seconds):
    """A signal whose handler raises; yields a list for the moment when it was sent."""

    def stop(*_):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield time.monotonic() + seconds
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
