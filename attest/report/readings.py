"""Compare attention with the other explanations of a model (its readings), from the stored tables of a run.

The comparisons are: which reading finds the deciding tokens, which ranks the same tokens first as attention, and which one's
top tokens change the prediction more than random tokens when erased. The results are lines to draw, sentences and tables.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attest.core.measures import signed_rank, summarise, top_k_overlap
from attest.core.measures.comparison import LEVEL
from attest.core.measures.numbers import interval, number, p_value, percent
from attest.core.measures.summary import by_text
from attest.core.memory import by_rows
from attest.experiments.deciding.neutral import WITHOUT_SINK
from attest.experiments.readings.compared import SURVIVAL, column_of, title_of
from attest.experiments.readings.kinds import BASES
from attest.experiments.registry import EXPERIMENTS
from attest.experiments.verdict import share_of
from attest.report.answer import of_texts
from attest.report.collection import within
from attest.report.controls import ControlNumber
from attest.report.measured import Line, share, share_with_interval

IMPORTANCES = {"gradient_inputs": "gradient × input", "leave_one_out_inputs": "leave-one-out"}
"""The measures of token importance that are compared with attention: the keys are columns in the table of experiment E1, the
values what the page calls them."""
EMPTY = "–"


@dataclass(frozen=True)
class ReadingTable:
    """A table whose cells are strings, with a legend that explains its columns and rows."""

    header: list[str]
    rows: list[list[str]]
    legend: str


def _read_of(instances: pd.DataFrame, importances: pd.DataFrame | None) -> pd.DataFrame:
    """Return the rows of the texts that experiment E1 has tested; all rows if E1 has tested none of them."""
    if importances is None or "id" not in instances:
        return instances
    read = instances[instances["id"].isin(importances["id"])]
    return read if len(read) else instances


def _of_same_texts(instances: pd.DataFrame, importances: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the rows of E1's table for the given texts, in the same order; None if a row is missing."""
    if importances is None or "id" not in instances or not importances["id"].is_unique:
        return None
    return None if {*instances["id"]} - {*importances["id"]} else importances.set_index("id").loc[instances["id"]]


# Is the attention right, if the corpus knows which tokens decide?

RIGHT, WRONG = 0.9, 0.1
"""If a corpus marks the tokens that decide: attention counts as right in a text if these tokens get at least the first share
of it, and as wrong if they get at most the second."""
ABOUT_FIRST = "Share of texts whose first-ranked token decides the label; tokens that tie for the first rank count in part."


def truth_sentence(instances: pd.DataFrame | None, importances: pd.DataFrame | None = None) -> str | None:
    """Return a sentence on how often attention's top token is a token that decides the label; None if unknown.

    Args:
        instances: one row for each text; ``attention`` and ``rationale`` hold one value for each token.
        importances: the table of E1, whose readings are compared with attention; None if E1 did not run.
    """
    found = truth_lines(instances, importances)
    if instances is None or not found:
        return None
    (attention, *others), random = found, found[0].controls[0]
    beside = "".join(f"{line.ours} for {line.name}, " for line in others)
    part = _part(" (over the ", _read_of(instances, importances), instances)
    pairs = zip(instances["attention"], instances["rationale"], strict=True)
    mass = pd.Series([np.asarray(weights)[np.asarray(decides, dtype=bool)].sum() for weights, decides in pairs])
    average, right, wrong = map(share_with_interval, (mass, mass >= RIGHT, mass <= WRONG))
    return (
        "This corpus marks the words that decide; the verdict never uses these marks. The top token is a deciding word in "
        f"{attention.ours} of texts for attention, {beside}and {random.text} for a random token"
        f"{part and f'{part} that E1 read)'}. Deciding words get {average} of the attention in the average text, "
        f"{percent(RIGHT)} or more in {right} of texts, and {percent(WRONG)} or less in {wrong} of texts."
    )


def truth_lines(instances: pd.DataFrame | None, importances: pd.DataFrame | None = None) -> list[Line]:
    """Return table rows on how often the top token of each explanation decides the label; empty if unknown.

    Args:
        importances: as in ``truth_sentence``; its texts are found by ``id``. If E1 read only some texts, all explanations are
            compared on these texts.
    """
    if instances is None or not {"attention", "rationale"} <= {*instances.columns}:
        return []
    read = _read_of(instances, importances)
    rows = _of_same_texts(read, importances)
    rankings = {"attention": read["attention"]}
    rankings |= {} if rows is None else {name: rows[column] for column, name in IMPORTANCES.items() if column in rows}
    decides = [np.asarray(each, dtype=bool) for each in read["rationale"]]
    chance = float(np.mean([each.mean() for each in decides]))
    random = ControlNumber(f"random token{_part(', ', read, instances)}", percent(chance, 1), chance)
    lines = []
    for name, weights in rankings.items():
        hits = []  # the share of deciding tokens among the tokens with the largest weight
        for each, truth in zip(weights, decides, strict=True):
            values = np.asarray(each, dtype=float)
            known = len(values) and not np.isnan(values).any()
            hits.append(truth[values == values.max()].mean() if known else np.nan)
        lines.append(share("truth/first", name, pd.Series(hits), ABOUT_FIRST, random))
    return lines


def _part(before: str, read: pd.DataFrame, instances: pd.DataFrame) -> str:
    """Return a phrase that says how many of all texts were read; an empty text if all were read."""
    return "" if len(read) == len(instances) else f"{before}{len(read):,} of {len(instances):,} texts"


MOST = 0.5
"""The report names a token that misleads attention only if this token gets the most attention in at least this share of the
texts in which attention misses the deciding words."""
FEWEST_WRONG = 10
"""The report names a token that misleads attention only if attention misses the deciding words in at least this many texts."""


def sink_sentence(instances: pd.DataFrame | None, decided: pd.DataFrame | None, called: str = "attention") -> str | None:
    """Return a sentence on the token that attention puts first where it is wrong, and that never decides; None if none is.

    If E19 has judged the texts without this token, a second sentence says in how many attention is then right.

    Args:
        instances: one row for each text, with ``tokens``, ``attention`` and maybe ``special``.
        decided: the table of E19.
        called: the tested explanation in words.
    """
    if instances is None or decided is None or not {"tokens", "attention"} <= {*instances} or not {"right"} <= {*decided}:
        return None
    needing = decided.dropna(subset="right").set_index("id")
    rows = instances.set_index("id").loc[needing.index]
    firsts, deciding = [], set()
    for identity, row in rows.iterrows():
        weights = np.asarray(row["attention"], dtype=float)
        if "special" in row:
            weights = np.where(np.asarray(row["special"], dtype=bool), -1.0, weights)
        firsts.append(row["tokens"][int(weights.argmax())])
        deciding |= {token for token, decides in zip(row["tokens"], needing["decides"][identity], strict=True) if decides}
    wrong = [first for first, right in zip(firsts, needing["right"], strict=True) if not right]
    sinks = Counter(wrong).most_common(1)
    if len(wrong) < FEWEST_WRONG or sinks[0][1] < MOST * len(wrong) or sinks[0][0] in deciding:
        return None
    token, count = sinks[0]
    without = _without_sink(token, rows, needing, called)
    return (
        f"In {count:,} of the {len(wrong):,} texts in which {called} is wrong, “{token}” has the most weight, and “{token}” "
        f"decides in no text: a sink, which gets attention whatever the text says.{without}"
    )


def _without_sink(token: str, instances: pd.DataFrame, decided: pd.DataFrame, called: str) -> str:
    """Return in how many texts attention is right without a token; empty if E19 has found another sink, or none."""
    if not {"sink", f"right_{WITHOUT_SINK}"} <= {*decided}:
        return ""
    places = decided["sink"].dropna().astype(int)
    if {instances["tokens"][text][place] for text, place in places.items()} != {token}:
        return ""
    share = share_of(by_text(decided.reset_index())[f"right_{WITHOUT_SINK}"])
    return "" if share is None else f" Without this sink, {called} points at the words that decide in {of_texts(share)}."


# Do other readings rank the same tokens first as attention?

K = (1, 3, 5)
"""The values of k for which two sets are compared: the k tokens with the most attention, and the k tokens that are most
important by another explanation."""
DRAWN = 3
"""The value of k, one of ``K``, for which the report draws which share of attention's k first tokens another explanation also
ranks first."""
QUESTION = f"How many of attention's {DRAWN} first tokens do other readings also rank first?"
ALIVE = 12
"""To estimate memory: how many 8-byte numbers exist at once for each token and each measure of importance while first tokens
are compared."""
ABOUT_SAME = "Share of the tokens ranked first by attention that the other reading also ranks first."
LEGEND = (
    "Columns “first k” show the share of the k tokens with the most attention that the other reading also ranks among its k "
    "first tokens. Each cell is the mean over the texts with more than k tokens, with its 95 % confidence interval in "
    "brackets. Tokens that tie at the k-th place count in part. Of k random tokens, a share of k / T is expected in a text of "
    "T tokens. τ-b compares all pairs of tokens, and most pairs consist of two unimportant tokens, so readings that agree on "
    "the first tokens can still have a low τ-b."
)
SPECIAL = (
    " This table leaves out special tokens such as [CLS], and the token at which a Transformer decides. Every text contains "
    "these tokens, and a model may attend to them because it stores there what it has read."
)
UNKNOWN = (
    " Special tokens such as [CLS] and [SEP] count as tokens in this table, because this run has not stored which tokens are "
    "special. Every text contains them, so several readings may rank them first."
)


@dataclass(frozen=True)
class FirstTokens:
    """The overlap between the top tokens of attention and those of each importance measure.

    Args:
        shares: one row for each text, ``<importance>/<k>`` and ``random/<k>``, in [0, 1]; NaN if undefined.
        taus: Kendall's τ-b with attention, mean over texts, by importance; NaN if undefined.
    """

    shares: pd.DataFrame
    taus: Mapping[str, float]
    legend: str

    def lines(self, k: int = DRAWN) -> list[Line]:
        """Return for each importance measure the share of its top ``k`` tokens that are also attention's top tokens."""
        return [line for name, title in IMPORTANCES.items() if (line := self._line(name, title, k)) is not None]

    @property
    def sentence(self) -> str | None:
        """Return a sentence on how often attention and each importance measure rank the same token first; None if unknown."""
        found = self.lines(1)
        if not found:
            return None
        said = " and ".join(f"of {line.name} in {line.ours}" for line in found)
        chance = f"a random token would be in {found[0].controls[0].text}"
        return f"The token with the most attention is also the first {said} of texts; {chance}."

    @property
    def table(self) -> ReadingTable:
        """Return a table with one row for each importance measure, then one for random tokens."""
        sizes = [k for k in K if self.shares[f"random/{k}"].notna().any()]  # at least one text has more than k tokens
        body = []
        for name, tau in self.taus.items():
            lines = [self._line(name, name, k) for k in sizes]
            body.append([_TITLES[name], _cell(tau), *(EMPTY if line is None else line.ours for line in lines)])
        body.append(["Random tokens", number(0.0), *(percent(float(self.shares[f"random/{k}"].mean()), 1) for k in sizes)])
        return ReadingTable(["reading", "τ-b with attention", *(f"first {k}" for k in sizes)], body, self.legend)

    def _line(self, name: str, title: str, k: int) -> Line | None:
        values = self.shares.get(f"{name}/{k}")
        if values is None or not values.notna().any():
            return None
        chance = float(self.shares.loc[values.notna(), f"random/{k}"].mean())
        return share(
            "first_tokens/share", title, values, ABOUT_SAME, ControlNumber("random tokens", percent(chance, 1), chance)
        )


_TITLES = {weights.column: weights.title for weights in EXPERIMENTS["E1"].weights}


def compared_first_tokens(instances: pd.DataFrame | None, importances: pd.DataFrame | None) -> FirstTokens | None:
    """Compare attention's top tokens with those of each importance measure; None without stored weights.

    Args:
        instances: one row for each text; ``attention`` holds one value for each token; ``special``, if present, marks tokens
            that are not ranked.
        importances: the table of E1; its texts are found by ``id``. Texts that it did not read are left out.
    """
    if instances is None or importances is None or not {"id", "attention"} <= {*instances}:
        return None
    read = _read_of(instances, importances)
    rows = _of_same_texts(read, importances)
    if rows is None or not len(read):
        return None
    names = [name for name in _TITLES if {name, f"tau_{name}"} <= {*rows}]
    if not names:
        return None
    tau, legend = "tau_", LEGEND
    weights = {name: each.to_numpy() for name, each in {"attention": read["attention"], **rows[names]}.items()}
    if "special" in read:
        ranked = [~np.asarray(each, dtype=bool) for each in read["special"]]
        weights = {
            name: pd.Series([np.asarray(each)[left] for each, left in zip(texts, ranked, strict=True)]).to_numpy()
            for name, texts in weights.items()
        }
        legend += "" if all(map(np.all, ranked)) else SPECIAL
        if any(name.startswith("tau_without_special_") for name in rows):  # older runs, whose τ-b ranks special tokens too
            tau = "tau_without_special_"
    elif any(name.startswith("tau_words_") for name in rows):
        legend += UNKNOWN
    taus = {name: float(rows[f"{tau}{name}"].mean()) if f"{tau}{name}" in rows else np.nan for name in names}
    return FirstTokens(_shares(weights.pop("attention"), weights), taus, legend)


def _shares(attention: np.ndarray, importances: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return for each text the share of top tokens that attention and each importance measure have in common."""
    lengths = torch.tensor([len(weights) for weights in attention])

    def of_rows(texts: Tensor) -> Tensor:
        def padded(ragged: np.ndarray) -> Tensor:
            return pad_sequence([torch.tensor(each, dtype=torch.float64) for each in ragged[texts.numpy()]], batch_first=True)

        ours, *others = map(padded, (attention, *importances.values()))
        mask = torch.arange(ours.shape[1]) < lengths[texts].unsqueeze(-1)
        return torch.stack([top_k_overlap(ours, other, k, mask) for other in others for k in K], dim=-1)

    columns = [f"{name}/{k}" for name in importances for k in K]
    row = 8 * ALIVE * (1 + len(importances)) * max(1, int(lengths.max()))
    found = pd.DataFrame(by_rows(of_rows, row, torch.arange(len(lengths))).numpy(), columns=columns)
    random = {f"random/{k}": np.where(lengths > k, k / lengths, np.nan) for k in K}
    return found.assign(**random)


# Which reading survives erasure best, by how much, and is that more than chance?

APART = ("random", "oracle")
"""The names of two rankings that explain no model: random numbers, and the tokens that decide according to the corpus."""
ABOUT_SURVIVAL = "Share of random token sets that the reading's first tokens beat, averaged over both ways to erase tokens."


def survival_sentence(rows: pd.DataFrame) -> str | None:
    """Return a sentence that names the explanation with the best erasure score; None without scores.

    The score of a text is the share of random token sets that the reading's top tokens beat, averaged over two ways to erase
    tokens. The best reading is chosen on the same texts that test it, so its p-value is multiplied by the number of readings
    from which it was chosen.
    """
    scores, base = _scores(rows)
    if base is None:
        return None
    best, others = str(scores.mean().idxmax()), len(scores.columns) - 1
    said = f"On {len(scores)} of {len(by_text(rows))} texts, {len(scores.columns)} readings were compared."
    beaten = {str(reading): share_with_interval(scores[reading], None) for reading in scores}
    if best == base:
        runner = str(scores.drop(columns=base).mean().idxmax())
        then = f"then {title_of(runner)} with {beaten[runner]}"
        return f"{said} {title_of(best)} itself survived best: it beats {beaten[best]} of random sets, {then}."
    found = signed_rank(np.asarray(scores[best]), np.asarray(scores[base]))
    corrected = min(1.0, found.p_value * others)
    chance = "That is more than chance" if corrected < LEVEL else "That may be chance"
    choice = f", corrected for the choice among {others} readings" if others > 1 else ""
    return (
        f"{said} {title_of(best)} survived best: its first tokens beat {beaten[best]} of random sets of the same size; "
        f"the first tokens of {title_of(base)} beat {beaten[base]}. {chance} "
        f"(Wilcoxon's signed-rank test{choice}: {p_value(corrected)})."
    )


def leads_over_attention(rows: pd.DataFrame) -> pd.DataFrame:
    """Compare each explanation's erasure scores with attention's; return mean differences and p-values.

    The score of a text is the share of random token sets that the reading's top tokens beat, averaged over two ways to erase
    tokens.

    Returns:
        One row for each reading, named by its column: ``lead``, ``p`` (Wilcoxon's signed-rank test), and ``bonferroni`` and
        ``benjamini_hochberg``, which are ``p`` corrected for all readings of the table. Empty if there is nothing to compare.
    """
    scores, base = _scores(rows) if f"{SURVIVAL[0]}_random" in rows else (pd.DataFrame(), None)
    if base is None:
        return pd.DataFrame(columns=["lead", "p", "bonferroni", "benjamini_hochberg"])
    from scipy.stats import false_discovery_control  # half a second to import

    others = scores.drop(columns=base)
    found = pd.DataFrame(
        {
            "lead": others.sub(scores[base], axis=0).mean(),
            "p": {name: signed_rank(others[name].to_numpy(), scores[base].to_numpy()).p_value for name in others},
        }
    )
    bonferroni = (found["p"] * len(found)).clip(upper=1)
    return found.assign(bonferroni=bonferroni, benjamini_hochberg=false_discovery_control(found["p"]))


def survival_lines(rows: pd.DataFrame) -> list[Line]:
    """Return table rows with the erasure scores of attention and of the best explanation."""
    scores, base = _scores(rows)
    if base is None:
        return []
    chance = ControlNumber("as many random tokens", percent(0.5), 0.5)
    shown = dict.fromkeys((base, str(scores.mean().idxmax())))
    return [
        share("E15/survival", f"random sets beaten by {title_of(name)}", scores[name], ABOUT_SURVIVAL, chance)
        for name in shown
    ]


def _scores(rows: pd.DataFrame) -> tuple[pd.DataFrame, str | None]:
    """Return a table of the erasure scores of all explanations, and the name of attention's column (or None)."""
    first, second = SURVIVAL
    names = [name.removeprefix(f"{first}_") for name in rows if name.startswith(f"{first}_")]
    kept = [name for name in names if name not in APART and rows[f"{first}_{name}"].count() == rows[f"{first}_random"].count()]
    rows = by_text(rows)
    scores = pd.DataFrame({name: (rows[f"{first}_{name}"] + rows[f"{second}_{name}"]) / 2 for name in kept}).dropna()
    base = next((name for name in map(column_of, BASES) if name in scores), None)
    return scores, base if len(scores.columns) > 1 and len(scores) else None


# The table of all readings: the means of a run, or the numbers of one text with the tokens that each reading ranks first.

SIGNED = "_signed"
FIRST = 3
"""How many tokens, its highest-ranked ones, are named for each explanation of a text."""
SCORES = {
    "random sets beaten": SURVIVAL[0],
    "… text shortened": SURVIVAL[1],
    "NAOPC": "naopc_comprehensiveness",
    "P@k": "precision",
    "depth": "depth",
    "AUPRC": "auprc",
    "marked: F1": "plausible_f1",
    "marked: IOU F1": "plausible_iou_f1",
    "marked: AUPRC": "plausible_auprc",
}
"""The scores in the table that compares explanations. The keys are the headings on the page, the values the prefixes of the
columns in the table of experiment E15."""
AGREEMENT, SHARED = "τ-b with attention", f"first {FIRST} shared"
SECONDS, RANKED_FIRST = "seconds a text", "ranked first"
ABOUT_SCORES = (
    "Random sets beaten: share of random sets of equally many tokens whose erasure moves the prediction less. Erased tokens "
    "get no attention, or (“text shortened”) are deleted; chance gives 0.5. NAOPC: how far the first tokens move the "
    "prediction, from 0 for the order that moves it least to 1 for the order that moves it most. τ-b with attention: how "
    "similarly the reading and attention order the tokens by magnitude."
)
ABOUT_SHARED = (
    f"First {FIRST} shared: share of the {FIRST} tokens with the most attention that are also among the reading's {FIRST} "
    "first tokens. Tokens that tie count in part, and special tokens such as [CLS] count as tokens."
)
ABOUT_SIGNED = (
    "Signed readings rank tokens by how strongly they support the predicted class; other readings rank them by magnitude."
)
ABOUT_TRUTH = (
    "These scores need marked deciding tokens. P@k: share of deciding tokens among the k tokens ranked first, where k is the "
    "number of deciding tokens. Depth: rank of the last deciding token / number of ranks. AUPRC: average precision."
)
TESTS = {"p, Bonferroni": "bonferroni", "p, BH": "benjamini_hochberg"}
ABOUT_TESTS = (
    "p: p-value of Wilcoxon's signed-rank test over texts, which asks whether the reading and attention (or rollout) beat "
    "equally many random sets. The test compares the mean of both columns of random sets beaten. Both p-values are corrected "
    "for the number of readings: with Bonferroni's even one false claim is unlikely, and with that of Benjamini and Hochberg "
    "(BH) few of all claims are false."
)
ABOUT_MARKS = (
    "Marked: agreement with the words that people marked, scored as in ERASER. F1 compares the marked words with equally many "
    "words ranked first; IOU F1 counts spans that overlap by at least half of their union; AUPRC is the area under the curve "
    "of precision and recall. A plausible reading need not be faithful: it can agree with people and say nothing about the "
    "model. A random order has F1 {f1}, IOU F1 {iou_f1}, AUPRC {auprc}.{human}"
)


def readings_of_run(rows: pd.DataFrame, seconds: Mapping[str, float] | None = None) -> ReadingTable | None:
    """Return a table of the mean scores of all explanations, the best first; None without scores."""
    means = {name: float(rows[name].mean()) for name in rows if pd.api.types.is_numeric_dtype(rows[name])}
    found = summarise(rows, by=None)
    known = [name for name in means if not math.isnan(found.get(f"{name}/ci_low", math.nan))]
    ends = {name: within(f"E15/{name}", found[f"{name}/ci_low"], found[f"{name}/ci_high"]) for name in known}
    tested = leads_over_attention(rows)
    cells = {title: {str(name): number(float(p)) for name, p in tested[by].items()} for title, by in TESTS.items()}
    took = {name.replace("-", "_"): f"{value:.2g}" for name, value in (seconds or {}).items()}
    took |= {f"{name}{SIGNED}": value for name, value in took.items()}  # the signed ranking takes as long
    shown = _table(means, cells | {SECONDS: took}, ends)
    if shown is None:
        return None
    beaten = [name for name in rows if str(name).startswith(f"{SURVIVAL[0]}_")]
    read = len(by_text(rows)[beaten].dropna(how="all"))
    return replace(shown, legend=f"Cells are means over {read:,} texts, with 95 % intervals in brackets. {shown.legend}")


def readings_of_text(row: Mapping[str, Any], tokens: Sequence[str]) -> ReadingTable | None:
    """Return a table with the scores and top tokens of each explanation of a text; None without scores."""
    own = {name.removeprefix("E15/"): value for name, value in row.items() if name.startswith("E15/")}
    numbers = {name: float(value) for name, value in own.items() if isinstance(value, int | float) and SIGNED not in name}
    weights = {name: value for name, value in own.items() if isinstance(value, np.ndarray)}
    weights["attention"] = np.asarray(row.get("instances/attention", ()))
    known = {name: each for name, each in weights.items() if len(each) == len(tokens) and not np.isnan(each).any()}
    shared, first = {}, {}
    for name, each in known.items():
        first[name] = ", ".join(tokens[place] for place in np.argsort(-each, kind="stable")[:FIRST])
        if "attention" in known:
            ours, theirs = (torch.from_numpy(ranked.astype(float)).unsqueeze(0) for ranked in (known["attention"], each))
            shared[name] = _cell(float(top_k_overlap(ours, theirs, FIRST, torch.ones_like(ours, dtype=torch.bool))))
    return _table(numbers, {SHARED: shared, RANKED_FIRST: first})


def _table(
    values: Mapping[str, float],
    beside: Mapping[str, Mapping[str, str]],
    ends: Mapping[str, tuple[float, float]] | None = None,
) -> ReadingTable | None:
    """Return a table with one row for each explanation, the best first; None without scores.

    Args:
        beside: the cells of other columns, by heading and reading.
        ends: the 95 % intervals of the values, by column; None for the numbers of one text.
    """
    first = f"{SURVIVAL[0]}_"
    readings = [name.removeprefix(first) for name, value in values.items() if name.startswith(first) and not math.isnan(value)]
    if not readings:
        return None
    for name in [*readings, "chance"]:
        values = {**values, f"plausible_iou_f1_{name}": _f1(values, name)}
    readings.sort(key=lambda reading: -fmean(values.get(f"{column}_{reading}", 0.0) for column in SURVIVAL))
    columns = {title: [_cell_of(f"{column}_{each}", values, ends) for each in readings] for title, column in SCORES.items()}
    agreement = {**values, "tau_attention_and_attention": 1.0}  # signed rankings have none: only erasure compares them
    columns[AGREEMENT] = [_cell_of(f"tau_attention_and_{each}", agreement, ends) for each in readings]
    columns |= {title: [cells.get(each, EMPTY) for each in readings] for title, cells in beside.items()}
    shown = {title: cells for title, cells in columns.items() if {*cells} != {EMPTY}}
    body = [[title_of(each), *(cells[place] for cells in shown.values())] for place, each in enumerate(readings)]
    about = {
        ABOUT_SCORES: True,
        ABOUT_TESTS: "p, BH" in shown,
        ABOUT_SHARED: SHARED in shown,
        ABOUT_SIGNED: SIGNED in "".join(readings),
        ABOUT_TRUTH: "P@k" in shown,
        _about_marks(values): "marked: F1" in shown,
    }
    return ReadingTable(["reading", *shown], body, " ".join(sentence for sentence, is_said in about.items() if is_said))


def _f1(values: Mapping[str, float], reading: str) -> float:
    """Return the F1 of spans as ERASER defines it, computed from the mean precision and the mean recall over texts."""
    precision, recall = (values.get(f"plausible_iou_{name}_{reading}", math.nan) for name in ("precision", "recall"))
    return 0.0 if precision == recall == 0 else 2 * precision * recall / (precision + recall)


def _about_marks(values: Mapping[str, float]) -> str:
    chance = {name: _cell(values.get(f"plausible_{name}_chance")) for name in ("f1", "iou_f1", "auprc")}
    human, kappa = (_cell(values.get(name)) for name in ("plausible_f1_human", "kappa_human"))
    people = f" Of two annotators, one has F1 {human} against the other (κ {kappa})." if human != EMPTY else ""
    return ABOUT_MARKS.format(**chance, human=people)


def _cell_of(name: str, values: Mapping[str, float], ends: Mapping[str, tuple[float, float]] | None) -> str:
    value, known = values.get(name), (ends or {}).get(name)
    return _cell(value) if value is None or known is None else interval(value, *known)


def _cell(value: float | None) -> str:
    return EMPTY if value is None or math.isnan(value) else number(value)
