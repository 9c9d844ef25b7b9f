"""What a base's controls say: uniform attention, other seeds and adversaries, guides; a plain sentence each."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from attest.measures.numbers import percent, rounded
from attest.report.conclusion import Conclusion
from attest.report.pairing import Pairing
from attest.report.related_table import exceeds
from attest.runs.control_names import BY_ADVERSARY, BY_BASE, BY_UNIFORM, GUIDE, UNIFORM

Rows = Sequence[Mapping[str, Any]]
MOST = "the most there can be is 0.693"


def conclusions(rows: Rows, pairs: Mapping[str, Pairing], of_use: Pairing | None) -> list[Conclusion]:
    """Of the controls that there are.

    Args:
        rows: one a run, the base first; ``experiment``, ``name``, scores and distances to the base.
        pairs: the base, first, against each control, by its name.
        of_use: what is guided by the base's attention, first, against what is guided by uniform attention; None where one of
            the two is missing.
    """
    tagging = any(pair.tagging for pair in pairs.values())
    return [
        *_uniform(rows, pairs.get(UNIFORM), "tokens" if tagging else "test texts"),
        *_moved(rows),
        *_guided(rows, pairs, of_use, "the same tagger" if tagging else "a model without context"),
    ]


def _uniform(rows: Rows, pair: Pairing | None, units: str) -> Iterator[Conclusion]:
    """Better or worse only where a test says so."""
    found = _accuracies(rows, "E4")
    if pair is None or not found:
        return
    does = {1: "does worse", 0: "is not shown to do worse", -1: "does better"}[pair.better]
    rightly = f"It decides {percent(found[UNIFORM], 1)} of the {units} rightly, learned attention {_base(rows)}"
    yield Conclusion(f"Uniform attention {does} than learned attention.", f"{rightly} ({pair.tested}).")


def _moved(rows: Rows) -> Iterator[Conclusion]:
    """An adversary has moved farther than seeds where it lies farther from the base than each of them."""
    seeds = [_distance(row) for row in rows if row["experiment"] == "E5"]
    moved = [row for row in rows if row["name"].startswith(BY_ADVERSARY)]
    floor = f"{_seeds(seeds)} (JSD); {MOST}." if seeds else f"Measured as JSD; {MOST}. Other seeds were not compared."
    if moved:
        farthest = max(moved, key=_distance)
        lies = f"The adversary's attention ({_lambda(farthest)}) lies {rounded(_distance(farthest))} nats from the base's"
        farther = "farther" if exceeds(_distance(farthest), max(seeds, default=0.0)) else "no farther"
        yield Conclusion(f"{lies}, {farther} than another seed's." if seeds else f"{lies}.", floor)
    elif seeds:
        yield Conclusion(f"Attention moves by {rounded(fmean(seeds))} nats when nothing but the seed differs.", floor)


def _guided(rows: Rows, pairs: Mapping[str, Pairing], of_use: Pairing | None, model: str) -> Iterator[Conclusion]:
    """The base's attention is of use where it guides better than uniform attention does, by more than chance."""
    found = _accuracies(rows, "E6")
    if not found:
        return
    kept = [_called(name) for name in found if pairs[name].better < 1]
    figures = f"Decided rightly under {', '.join(f'{_called(name)}: {percent(value, 1)}' for name, value in found.items())}"
    tested = "" if of_use is None else f" (the base's against uniform, {of_use.tested})"
    keeps = f"Not shown to be worse than the base itself, {_base(rows)}: {', '.join(kept) or 'none of these'}."
    yield Conclusion(_best(found, of_use, model), f"{figures}{tested}. {keeps}")


def _best(found: Mapping[str, float], of_use: Pairing | None, model: str) -> str:
    if of_use is None:
        return f"What guides {model} best is {_called(max(found, key=lambda name: found[name]))}."
    guides = {1: "guides", 0: "is not shown to guide", -1: "does not guide"}[of_use.better]
    return f"The base's attention {guides} {model} better than uniform attention{' does' if of_use.better == 1 else ''}."


def guides_compared(names: Sequence[str]) -> tuple[str, str] | None:
    """The names of the two controls that say whether a base's attention is of use; None where one of them is missing.

    A tagger that must attend uniformly is what E4 has trained already.
    """
    uniform = next((name for name in (BY_UNIFORM, UNIFORM) if name in names), None)
    return (BY_BASE, uniform) if uniform is not None and BY_BASE in names else None


def _accuracies(rows: Rows, experiment: str) -> dict[str, float]:
    return {row["name"]: row["accuracy"] for row in rows if row["experiment"] == experiment and "accuracy" in row}


def _base(rows: Rows) -> str:
    return percent(rows[0]["accuracy"], 1)


def _distance(row: Mapping[str, Any]) -> float:
    """JSD to the base's attention, of taggers with heads matched."""
    return float(row.get("jsd_matched", row.get("jsd")))


def _seeds(distances: Sequence[float]) -> str:
    ends = dict.fromkeys([rounded(min(distances)), rounded(max(distances))])
    count = f"{len(distances)} other seeds lie" if len(distances) > 1 else "Another seed lies"
    return f"{count} {' to '.join(ends)} nats from the base"


def _called(name: str) -> str:
    """A guide in a sentence."""
    if name.startswith(BY_ADVERSARY):
        return f"the adversary's attention ({_lambda({'name': name})})"
    return "the base's attention" if name == BY_BASE else name.removeprefix(GUIDE)


def _lambda(row: Mapping[str, Any]) -> str:
    return str(row["name"]).rpartition(", ")[2]
