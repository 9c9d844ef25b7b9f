"""Batches that do not fit into memory: they are halved and tried again, and what did not fit is remembered."""

from collections.abc import Callable

import torch

from attest.app.api.batches import Batch, attended, batch_of, texts_of
from attest.core.errors import said_by
from attest.datamodules.notice import say


class Fitting:
    """What is known about the memory of this process: the smallest batch that did not fit."""

    def __init__(self) -> None:
        self.too_large: tuple[int, int] | None = None
        """Texts and tokens of that batch; None if all have fitted."""

    def each(self, batch: Batch, work: Callable[[Batch], None]) -> None:
        """Do some work on a batch, or on its halves one after the other, where the whole does not fit into memory.

        A GPU says that it lacks memory by an error of its own. PyTorch's allocator on a CPU raises a plain ``RuntimeError``,
        like many others: halves are tried after any of these, and what a single text raises is raised.

        Raises:
            Exception: what ``work`` raises for a single text or for lists of sentences, or what has nothing to do with memory.
        """
        waiting = [batch]
        while waiting:
            part = waiting.pop()
            if len(part["id"]) > 1 and self._is_too_large(part):
                waiting += reversed(_halves(part))
                continue
            try:
                work(part)
                continue
            except (MemoryError, RuntimeError) as error:
                if len(part["id"]) == 1 or part["token_ids"].ndim > 2 or not _is_lack_of_memory(error):
                    raise
                reason = said_by(error)
            self._note(part, reason)  # here the error is gone, and with it the tensors that its traceback holds
            waiting.append(part)

    def _note(self, batch: Batch, reason: str) -> None:
        texts, tokens = attended(batch).shape
        self.too_large = texts, tokens
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()
        say(f"{texts} texts of {tokens} tokens at once are too many ({reason[:120]}); half of them are tried at once.")

    def _is_too_large(self, batch: Batch) -> bool:
        texts, tokens = attended(batch).shape
        return self.too_large is not None and texts * tokens**2 >= self.too_large[0] * self.too_large[1] ** 2


def _is_lack_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or type(error) is RuntimeError


def _halves(batch: Batch) -> list[Batch]:
    texts = texts_of(batch)
    middle = (len(texts) + 1) // 2
    return [batch_of(texts[:middle]), batch_of(texts[middle:])]
