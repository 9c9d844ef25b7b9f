"""Pictures that one can share: a text in two rows and the strip of readings, as SVG and PNG, whatever the text is."""

import base64
import io
import pickle
import re
from collections import Counter
from html import escape
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from fontTools.ttLib import TTFont
from PIL import Image

from attest.core.errors import AttestError
from attest.core.measures.numbers import percent
from attest.experiments.verdict import Share
from attest.report.explained_text import ExplainedText
from attest.report.findings import Findings
from attest.report.pictures import INDENT, WIDTH, readings_picture, row_name, strip_file, strip_picture, text_picture
from attest.report.shown import Row, first_screen, strip_of
from attest.report.verdict_pictures import PicturedSentence, verdict_picture

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    "\"&amp;'",
    "\x1b[31mred",
    "a\x00b",
    "\u202etxet",
    "\ud800",
    "\ufffe",
    " ",
    "]]>",
    "-->",
    " a  b ",
]


def explained(words, first=(), decides=(), alone=(0.5, 0.9, 0.4), right=False, names=("blame", "praise"), **columns):
    """A text whose words at these places attention marks first, and decide; nothing is measured where none decides."""
    first, decides = ([float(place in each) for place in range(len(words))] for each in (first, decides))
    row = {"title": "text 1", "tokens": words, "unknown": [], "predicted": names[0]}
    row |= {"probabilities": dict(zip(names, (0.9, 0.1), strict=True)), "instances/attention": 0.01 + np.array(first)}
    measured = {"first": np.array(first), "decides": np.array(decides), "matter": np.array(first), "needs_words": 1.0}
    measured |= {"words": sum(decides), "right": float(right)}
    measured |= dict(zip(("with_first", "with_words", "without_words"), alone, strict=True))
    row |= {f"E19/{name}": value for name, value in measured.items()} if any(decides) else {}
    return ExplainedText(row | columns, "attention", "Some run. Attention is right in 41 % of 160 texts.")


DULL = ["the", "plot", "is", "not", "dull", "."]


def svg_of(text, theme="auto"):
    return text_picture(text.shown, "attention", "Some run.").svg(theme)


def read(svg):
    """The elements of a picture, which must be well-formed, in their order."""
    return [*ElementTree.fromstring(svg).iter()]


def texts_in(svg):
    return [each for each in read(svg) if each.tag == f"{SVG}text"]


def test_a_text_is_two_rows_and_its_title_says_what_they_show():
    svg = svg_of(explained(DULL, first=[2], decides=[3, 4]))
    title, about = (next(each.text for each in read(svg) if each.tag == f"{SVG}{name}") for name in ("title", "desc"))
    assert title == "Attention marks “is”. “not dull” decides."
    said = "Alone: “is” 50 % blame, “not dull” 90 %. All words replaced: 40 % blame."
    assert about.replace("\xa0", " ") == f"the plot is not dull . {said} Some run."
    shown = [each.text.replace("\xa0", " ") for each in texts_in(svg)]
    assert " ".join(shown) == (
        f"Attention marks “is”. “not dull” decides. attention the plot is not dull . decides the plot is not dull . {said} "
        "Some run. Attest"
    )
    assert Counter(each.get("class") for each in read(svg) if each.tag == f"{SVG}rect") == Counter(
        {"paper": 1, "fill e-marked": 1, "under": 2, "rule": 2, "line": 1}
    )


def test_both_rows_stand_exactly_above_each_other():
    places = Counter((each.text, each.get("x")) for each in texts_in(svg_of(explained(DULL, [2], [3, 4]))))
    assert all(places[pair] == 2 for pair in places if pair[0] in DULL)


def test_the_parts_of_a_sentence_stand_a_space_apart():
    svg = svg_of(explained(["so"] * 20, range(0, 8), [10]))
    title = [each for each in texts_in(svg) if each.get("y") == "74.0"]
    assert len(title) == 4
    for before, after in pairwise(title):
        gap = float(after.get("x")) - float(before.get("x")) - float(before.get("textLength"))
        assert 0.3 < gap / float(before.get("font-size")) < 0.36


def test_words_that_decide_and_are_marked_are_named_once():
    svg = svg_of(explained(DULL, first=[3, 4], decides=[3, 4], right=True))
    assert "Attention marks what decides: “not dull”." in svg
    assert svg_of(explained(DULL, first=[2], decides=[1, 4])).count("decide.") == 2, "several groups of words: in two places"


def test_no_text_breaks_a_picture_or_is_obeyed():
    text = explained(HOSTILE, [0, 2], [1, 3, 4, 5, 6, 7], names=("<b>&\x00", "]]>"))
    for svg in (svg_of(text), svg_of(explained(HOSTILE)), svg_of(explained([""], [0], [0]))):
        assert {each.tag for each in read(svg)} == {
            f"{SVG}{name}" for name in ("svg", "title", "desc", "style", "rect", "text")
        }
        assert not re.search("[\x00-\x09\x0b-\x1f\u202e\ufffe]", svg)
        svg.encode("utf-8")
        assert all(each.text and all(each.text.split(" ")) for each in texts_in(svg)), "textLength would stretch them"
    assert "&lt;script&gt;" in svg_of(text)
    assert "<script" not in text._repr_html_()


def embedded(svg):
    """The fonts in a picture, by weight."""
    found = re.findall(r"font-weight:(\d+);src:url\(data:font/woff;base64,([^)]+)\)", svg)
    return {weight: TTFont(io.BytesIO(base64.b64decode(data))) for weight, data in found}


def test_a_picture_carries_the_letters_that_it_uses_and_the_width_of_each_text():
    svg = svg_of(explained([*DULL, "naïve", "“Wörter”", "Ω", "да"], [2], [3, 4]))
    fonts = embedded(svg)
    assert {*fonts} == {"400", "700"}
    assert len(svg) < 40_000
    for each in texts_in(svg):
        font = fonts[each.get("font-weight", "400")]
        letters, size = font.getBestCmap(), float(each.get("font-size"))
        width = sum(font["hmtx"][letters[ord(sign)]][0] for sign in each.text) * size / font["head"].unitsPerEm
        assert float(each.get("textLength")) == pytest.approx(width, abs=0.01), each.text
    assert svg == svg_of(explained([*DULL, "naïve", "“Wörter”", "Ω", "да"], [2], [3, 4])), "the same text, the same file"


def test_letters_that_the_font_lacks_have_room():
    svg = svg_of(explained(["这部", "电影", "不", "差"], [0], [2, 3]))
    (first, *_) = [each for each in texts_in(svg) if each.text == "这部"]
    assert float(first.get("textLength")) == 2 * float(first.get("font-size"))
    assert float(first.get("x")) == INDENT


@pytest.mark.parametrize(
    ("words", "first", "decides"),
    [
        ([f"word{place}" for place in range(250)], [3], [100, 101]),
        ([f"word{place}" for place in range(250)], range(250), range(250)),
        (["a"] * 250, range(0, 250, 2), range(1, 250, 2)),
        (["w" * 500] * 5, [0, 4], [2]),
        (["W" * 30] * 250, [0, 50, 100], [200]),
        (["W" * 26] * 250, [0, 50, 100], [200]),
    ],
)
def test_a_row_has_at_most_two_lines_within_the_picture(words, first, decides):
    picture = text_picture(explained(words, first, decides).shown, "attention", "a very long name " * 30)
    svg = picture.svg()
    sizes = [(float(each.get("y")), float(each.get("font-size"))) for each in texts_in(svg)]
    starts = [float(each.get("y")) for each in texts_in(svg) if each.text in ("attention", "decides")]
    assert len(starts) == 2
    lines = {y for y, _ in sizes if starts[0] <= y < starts[1]}
    assert 1 <= len(lines) <= 2
    assert any(each.get("class") == "under" for each in read(svg)), "what decides is shown"
    for each in read(svg):
        width = float(each.get("textLength") or each.get("width") or 0)
        if each.tag in (f"{SVG}text", f"{SVG}rect") and each.get("text-anchor") != "end":
            assert float(each.get("x")) >= 0
            assert float(each.get("x")) + width <= WIDTH - 30 or each.get("class") == "paper"
    assert max(y for y, _ in sizes) < picture.height


def test_what_was_not_measured_is_not_drawn():
    text = explained(DULL, first=[2])
    svg = svg_of(text)
    assert "Attention marks “is”." in svg
    assert "What decides in this text was not measured." in svg
    assert not {"under", "rule", "decides"} & {each.get("class") for each in read(svg)}
    assert "What decides" not in svg_of(explained(DULL, first=[2], **{"E19/needs_words": 0.0}))
    assert "No word decides: the model says the same" in svg_of(explained(DULL, first=[2], **{"E19/needs_words": 0.0}))
    uniform = explained(DULL, **{"instances/attention": np.zeros(6)})
    assert "Attention marks no word." in svg_of(uniform)


def test_a_cell_shows_the_rows_and_folds_the_explanations():
    cell = explained(DULL, [2], [3, 4])._repr_html_()
    rows, _, folded = cell.partition("<details")
    assert "✗ <strong>Wrong.</strong>" in rows
    assert "<strong>“not dull”</strong> 90" in rows
    assert [rows.count(f">{word}</span>") for word in DULL] == [2] * 6
    assert "<strong>Attention</strong>" in folded
    assert " open>" not in cell
    assert "class=" not in cell, "a cell has no page of its own"
    assert not re.search(r"[^-]color:", cell), "letters keep the colour of the notebook, light or dark"
    bare = explained(DULL, [2])._repr_html_()
    assert "What decides in this text was not measured." in bare
    assert bare.count("<details") == 0, "attention alone is not folded"


def test_a_picture_is_saved_by_the_ending_of_its_name(tmp_path):
    text = explained(DULL, [2], [3, 4])
    light, dark = (text.save(tmp_path / f"{theme}.svg", theme).read_text() for theme in ("light", "dark"))
    assert "prefers-color-scheme" not in light + dark
    assert 'fill="#ffffff"' in light
    assert 'fill="#ffffff"' not in dark
    auto = text.save(str(tmp_path / "auto.svg")).read_text()
    assert auto.count("prefers-color-scheme") == 1
    assert 'fill="#ffffff"' in auto, "a reader without styles sees the light picture"
    assert "What decides" in text.save(tmp_path / "text.html").read_text()
    image = Image.open(text.save(tmp_path / "text.png"))
    assert image.width == 2 * WIDTH
    assert image.getpixel((5, 5)) == (255, 255, 255)
    assert Image.open(text.save(tmp_path / "dark.png", "dark")).getpixel((5, 5)) == (20, 23, 27)
    assert {(134, 193, 242), (255, 220, 163)} <= {colour for _, colour in image.getcolors(1 << 20)}, "both fills"
    with pytest.raises(AttestError, match="no name of a picture"):
        text.save(tmp_path / "text.pdf")
    with pytest.raises(AttestError, match="no theme 'blue'"):
        text.save(tmp_path / "text.svg", "blue")
    with pytest.raises(AttestError, match=r"cannot write '.'; .* \.svg"):
        explained(["不差"], [0], [0]).save(tmp_path / "chinese.png")
    assert not (tmp_path / "chinese.png").exists()


def test_a_tested_text_is_the_same_on_the_page_and_in_its_picture(small_run):
    import attest

    run, screen = attest.open_run(small_run.path), first_screen(Findings(small_run))
    assert screen["texts"]
    for each in screen["texts"]:
        shown = run.explain(each.identity).shown
        assert (shown.words, shown.marked, shown.deciding, shown.alone, shown.reason, shown.said) == (
            *(each.words, each.marked, each.deciding, each.alone, each.reason, each.said),
        )


def test_a_new_text_is_measured_where_the_run_has_neutral_words(small_run, tmp_path):
    import attest

    text = attest.open_run(small_run.path).explain("the plot is superb .")
    svg = text.save(tmp_path / "new.svg").read_text()
    assert "decide" in svg
    assert "is right in" in svg, "the line below says how often such a picture is right"


ROWS = [
    Row("leave-one-out", Share(0.9, 0.8, 1.0, 40), False, False, True),
    Row("attention <&>", Share(0.4, 0.3, 0.5, 40), True, False, False),
    Row("random order", Share(0.1, 0.0, 0.2, 40), False, True, False),
]


def test_the_strip_shows_each_reading_with_its_share():
    svg = strip_picture(ROWS, "Some run. 40 texts").svg()
    shown = [each.text.replace("\xa0", " ") for each in texts_in(svg)]
    for row in ROWS:
        assert row.name in shown
    assert [each for each in shown if each.endswith(" %")] == ["100 %", "90 %", "40 %", "10 %"]
    assert shown.count("show this") == 1
    assert "[80, 100]" in shown
    rects = [each for each in read(svg) if each.tag == f"{SVG}rect"]
    assert len([each for each in rects if each.get("transform")]) == 1, "the diamond"
    (band,) = [each for each in rects if each.get("class") == "band"]
    axis = next(each for each in rects if each.get("class") == "axis" and float(each.get("height")) == 2)
    assert float(band.get("width")) == pytest.approx(0.2 * float(axis.get("width")), abs=0.1)


def test_the_strip_of_a_run_lies_among_its_figures(small_run):
    found = Findings(small_run)
    rows = strip_of(found.verdict, found.table("E19"), row_name(found))
    ((name, svg),) = strip_file(found).items()
    assert name == "readings.svg"
    shown = {each.text for each in texts_in(svg)}
    assert {row.name for row in rows} <= shown
    assert (small_run.figures / name).read_text(encoding="utf-8") == svg
    assert name in (small_run.figures / "drawn.txt").read_text()


def test_a_notebook_shows_the_verdict_as_its_sentence_and_a_share(small_run):
    import attest

    run = attest.open_run(small_run.path)
    assert run.verdict == run.verdicts[0], "it is a string like any other"
    assert pickle.loads(pickle.dumps(run.verdict)) == run.verdict
    shown = [each.text.replace("\xa0", " ") for each in texts_in(run.verdict._repr_svg_())]
    share, random = (each.replace("\xa0", " ") for each in re.findall(r"[\d.]+\s% \[", run.verdict))
    assert {"no", "in part", "yes", "0", "50", "90", "100 %", share[:-2], random[:-2]} <= {*shown}
    assert " ".join(shown).startswith(run.verdict.partition(";")[0].replace("\xa0", " "))
    assert PicturedSentence("Cannot tell.")._repr_svg_() is None
    drawn = ElementTree.fromstring(run.verdict._repr_svg_())
    assert float(drawn.get("width")) < WIDTH, "it is no wider than a cell"
    left, top, wide, high = map(float, drawn.get("viewBox").split())
    assert (left, top, wide) == (0, 0, WIDTH)
    assert float(drawn.get("height")) / float(drawn.get("width")) == pytest.approx(high / wide, rel=0.01)


def test_a_row_of_a_transformer_is_named_without_a_comma(small_run, monkeypatch):
    monkeypatch.setattr(Findings, "explanation", "rollout")
    found = Findings(small_run)
    for picture in (readings_picture(found), verdict_picture(found)):
        assert "attention rollout" in {each.text for each in texts_in(picture.svg())}


def test_kinds_of_texts_are_drawn_with_their_number_and_share(small_run):
    import attest

    picture, screen = attest.open_run(small_run.path).groups(), first_screen(Findings(small_run))
    shown = [each.text for each in texts_in(picture._repr_svg_())]
    assert screen["groupings"]
    for each in screen["groupings"]:
        assert each.question in shown
        for group in each.groups:
            assert {group.name, f"{group.share.texts} texts", percent(group.share.value)} <= {*shown}
    assert f"{len(screen['groupings'])} of {screen['tried']} groupings" in " ".join(shown)
    assert screen["groupings"][0].question in repr(picture), "a terminal shows the words"
    assert "Label(" not in repr(picture)


def test_without_a_verdict_there_is_nothing_to_draw(small_run, monkeypatch, refusal):
    import attest

    monkeypatch.setattr(Findings, "verdict", None)
    run = attest.open_run(small_run.path)
    assert run.verdict is None
    for drawn in (run.readings, run.groups):
        with refusal():
            drawn()


def test_a_cell_of_a_run_shows_texts_and_folds_its_numbers(small_run, monkeypatch):
    import attest

    run, screen = attest.open_run(small_run.path), first_screen(Findings(small_run))
    shown, _, folded = run._repr_html_().partition("<details>")
    assert escape(run.verdict) in shown
    assert all(f"text {each.identity}</small>" in shown for each in screen["texts"])
    assert "<table" not in shown
    assert "<table" in folded
    assert "class=" not in shown, "a cell has no page of its own"
    monkeypatch.setattr(Findings, "verdict", None)
    assert "<details open>" in run._repr_html_(), "where no text is shown, the numbers are"
