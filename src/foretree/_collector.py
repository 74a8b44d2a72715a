"""What Python's garbage collector need not look at: libraries while they are loaded, and until they are used up.

Loading scikit-learn and Numba makes 150,000 objects that live as long as the process. The collector goes
through them again and again while they are made (0.15 s) and twice more when the process ends (0.3 s).
"""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Collect no garbage inside."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Aside:
    """Objects set aside until the collector next goes through all there are; if it never does, for good.

    So nothing is kept that would have been freed: a short process ends without going through its
    libraries, and a long one sees no difference after its first full collection.
    """

    def __init__(self) -> None:
        gc.freeze()
        self.number = gc.get_freeze_count()
        gc.callbacks.append(self.before_collecting)
        # What ends the process collects too, and is what is to be spared.
        atexit.register(self.forget)

    def before_collecting(self, phase: str, info: dict[str, int]) -> None:
        """Give the objects back before a full collection, unless somebody has set aside more since."""
        if phase == "start" and info["generation"] == 2 and self.number:
            if gc.get_freeze_count() <= self.number:
                gc.unfreeze()
            self.forget()

    def forget(self) -> None:
        """Give nothing back any more."""
        self.number = 0


def set_aside() -> None:
    """Spare the collector what there is so far, unless the program has done so in its own way."""
    if gc.isenabled() and gc.get_freeze_count() == 0:
        _Aside()
