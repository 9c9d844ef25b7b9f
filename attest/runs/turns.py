"""Work that the processes of a machine take as each is free: none waits for one with longer texts or a busy core."""

from collections.abc import Iterator
from multiprocessing import get_context


class Turns:
    """The places in a list, taken by processes in turn; made before the processes are copied.

    Args:
        processes: how many take turns.
    """

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self._taken = get_context("fork" if processes > 1 else None).Value("q", 0)
        self._before = 0

    def of(self, count: int) -> Iterator[int]:
        """The places of a list of so many that fall to this process.

        All processes go through the same lists, and wait for one another between two of them.
        """
        while (place := self._take() - self._before) < count:
            yield place
        self._before += count + self.processes  # each process has asked once in vain

    def _take(self) -> int:
        with self._taken.get_lock():
            self._taken.value += 1
            return self._taken.value - 1
