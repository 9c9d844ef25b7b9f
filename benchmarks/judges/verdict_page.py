"""The page of the verdict's errors: how often its answers are wrong on networks whose truth is known."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attest.experiments.verdict import CANNOT_TELL, IN_PART, NO, YES
from attest.report.run_tables import markdown_table
from attest.runs.folder import write_text

LIMITS = (
    "The networks are small. Constructed ones are set by hand; the trained ones learned two rules on short texts.",
    "A mechanism that nobody has thought of may mislead the rule more than these do. The rows of strangers say by how much.",
    "Networks of one mechanism resemble one another, so that intervals count mechanisms and are wide.",
    "Which tokens decide is known of these networks. Of a model of natural language it is what their replacement would show.",
    "The lower part of constructed Transformers and decoders reads a text in both directions.",
)
WHERE = {"pooled": "attention that pools", "inside": "attention inside layers"}
SIDES = {"fresh": "never tried before", "error": "tried once before, with an earlier rule"}


def write_page(folder: Path, made: Mapping[str, Any], strangers: Mapping[str, Any], left_out: Mapping[str, int]) -> str:
    """Write the page into a folder as ``verdict.md``, and return its first sentences.

    Args:
        strangers: the errors of rules made without a group of networks, by the column of the groups.
    """
    words = " ".join([*(_short(about, made) for about in ("tokens", "states")), *_of_trained(made)])
    goals = made["endpoints"]
    parts = [
        "# The verdict and its errors",
        words,
        f"{made['stamp']} Goals: of networks whose truth is not yes at most {goals['false_yes']:.0%} answered yes; of those "
        f"whose truth is not no at most {goals['false_no']:.0%} answered no; at least {goals['answered']:.0%} answered at "
        "all. Intervals are of 95 %. Made by: python -m benchmarks.judges verdict",
    ]
    for about in ("tokens", "states"):
        for side, what in SIDES.items():
            groups = made["errors"][about].get(side, {})
            parts += [
                f"## About {about}: mechanisms {what}",
                markdown_table([HEAD, *(_row(*each) for each in groups.items())]),
            ]
    rows = [[f"without its {by}", *_row(by, found)[1:]] for by, found in strangers.items()]
    parts += [
        "## As a stranger's network",
        "The rule about tokens is made again without a group of constructed networks, and tried on that group alone; a row "
        "counts all groups.",
        markdown_table([HEAD, *rows]),
        "## The rules",
        "The chance that attention points at what decides in a text is logistic in these numbers. The estimate of a model is "
        "the mean over its texts; an answer is given where one alone is compatible with it.",
        markdown_table([["about", "experiments", "rule", "yes from", "in part", "no up to"], *_rules(made["rules"])]),
        "## Networks that do not count",
        markdown_table([["networks", "reason"], *([str(count), reason] for reason, count in left_out.items())]),
        "## Limits",
        "\n".join(f"* {limit}" for limit in LIMITS),
    ]
    write_text(folder / "verdict.md", "\n\n".join(parts) + "\n")
    return words


HEAD = ["networks of", "networks", "mechanisms", "false yes", "false no", "answered", "truth yes: y/p/n/–", "in part", "no"]


def _row(name: str, found: Mapping[str, Any]) -> list[str]:
    answers = [
        "/".join(str(found["answers"][truth][said]) for said in (YES, IN_PART, NO, CANNOT_TELL))
        for truth in (YES, IN_PART, NO)
    ]
    rates = [_rate(found[name]) for name in ("false_yes", "false_no", "answered")]
    return [name, str(found["networks"]), str(found["mechanisms"]), *rates, *answers]


def _rate(found: list[float] | None) -> str:
    return "–" if found is None else f"{found[0]:.1%} [{found[1]:.0%}, {found[2]:.0%}]"


def _short(about: str, made: Mapping[str, Any]) -> str:
    found = made["errors"][about]["fresh"]["all"]
    goals = made["endpoints"]
    met = [name.replace("_", " ") for name, goal in goals.items() if _meets(name, found[name], goal)]
    missed = [name.replace("_", " ") for name, goal in goals.items() if not _meets(name, found[name], goal)]
    said = (
        f"About {about}, on {found['networks']} networks of {found['mechanisms']} mechanisms that the rule had never seen: "
        f"false yes {_rate(found['false_yes'])}, false no {_rate(found['false_no'])}, answered {_rate(found['answered'])}."
    )
    told = f" Goals met: {', '.join(met) or 'none'}; missed: {', '.join(missed) or 'none'}."
    given = " and ".join(
        f"{', '.join(answers) or 'nothing'} of {WHERE[family]}" for family, answers in made["said"][about].items()
    )
    return f"{said}{told} Answers that met their goal and are given: {given}."


def _of_trained(made: Mapping[str, Any]) -> list[str]:
    """Return a sentence on the trained networks, whose mechanisms were tried once before; none if there are none."""
    found = made["errors"]["tokens"]["error"].get("trained")
    if found is None:
        return []
    goals = made["endpoints"]
    missed = [name.replace("_", " ") for name, goal in goals.items() if not _meets(name, found[name], goal)]
    return [
        f"About tokens, on {found['networks']} trained networks of {found['mechanisms']} mechanisms: false yes "
        f"{_rate(found['false_yes'])}, false no {_rate(found['false_no'])}, answered {_rate(found['answered'])}. Goals "
        f"missed: {', '.join(missed) or 'none'}. Intervals this wide settle little: how often the verdict errs on trained "
        "networks is not known yet."
    ]


def _meets(name: str, rate: list[float] | None, goal: float) -> bool:
    return rate is not None and (rate[0] >= goal if name == "answered" else rate[0] <= goal)


def _rules(rules: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for of, each in rules.items():
        for names, rule in each.items():
            terms = [
                f"{weight:+.2f} {key} ({undefined:+.2f} if undefined)" for key, (weight, undefined) in rule["weights"].items()
            ]
            limits = rule["limits"]
            part = f"{limits['part_low']:.2f} to {limits['part_high']:.2f}"
            said = f"{rule['intercept']:.2f} {' '.join(terms)}"
            rows.append([of, names, said, f"{limits['yes_low']:.2f}", part, f"{limits['no_high']:.2f}"])
    return rows
