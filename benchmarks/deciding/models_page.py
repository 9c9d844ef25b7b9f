"""The page docs/results/verdicts.md: what the old rule and the measured verdict say about the same models."""

from typing import Any

from attest.core.measures.numbers import percent
from attest.experiments.readings.compared import title_of
from attest.experiments.verdict import CANNOT_TELL, IN_PART, NO, NOT_LEARNED, YES, Share
from attest.report.answer import within
from attest.report.run_tables import markdown_table

VERSIONS = ("new", "old")
ACCURACY = "test/accuracy"
FLAT = "SST BiLSTM uniform"
ANSWERED = (YES, IN_PART, NO, CANNOT_TELL, "no answer")


def page(kept: dict[str, Any], asked: dict[str, Any]) -> str:
    """Return the page of the outcomes that were kept.

    Args:
        kept: by model and version, the exit code, the seconds and the summary.
        asked: what was stated.
    """
    done = [model for model in asked["models"] if {*VERSIONS} <= {*kept.get(model["name"], {})}]
    left = [model["name"] for model in asked["models"] if model not in done]
    rows: list[tuple[str, ...]] = [
        ("model", "accuracy", "the old rule said", "what is measured", "random order", "best other reading")
    ]
    rows += [_row(model["name"], kept[model["name"]]) for model in done]
    minutes = sum(each["seconds"] for found in kept.values() for each in found.values()) / 60
    cut = [f"{model['name']}: {model['cut']}" for model in done if "cut" in model]
    parts = [
        "# The same models, asked by the old rule and by the measured verdict",
        f"Until commit `{asked['old']}` a rule that had been fitted on networks with a known mechanism made the verdict from "
        "means of experiments. Now [the verdict](../verdict.md) is measured, text by text. Each line is one command, typed "
        f"in both versions of the code. The list of {len(asked['models'])} models was written on {asked['stated']}, before "
        f"any was run (`benchmarks/deciding/models.yaml`); {len(done)} were run. {_same(done, kept)}",
        _learned(done, kept),
        markdown_table(rows),
        "*Measured*: the answer, then the share of the texts that need words in which attention (of Transformers: rollout) "
        "points at the words that decide, its interval, and the number of these texts of those read. *Random order* and *best "
        "other reading* are shares of the same texts; **bold** is a reading that the verdict names to be read instead.",
        f"Most trainings are short, so that accuracies are lower than in [Models](models.md). All took {minutes:.0f} minutes "
        f"on one core. {_list('Cut so that one command takes at most 6 minutes', cut)}"
        f"{_list('Left out, as the last of the list, because the time had ended', left)}".rstrip(),
        "```\npython -m benchmarks.deciding.weights --minilm <folder> --out <weights>\n"
        f"python -m benchmarks.deciding.models run --old <clone at {asked['old']}> --runs <folder> --weights <weights>\n"
        "python -m benchmarks.deciding.models page\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _same(done: list[dict[str, str]], kept: dict[str, Any]) -> str:
    """Return how many models have the same accuracy in both versions, each of which trains or reads them itself."""
    both = [[found["summary"].get(ACCURACY) for found in kept[model["name"]].values()] for model in done]
    same = sum(len({*each}) == 1 for each in both)
    return f"In {same} of them both versions give the same accuracy, so that both were asked about the same model."


def _list(said: str, names: list[str]) -> str:
    return f"{said}: {'; '.join(names)}. " if names else ""


def answer_in(found: dict[str, Any]) -> str:
    """Return the answer about words that a command gave, or why there is none."""
    if not found["summary"]:
        return "stopped after 6 minutes" if found["code"] is None else f"exit code {found['code']}"
    answer = found["summary"].get("verdict", {}).get("tokens", {}).get("answer", NOT_LEARNED)
    return "no answer" if answer == NOT_LEARNED else str(answer)


def _row(name: str, found: dict[str, Any]) -> tuple[str, ...]:
    summary = found["new"]["summary"]
    measured = summary.get("verdict", {}).get("tokens", {})
    others = {
        key.split("/")[1].removeprefix("right_"): value for key, value in summary.items() if key.startswith("E19/right_")
    }
    random = others.pop("random", None)
    best = max(others, key=lambda each: others[each], default=None)
    told = answer_in(found["new"])
    if measured.get("share") is not None:
        told += f": {within(Share(measured['share'], measured['low'], measured['high'], measured['texts']))} of "
        told += f"{measured['texts']} of {measured['read']}"
    reading = "" if best is None else f"{title_of(best)} {percent(others[best])}"
    named = best is not None and best == (measured.get("instead") or {}).get("reading")
    accuracy = percent(summary[ACCURACY]) if ACCURACY in summary else ""
    return (
        name,
        accuracy,
        answer_in(found["old"]),
        told,
        "" if random is None else percent(random),
        f"**{reading}**" if named else reading,
    )


def _learned(done: list[dict[str, str]], kept: dict[str, Any]) -> str:
    """Return a paragraph that counts how the answers of both versions go together."""
    pairs = [(answer_in(kept[model["name"]]["old"]), answer_in(kept[model["name"]]["new"])) for model in done]
    answers = [("old rule", *ANSWERED)] + [
        (old, *(str(sum(pair == (old, new) for pair in pairs)) for new in ANSWERED)) for old in ANSWERED
    ]
    settled = [sum(pair[side] in (YES, IN_PART, NO) for pair in pairs) for side in (0, 1)]
    said = (
        f"The old rule answered for {settled[0]} of {len(pairs)} models (yes, in part or no), the measure for {settled[1]}. "
        f"{_beside_chance([kept[model['name']]['new']['summary'] for model in done])}{_of_flat_attention(kept)}"
    )
    return f"{said}\n\nRows are the old answer, columns the measured one:\n\n{markdown_table(answers)}"


def _beside_chance(summaries: list[dict[str, Any]]) -> str:
    """Return in how many models attention does better or worse than a random order, and in how many another reading does."""
    told = [each["verdict"]["tokens"] for each in summaries if "verdict" in each]
    told = [each for each in told if each["share"] is not None and each["random"]]
    better, worse, instead = (
        sum(each["low"] > each["random"]["high"] for each in told),
        sum(each["high"] < each["random"]["low"] for each in told),
        sum(each["instead"] is not None for each in told),
    )
    return (
        f"Of {len(told)} models with a share, that of attention lies above that of a random order in {better}, below it in "
        f"{worse}; in the others their intervals meet. In {instead} another reading is named to be read instead. "
    )


def _of_flat_attention(kept: dict[str, Any]) -> str:
    """Return what the measure says of uniform attention on film reviews; empty if it was not asked."""
    told = kept.get(FLAT, {}).get("new", {}).get("summary", {}).get("verdict", {}).get("tokens")
    if not told or told["share"] is None:
        return ""
    return (
        f"Uniform attention ({FLAT}) is called right in {percent(told['share'])} of the texts that need words. In a first "
        "run on 2026-11-28 it was 31 %. When that had been seen, one rule was changed (words that tie in great number must "
        "each say something alone), and all models but those of the library transformers were measured again. So read a share "
        "beside that of the random order, not alone."
    )
