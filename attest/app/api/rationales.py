"""Convert human rationales, the marks that people made in texts, from any usual format into marks of tokens.

Legend: T tokens, A annotators.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional

from attest.app.api.batches import Batch
from attest.app.api.beside import Units, columns_by_text, is_missing, of_tokens, plain
from attest.core.errors import AttestError
from attest.core.label_values import in_order
from attest.datamodules.notice import say

Rationales: TypeAlias = Sequence[Any] | pd.DataFrame | str | Path
"""The words or tokens that people marked as decisive, for each text: as 0 and 1 from one or several annotators, as spans, or
as the text itself with stars around marked words. Or a table with a column of texts and a column of such marks, or the path of
its file. For a tagger, ``{"word": 3, "marks": …}`` holds the marks that explain the tag of word 3."""
COLUMNS = ("rationales", "rationale", "evidences", "marks", "marked")
KEY = "marks"
"""The key of a batch's entry with the words that people marked, float ``(B, T, A)`` for A annotators: 1 at marked tokens, 0 at
others, NaN if the annotator has not marked this text."""
OF_TAG = {"marks": KEY, "place": "marked_token", "words": "word"}
"""Only for taggers: the keys under which a batch holds what annotators marked. Each is listed by the name of the field of
``Context`` (data for experiments) that gets its entry."""
HOW = (
    "expected 0 or 1 for each token or each word, from one or several annotators; or spans as (start, end) or {'start_token': "
    "…, 'end_token': …}; or the text with stars around its marked words"
)


def with_marks(batches: Sequence[Batch], rationales: Rationales, units: Sequence[Units], tags: bool = False) -> list[Batch]:
    """Add the user's rationales to batches; for a tagger, also add the token whose tag a rationale explains.

    Args:
        rationales: as in ``attest.trial``; None or an empty list for a text that nobody has read.
        tags: whether the model decides each token, so that marks are for the tag of one word.
    """
    if isinstance(rationales, pd.DataFrame | str | Path):
        found = columns_by_text(rationales, units, lambda name, _: name in COLUMNS, "rationales")
        rows = next(found[name] for name in COLUMNS if name in found)
    else:
        listed = in_order(rationales)
        if listed is None:
            raise AttestError(
                f"rationales= is a {type(rationales).__name__}; expected a list with one rationale for each text, in their "
                "order. For example: rationales=[[0, 1, 0], [1, 0]]"
            )
        rows = listed
    if len(rows) != len(units):
        raise AttestError(
            f"the number of rationales is {len(rows)}, the number of texts {len(units)}; expected one rationale for each text."
        )
    rows = [plain(row) for row in rows]
    asked = [-1] * len(rows)
    if tags:
        asked, rows = map(list, zip(*(_of_tag(place, row, units[place]) for place, row in enumerate(rows)), strict=True))
    of_texts = [_annotators(place, row, units[place]) for place, row in enumerate(rows)]
    texts = [place for place, each in enumerate(of_texts) for _ in each]
    if not texts:
        raise AttestError(f"no text has a rationale; {HOW}.")
    marked, said = of_tokens("the rationale", texts, [marks for each in of_texts for marks in each], units)
    most = max(map(len, of_texts))
    held = [torch.full((text.width, most), torch.nan) for text in units]
    for place in dict.fromkeys(texts):
        of_text = [marks for text, marks in zip(texts, marked, strict=True) if text == place]
        held[place][:, : len(of_text)] = (torch.stack(of_text, dim=-1) > 0).float()
    unread = len(units) - len({*texts})
    say(
        f"Rationales: {said.split(',')[0].replace('number', 'mark')}, of {most} annotator{'s' if most > 1 else ''}."
        + (f" {unread} of {len(units)} texts have none." if unread else "")
    )
    beside: dict[str, list[Tensor]] = {KEY: held}
    if tags:
        beside[OF_TAG["place"]] = [torch.tensor(token) for token in asked]
    if tags and all("word" in text.places for text in units):
        words = [text.places["word"][0] for text in units]
        padding = [text.width - len(each) for text, each in zip(units, words, strict=True)]
        beside[OF_TAG["words"]] = [
            functional.pad(each, (0, more), value=-1) for each, more in zip(words, padding, strict=True)
        ]
    return [
        batch | {name: torch.stack([rows[row] for row in batch["id"].tolist()]) for name, rows in beside.items()}
        for batch in batches
    ]


def _of_tag(place: int, row: Any, units: Units) -> tuple[int, Any]:
    """Return the token whose tag a rationale explains and the user's marks of words; -1 and None without a rationale."""
    if is_missing(row):
        return -1, None
    words, count = units.places.get("word", units.places["token that is not special"])
    named = row.get("word") if isinstance(row, Mapping) and {*row} == {"word", "marks"} else None
    word = int(named) if isinstance(named, Integral) else -1
    found = (words == word).nonzero().flatten().tolist() if 0 <= word < count else []
    if not found:
        raise AttestError(
            f"the rationale of text {place} is {str(row)[:40]!r}, but the model decides about each word; expected the "
            "position of the word whose tag is explained, counted from 0, and a mark for each word: "
            "{'word': 3, 'marks': [0, 1, 0, 0]}"
        )
    return found[0], plain(row["marks"])


def _annotators(place: int, row: Any, units: Units) -> list[np.ndarray]:
    if is_missing(row) or (isinstance(row, list | tuple) and not len(row)):
        return []
    if _is_text(row):
        return [_starred(place, row, units.written)]
    if not isinstance(row, list | tuple):
        raise _other(place, row)
    if all(_is_text(each) for each in row):  # of several annotators
        return [_starred(place, each, units.written) for each in row]
    if isinstance(row[0], list) and row[0] and all(isinstance(each, Mapping | tuple) for each in row[0]):
        row = [span for group in row for span in group]  # groups of evidence
    if all(isinstance(each, Mapping | tuple) for each in row):
        return [_spans(place, row, units)]
    several = [each for each in row if len(each)] if all(isinstance(each, list) for each in row) else [row]
    for marks in several:
        if any(isinstance(mark, list | str) or mark not in (0, 1) for mark in marks):
            raise _other(place, marks)
    return [np.array(marks, dtype=np.float64) for marks in several]


def _is_text(row: Any) -> bool:
    return isinstance(row, str) or (isinstance(row, list | tuple) and bool(row) and all(isinstance(part, str) for part in row))


def _spans(place: int, spans: Sequence[Any], units: Units) -> np.ndarray:
    """Return for each word 1 if it is inside a span, else 0; if words are unknown, for each non-special token.

    In a pair of texts, positions count on from the first text to the second. A span with ``docid``, as in ERASER, is
    different: its positions count within the text that ``docid`` names.
    """
    text, (_, count) = units.written, units.places.get("word", units.places["token that is not special"])
    marks = np.zeros(count)
    for span in spans:
        found = [span.get("start_token"), span.get("end_token")] if isinstance(span, Mapping) else [*span]
        start, end = [int(each) if isinstance(each, Integral) else -1 for each in found] if len(found) == 2 else (-1, -1)
        if isinstance(text, tuple) and isinstance(span, Mapping) and span.get("docid") is not None and start >= 0:
            ends = {"premise": 0, "hypothesis": len(text[0].split())}
            before = next((words for name, words in ends.items() if str(span["docid"]).endswith(name)), None)
            if before is None:
                raise AttestError(
                    f"the rationale of text {place} has a span in the document {str(span['docid'])!r}; expected a name that "
                    "ends in 'premise' (the first text of the pair) or 'hypothesis' (the second). Or leave docid out, and "
                    "count words through both texts."
                )
            start, end = start + before, end + before
        if not 0 <= start < end <= count:
            raise AttestError(
                f"the rationale of text {place} has the span {found}, but the text has {count} words; expected a span "
                f"[begin, end) of word positions from 0 to {count}, where `end` is the position after the last word of the "
                "span."
            )
        marks[start:end] = 1
    return marks


def _starred(place: int, row: Any, text: Any) -> np.ndarray:
    parts = [row] if isinstance(row, str) else [*row]
    words = [word for part in parts for word in part.split()]
    texts = [] if text is None else [text] if isinstance(text, str) else text
    plain_words = [word for part in texts for word in part.split()]
    stars = [word.count("*") - own.count("*") for word, own in zip(words, plain_words, strict=False)]
    same = [word.replace("*", "") for word in words] == [word.replace("*", "") for word in plain_words]
    if not same or not {*stars} <= {0, 2}:
        raise AttestError(
            f"the rationale of text {place} is {' '.join(parts)[:40]!r}, and the text is {' '.join(texts)[:40]!r}; expected "
            "the same words, with each marked word between stars, as in *fine*."
        )
    return np.array([count == 2 for count in stars], dtype=np.float64)


def _other(place: int, found: Any) -> AttestError:
    return AttestError(f"the rationale of text {place} is {str(found)[:40]!r}; {HOW}.")
