"""Pictures that one can share: a text in two rows (what attention marks, what decides), and the strip of readings.

They are drawn in a font that every installation has, DejaVu Sans of matplotlib. An SVG carries the letters that it uses and
the width of each text, so that it looks the same elsewhere, also where its font is not read.
"""

import base64
import io
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

import matplotlib
import pandas as pd
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from PIL import Image, ImageColor, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from attest.core.errors import AttestError
from attest.core.kinds import CLASSES, Kind
from attest.core.measures.numbers import percent
from attest.experiments.verdict import LEVEL
from attest.report.answer import in_a_sentence, within
from attest.report.explained import ATTENTION, explanations, words_of
from attest.report.findings import SHOWN_AS, Findings
from attest.report.shown import Drawn, Row, ShownText, elided, quoted, shown_texts, strip_of, texts_with
from attest.runs.folder import write_atomically, write_text

LIGHT = {"paper": "#ffffff", "ink": "#16191d", "muted": "#565d66", "line": "#d9dde2", "axis": "#868e98", "band": "#e3e6ea"}
LIGHT |= {"marked": "#0b62a8", "fill": "#86c1f2", "decides": "#8a4f00", "under": "#ffdca3", "rule": "#b86a00"}
DARK = {"paper": "#14171b", "ink": "#eceff2", "muted": "#a7afb9", "line": "#363c44", "axis": "#7d8590", "band": "#2a3037"}
DARK |= {"marked": "#6fb9ff", "fill": "#1f5d96", "decides": "#f3b65c", "under": "#62420f", "rule": "#f3b65c"}
THEMES = {"light": LIGHT, "auto": LIGHT, "dark": DARK}
"""The colours of each theme, by their use; ``auto`` is light, and dark where the reader's system is dark."""
WIDTH, MARGIN, INDENT = 1200, 48, 212
IN_A_CELL = 720
"""The width of a picture in a notebook, in pixels, at which the letters of the picture are as large as the text of the
notebook."""
ONE_LINE, TWO_LINES = (38, 36, 34, 32, 30), (36, 34, 32, 30, 28, 26, 24, 22, 20)
"""Font sizes in pixels, the largest first. The first sizes are tried until the words of a text fit on one line; if none fits,
the others until they fit on two lines."""
SHORTER = (56, 40, 28, 20)
"""Numbers of characters. A text is shortened to the first of them, then to the next, until its words fit on two lines."""
LETTERS = 30
"""The largest number of characters of a single word; the end of a longer word is cut off."""
KEPT = "\N{NO-BREAK SPACE}\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"
SCALE, SMOOTH = 2, 2
"""The first: how many pixels of a PNG stand for one pixel of the picture, in each direction. The second: the factor by which
it is drawn larger still and then reduced, so that edges are smooth."""
STRIP = "readings.svg"
AXIS = {0: "0", 0.5: "50", 1: "100\N{NO-BREAK SPACE}%"}
"""The labels of an axis for shares from 0 to 1; the keys are their positions."""
FAMILY = "AttestSans,'DejaVu Sans',Verdana,sans-serif"


class Piece(NamedTuple):
    """A part of a sentence, and its colour."""

    text: str
    colour: str = "ink"

    @property
    def bold(self) -> bool:
        """Return whether it names words that are marked or decide."""
        return self.colour in ("marked", "decides")


def clean(text: str) -> str:
    """Return a text in which a sign replaces each character that no picture can hold, and one space is left of several."""
    signs = (each if each.isprintable() or each in KEPT else "\N{REPLACEMENT CHARACTER}" for each in text)
    return " ".join(filter(None, "".join(signs).split(" "))) or "\N{OPEN BOX}"


def cut(word: str, most: int = LETTERS) -> str:
    """Return a word with at most so many characters."""
    return word if len(word) <= most else f"{word[: most - 1]}…"


def shown_of(row: Mapping[str, Any], kind: Kind = CLASSES) -> ShownText:
    """Return a text as two rows; as one, without ``deciding``, where no word decides or nobody measured what does.

    Args:
        row: one text of ``joined``, as ``ExplainedText`` has it.
        kind: what the model decides.
    """
    names = [*row["probabilities"]]
    instance: dict[str, Any] = {key: value for key, value in row.items() if "/" not in key} | {"id": row.get("id", 0)}
    instance["tokens"] = [cut(token) for token in row["tokens"]]
    instance |= {"attention": row.get(ATTENTION), "predicted": names.index(row["predicted"]) if names else 0}
    measured = {key.removeprefix("E19/"): value for key, value in row.items() if key.startswith("E19/")}
    measured |= {"id": instance["id"]}
    found = shown_texts(texts_with(pd.DataFrame([measured]), pd.DataFrame([instance]), names, kind))
    if found:
        return found[0]
    words, marked = words_of(row), [each for each in explanations(row) if each.key == ATTENTION]
    heat = [*marked[0].heat(words)] if marked else [0.0] * len(words)
    pairs = [(word.text, weight) for word, weight in zip(words, heat, strict=True) if not word.special]
    drawn = [Drawn(text, weight, weight == 1, False, False) for text, weight in pairs]
    none = "No word decides: the model says the same of words that say nothing to it."
    why = none if row.get("E19/needs_words") == 0 else "What decides in this text was not measured."
    whole = " ".join(word.text for word in drawn)
    first = quoted(drawn, lambda word: word.first)
    return ShownText(instance["id"], "", False, tuple(elided(drawn)), whole, row["predicted"], first, "", {}, why)


def title_of(shown: ShownText, called: str = "attention") -> list[Piece]:
    """Return what the explanation marks and what decides, as a sentence."""
    says = f"{called[0].upper()}{called[1:]} marks"
    if shown.deciding and shown.marked == shown.deciding:
        return [Piece(f"{says} what decides:"), Piece(f"{shown.deciding}.", "decides")]
    found = [Piece(says), Piece(f"{shown.marked}.", "marked")]
    if shown.deciding:
        groups = sum(decides for decides, _ in groupby(word.decides for word in shown.words))
        found += [Piece(shown.deciding, "decides"), Piece("decides." if groups < 2 else "decide.")]
    return found


def alone_of(shown: ShownText) -> list[Piece]:
    """Return what the model says of the marked words alone, of those that decide, and of none; or why this is not known."""
    if not shown.deciding:
        return [Piece(shown.reason, "muted")]
    said = f" {shown.said}" if shown.said else ""
    many = f" The words that decide are {shown.one_of_many}." if shown.one_of_many else ""
    nothing = Piece(f"All words replaced: {shown.alone['without']}{said}.{many}", "muted")
    decide = [Piece(shown.deciding, "decides"), Piece(f"{shown.alone['words']}{said}.")]
    if shown.marked == shown.deciding:
        return [Piece("Alone:", "muted"), *decide, nothing]
    reason = f" ({shown.reason})" if shown.reason else ""
    marked = [Piece(shown.marked, "marked"), Piece(f"{shown.alone['first']}{said}{reason},")]
    return [Piece("Alone:", "muted"), *marked, decide[0], Piece(f"{shown.alone['words']}."), nothing]


def source_of(found: Findings) -> str:
    """Return the name of a run or a trial, and in how many texts its explanation is right, as sentences."""
    share = None if found.verdict is None else found.verdict.share
    if share is None:
        return f"{found.name}."
    called = f"{found.called[0].upper()}{found.called[1:]}"
    return f"{found.name}. {called} is right in {within(share)} of {share.texts:,} {found.counted}."


@cache
def font_file(bold: bool) -> Path:
    """Return the file of DejaVu Sans that comes with matplotlib."""
    return Path(matplotlib.get_data_path(), "fonts", "ttf", f"DejaVuSans{'-Bold' * bold}.ttf")


@cache
def _advances(bold: bool) -> tuple[dict[int, float], float]:
    """Return the width of each character and of an unknown one, in parts of the font's size."""
    font = TTFont(font_file(bold))
    widths, of_em = font["hmtx"].metrics, font["head"].unitsPerEm
    return {code: widths[name][0] / of_em for code, name in font.getBestCmap().items()}, widths[".notdef"][0] / of_em


def width_of(text: str, size: float, bold: bool = False) -> float:
    """Return the width of a text in pixels. Of signs that the font lacks, it is a guess: wide ones as wide as high."""
    known, unknown = _advances(bold)
    guess = {"W": 1.0, "F": 1.0}
    beside = (0.0 if unicodedata.combining(each) else guess.get(unicodedata.east_asian_width(each), unknown) for each in text)
    return size * sum(known.get(ord(each), other) for each, other in zip(text, beside, strict=True))


def _embedded(signs: str, bold: bool) -> str:
    """Return a style with the part of the font that draws these characters; the same characters give the same text."""
    options = Options(flavor="woff", layout_features=[], name_IDs=[], hinting=False, notdef_outline=True)
    options.drop_tables += ["FFTM", "kern"]  # of its makers; and widths that depend on neighbours
    font = TTFont(font_file(bold), recalcTimestamp=False, lazy=True)
    subsetter = Subsetter(options)
    subsetter.populate(text=signs)
    subsetter.subset(font)
    font.flavor, kept = "woff", io.BytesIO()
    font.save(kept)
    data = base64.b64encode(kept.getvalue()).decode()
    weight = 700 if bold else 400
    return f"@font-face{{font-family:AttestSans;font-weight:{weight};src:url(data:font/woff;base64,{data}) format('woff')}}"


class Label(NamedTuple):
    """A text in one line; ``anchor`` is ``start``, ``middle`` or ``end``."""

    x: float
    y: float
    text: str
    size: float
    colour: str = "ink"
    bold: bool = False
    anchor: str = "start"


class Box(NamedTuple):
    """A rectangle; ``edge`` is the colour of its frame, and ``turned`` stands it on a corner."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    radius: float = 0
    opacity: float = 1
    edge: str = ""
    turned: bool = False


@dataclass(repr=False)
class Picture:
    """Boxes and labels, which become an SVG or a PNG. A notebook shows the SVG, a terminal the words."""

    title: str = ""
    description: str = ""
    height: float = 0.0
    marks: list[Label | Box] = field(default_factory=list)

    def box(self, *given: Any, **more: Any) -> None:
        """Draw a ``Box``."""
        self.marks.append(Box(*given, **more))

    def label(self, x: float, y: float, text: str, *given: Any, **more: Any) -> None:
        """Write a ``Label``."""
        self.marks.append(Label(x, y, clean(text), *given, **more))

    def sentence(self, pieces: Sequence[Piece], y: float, sizes: Sequence[float]) -> float:
        """Write a sentence in the first size in which two lines hold it, else in the last; return the next line's place."""
        parts = [(part, piece.colour) for piece in pieces for part in clean(piece.text).split(" ") if part]
        words = [Piece(cut(part, LETTERS + 10), colour) for part, colour in parts]
        for size in sizes:
            widths = [width_of(word.text, size, word.bold) for word in words]
            lines = _filled(words, widths, [width_of(" ", size, word.bold) for word in words], WIDTH - 2 * MARGIN)
            if len(lines) <= 2:
                break
        for line in lines:
            for colour, part in groupby(line, key=lambda placed: placed[0].colour):
                placed = [*part]
                self.label(
                    MARGIN + placed[0][1], y, " ".join(each.text for each, _ in placed), size, colour, placed[0][0].bold
                )
            y += 1.4 * size
        return y

    def foot(self, text: str, y: float) -> None:
        """Write the last line, small and cut to one line, and end the picture below it."""
        room = WIDTH - 2 * MARGIN - 90
        size = next((each for each in (20, 19, 18, 17) if width_of(clean(text), each) <= room), 16)
        while width_of(text := clean(text), size) > room:
            text = f"{text[:-2].rstrip()}…"
        self.label(MARGIN, y, text, size, "muted")
        self.label(WIDTH - MARGIN, y, "Attest", size, "muted", False, "end")
        self.height = y + 34

    def svg(self, theme: str = "auto", shown: float = WIDTH) -> str:
        """Return the picture as text of an SVG file.

        Args:
            shown: how wide it is shown, in pixels; a narrower page shrinks it.
        """
        colours = THEMES[theme]
        used = {bold: {sign for each in self._labels if each.bold == bold for sign in each.text} for bold in (False, True)}
        style = "".join(_embedded("".join(sorted(signs)), bold) for bold, signs in used.items() if signs)
        style += f".attest text{{font-family:{FAMILY}}}"
        if theme == "auto":
            dark = "".join(
                f".attest .{name}{{fill:{value}}}.attest .e-{name}{{stroke:{value}}}" for name, value in DARK.items()
            )
            style += f"@media (prefers-color-scheme:dark){{{dark}}}"
        ground = Box(0, 0, WIDTH, self.height, "paper")
        drawn = "\n".join(_drawn(each, colours) for each in [ground, *self.marks])
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="attest" width="{shown:g}" '
            f'height="{self.height * shown / WIDTH:.0f}" style="max-width:100%;height:auto" '
            f'viewBox="0 0 {WIDTH} {self.height:.0f}" role="img">\n'
            f"<title>{escape(clean(self.title))}</title>\n"
            f"<desc>{escape(clean(self.description))}</desc>\n<style>{style}</style>\n{drawn}\n</svg>\n"
        )

    def png(self, theme: str = "light") -> Image.Image:
        """Return the picture as an image with ``SCALE`` pixels for each of its pixels.

        Raises:
            AttestError: the font has no letter for a character.
        """
        lacking = sorted({sign for each in self._labels for sign in each.text if ord(sign) not in _advances(each.bold)[0]})
        if lacking:
            raise AttestError(
                f"a PNG is drawn in DejaVu Sans, which cannot write {lacking[0]!r}; expected a text in its letters. Save the "
                "picture as .svg, which takes other fonts of the reader."
            )
        colours, times = THEMES[theme], SCALE * SMOOTH
        image = Image.new("RGB", (times * WIDTH, times * round(self.height)), colours["paper"])
        draw = ImageDraw.Draw(image)
        for each in self.marks:
            if isinstance(each, Label):
                font = ImageFont.truetype(font_file(each.bold), times * each.size)
                anchor = {"start": "ls", "middle": "ms", "end": "rs"}[each.anchor]
                draw.text((times * each.x, times * each.y), each.text, colours[each.colour], font, anchor)
                continue
            ends = [times * value for value in (each.x, each.y, each.x + each.width, each.y + each.height)]
            pair = (ImageColor.getrgb(colours[name]) for name in (each.colour, "paper"))
            mixed = tuple(round(over * each.opacity + under * (1 - each.opacity)) for over, under in zip(*pair, strict=True))
            edge = colours[each.edge] if each.edge else None
            draw.rounded_rectangle(ends, times * each.radius, mixed, edge, round(2.5 * times) if edge else 1)
        return image.resize((SCALE * WIDTH, SCALE * round(self.height)), Image.Resampling.LANCZOS)

    def save(self, path: Path, theme: str = "auto") -> None:
        """Write the picture as ``.svg`` or ``.png``; a PNG of the theme ``auto`` is light.

        Raises:
            AttestError: another ending, another theme, or a text that no PNG can hold.
        """
        if path.suffix.lower() not in (".svg", ".png"):
            raise AttestError(f"{path} is no name of a picture; expected a name that ends in .svg, .png or .html.")
        if theme not in THEMES:
            raise AttestError(f"there is no theme {theme!r}; expected one of: {', '.join(THEMES)}.")
        if path.suffix.lower() == ".svg":
            write_text(path, self.svg(theme))
            return
        about, image = PngInfo(), self.png(theme)
        about.add_text("Software", "Attest")
        about.add_itxt("Description", f"{clean(self.title)} {clean(self.description)}")
        write_atomically(path, lambda temporary: image.save(temporary, format="png", pnginfo=about, optimize=True))

    def __repr__(self) -> str:
        return " ".join(filter(None, [clean(self.title), clean(self.description)]))

    def _repr_svg_(self) -> str:
        return self.svg(shown=IN_A_CELL)

    @property
    def _labels(self) -> list[Label]:
        return [each for each in self.marks if isinstance(each, Label)]


def _drawn(each: Label | Box, colours: Mapping[str, str]) -> str:
    colour = f'class="{each.colour}" fill="{colours[each.colour]}"'
    if isinstance(each, Label):
        weight = ' font-weight="700"' if each.bold else ""
        anchor = "" if each.anchor == "start" else f' text-anchor="{each.anchor}"'
        fits = f'textLength="{width_of(each.text, each.size, each.bold):.2f}" lengthAdjust="spacingAndGlyphs"'
        where = f'x="{each.x:.1f}" y="{each.y:.1f}" font-size="{each.size:g}"'
        return f"<text {where} {colour}{weight}{anchor} {fits}>{escape(each.text)}</text>"
    if each.edge:
        colour = f'class="{each.colour} e-{each.edge}" fill="{colours[each.colour]}" '
        colour += f'stroke="{colours[each.edge]}" stroke-width="2.5"'
    colour += f' fill-opacity="{each.opacity:.2f}"' if each.opacity < 1 else ""
    middle = f"{each.x + each.width / 2:.1f} {each.y + each.height / 2:.1f}"
    colour += f' transform="rotate(45 {middle})"' if each.turned else ""
    size = f'width="{each.width:.1f}" height="{each.height:.1f}" rx="{each.radius:g}"'
    return f'<rect x="{each.x:.1f}" y="{each.y:.1f}" {size} {colour}/>'


def _filled(
    items: Sequence[Any], widths: Sequence[float], gaps: Sequence[float], room: float
) -> list[list[tuple[Any, float]]]:
    """Return lines of items, each with its place in its line; a gap follows each item."""
    lines: list[list[tuple[Any, float]]] = [[]]
    x = 0.0
    for item, width, gap in zip(items, widths, gaps, strict=True):
        if lines[-1] and x + width > room:
            lines.append([])
            x = 0.0
        lines[-1].append((item, x))
        x += width + gap
    return lines


def _lines_of(words: Sequence[Drawn]) -> tuple[int, list[list[tuple[Drawn, float]]]]:
    """Return the largest size in which words fill one line, else two, and these lines; fewer words where two are too few."""
    room = WIDTH - INDENT - MARGIN
    whole = [word._replace(text=cut(clean(word.text))) for word in words]
    for most in SHORTER:
        kept = whole if most == SHORTER[0] else [each for each, _ in groupby(elided(whole, most))]
        for count, sizes in ((1, ONE_LINE), (2, TWO_LINES)):
            for size in sizes:
                widths = [width_of(word.text, size) for word in kept]
                lines = _filled(kept, widths, [width_of(" ", size) + 8] * len(kept), room)
                if len(lines) <= count:
                    return size, lines
    return size, lines[:2]


def text_picture(shown: ShownText, called: str = "attention", source: str = "") -> Picture:
    """Return the picture of one text: a title in words, two rows of the same words, and what each says alone.

    Args:
        called: the tested explanation in words.
        source: the line below, such as ``source_of`` returns it.
    """
    title, alone = title_of(shown, called), alone_of(shown)
    about = [shorten(clean(shown.whole), 1000, placeholder=" …"), *(piece.text for piece in alone), source]
    picture = Picture(" ".join(piece.text for piece in title), " ".join(filter(None, about)))
    y = picture.sentence(title, 74, (32, 28, 24)) + 8
    size, lines = _lines_of(shown.words)
    y += size
    for row in ["marked", "decides"] if shown.deciding else ["marked"]:
        name = called if row == "marked" and len(called) < 12 else row
        picture.label(MARGIN, y, name, 26 if len(name) < 10 else 24, row, True)
        for line in lines:
            for word, x in line:
                _marked(picture, word, row, INDENT + x, y, size)
            y += 1.62 * size
        y += 10
    picture.box(MARGIN, y - size * 0.6, WIDTH - 2 * MARGIN, 1.5, "line")
    y = picture.sentence(alone, y - size * 0.6 + 42, (26, 22, 20)) + 8
    picture.foot(source, y)
    return picture


def _marked(picture: Picture, word: Drawn, row: str, x: float, y: float, size: int) -> None:
    """Write a word of a row; a fill and a frame mark the explanation's first words, a fill and a line those that decide."""
    left, top, wide, high = x - 6, y - 0.93 * size, width_of(word.text, size) + 12, 1.26 * size
    if row == "marked" and (word.heat >= 0.1 or word.first):
        picture.box(left, top, wide, high, "fill", 5, word.heat, "marked" if word.first else "")
    if row == "decides" and word.decides:
        picture.box(left, top, wide, high, "under", 3)
        picture.box(left, top + high - 5, wide, 5, "rule")
    picture.label(x, y, word.text, size, "muted" if word.text == "…" else "ink")


def strip_picture(rows: Sequence[Row], source: str, unit: str = "text") -> Picture:
    """Return the picture of the strip of readings: in how many texts each is right, with its interval.

    Args:
        rows: as ``strip_of`` returns them.
        source: the name of the run or the trial.
        unit: what is counted: ``text`` or ``sentence``.
    """
    title = f"In how many {unit}s does it mark the words that decide?"
    picture = Picture(title, shares_in_words(rows))
    picture.label(MARGIN, 66, title, 30, "ink", True)
    bottom = draw_strip(picture, rows, 104)
    foot = f"{source}, {100 * LEVEL:.4g}\N{NO-BREAK SPACE}% intervals. Grey: random order."
    picture.foot(foot, bottom + 78)
    return picture


def shares_in_words(rows: Sequence[Row]) -> str:
    """Return the share of each row with its interval: ``attention 91 % [80 %, 97 %]; random order 15 % [6.7 %, 28 %]``."""
    return "; ".join(f"{row.name} {within(row.share)}" for row in rows)


def draw_strip(
    picture: Picture,
    rows: Sequence[Row],
    top: float,
    left: float = 0,
    below: Mapping[float, str] = AXIS,
    above: Mapping[float, str] | None = None,
    unit: str = "",
) -> float:
    """Draw shares of texts below each other, each with its interval, over one axis.

    Args:
        top: where the first row begins, in pixels.
        left: where the axis begins, if the names leave room.
        below: the shares that have a line, and what stands below each.
        above: what stands above the first row, at which shares.
        unit: what is counted, ``text`` or ``sentence``, if each row says how many it has.
    Returns:
        The place of the axis, in pixels; its numbers take 40 more.
    """
    names = [shorten(clean(row.name), 42, placeholder=" …") for row in rows]
    left, right, high = max(300.0, left, MARGIN + 28 + max(width_of(name, 26, True) for name in names)), 880.0, 62
    bottom = top + high * len(rows)

    def place(share: float) -> float:
        return left + (right - left) * share

    for row in rows:
        if row.random:
            picture.box(place(row.share.low), top, place(row.share.high) - place(row.share.low), bottom - top, "band")
    for share, name in (above or {}).items():
        picture.label(place(share), top - 8, name, 22, "muted", False, "middle")
    for share, name in below.items():
        picture.box(place(share) - 0.75, top, 1.5, bottom - top, "line")
        picture.label(place(share), bottom + 30, name, 22, "muted", False, "middle")
    picture.box(left, bottom - 1, right - left, 2, "axis")
    for number, (row, name) in enumerate(zip(rows, names, strict=True)):
        y, x = top + high * (number + 0.5), place(row.share.value)
        colour, bold = "marked" if row.tested else "muted" if row.random else "ink", row.tested or row.shown
        note = "show this" if row.shown else f"{row.share.texts:,} {unit}s" if unit else ""
        picture.label(left - 28, y + (0 if note else 9), name, 26, colour, bold, "end")
        if note:
            picture.label(left - 28, y + 24, note, 19, "ink", False, "end")
        width = max(place(row.share.high) - place(row.share.low), 3)
        picture.box(place(row.share.low), y - 7, width, 14, "marked" if row.tested else "axis", 4, 0.62 if row.tested else 1)
        r = 9 if row.random else 11
        inside, edge = ("paper", "muted") if row.random else (colour, "paper")
        picture.box(x - r, y - r, 2 * r, 2 * r, inside, 0 if row.shown else r, 1, edge, row.shown)
        picture.label(right + 28, y + 9, percent(row.share.value), 26, colour, not row.random)
        interval = f"[{percent(row.share.low)[:-2]}, {percent(row.share.high)[:-2]}]"
        picture.label(right + 40 + width_of("100\N{NO-BREAK SPACE}%", 26, True), y + 9, interval, 24, "muted")
    return bottom


def row_name(found: Findings) -> str:
    """Return the tested explanation as it is named beside a row, such as ``attention rollout``."""
    return in_a_sentence(SHOWN_AS.get(found.explanation, found.called))


def readings_picture(found: Findings) -> Picture | None:
    """Return the picture of the strip of readings of a run or a trial; None where there is no verdict."""
    rows = found.deciding
    strip = [] if found.verdict is None or rows is None else strip_of(found.verdict, rows, row_name(found))
    if not strip:
        return None
    unit = "sentence" if found.instances is None else "text"
    return strip_picture(strip, f"{found.name}. {strip[0].share.texts:,} {found.counted}", unit)


def strip_file(found: Findings) -> dict[str, str]:
    """Return the strip of readings of a run or a trial as SVG, by the name of its file; empty where there is no verdict."""
    picture = readings_picture(found)
    return {} if picture is None else {STRIP: picture.svg()}
