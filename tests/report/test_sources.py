"""The page, the sentence and the terminal lines of the sources of an answer: each number is what it says."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from attest.experiments.sources import scored, shares
from attest.report.sources import Sources, cut, times
from tests.report.browsers import AXE, in_a_browser, tell_media, with_axe

TEXTS = (
    "This lease is made between Anna Berg, the landlord, and Tom Reed, the tenant.",
    "The lease begins on 1 June 2024.",
    "The rent is 900 euros a month.",
    "The lease ends on 31 May 2027.",
)
DROPS, ATTENTION, GRADIENT = (0.5, 0.3, -0.4, 7.2), (0.1, 0.4, 0.1, 0.2), (0.0, -0.1, 0.0, 3.0)


def made(drops=DROPS, attention=ATTENTION, texts=TEXTS, **given) -> Sources:
    readings = {"attention": np.array(attention), "attention × gradient": np.array(GRADIENT[: len(drops)])}
    falls = np.array(drops, dtype=float)
    table = pd.DataFrame({"text": list(texts), "share": shares(falls), "drop": falls, **readings})
    scores = scored(readings, falls).assign(seconds=0.1)
    about = {"question": "When does the lease end?", "answer": "31 May 2027", "log_probability": -0.5} | given
    return Sources(**about, table=table, scores=scores, model="LlamaForCausalLM", by_head=np.ones((len(drops), 2)))


def page_of(found: Sources, tmp_path) -> str:
    found.write_page(tmp_path / "page.html")
    return (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_sentence_names_both_sources_with_their_shares():
    assert made().sentence == (
        "Comes from: “The lease ends on 31 May 2027”, 90\N{NO-BREAK SPACE}% of all falls over 4 sources. "
        "Attention names: “The lease begins on 1 June 2024”, 3.8\N{NO-BREAK SPACE}%."
    )
    assert made(attention=(0, 0, 0.1, 0.2)).sentence.endswith("over 4 sources. Attention names it too.")


def test_a_share_below_a_half_and_an_answer_that_needs_no_source_are_not_said_to_come_from_one():
    assert made(drops=(2.0, 1.9, 1.0, 2.4)).sentence.startswith("Comes most from: “The lease ends")
    weak = made(drops=(0.0, 0.0, 0.0, 0.1))
    assert weak.sentence.startswith("Comes most from: “The lease ends on 31 May 2027”, 100\N{NO-BREAK SPACE}% of all falls")
    kept = "Without source 4 the answer keeps 90\N{NO-BREAK SPACE}% of its probability: no source is needed by itself."
    assert weak.lines[-1] == kept
    assert weak.advice.startswith("Show no single source")
    assert made(drops=(0.0, 0.0, 0.0, math.log(2) + 1e-9)).lines[-1] == "Without source 4 the answer is 2 times less likely."


def test_the_advice_names_the_source_and_warns_of_one_answer():
    assert made().advice == "Show source 4, not source 2, which attention names."
    assert "one answer does not show" in made(attention=(0, 0, 0.1, 0.2)).advice


def test_the_strip_has_the_share_of_the_source_that_each_reading_names_and_that_of_chance():
    rows = {row.name: (row.share, row.place) for row in made().strip}
    assert [*rows] == ["leave-one-out", "attention × gradient", "a random source", "attention"]
    assert rows["attention"] == (pytest.approx(0.3 / 8), 1)
    assert rows["attention × gradient"] == rows["leave-one-out"] == (pytest.approx(7.2 / 8), 3)
    assert rows["a random source"] == (0.25, None), "the mean of all shares"


def test_the_terminal_says_it_in_five_lines_without_control_characters():
    lines = str(made(texts=(*TEXTS[:3], "Ends on\n31 May \x1b[31m2027"), answer="in\x1b[2J May")).splitlines()
    assert [line[:12] for line in lines] == ["Answer:     ", "Comes from: ", "Attention na", "Without sour", "Also named b"]
    assert lines[-1] == "Also named by: attention × gradient. Not by: attention."
    assert "\x1b" not in "".join(lines)
    assert "Ends on 31 May" in lines[1]


def test_two_rows_of_one_list_carry_the_marks_of_what_decides_and_of_attention(tmp_path):
    page = page_of(made(), tmp_path)
    rows = re.findall(r"<li title=.*?</li>", page[page.index('<ul class="shown">') :], flags=re.DOTALL)
    assert [re.search(r'class="(w [^"]+)"', row).group(1) for row in rows] == ["w d", "w a first"]
    said = [re.sub("<[^>]+>", "", row).replace("\N{NO-BREAK SPACE}", " ").split("\n")[-1] for row in rows]
    assert said == [
        "Source 4 of 4: 90 % of all falls, 25 % of attention.",
        "Source 2 of 4: 3.8 % of all falls, 50 % of attention.",
    ]
    assert "Two of 4 sources" in page
    assert "One of 4 sources" in page_of(made(attention=(0, 0, 0.1, 0.2)), tmp_path)


def test_columns_of_percentages_are_closed_and_add_up_to_all(tmp_path):
    page = page_of(made(), tmp_path)
    assert "<table" not in page[: page.index("<details")]
    table = page[page.index('aria-label="Table of sources"') :]
    cells = [re.findall(r"<td>([\d.]+)\N{NO-BREAK SPACE}%</td>", row) for row in re.findall(r"<tr>.*?</tr>", table)[1:5]]
    assert np.array(cells, dtype=float).sum(axis=0).tolist() == pytest.approx([100, 100, 100], abs=1.5)


def test_one_source_has_no_strip_and_long_texts_are_cut_but_stand_whole_below(tmp_path):
    page = page_of(made(drops=(2.0,), attention=(0.4,), texts=("word " * 500,), answer="answer " * 300), tmp_path)
    assert 'class="strip"' not in page
    assert "of-attention" not in page[page.index("<main") :], "of one source nothing is compared"
    assert "answer " * 299 in page
    assert len(re.search(r"<h1.*?</h1>", page).group()) < 220


@pytest.mark.parametrize(("drop", "said"), [(0.7, "2 times"), (7.464, "1,700 times"), (30, "over a million times")])
def test_a_fall_is_said_as_a_factor(drop, said):
    assert times(drop) == said


def test_a_text_is_cut_after_a_word_or_where_there_is_none():
    assert cut("one two\nthree", 20) == "one two three"
    assert cut("the lease, which ends", 14) == "the lease …"
    assert cut("这" * 100, 10) == f"{'这' * 8} …"


def opened(browser, found: Sources, tmp_path, width: int, height: int):
    found.write_page(tmp_path / "page.html")
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto((tmp_path / "page.html").as_uri())
    return page


def in_both_sizes(test):
    for mark in (*in_a_browser, pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=["screen", "phone"])):
        test = mark(test)
    return test


@in_both_sizes
def test_answer_both_sources_and_all_readings_stand_on_the_first_screen(browser, tmp_path, size):
    page = opened(browser, made(), tmp_path, *size)
    parts = ("h1", "ul.shown", ".strip")
    answer, both, strip = (page.locator(part).evaluate("e => e.getBoundingClientRect().bottom") for part in parts)
    assert 0 < answer < both < size[1]
    assert answer < strip < size[1]
    assert page.locator("table:visible").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    page.locator("summary", has_text="Each source").click()
    assert page.locator("table:visible").count() == 1
    page.close()


@with_axe
@in_both_sizes
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_rules_of_accessibility_are_kept(browser, tmp_path, size, scheme):
    page = opened(browser, made(), tmp_path, *size)
    tell_media(page, f"(prefers-color-scheme: {scheme})", color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
    page.close()
