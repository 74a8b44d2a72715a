"""Solving so that Ctrl-C, a kill and a clock stop the solver politely and leave its incumbent."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def noticed_signals() -> Iterator[threading.Event]:
    """Within the block, SIGINT and SIGTERM set the event instead of ending the process."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        # Python lets only the main thread own signal handlers; elsewhere the caller keeps its own.
        yield asked
        return

    def note(_number: int, _frame: FrameType | None) -> None:
        asked.set()

    previous = [(number, signal.signal(number, note)) for number in SIGNALS]
    try:
        yield asked
    finally:
        for number, handler in previous:
            signal.signal(number, handler)


def run_stoppable(run: Callable[[], None], cancel: Callable[[], None]) -> bool:
    """Run `run` in a worker thread, calling `cancel` at the first signal; True if there was one."""
    failures: list[BaseException] = []

    def work() -> None:
        try:
            run()
        except BaseException as failure:  # handed to the calling thread below
            failures.append(failure)

    worker = threading.Thread(target=work, daemon=True)
    with noticed_signals() as asked:
        worker.start()
        while worker.is_alive():
            if asked.is_set():
                cancel()
            worker.join(0.05)
    if failures:
        raise failures[0]
    return asked.is_set()
