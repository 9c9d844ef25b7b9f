"""One explained text as Python users hold it: its words and weights, what a terminal and a notebook show, and its picture."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from attest.core.kinds import CLASSES, Kind
from attest.report.explained import (
    COLOURS,
    VISIBLE,
    Explanation,
    Word,
    explanations,
    print_explained,
    said_of,
    words_of,
    write_explained,
)
from attest.report.pictures import alone_of, shown_of, text_picture
from attest.report.shown import ShownText
from attest.report.templating import render

WIDTH = 120


class ExplainedText:
    """A text with all its explanations.

    Args:
        row: one text of ``joined``, with ``title``, ``tokens``, ``predicted``, ``probabilities`` and ``unknown``, the tokens
            that the model does not know.
        called: the tested explanation in words.
        source: the run or the trial and what was found in it, as sentences, for the line below a picture.
        kind: what the model decides.
    """

    def __init__(self, row: Mapping[str, Any], called: str = "attention", source: str = "", kind: Kind = CLASSES) -> None:
        self._row, self._called, self._source, self._kind = row, called, source, kind

    @classmethod
    def of_row(
        cls,
        row: Mapping[str, Any],
        class_names: Sequence[str],
        called: str = "attention",
        source: str = "",
        kind: Kind = CLASSES,
    ) -> "ExplainedText":
        """Create an explained text from a row of the table that ``joined`` returns."""
        named = {
            "title": f"text {row['id']}",
            "tokens": list(row["tokens"]),
            "unknown": [],
            "probabilities": {name: float(row[f"probability_{name}"]) for name in class_names},
        }
        return cls({**row, **named, **said_of(row, class_names, kind)}, called, source, kind)

    @property
    def tokens(self) -> list[str]:
        """Return the tokens of the text."""
        return list(self._row["tokens"])

    @property
    def row(self) -> dict[str, Any]:
        """Return the text as a table row, in the form that ``write_explained`` takes."""
        return dict(self._row)

    @property
    def words(self) -> list[Word]:
        """Return the words and the special tokens of the text."""
        return words_of(self._row)

    @property
    def predicted(self) -> str:
        """Return the name of the predicted class, or the predicted number, as text."""
        return str(self._row["predicted"])

    @property
    def label(self) -> str | None:
        """Return the name of the gold class; None if it is unknown."""
        return self._row.get("label")

    @property
    def probabilities(self) -> dict[str, float]:
        """Return the probability of each class, by its name; empty if the model gives one number."""
        return dict(self._row["probabilities"])

    @property
    def explanations(self) -> list[Explanation]:
        """Return every explanation, attention first, each with one weight for each token."""
        return explanations(self._row, in_detail=True)

    def weights(self) -> dict[str, np.ndarray]:
        """Return the weights of each explanation, float ``(T,)`` for T tokens, by the name of the explanation."""
        return {each.name: each.weights for each in self.explanations}

    @property
    def shown(self) -> ShownText:
        """Return the text as two rows, what the explanation marks and what decides; as one where nobody knows what does."""
        return shown_of(self._row, self._kind)

    def save(self, path: str | Path, theme: str = "auto") -> Path:
        """Write the text as a picture that one can share, or as a page with all explanations.

        Args:
            path: its ending says which: ``.svg`` and ``.png`` are pictures, ``.html`` is the page of ``attest explain``.
            theme: the colours of a picture: ``light``, ``dark``, or ``auto``, those of the reader's system (a PNG is light).
        Raises:
            AttestError: another ending or theme, or letters that no PNG can hold.
        """
        path = Path(path)
        if path.suffix.lower() == ".html":
            write_explained(path, [self._row], self._source)
        else:
            text_picture(self.shown, self._called, self._source).save(path, theme)
        return path

    def __repr__(self) -> str:
        page = io.StringIO()
        print_explained([self._row], Console(file=page, width=WIDTH, color_system=None, highlight=False, force_jupyter=False))
        return page.getvalue().strip()

    def _repr_html_(self) -> str:
        given = {"words": self.words, "unknown": self._row["unknown"], "colours": COLOURS, "visible": VISIBLE}
        shown = self.shown
        return render("cell_text.html", text=self, shown=shown, line=alone_of(shown), called=self._called, **given)
