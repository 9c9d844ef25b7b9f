"""The page of what was measured: docs/results/deciding.md, made of the tables beside it."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml

from attest.core.measures.numbers import percent
from attest.experiments.verdict import share_of
from attest.report.answer import within
from attest.report.run_tables import markdown_table
from attest.runs.folder import write_text
from benchmarks.deciding.counted import BY, Error, answered, crossed, false
from benchmarks.deciding.looks import CANNOT_TELL, IN_PART, NO, YES, interval

PAGE = Path(__file__).parents[2] / "docs" / "results" / "deciding.md"
TABLES = PAGE.with_suffix("")
FROZEN = "2026-11-27"
STATED = Path(__file__).parents[2] / "configs" / "judges" / "deciding.yaml"
OTHERS_STATED = STATED.with_name("deciding-others.yaml")
OTHERS = {
    "short": ("Short texts", "texts have 12 to 16 words"),
    "long": ("Texts of 100 to 200 words", "texts have 100 to 200 words"),
    "uneven": ("Few texts of one label", "one text in ten has one of the two labels"),
    "shortcut": (
        "Networks that learned a shortcut",
        "texts have a word that goes along with the label, behind the words of the rule",
    ),
}
"""The title of each kind of other texts, and what they are."""
SECOND = {f"second-{low}": f"{low} to {high} words" for low, high in ((16, 20), (24, 36), (40, 56), (60, 80))}
"""The second sample, by the length of texts."""
AGAIN = (
    "A first run of it was thrown away: all texts of the rare label came first, so that 3 of 13 networks got a false yes from "
    "texts that were not like the rest. They stand among the others at random now, and nothing else was changed. "
)
SHORTCUT = (
    "A network has learned the shortcut if it follows that word in 98 % of the texts in which the word was drawn at random; "
    "the truth tries the subsets of the rule's words and of that word. A guide to the truth pulls attention to the words of "
    "the rule alone, as somebody's marked words would. "
)
FALSE_NO = (
    "The false no is a CNN under sparsemax and the rule majority. It was looked into on 2026-11-29, after the run: in all 19 "
    "texts of its first two looks that the measure calls wrong and the truth calls right, attention's first word is the "
    "outvoted word, which speaks against the decision. The definition calls that wrong, and the truth as it was stated does "
    "not ask for which side a word speaks (see above)."
)
AS_SHORT = "blocks, asked as short texts"
"""The search by blocks of ``whole``, in which a word that matters must move the model as far as in short texts."""
TRUTHS = [YES, IN_PART, NO]
AGREE, SAME = 0.97, 0.90
"""The goals on planted rationales."""
DRAWS = 2000
"""How often mechanisms are drawn again for an interval."""
SETTING = ["kind", "projection", "rule", "seed", "guide"]


def kept(name: str, rows: pd.DataFrame) -> None:
    """Keep a table, and write the page again."""
    TABLES.mkdir(parents=True, exist_ok=True)
    rows.round(4).to_csv(TABLES / f"{name}.csv", index=False, lineterminator="\n")
    write()


def write() -> None:
    """Write the page from the tables that are there."""
    parts = [
        "# What decides, held against known truth",
        "[What decides in a text](../deciding.md) says what is measured. Each line below compares the "
        "measure with a truth that "
        f"it does not use. The definition was frozen on {FROZEN}. One rule was changed on 2026-11-28, after uniform attention "
        "on film reviews had been called right in 31 % of the texts: words that tie in great number must each say something "
        "alone. "
        "Mechanisms, planted and long texts were measured again after it. Of the trained networks 60 were drawn and measured "
        "again: the share and the answer of none changed. The other tables are from before it. Two more things were changed "
        "on that day, and do not touch the other tables: long texts get neutral words that leave the model undecided, and two "
        "sets of neutral words that give different shares get the answer that both allow.",
    ]
    for name, said in (
        ("mechanisms", _mechanisms),
        ("trained", _trained),
        ("trained-second-16", _second),
        *((f"trained-{texts}", partial(_on_other_texts, texts)) for texts in OTHERS),
        ("trained", _together),
        ("planted", _planted),
        ("marked", _marked),
        ("long", _long),
        ("whole", _whole),
        ("whole-trials", _whole_trials),
        ("constructed", _constructed),
        ("noise", _noise),
    ):
        if (path := TABLES / f"{name}.csv").is_file():
            parts += said(pd.read_csv(path))
    write_text(PAGE, "\n\n".join(parts) + "\n")


def _noise(rows: pd.DataFrame) -> list[str]:
    table = [("run", "explanation", "repeated with", "times", "shares", "standard deviation", "by chance", "intervals hold")]
    for (run, asked, name), part in rows.groupby(["run", "asked", "explanation"], sort=False):
        mean = part.value.mean()
        chance = np.sqrt(mean * (1 - mean) / part.texts.mean())
        held = ((part.low <= mean) & (mean <= part.high)).sum()
        table.append(
            (
                str(run),
                str(name),
                "other pools and fillings" if asked == "same" else "other texts as well",
                f"{len(part)}",
                f"{percent(part.value.min())} to {percent(part.value.max())}",
                f"{100 * part.value.std():.1f} points",
                f"{100 * chance:.1f} points",
                f"{held} of {len(part)}",
            )
        )
    return [
        "## Whole measurements, repeated",
        "Each repetition takes other training texts for its two pools of neutral words, and other fillings (`python -m "
        f"benchmarks.deciding.noise <run folder>`); {rows.texts.max()} texts each. *By chance* is the standard deviation of a "
        "share of texts that are drawn at random. *Intervals hold*: how many contain the mean of all repetitions; each is "
        "made to hold with 98.75 %.",
        markdown_table(table),
    ]


def _mechanisms(rows: pd.DataFrame) -> list[str]:
    shown = rows.assign(
        side=rows.looked_at.map({True: "looked at", False: "held out"}),
        right=rows.right.map("{:.2f}".format),
        measured=rows.measured.map("{:.2f}".format),
        agree=rows.agree.map("{:.2f}".format),
    ).replace("nan", "")
    columns = ["mechanism", "side", "explanation", "texts", "right", "measured", "agree"]
    table = [tuple(columns), *shown[columns].astype(str).itertuples(index=False, name=None)]
    sides = []
    for side, part in rows.dropna(subset="agree").groupby("looked_at"):
        share = (part.agree * part.texts).sum() / part.texts.sum()
        sides.append(f"{percent(share, 1)} of {part.texts.sum():,} pairs of a text and an explanation "
                     f"{'on mechanisms that were looked at' if side else 'on mechanisms that were held out'}")  # fmt: skip
    return [
        "## Mechanisms in code",
        f"The rule and the measure agree in {' and '.join(reversed(sides))} (`python -m benchmarks.deciding`). *Right* and "
        "*measured* are shares of the texts that need words. Held out were mechanisms whose names hash to an odd number. "
        "After they had been tried, one thing was changed: a set that four fillings call deciding is read under twelve more, "
        "because *place* showed that four can be lucky. What is left there is a limit: where a place decides and not a word, "
        "the fillings carry evidence themselves.",
        markdown_table(table),
    ]


def _trained(rows: pd.DataFrame) -> list[str]:
    stated = yaml.safe_load(STATED.read_text(encoding="utf-8"))
    learned, judged = judged_of(rows, stated)
    every = endpoints(judged, stated, bounds=True)
    strict = endpoints(judged.assign(mechanism=judged.rule + "/" + judged.guide), stated)
    families = [("all", every)] + [
        (f"{column} {name}", endpoints(part, stated))
        for column in ("kind", "guide", "projection", "rule")
        for name, part in judged.groupby(column)
    ]
    columns = ("networks", "mechanisms", "false yes", "false no", "answered", "texts", "agreement", "passes")
    table = [("family", *columns), *((name, *(found.said[column] for column in columns)) for name, found in families)]
    missed = [f"{name}: {', '.join(found.missed)}" for name, found in families if found.missed]
    said, percents = every.said, (percent(stated["is_no"]), percent(stated["is_yes"]))
    return [
        "## Trained networks",
        f"Stated on {stated['stated']} in `configs/judges/deciding.yaml` before any of them was trained: which networks, what "
        "counts, the truth, the endpoints and the goals (`python -m benchmarks.deciding.trained`; a row for each network in "
        f"`deciding/trained.csv`). {_unfinished(rows, stated)}{len(learned)} of {len(rows)} small networks learned their "
        f"rule. In {len(judged)} of these at least {stated['fewest']} texts need words in truth; they are counted, and are "
        f"of {judged.mechanism.nunique()} mechanisms: rule, architecture, projection and guide. The truth "
        "is found by trying all subsets of the rule's words with the generator's own fillers.",
        _crossed(judged),
        f"**False yes** (answered yes, true share below {percents[0]}): {said['false yes']}. **False no** (answered no, true "
        f"share of {percents[1]} or more): {said['false no']}. **Answered**: {said['answered']}. **Agreement** text by text: "
        f"{said['agreement']}. In brackets stand 95 % intervals: of errors by Clopper and Pearson over mechanisms, of which "
        "one errs if any of its networks does, and of agreement over mechanisms drawn again. Counted by rule and guide alone, "
        f"the strictest way: false yes {strict.said['false yes']}, false no {strict.said['false no']}.",
        f"{_counted_strictly(judged)} This was added after the run.",
        _missed(missed, stated),
        _sides(judged),
        markdown_table(table),
    ]


def _on_other_texts(texts: str, rows: pd.DataFrame) -> list[str]:
    stated = stated_of(texts)
    learned, judged = judged_of(rows, stated)
    every, crossed = endpoints(judged, stated), _crossed(judged)
    title, asked = OTHERS[texts]
    again = {"uneven": AGAIN, "shortcut": SHORTCUT}.get(texts, "")
    unfinished = ""
    if len(learned) < stated["least"]:
        ended = len(rows) == len(stated["seeds"]) * _mechanisms_of(stated)
        why = "All networks were trained, and fewer have learned than were asked for" if ended else "This run has not ended"
        unfinished = f"**{why}**: {len(learned)} of {stated['least']}. "
    return [
        f"### {title}",
        f"The same on other networks, of which {asked}; stated on {stated['stated']} in `configs/judges/deciding-others.yaml` "
        f"before any of them was trained (`python -m benchmarks.deciding.trained --texts {texts}`). {again}{unfinished}"
        f"{len(learned)} of {len(rows)} networks learned their rule; {len(judged)} have a truth. **False yes**: "
        f"{every.said['false yes']}. **False no**: {every.said['false no']}. **Answered**: {every.said['answered']}. "
        f"**Agreement** text by text: {every.said['agreement']}. The median of passes for a text and one explanation is "
        f"{every.said['passes']}. {'**Missed**: ' + '; '.join(every.missed) + '.' if every.missed else ''}".rstrip(),
        crossed,
        _counted_strictly(judged),
        *([FALSE_NO] if texts == "long" else []),
    ]


def stated_of(texts: str) -> dict[str, Any]:
    """Return what is stated about networks on other texts."""
    others = yaml.safe_load(OTHERS_STATED.read_text(encoding="utf-8"))
    known: dict[str, Any] = yaml.safe_load(STATED.read_text(encoding="utf-8"))
    return known | {"stated": others["stated"]} | others["every"] | others["texts"][texts]


def _second(_: pd.DataFrame) -> list[str]:
    stated = stated_of("second-16")
    tables = {texts: pd.read_csv(path) for texts in SECOND if (path := TABLES / f"trained-{texts}.csv").is_file()}
    number = sum(map(len, tables.values()))
    judged = pd.concat([_of_texts(judged_of(rows, stated)[1], texts) for texts, rows in tables.items()])
    every = endpoints(judged, stated, bounds=True)
    strict = endpoints(_by_rule_and_guide(judged), stated).said
    families = [("all", every)]
    for column in ("texts_are", "kind", "guide", "projection", "rule"):
        families += [
            (SECOND.get(str(name), f"{column} {name}"), endpoints(part, stated)) for name, part in judged.groupby(column)
        ]
    missed = [f"{name}: {', '.join(found.missed)}" for name, found in families if found.missed]
    columns = ("networks", "mechanisms", "false yes", "false no", "answered", "texts", "agreement", "passes")
    said = every.said
    unfinished = "" if number == len(SECOND) * stated["least"] else f"**This run has not ended**: {number} networks. "
    return [
        "### A second sample",
        f"The first sample has too few networks whose truth is no, so a second one was stated on {stated['stated']} in "
        "`configs/judges/deciding-others.yaml` before any of its networks was trained: texts of four lengths, and half of "
        "the networks guided to a decoy (`python -m benchmarks.deciding.trained --texts second-16`, `second-24`, "
        f"`second-40`, `second-60`). {unfinished}{said['networks']} of {number} networks learned their rule and have a truth, "
        f"of {said['mechanisms']} mechanisms. **False yes**: {said['false yes']}. **False no**: {said['false no']}. "
        f"**Answered**: {said['answered']}. **Agreement** text by text: {said['agreement']}. Counted by rule, guide and "
        f"length alone: false yes {strict['false yes']}, false no {strict['false no']}.",
        _missed(missed, stated),
        _crossed(judged),
        _counted_strictly(judged),
        markdown_table([("family", *columns), *((name, *(found.said[each] for each in columns)) for name, found in families)]),
    ]


def _together(rows: pd.DataFrame) -> list[str]:
    """Return the errors of all samples of trained networks together; nothing where there is only one."""
    stated = yaml.safe_load(STATED.read_text(encoding="utf-8"))
    tables = {name: TABLES / f"trained-{name}.csv" for name in (*SECOND, *OTHERS)}
    samples = {"": rows} | {name: pd.read_csv(path) for name, path in tables.items() if path.is_file()}
    judged = pd.concat([_of_texts(judged_of(each, stated)[1], name) for name, each in samples.items()])
    said, strict = endpoints(judged, stated).said, endpoints(_by_rule_and_guide(judged), stated).said
    return [] if len(samples) == 1 else [
        "### All trained networks together",
        f"This was not stated beforehand; a mechanism counts once for each kind of texts. {said['networks']} networks of "
        f"{said['mechanisms']} mechanisms. **False yes**: {said['false yes']}. **False no**: {said['false no']}. "
        f"**Answered**: {said['answered']}. **Agreement** text by text: {said['agreement']}. Counted by rule, guide and kind "
        f"of texts alone: false yes {strict['false yes']}, false no {strict['false no']}.",
    ]  # fmt: skip


def _by_rule_and_guide(judged: pd.DataFrame) -> pd.DataFrame:
    """Return networks whose mechanism is their rule, guide and kind of texts alone, the strictest way to count."""
    return judged.assign(mechanism=judged.rule + "/" + judged.guide + "/" + judged.texts_are)


def _of_texts(judged: pd.DataFrame, texts: str) -> pd.DataFrame:
    return judged.assign(mechanism=judged.mechanism + "/" + texts, texts_are=texts)


def _crossed(judged: pd.DataFrame) -> str:
    """Return how often each answer was wrong, and a table of how often it was given to each truth."""
    counts = pd.crosstab(judged.true, judged.answer).reindex(index=TRUTHS, columns=[*TRUTHS, CANNOT_TELL], fill_value=0)
    given = {answer: int(counts[answer].sum()) for answer in TRUTHS}
    wrong = [f"“{answer}” in {given[answer] - counts.loc[answer, answer]} of {given[answer]}" for answer in TRUTHS]
    table = markdown_table(
        [("truth", *counts.columns), *((str(name), *map(str, values)) for name, *values in counts.itertuples())]
    )
    return f"The columns are answers. They were wrong: {', '.join(wrong)}.\n\n{table}"


def _unfinished(rows: pd.DataFrame, stated: Mapping[str, Any]) -> str:
    """Return a sentence if the run has not ended, whose networks are trained in a random order."""
    least = _mechanisms_of(stated) * (len(stated["seeds"]) - 1)
    if len(rows) >= least:
        return ""
    return f"**This run has not ended**: {len(rows)} of {least} networks are done, in the random order that is stated. "


def _mechanisms_of(stated: Mapping[str, Any]) -> int:
    free, guided = len(stated["free"]), len(stated["guided"]) * len(stated["guides"])
    return len(stated["rules"]) * len(stated["projections"]) * (free + guided)


def _sides(judged: pd.DataFrame) -> str:
    """Return how often the two disagree in each way, and what was found when that was looked into."""
    right, wrong = int(judged.false_right.sum()), int(judged.false_wrong.sum())
    majority = int(judged[judged.rule == "majority"].false_wrong.sum())
    return (
        f"Where they disagree, the measure says right {right} times and wrong {wrong} times, {majority} of these under the "
        "rule majority. Looked into on 2026-11-27, after the run had begun, in one network (cnn, sparsemax, majority, guided "
        "to the truth, seed 100): in the texts that they judge differently most attention lies on the outvoted word, which "
        "speaks against the decision. The definition calls that wrong; the truth as it was stated does not ask for which side "
        "a word speaks. It was left as it was stated."
    )


def _missed(missed: list[str], stated: Mapping[str, Any]) -> str:
    goals = stated["goals"]
    said = (
        f"The goals were: at most {percent(goals['errors'])} false yes and false no, upper bounds of at most "
        f"{percent(goals['bound'])} over all networks, at least {percent(goals['answered'])} answered, and at least "
        f"{percent(goals['agreement'])} agreement, for every family apart as well."
    )
    wide = "A family alone has too few mechanisms for such a bound, so that its bounds are told and not judged."
    return f"{said} {'**Missed**: ' + '; '.join(missed) + '.' if missed else 'All were reached.'} {wide}"


class Endpoints(NamedTuple):
    """What is told of some networks, and which goals they miss."""

    said: dict[str, str]
    missed: list[str]


def judged_of(rows: pd.DataFrame, stated: Mapping[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the networks that learned their rule, and those of them that have a truth, with ``true`` and ``mechanism``."""
    learned = rows[rows.accuracy >= stated["learned"]]
    judged = learned[learned.true_texts >= stated["fewest"]]
    true = np.select([judged.truth >= stated["is_yes"], judged.truth < stated["is_no"]], [YES, NO], IN_PART)
    mechanism = judged[["rule", "kind", "projection", "guide"]].agg("/".join, axis=1)
    return learned, judged.assign(true=true, mechanism=mechanism)


def _counted_strictly(judged: pd.DataFrame) -> str:
    said = []
    for answer in (YES, NO):
        others = judged[judged.true != answer]
        wrong = int((others.answer == answer).sum())
        share = percent(wrong / max(1, len(others)), 1)
        said.append(f"{wrong} of {len(others)} networks whose truth is not {answer} are answered {answer} ({share})")
    return (
        "These endpoints leave out the answers that are wrong by one step, such as a yes where the truth is in part. Counted "
        f"with them, {' and '.join(said)}; the table above has all of them."
    )


def endpoints(judged: pd.DataFrame, stated: Mapping[str, Any], bounds: bool = False) -> Endpoints:
    """Return the endpoints of some networks: shares, with bounds over the mechanisms, and the goals that they miss.

    Args:
        bounds: whether upper bounds are judged, too; families have too few mechanisms.
    """
    goals, missed, said = stated["goals"], [], {}
    for name, answer, truth in (("false yes", YES, NO), ("false no", NO, YES)):
        part = judged[judged.true == truth]
        wrong = part.answer == answer
        by_mechanism = wrong.groupby(part.mechanism).any()
        _, high = interval(int(by_mechanism.sum()), len(by_mechanism), 0.05)
        told = f"({int(wrong.sum())} of {len(part)} networks, {len(by_mechanism)} mechanisms, upper bound {percent(high, 1)})"
        said[name] = f"{percent(wrong.mean(), 1)} {told}" if len(part) else f"no network with the truth {truth}"
        if len(part) and wrong.mean() > goals["errors"]:
            missed.append(f"{name} {percent(wrong.mean(), 1)}")
        if bounds and high > goals["bound"]:
            missed.append(f"upper bound of {name} {percent(high, 1)}")
    answered = float((judged.answer != CANNOT_TELL).mean())
    agreed = judged.assign(agreed=judged.both - judged.false_right - judged.false_wrong)
    sums = agreed.groupby("mechanism")[["agreed", "both"]].sum().to_numpy()
    share = sums[:, 0].sum() / max(1, sums[:, 1].sum())
    drawn = sums[np.random.default_rng(0).integers(len(sums), size=(DRAWS, len(sums)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1].clip(min=1), [0.025, 0.975])
    said |= {
        "networks": str(len(judged)),
        "mechanisms": str(judged.mechanism.nunique()),
        "answered": percent(answered, 1),
        "texts": f"{int(judged.both.sum()):,}",
        "agreement": f"{percent(share, 1)} [{percent(low, 1)}, {percent(high, 1)}]",
        "passes": f"{judged.passes.median():.0f}",
    }
    for name, value in (("answered", answered), ("agreement", float(share))):
        if value < goals[name]:
            missed.append(f"{name} {percent(value, 1)}")
    return Endpoints(said, missed)


class _ByLength(NamedTuple):
    """What is told of planted texts of several lengths."""

    obeyed: int
    agree: str
    same: str
    missed: str
    table: str


def _by_length(rows: pd.DataFrame) -> _ByLength:
    obeyed = int(rows.obeyed.sum())
    agree, same = (_of_all(round((rows[name] * rows.obeyed).sum()), obeyed) for name in ("agree", "set"))
    table = [tuple(rows.columns), *rows.round(2).fillna("").astype(str).itertuples(index=False, name=None)]
    missed = [f"{name} at {words} words ({percent(value)})" for name, goal in (("agree", AGREE), ("set", SAME))
              for words, value in zip(rows.words, rows[name], strict=True) if value < goal]  # fmt: skip
    told = f"**Missed**: {'; '.join(missed)}." if missed else "All were reached."
    return _ByLength(obeyed, agree, same, told, markdown_table(table))


def _of_all(count: int, of: int) -> str:
    low, high = interval(count, of, 0.05)
    return f"{percent(count / of, 1)} [{percent(low, 1)}, {percent(high, 1)}]"


def _planted(rows: pd.DataFrame) -> list[str]:
    found = _by_length(rows)
    return [
        "## Planted rationales by length",
        "The run of `make train` on planted texts of other lengths (`python -m benchmarks.deciding.planted <run>`). A "
        "rationale is the truth of the data; it is the model's only in texts that the model obeys: it decides as the label "
        "says, and no word outside the rationale moves the prediction by 0.05 when it alone is exchanged. In these "
        f"{found.obeyed} texts attention is judged as by the rationale in {found.agree} (*agree*), and the set that is shown "
        f"is the rationale in {found.same} (*set*). The goals were {percent(AGREE)} and {percent(SAME)} at every length. "
        f"{found.missed} *Foreign* are the most frequent words of the sets that the rationale does not hold: among neutral "
        "words the model needs them, in the whole text it does not. *Singles*, *search* and *pointing* are passes a text.",
        found.table,
    ]


def _marked(rows: pd.DataFrame) -> list[str]:
    found = _by_length(rows)
    return [
        "### A network that has learned from the rationales alone",
        "A network that is trained on whole reviews learns more than their rule, such as that *is* comes before an opinion. "
        "So the same network was trained once more on reviews in which words by chance stand in the place of all words that "
        "are not marked (`benchmarks/deciding/marked.py` has the commands). The texts that it is asked about are whole. In "
        f"{found.obeyed} texts that it obeys, attention is judged as by the rationale in {found.agree}, and the set that is "
        f"shown is the rationale in {found.same}. {found.missed} One expects this if what is missed above lies with what that "
        "network has learned, and not with the measure. This network has a default class: texts of one label need no words.",
        found.table,
    ]


def _constructed(rows: pd.DataFrame) -> list[str]:
    answers = answered(rows)
    groups = {"all": answers, **dict(iter(answers.groupby("kind", sort=False)))}
    asked = [(answer, by) for by in BY for answer in (YES, NO)]
    table = [("networks", "number", "mechanisms", *(f"false {answer}, {by}" for answer, by in asked))]
    for name, some in groups.items():
        errors = [_counted(false(answer, some, by)) for answer, by in asked]
        table.append((name, str(len(some)), str(some.mechanism.nunique()), *errors))
    both, agree, false_right = (int(rows[name].sum()) for name in ("both", "agree", "false_right"))
    return [
        "## Networks with hand-set parameters",
        f"{rows.refused.isna().sum():,} of {len(rows):,} networks count (`python -m benchmarks.deciding.constructed`). A "
        "mechanism is a place where the decision is written and a place where attention looks "
        "(configs/judges/population.yaml). Nothing was chosen on these networks. The truth is found as for trained networks; "
        "where attention is inside layers, rollout is asked. Text by text the two agree in "
        f"{percent(agree / both, 2)} of {both:,} texts that both say need words; {false_right:,} are called right and are "
        "not.",
        "*False yes*: of the networks whose truth is not yes (90 % of texts or more), those that are answered yes. *False "
        "no*: of the networks whose truth is not no (fewer than half), those that are answered no. *Measured* answers by the "
        "measured share alone, the *verdict* as a report does after these texts. Intervals hold with 95 %, over mechanisms.",
        "The truth uses the same bounds as the measure (what decides, what matters, what ties). So this counts errors of the "
        "search and of neutral words, and says nothing about the definition itself. The texts in which the two differ were "
        "looked at on 2026-11-27, after the count. Either a word that speaks against the decision has more weight than the "
        "word that decides; the truth does not ask for this. Or attention depends on a word outside of the rule, which so "
        "moves the prediction; the truth tries words of the rule alone.",
        markdown_table(table),
        markdown_table(crossed(answers)),
        "Networks that do not count: " + "; ".join(f"{why}, {count:,}" for why, count in rows.refused.value_counts().items()),
    ]


def _counted(error: Error) -> str:
    return f"{error.wrong} of {error.networks} [{percent(error.low, 1)}, {percent(error.high, 1)}]"


def _whole_trials(rows: pd.DataFrame) -> list[str]:
    said, _, table = _both_ways(rows)
    right = rows[(rows.explanation == "rollout") & rows.needs].pivot_table(index="id", columns="way", values="right")
    same = share_of(right["words"].eq(right[AS_SHORT]).astype(float))
    return [
        "The same of a fine-tuned MiniLM (`python -m benchmarks.deciding.whole <model> --data imdb`): whole trials with "
        f"the same neutral words, by blocks and by single words. {said} *Passes* are those of a trial, as a mean over texts. "
        "The goal was the same answer in 95 % of the texts, and for rollout it is missed. The reason is not the search but "
        "the rule that in a long text a smaller move matters, which holds for blocks alone: where both are asked for the move "
        f"of short texts, they give the same answer in {within(same) if same else ''} of {same.texts if same else 0} texts.",
        table,
    ]


def _whole(rows: pd.DataFrame) -> list[str]:
    said, sizes, table = _both_ways(rows)
    return [
        "### Blocks and single words",
        "Test texts of a corpus are searched by blocks and, under the same fillings, by single words "
        "(`python -m benchmarks.deciding.whole <run folder>`). In brackets stand 98.75 % intervals, passes are medians. Both "
        f"searches begin with the same neutral words. {said} The median set has {sizes}.",
        table,
    ]


def _both_ways(rows: pd.DataFrame) -> tuple[str, str, str]:
    """Return how often both ways say the same about needing words, the sizes of their sets, and the table of both."""
    keys = ["run", "id", "explanation"]
    both = rows[rows.way == "blocks"].merge(rows[rows.way == "words"], on=keys, suffixes=("", "_words"))
    same_need, count = percent(float(both.needs.eq(both.needs_words).mean()), 1), both.id.nunique()
    both = both[both.needs & both.needs_words]
    titles = ("run", "explanation", "texts", "words in them", "same answer", "right", "right by single words", "passes")
    table = [(*titles, "passes by single words")]
    for (run, name), part in both.groupby(["run", "explanation"]):
        right, whole = part.right.astype(float), part.right_words.astype(float)
        shares = [share_of(each) for each in (right.eq(whole).astype(float), right, whole)]
        shown = ("" if each is None else within(each) for each in shares)
        passes = (f"{each.median():,.0f}" for each in (part.passes, part.passes_words))
        table.append((run, name, f"{len(part)}", f"{part.of.min()} to {part.of.max()}", *shown, *passes))
    sizes = (f"{each.median():.0f}" for each in (both.words, both.words_words))
    said = f"They say the same about whether a text needs words in {same_need} of {count} texts."
    return said, f"{' words by blocks and '.join(sizes)} by single words", markdown_table(table)


def _long(rows: pd.DataFrame) -> list[str]:
    rows = rows.assign(search=rows.groupby(["length", "mechanism"]).search.transform("first"))
    known = rows.dropna(subset="agree")
    every = known.assign(all=known.singles + known.search + known.passes)
    table = [("words", "pairs", "agree", "needs", "median passes", "worst")]
    for words, part in every.groupby("length"):
        shares = (part.agree * part.texts).groupby(part.mechanism).sum() / part.texts.groupby(part.mechanism).sum()
        low = "; ".join(f"{name} {share:.2f}" for name, share in shares.sort_values().items() if share < AGREE)
        agree, needs = (part.agree * part.texts).sum() / part.texts.sum(), part.needs.mean()
        table.append(
            (f"{words}", f"{part.texts.sum():,}", percent(agree, 1), percent(needs, 1), f"{part['all'].median():.0f}", low)
        )
    return [
        "## Long texts",
        "The same mechanisms in longer texts, which are searched by blocks of words (`python -m benchmarks.deciding.long`). "
        "*Agree* is the share of pairs of a text and an explanation in which rule and measure say the same, *needs* the share "
        "of texts of which both say the same about whether they need words, *worst* the mechanisms in which fewer than "
        f"{percent(AGREE)} agree. Where many words say the same, some of them are taken for neutral, because the loss of one "
        "moves nothing; in a long text each filling then holds evidence. Passes are those for one explanation.",
        markdown_table(table),
    ]
