"""The report in a real browser: silent, self-contained, readable on a phone, operable, accessible and fast.

Needs Playwright (``pip install playwright``) and a Chromium on the path; the rules of accessibility need axe-core
(``npm install axe-core`` in the repository, or its ``axe.min.js`` named by ``AXE_CORE``). Skipped where one is missing.
"""

import re
import shutil
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from attest.report.findings import Findings
from attest.report.page import write_report
from attest.runs.folder import RunFolder, read_json, write_json, write_table
from tests.report.browsers import AXE, LETTERS, WIDTHS, in_a_browser, resize, tell_media, with_axe
from tests.report.made import made_run
from tests.report.test_sentences import ROWS

TEXTS, SECONDS, BYTES = 25_000, 2.0, 8_000_000

pytestmark = in_a_browser


@pytest.fixture(scope="module")
def run(small_run, tmp_path_factory) -> RunFolder:
    """The small run, made at a commit, as runs from a checkout are."""
    copy = RunFolder(tmp_path_factory.mktemp("browser") / small_run.path.relative_to(small_run.path.parents[2]))
    shutil.copytree(small_run.path, copy.path)
    timing = read_json(copy.timing)
    write_json(copy.timing, timing | {"environment": timing.get("environment", {}) | {"commit": "0123456789" * 4}})
    write_report(Findings(copy), figures=[])
    page = small_run.report.read_text()  # its figures are drawn already
    texts = '<details class="folded"><summary><h2>Texts, and'
    drawn = page[page.index('<details class="folded"><summary><h2>Figures') : page.index(texts)]
    copy.report.write_text(copy.report.read_text().replace(texts, drawn + texts))
    return copy


@pytest.fixture(scope="module")
def opened(browser, run) -> Iterator:
    """The page, and what it said to the console and asked of others."""
    page, said, asked = browser.new_page(viewport={"width": 1400, "height": 900}), [], []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(run.report.as_uri())
    yield page, said, asked
    page.close()


@pytest.fixture
def page(opened):
    page = opened[0]
    page.bring_to_front()
    resize(page, 1400)
    page.emulate_media(media="screen", color_scheme="light")
    unfold(page, False)
    return page


def unfold(page, is_open: bool = True) -> None:
    page.evaluate("open => document.querySelectorAll('details').forEach(each => { each.open = open; })", is_open)


def test_it_says_nothing_to_the_console_and_asks_nothing_of_others(opened, run):
    _, said, asked = opened
    assert said == []
    assert {*asked} <= {run.report.as_uri()}


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_screen(page, width):
    resize(page, width)
    for is_open in (False, True):
        unfold(page, is_open)
        require_narrow(page, width)


def require_narrow(page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.evaluate(
        "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && "
        "!e.closest('.wide')).map(e => e.tagName + '.' + e.className).slice(0, 9)"
    )


def bottom_of(page, what: str) -> float:
    return page.locator(what).first.evaluate("each => each.getBoundingClientRect().bottom + scrollY")


def test_the_first_screen_has_the_answer_a_text_and_all_readings(browser, run):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(run.report.as_uri())
    assert bottom_of(page, "h1.answer") < bottom_of(page, "article.shown") < 800
    assert bottom_of(page, ".screen .strip") < 800
    assert page.locator("ul.glance:visible, table:visible").count() == 0
    page.close()


def test_on_a_phone_the_answer_and_a_text_come_first_and_the_rest_waits_to_be_opened(browser, run):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(run.report.as_uri())
    first, second = (page.locator("article.shown").nth(place).bounding_box()["y"] for place in (0, 1))
    assert bottom_of(page, "h1.answer") < first < bottom_of(page, "article.shown") < 844
    assert first < page.locator(".screen .strip").bounding_box()["y"] < second
    assert not page.locator("#questions").is_visible()
    page.locator('a[href="#questions"]').click()
    assert page.locator("ul.asked").is_visible()
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_letters_of_a_figure_can_be_read_and_a_wide_one_scrolls_in_its_own_box(page, width):
    resize(page, width, 844)
    unfold(page)
    assert min(page.locator("figure svg text").evaluate_all(LETTERS)) >= 9
    boxes = page.locator("figure > .wide").evaluate_all("each => each.map(one => one.getBoundingClientRect().right)")
    assert 0 < max(boxes) <= width


def test_on_a_wide_screen_the_words_stand_open(browser, run):
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(run.report.as_uri())
    assert page.locator("ul.asked").is_visible()
    page.close()


def test_a_question_opens_by_keyboard_and_a_link_opens_what_it_leads_to(page):
    numbers = page.locator("#E2 table")
    page.locator("details.answers").evaluate("each => { each.open = true; }")
    page.locator("li details:has(#E2) > summary").focus()
    page.keyboard.press("Enter")
    assert numbers.is_visible()
    page.keyboard.press("Enter")
    assert not numbers.is_visible()
    page.locator("details:has(#glance) > summary").click()
    for identity in ("E1", "first", "instances"):
        page.locator(f'a[href="#{identity}"]').first.click()
        page.locator(f"#{identity} table").first.wait_for(state="visible")


def test_in_print_everything_is_open_but_what_needs_a_hand(page):
    tell_media(page, "print", media="print")
    heights = "['E2', 'first', 'texts', 'made'].map(each => document.getElementById(each).getBoundingClientRect().height)"
    assert min(page.evaluate(heights)) > 50
    assert page.locator("#instances").evaluate("each => each.getBoundingClientRect().height") == 0


def test_words_find_their_texts(page):
    unfold(page)
    rows = page.locator(".instances tbody tr")
    word = page.locator("article .text b").first.inner_text()
    everything = page.locator("#count").inner_text()
    page.locator("#find").fill(word)
    shown, total = map(int, re.match(r"(\d+) of (\d+)", page.locator("#count").inner_text()).groups())
    assert 0 < shown < total
    page.locator("#find").fill("no text has these words")
    assert rows.count() == 0
    page.locator("#find").fill("")
    assert page.locator("#count").inner_text() == everything


def test_a_heading_sorts_by_its_column_and_then_the_other_way(page):
    unfold(page)
    heading = page.locator(".instances thead button", has_text="confidence")
    cells = page.locator(".instances tbody td:nth-child(7)")
    for direction, sign in (("ascending", 1), ("descending", -1)):
        heading.click()
        assert page.locator(".instances thead th").nth(6).get_attribute("aria-sort") == direction
        values = [float(text.replace("−", "-")) for text in cells.all_inner_texts() if text != "–"]
        assert values == sorted(values, key=lambda value: sign * value)
        assert len({*values}) > 1


def test_texts_in_which_attention_is_wrong_are_found_and_shown_in_two_rows(page):
    unfold(page)
    rows = page.locator(".instances tbody tr")
    for outcome in ("wrong", "right"):
        page.locator("#outcome").select_option(outcome)
        assert rows.count() > 0
        assert {*page.locator(".instances tbody td:nth-child(5)").all_inner_texts()} == {outcome}
        marked, decides = rows.first.locator("p.two").all()
        assert marked.locator(".first").count() > 0
        assert decides.locator(".d").count() > 0
        words = [row.locator(".w").all_inner_texts() for row in (marked, decides)]
        assert words[0] == words[1], "the words stand exactly above each other"
    page.locator("#outcome").select_option("")


def test_a_text_opens_by_keyboard(page):
    unfold(page)
    page.locator(".instances tbody td.excerpt button").first.focus()
    page.keyboard.press("Enter")
    page.locator("#opened article h4").nth(1).wait_for()


def test_dark_mode_is_dark_and_light_mode_light(page):
    brightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"
    light = page.evaluate(brightness)
    tell_media(page, "(prefers-color-scheme: dark)", color_scheme="dark")
    assert page.evaluate(brightness) < 150 < 600 < light


@with_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_rules_of_accessibility_are_kept(page, scheme):
    tell_media(page, f"(prefers-color-scheme: {scheme})", color_scheme=scheme)
    unfold(page)
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(each["id"], len(each["nodes"]), each["nodes"][0]["html"][:200]) for each in found] == []


def test_a_file_of_many_texts_opens_at_once(browser, run, tmp_path):
    large = RunFolder(tmp_path / run.path.relative_to(run.path.parents[2]))
    shutil.copytree(run.path, large.path)
    for path in large.evidence("instances").parent.glob("*.parquet"):
        rows = pd.read_parquet(path)
        repeated = pd.concat([rows] * (TEXTS // len(rows) + 1), ignore_index=True)[:TEXTS]
        write_table(path, repeated.assign(id=np.arange(TEXTS)))
    write_report(Findings(large), figures=[])
    assert large.report.stat().st_size < BYTES
    page = browser.new_page()
    page.goto(large.report.as_uri())
    page.locator(".instances tbody tr").first.wait_for(state="attached")
    assert page.locator("#count").text_content().startswith(f"{TEXTS:,} of {TEXTS:,} texts, ")
    assert page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") < 1000 * SECONDS
    page.close()


@pytest.fixture(scope="module")
def tagger(tmp_path_factory) -> RunFolder:
    """Of 3 sentences; two of them have a word that is tagged wrongly."""
    path = tmp_path_factory.mktemp("tagger") / "conll2000" / "ya-tagger" / "seed0"
    run = made_run(path, {"test/accuracy": 0.625, "test/chunk_f1": 0.25}, ROWS)
    write_report(Findings(run), figures=[])
    return run


def test_every_sentence_of_a_tagger_is_found_sorted_and_opened_with_its_tags(browser, tagger):
    page, said = browser.new_page(viewport={"width": 390, "height": 900}), []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(tagger.report.as_uri())
    page.locator('a[href="#instances"]').click()
    rows, heading = page.locator(".instances tbody tr"), page.locator(".instances thead button", has_text="F1 of chunks")
    assert page.locator("#count").inner_text().startswith("3 of 3 sentences")
    for order in (["2", "4", "9"], ["9", "4", "2"]):
        heading.click()
        assert page.locator(".instances tbody th").all_inner_texts() == order
    page.locator("#decided").select_option("wrong")
    assert page.locator(".instances tbody th").all_inner_texts() == ["4", "2"]
    page.locator("#find").fill("c d")
    assert rows.count() == 1
    assert page.locator(".controls-bar select:visible").count() == 1, "a sentence has no label"
    rows.locator("button").click()
    opened = page.locator("#opened ruby")
    assert opened.count() == 4, "the fifth token is of no word"
    assert opened.nth(1).inner_text() == "bB-NP (I-NP)"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert said == []
    page.close()
