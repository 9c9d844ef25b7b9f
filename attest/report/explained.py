"""Texts explained one by one, in the terminal with colour and as a page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from attest.report.explanations import Explanation, explanations
from attest.report.readings import of_text
from attest.report.templating import render
from attest.runs.folder import write_text

COLOURS = {"attention": (0, 114, 178), "importance": (230, 159, 0), "adversary": (213, 94, 0)}
"""Okabe and Ito's blue, orange and vermilion, as in the page."""
VISIBLE = 0.02
"""Share of the largest weight below which a token stays plain."""
READINGS_HEADING = "All readings of this text"
LONG = 400
"""Tokens from which on the terminal shows attention in full and of the rest the heaviest tokens; the page shows all."""


def print_explained(texts: Sequence[Mapping[str, Any]], console: Console | None = None) -> None:
    """Print what a model says of each text, and every explanation with its weights as colour behind the words.

    Args:
        texts: a row of ``explanations`` each, with ``title``, ``tokens``, ``unknown``, ``predicted`` and ``probabilities``.
        console: where to; standard output if None. Without colour the heaviest tokens still are named.
    """
    console = console or Console(highlight=False)
    for text in texts:
        console.print(Text(f"\n{text['title']}: {printable(text['predicted'])}", style="bold"))
        console.print(Text(f"  {_outcome(text)}"))
        if text["unknown"]:
            console.print(Text(f"  unknown words, all alike to the model: {printable(', '.join(text['unknown']))}"))
        for number, explanation in enumerate(explanations(text, in_detail=True)):
            _print_explanation(console, explanation, text["tokens"], in_full=number == 0 or len(text["tokens"]) < LONG)
        _print_readings(console, text)


def _outcome(text: Mapping[str, Any]) -> str:
    return "  ".join(f"{printable(name)} {probability:.3f}" for name, probability in text["probabilities"].items())


def _print_explanation(console: Console, explanation: Explanation, tokens: Sequence[str], in_full: bool) -> None:
    note = f"  {explanation.note}" if explanation.note else ""
    console.print(Text.assemble(("\n" + explanation.name, "bold"), (note, "dim")))
    if in_full:
        console.print(coloured(explanation, tokens))
    heaviest = ", ".join(f"{printable(token)} {weight:.3g}" for token, weight in explanation.top(tokens))
    without = "undefined" if explanation.is_undefined else "no token has any weight"
    console.print(Text(f"most: {heaviest}" if heaviest else without, style="dim"))


def _print_readings(console: Console, text: Mapping[str, Any]) -> None:
    """The table of all readings, where the text has more tokens than one."""
    readings = of_text(text, text["tokens"])
    if readings is None:
        return
    table = Table(title=READINGS_HEADING, title_justify="left", box=None, pad_edge=False)
    for number, header in enumerate(readings.header):
        table.add_column(header, no_wrap=number == 0)  # on a narrow terminal other cells wrap; the names stay whole
    for row in readings.rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print()
    console.print(table)
    console.print(Text(readings.legend, style="dim"))


def coloured(explanation: Explanation, tokens: Sequence[str]) -> Text:
    """The words, each on a background as strong as its weight."""
    line = Text()
    for token, heat in zip(tokens, explanation.heat, strict=True):
        line.append(printable(token), style=_behind(COLOURS[explanation.kind], float(heat)) if heat >= VISIBLE else None)
        line.append(" ")
    return line


def printable(text: str) -> str:
    """The text without what would move the cursor or change the terminal."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def _behind(colour: tuple[int, int, int], heat: float) -> Style:
    """Black on the colour, thinned with white."""
    red, green, blue = (round(255 - heat * (255 - part)) for part in colour)
    return Style(color="black", bgcolor=Color.from_rgb(red, green, blue))


def write_explained(path: Path, texts: Sequence[Mapping[str, Any]], run: str) -> None:
    """The same as a self-contained page."""
    shown = [
        {
            "id": number,
            "title": text["title"],
            "label": None,
            "predicted": text["predicted"],
            "confidence": max(text["probabilities"].values()),
            "question": None,
            "tokens": text["tokens"],
            "decides": None,
            "explanations": explanations(text, in_detail=True),
            "unknown": text["unknown"],
            "readings": of_text(text, text["tokens"]),
        }
        for number, text in enumerate(texts, start=1)
    ]
    write_text(path, render("explained.html", run=run, texts=shown))
