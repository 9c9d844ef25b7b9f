"""The answer about a network after a look at some of its texts: yes, in part, no, or none yet."""

from scipy.special import betaincinv

YES, IN_PART, NO, CANNOT_TELL = "yes", "in part", "no", "cannot tell"


def interval(hits: int, count: int, level: float) -> tuple[float, float]:
    """Return the interval of a share by Clopper and Pearson, which misses with probability ``level`` at most, two-sided."""
    low = float(betaincinv(hits, count - hits + 1, level / 2)) if hits else 0.0
    high = float(betaincinv(hits + 1, count - hits, 1 - level / 2)) if hits < count else 1.0
    return low, high


def answer_of(right: int, texts: int, last: bool, level: float) -> str | None:
    """Return the answer after a look, None where more texts must be read.

    Args:
        right: the texts in which the explanation is right, of ``texts`` that need words.
        last: whether there are no more texts; then a weaker interval is enough, or ``cannot tell`` is the answer.
        level: the probability with which the interval of this look may miss.
    """
    low, high = interval(right, texts, level)
    share = right / max(1, texts)
    if low >= 0.8 and share >= 0.9:
        return YES
    if high <= 0.5:
        return NO
    if low >= 0.4 and high <= 0.95 and 0.5 <= share < 0.9:
        return IN_PART
    if not last:
        return None
    if share >= 0.9 and low >= 0.75:
        return YES
    if share < 0.5 and high < 0.6:
        return NO
    return IN_PART if texts and 0.5 <= share < 0.9 else CANNOT_TELL
