"""How often an answer of the verdict is wrong, on small trained networks whose truth is known.

``verdict_errors.json`` is written by ``python -m benchmarks.deciding.errors`` from the table of trained networks.
"""

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from attest.core.measures.numbers import percent

SHIPPED = Path(str(files("attest.experiments"))) / "verdict_errors.json"


CALLED = {"attention": "small networks with pooled attention", "rollout": "small Transformers"}
"""What reports call the networks on which wrong answers were counted. The keys are the explanations that these answers are
about."""


class AnswerError(NamedTuple):
    """How many networks that got an answer have another truth."""

    wrong: int
    opposite: int
    """Of the wrong answers, the number that are the opposite of the truth: *yes* if the truth is *no*, or the reverse."""
    networks: int
    low: float
    high: float
    """The upper end of the 95 % confidence interval of the share of wrong answers; ``low`` is the lower end. Networks with the
    same mechanism count as one cluster, because they may be alike."""


@cache
def verdict_errors(networks: str) -> dict[str, AnswerError]:
    """Return the errors by answer: ``yes``, ``in part``, ``no``.

    Args:
        networks: ``attention``, those whose attention pools the tokens; ``rollout``, small Transformers; ``all``.
    """
    shipped = json.loads(SHIPPED.read_text(encoding="utf-8"))[networks]
    return {answer: AnswerError(**counts) for answer, counts in shipped.items()}


def error_sentence(answer: str, explanation: str) -> str | None:
    """Return how often an answer was wrong, as a sentence; None for an answer that nobody counted.

    Args:
        explanation: what was judged. For ``attention`` and ``rollout`` the networks count that were asked about it, for any
            other explanation all networks.
    """
    networks = explanation if explanation in CALLED else "all"
    if (found := verdict_errors(networks).get(answer)) is None or not found.networks:
        return None
    share = f"{percent(found.wrong / found.networks)} [{percent(found.low)}, {percent(found.high)}]"
    which = ", each by one step of yes, in part, no" if found.wrong and not found.opposite else ""
    opposite = f", {found.opposite} of them with the opposite truth" if found.opposite else ""
    called = CALLED.get(networks, "small networks")
    return (
        f"“{answer.capitalize()}” was wrong in {share} of the {found.networks:,} {called} that got this answer and whose "
        f"truth is known{which}{opposite}."
    )
