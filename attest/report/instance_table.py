"""Return the report's table of texts or of tagged sentences, with the texts that a reader can open, as data for its script."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from attest.core.kinds import CLASSES, TAGS, Kind, tag_counts
from attest.core.measures.chunks import has_chunks
from attest.experiments.registry import EXPERIMENTS
from attest.report.explained import ATTENTION, Explanation, contents, joined, words_of
from attest.report.score_bounds import classes_in
from attest.runs.contents import RunContents
from attest.runs.folder import INSTANCES, TAGGED, read_table

ROWS = 25_000
"""The largest number of rows in the page's table; of more texts, it shows rows at even distances in the order of the ids."""
TEXT_BYTES = 1_600_000
"""The approximate number of bytes up to which the page stores texts in full, with their explanations. All further texts have
only a row in the table."""
EXCERPT = 90
"""The largest number of characters of a text in a row of the table."""
LEVELS = np.array([*"0123456789abcdefghijklmnopqrstuvwxyz"])
"""The characters by which the page encodes weights: character number i, from 0, stands for i/35 of the largest weight in the
text."""
WORDS = 3
"""In a tagged sentence, the attention of so many words is shown: of words with a wrong tag or, after these, with the least
probable tag."""
SENTENCES = 12
"""The largest number of a tagger's sentences that are shown with tags and attention."""


class ShownMeasure(NamedTuple):
    """A measure that has a column in the report's table of texts or sentences."""

    key: str
    name: str
    meaning: str


OF_TEXTS = (
    ShownMeasure("instances/confidence", "confidence", "Probability of the predicted class."),
    ShownMeasure("instances/length", "tokens", "Tokens of the text, or sentences where attention is over them."),
    ShownMeasure("instances/max_attention", "max α", "The largest attention weight."),
)
OF_NUMBERS = (
    ShownMeasure("instances/label", "label", "What the data say."),
    ShownMeasure("instances/prediction", "prediction", "The number that the model says."),
    *OF_TEXTS[1:],
)
OF_SENTENCES = (
    ShownMeasure("tagged/right", "right", "Share of its words that are tagged rightly."),
    ShownMeasure("tagged/chunk_f1", "F1 of chunks", "Of whole chunks: first word, last word and kind must be right."),
    ShownMeasure("tagged/words", "words", "Words that have a tag."),
    ShownMeasure(
        "tagged/max_attention", "max α", "The largest attention weight of a word, mean over words, heads and layers."
    ),
)
OF_EXPERIMENTS = tuple(
    ShownMeasure(f"{spec.id}/{measure.of_texts or measure.name}", *measure.short)
    for spec in EXPERIMENTS.values()
    for measure in spec.measures
    if measure.short
)


def instance_table(
    tables: Mapping[str, pd.DataFrame],
    class_names: Sequence[str],
    attention_name: str = "Attention",
    kind: Kind = CLASSES,
) -> dict[str, Any]:
    """Return the data that the script of the page needs for the table of texts.

    Args:
        tables: the tables by experiment, one row for each instance; ``instances`` is one of them.
    Returns:
        ``columns`` (name and meaning of each measure), ``classes``, ``rows`` (each: id, excerpt, label or None, predicted,
        then the measures, None if undefined), ``texts`` by id (see ``_whole_text``), ``empty`` (names of the measures that are
        undefined on every text, which have no column) and ``total``. If the model returns one number, rows have no classes;
        the measures then include the label and the prediction.
    """
    texts = tables[INSTANCES].set_index("id")
    own, classes = (OF_TEXTS, [kind.label, kind.predicted]) if kind.chooses else (OF_NUMBERS, [])
    order = "instances/confidence" if kind.chooses else "instances/prediction"
    texts = texts.assign(confidence=texts.filter(regex="^probability_").max(axis=1))
    measured = {each.key: texts[name] for each in own if (name := each.key.partition("/")[2]) in texts}
    rows = joined(tables, attention_name).assign(**measured)
    return _table(rows, tables, own, classes, _whole_text, order, kind) | {"classes": list(class_names)}


def sentence_table(rows: pd.DataFrame, tables: Mapping[str, pd.DataFrame], names: Sequence[str]) -> dict[str, Any]:
    """Return the data that the script of the page needs for the table of sentences.

    Args:
        rows: one row for each sentence: ``id``, ``tokens``, ``tags``, ``predicted_tags``, ``max_attention``.
    Returns:
        The result of ``instance_table`` with the added entry ``tagging``, True. Rows have no label and no prediction. Each of
        ``texts`` has the predicted and the gold tag of each token, None if the token is no word.
    """
    measured = {
        "tagged/right": right_share(rows),
        "tagged/words": np.array([(np.asarray(tags) >= 0).sum() for tags in rows["tags"]]),
    }
    if "max_attention" in rows:
        measured["tagged/max_attention"] = rows["max_attention"].to_numpy()
    if has_chunks(names):
        measured["tagged/chunk_f1"] = _chunk_f1(rows, names)
    rows = rows.set_index("id", drop=False).assign(**measured)
    found = _table(rows, tables, OF_SENTENCES, [], _whole_sentence, "tagged/right", TAGS)
    return found | {"tagging": True, "classes": list(names)}


def _table(
    rows: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
    own: Sequence[ShownMeasure],
    classes: Sequence[str],
    whole: Callable[[Mapping[str, Any]], dict[str, Any]],
    order: str,
    kind: Kind,
) -> dict[str, Any]:
    """Return the data of a page's table, one row for each text; ``classes`` names the columns of class numbers."""
    for measure in OF_EXPERIMENTS:
        experiment, name = measure.key.split("/")
        table = tables.get(experiment)
        if table is not None and name in table and table["id"].is_unique:
            rows = rows.assign(**{measure.key: table.set_index("id")[name]})
    there = [measure for measure in (*own, *OF_EXPERIMENTS) if measure.key in rows]
    shown = [measure for measure in there if rows[measure.key].notna().any()]
    part = evenly(rows, ROWS)
    return {
        "columns": [{"name": measure.name, "meaning": kind.worded(measure.meaning)} for measure in shown],
        "empty": [measure.name for measure in there if measure not in shown],
        "total": len(rows),
        "rows": [
            [
                int(row["id"]),
                _excerpt(row, kind),
                *(int(row[name]) if name in row else None for name in classes),
                *(_rounded(row[each.key]) for each in shown),
            ]
            for row in part.to_dict("records")
        ],
        "texts": _whole_texts(part.sort_values(order), whole),
    }


def _excerpt(row: Mapping[str, Any], kind: Kind) -> str:
    """Return the first words of a text; if the model decides each label separately, the label comes first."""
    words = [word.text for word in words_of(row) if not word.special]
    text = " ".join([f"{row['asked']}:", *words] if kind.asks else words)
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT].rstrip()} …"


def _rounded(value: float) -> float | int | None:
    if math.isnan(value):
        return None
    return int(value) if float(value).is_integer() else round(float(value), 4)


def _whole_texts(rows: pd.DataFrame, whole: Callable[[Mapping[str, Any]], dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return as many whole texts as fit on the page, by text id, evenly spread over the rows of the table."""
    sample = [whole(row) for row in evenly(rows, 20).to_dict("records")]
    bytes_per_text = sum(len(as_script_data(text)) for text in sample) / len(sample)
    part = evenly(rows, max(1, int(TEXT_BYTES / bytes_per_text)))
    return {int(row["id"]): whole(row) for row in part.to_dict("records")}


def _whole_text(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a text as data: its words, its special words, those that decide the label, and its explanations."""
    text = contents(row)
    words = text["words"]
    shown = [
        {
            "name": each.name,
            "kind": each.kind,
            "note": each.note,
            "heat": "".join(LEVELS[np.rint((len(LEVELS) - 1) * each.heat(words)).astype(int)]),
        }
        for each in text["explanations"]
    ]
    known = {
        "tokens": [word.text for word in words],
        "special": [place for place, word in enumerate(words) if word.special],
        "decides": np.flatnonzero(text["decides"]).tolist(),
        "shown": shown,
    }
    return known | ({"question": text["question"]} if text["question"] else {})


def _whole_sentence(row: Mapping[str, Any]) -> dict[str, Any]:
    pairs = zip(row["predicted_tags"], row["tags"], strict=True)
    tags = [None if gold < 0 else [int(predicted), int(gold)] for predicted, gold in pairs]
    return {"tokens": list(row["tokens"]), "tags": tags}


def _chunk_f1(rows: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Return the chunk F1 of each of N sentences, float64 ``(N,)``; NaN without any true or predicted chunk."""
    chunks, _ = tag_counts(rows, names)
    correct, claimed, true = chunks.double().unbind(dim=-1)
    found: np.ndarray = (2 * correct / (claimed + true)).numpy()
    return found


def as_script_data(content: Any) -> str:
    """Return the content as JSON that is safe inside a ``<script>`` element."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def evenly(rows: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return at most ``count`` rows at even distances, among them the first and the last row."""
    places = np.unique(np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(int))
    return rows.iloc[places]


def tagged_sentences(run: RunContents) -> pd.DataFrame | None:
    """Return the table of all sentences, without attention and probabilities; None if it is missing or lacks columns."""
    complete = {"tokens", "attention", "tags", "predicted_tags"} <= {*run.columns(TAGGED)}
    return run.decided if complete and run.of_texts == TAGGED else None


def shown_sentences(run: RunContents, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return some sentences with their tags, spread evenly from the worst to the best tagged sentence.

    Returns:
        For each sentence ``id``; ``right``, the share of words tagged correctly; ``tokens``; ``words``; ``tags``, for each
        token a pair of predicted and gold tag (None for the gold tag if both are the same), or None if the token is no word;
        ``explanations``, the attention of the words whose tag is wrong or least probable.
    """
    names = classes_in(run)
    spread = rows.assign(right=right_share(rows)).dropna(subset=["right"]).sort_values("right", kind="stable")
    chosen = evenly(spread, SENTENCES).set_index("id")["right"]
    whole = read_table(run.folder.evidence(TAGGED), ids=chosen.index.tolist()).set_index("id", drop=False).loc[chosen.index]
    return [_shown(row, names) for row in whole.assign(right=chosen).to_dict("records")]


def right_share(rows: pd.DataFrame) -> np.ndarray:
    """Return the share of correctly tagged words in each of N sentences, float64 ``(N,)``; NaN without gold tags."""
    pairs = zip(rows["tags"], rows["predicted_tags"], strict=True)
    right = [(gold == predicted)[gold >= 0] for gold, predicted in pairs]
    return np.array([each.mean() if len(each) else np.nan for each in right])


def _shown(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    pairs = zip(row["tags"], row["predicted_tags"], strict=True)
    tags = [None if gold < 0 else (names[tag], None if gold == tag else names[gold]) for gold, tag in pairs]
    return {
        "id": row["id"],
        "right": row["right"],
        "tokens": list(row["tokens"]),
        "words": words_of({"tokens": row["tokens"]}),
        "tags": tags,
        "explanations": _of_doubtful_words(row, names),
    }


def _of_doubtful_words(row: Mapping[str, Any], names: Sequence[str]) -> list[Explanation]:
    """Return the attention from each word whose tag is wrong or least certain, averaged over heads and layers."""
    gold, predicted, size = row["tags"], row["predicted_tags"], len(row["tokens"])
    attention = np.asarray(row["attention"]).reshape(size, size, -1).mean(axis=-1)
    probabilities = np.stack([row[f"probability_{name}"] for name in names], axis=-1).max(axis=-1)
    order = np.lexsort((probabilities, gold == predicted))
    found = []
    for word in sorted(order[gold[order] >= 0][:WORDS].tolist()):
        wrong = "" if gold[word] == predicted[word] else f", gold tag {names[gold[word]]}"
        title = f"“{row['tokens'][word]}” → {names[predicted[word]]} ({float(probabilities[word]):.2f}){wrong}"
        found.append(Explanation(ATTENTION, title, "attention", attention[word]))
    return found
