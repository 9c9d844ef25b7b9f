"""The shapes of the files in a run folder: the entries that each file has, and their types.

A file that was cut, mixed up or edited by hand can still be valid JSON or YAML. Each reader of ``attest.runs.folder`` compares
what it read with the shape here, so that the code behind it finds what it expects. Start at ``misfit``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Any


@dataclass(frozen=True)
class Entries:
    """The shape of a dictionary.

    Args:
        needed: the shape of each entry that must be there.
        known: the shape of each entry that may be there.
        others: the shape of all other entries.
    """

    needed: Mapping[str, "Shape"] = field(default_factory=dict)
    known: Mapping[str, "Shape"] = field(default_factory=dict)
    others: "Shape" = object


Shape = type | UnionType | tuple["Shape", ...] | list["Shape"] | Entries
"""The expected form of a value that was read from JSON or YAML: a type; a tuple of forms, of which one must fit; a list, with
one form for all items or one for each item; or ``Entries``, the forms of a dictionary's values by key."""
NUMBER: Shape = int | float | None
TEXT: Shape = str | None
KINDS = {str: "text", int: "a whole number", float: "a number", bool: "a truth value", list: "a list", dict: "a dictionary"}


def misfit(content: Any, shape: Shape, place: str = "") -> str | None:
    """Return what does not fit a shape, in words; None if all fits.

    Example:
        >>> misfit({"sha256": 3}, Entries({"sha256": str}))
        'sha256 is a whole number'
        >>> misfit({}, Entries({"sha256": str}))
        'the entry sha256 is missing'
    """
    if isinstance(shape, tuple):
        each_of = [misfit(content, each, place) for each in shape]
        return None if None in each_of else each_of[0]
    if isinstance(shape, list):
        if not isinstance(content, list):
            return _is(content, place)
        if len(shape) > 1 and len(content) != len(shape):
            return f"{place or 'its content'} has {len(content)} items and not {len(shape)}"
        items = zip(content, shape if len(shape) > 1 else shape * len(content), strict=True)
        inner = (misfit(each, one, f"{place}[{number}]") for number, (each, one) in enumerate(items))
        return next((said for said in inner if said), None)
    if not isinstance(shape, Entries):
        return None if isinstance(content, shape) else _is(content, place)
    if not isinstance(content, dict):
        return _is(content, place)
    if lacking := [name for name in shape.needed if name not in content]:
        return f"the entry {_below(place, lacking[0])} is missing"
    inside = {**shape.known, **shape.needed}
    if shape.others is object:  # as much as may be in there
        content = {name: content[name] for name in inside if name in content}
    found = (misfit(value, inside.get(name, shape.others), _below(place, str(name))) for name, value in content.items())
    return next((said for said in found if said), None)


def _is(content: Any, place: str) -> str:
    return f"{place or 'its content'} is {KINDS.get(type(content), 'empty' if content is None else type(content).__name__)}"


def _below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


SECTION: Shape = (Entries(), NoneType)
PART: Shape = (Entries(known={"class_path": TEXT, "init_args": SECTION}), NoneType)
NETWORK: Shape = (Entries(known={"class_path": TEXT, "init_args": (Entries(known={"network": PART}), NoneType)}), NoneType)
SPLITS = ("train", "validation", "test")
NUMBERS = Entries(others=NUMBER)
COMMON: dict[str, Shape] = {
    "seed_everything": int,
    "run": Entries(dict.fromkeys(("data", "recipe", "model", "scoring", "projection"), str), {"root": TEXT}),
}
OF_RUN = Entries(
    {**COMMON, "model": NETWORK},
    {"trainer": SECTION, "data": PART, "experiments": (Entries(others=PART), NoneType)},
)
"""The expected form of the ``config.yaml`` of a trained run."""
OF_TRIAL = Entries(
    {
        **COMMON,
        "trial": Entries(
            {"model": str, "texts": int, "experiments": Entries(others=SECTION), "attest": str},
            {
                **dict.fromkeys(("remarks", "labels"), ([str], NoneType)),
                **dict.fromkeys(("name", "explanation", "model_from", "tokenizer_from", "decides"), TEXT),
                **dict.fromkeys(("max_tokens", "until"), NUMBER),
                "asked": Entries(),
                "of_sentences": bool,
                "given": [str],
            },
        ),
    }
)
"""The expected form of the ``config.yaml`` of a trial (a test of a model that Attest has not trained). The version of Attest
is its last entry, so its absence shows that the file was cut off."""
RECORD = Entries(
    needed={
        "words": [str],
        "label_names": [str],
        "positive_weight": int | float,
        "tokenising": Entries(),
        "counts": Entries(dict.fromkeys(SPLITS, int)),
        "fingerprints": Entries(dict.fromkeys(SPLITS, str)),
    }
)
"""The expected form of a ``data.json`` that is complete enough for a model to read new texts. To show a page, fewer entries
are enough."""
SHARE = Entries(known=dict.fromkeys(("value", "low", "high", "texts"), NUMBER) | {"reading": str})
VERDICT = Entries(
    {"answer": str, "sentence": str},
    {
        **dict.fromkeys(("share", "low", "high", "texts", "read", "more"), NUMBER),
        **dict.fromkeys(("random", "instead"), (SHARE, NoneType)),
        **dict.fromkeys(("advice", "guess"), TEXT),
    },
)
SUMMARY = Entries(
    known={
        "version": int,
        "best/epoch": int | float,
        "verdict": Entries(others=VERDICT),
        "rows": [Entries(known={"experiment": str, "name": str})],
    },
    others=NUMBER,
)
STOPPED = Entries(others=Entries({"precision": int | float, "summary": Entries(others=int | float)}))
SHAPES: dict[str, Shape] = {
    "base.json": Entries({"sha256": str}),
    "curves.json": [Entries({"epoch": int}, others=NUMBER)],
    "data.json": Entries(
        known={
            "words": [str],
            "label_names": [str],
            "tokenising": Entries(),
            "counts": Entries(others=int),
            "fingerprints": Entries(others=str),
            "sources": Entries(others=str),
            "files": Entries(others=str),
            "copies": Entries(others=int),
            "sampling": str,
        }
    ),
    "neutral.json": [Entries({"pool": [int], "least_way": int | float}, {"firsts": [int], "made_from": Entries(others=str)})],
    "run.json": Entries(
        {"data": str, "name": str, "seed": int},
        {
            "variant": str,
            "kind": str,
            "dependent": str,
            "decides": TEXT,
            "typed": ([str], NoneType),
            "digests": Entries(others=str),
        },
    ),
    "stopped.json": STOPPED,
    "summary.json": SUMMARY,
    "timing.json": Entries(
        known={
            "wandb_id": TEXT,
            "base": Entries(known={"wandb_id": TEXT}),
            "commits": Entries(others=TEXT),
            "environment": Entries(others=TEXT),
            "seconds": Entries(others=int | float),
            "processes": Entries(others=int),
            "peak_memory": Entries(others=int | float),
            "did_not_fit": NUMBERS,
            "seconds_a_text": Entries(others=int | float),
        }
    ),
    "trial.json": Entries({"sha256": str}),
}
"""The expected form of each JSON file in a run folder, by the name of the file."""
