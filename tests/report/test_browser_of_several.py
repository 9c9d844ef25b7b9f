"""The pages of several runs in a real browser: what ``test_browser`` asks of the report, and that the first screen answers.

Needs what that needs, and is skipped where one is missing.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from attest.report.comparison import write_comparison
from attest.report.related_pages import write_controls, write_sweep
from attest.runs.folder import RunFolder
from tests.report.browsers import AXE, LETTERS, WIDTHS, in_a_browser, resize, tell_media, with_axe
from tests.report.made import made_run
from tests.report.test_controls_page import BASE, LABELS, OTHER, UNIFORM, run
from tests.report.test_sweep import adversary

RUNS = 18
TALLEST = 1800
"""Pixels, of a page of that many runs at a width of 1400."""

pytestmark = in_a_browser


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> RunFolder:
    return run(tmp_path_factory.mktemp("several") / "mine" / "jw-bilstm-additive-softmax" / "seed0", LABELS, BASE)


def controls(base: RunFolder) -> Path:
    """Of 18 runs: the base, its uniform twin, 12 seeds and four guides, one of an adversary."""
    wrong, root = [1 - label for label in LABELS], base.path.parents[1]
    found = [("E4", "uniform attention", run(root / "jw-bilstm-additive-uniform" / "seed0", wrong, UNIFORM))]
    found += [("E5", f"seed {k}", run(base.path.with_name(f"seed{k}"), LABELS, OTHER)) for k in range(1, RUNS - 5)]
    guides = ("uniform attention", "attention learned with it", "base's attention", "adversary's attention, λ = 0.001")
    found += [("E6", f"guide: {name}", run(base.path / "guides" / f"{k}", LABELS, BASE)) for k, name in enumerate(guides)]
    write_controls(base, found)
    return base.path / "controls" / "report.html"


def sweep(base: RunFolder) -> Path:
    runs = [adversary(base, 0.001 * 2**k, 0.03 * k, 0.001 * k**2) for k in range(RUNS)]
    write_sweep(base, "unfrozen-kl", runs)
    return base.path / "adversarial" / "unfrozen-kl.html"


def comparison(base: RunFolder) -> Path:
    """Of 18 settings with long names, which differ in one number and in a setting with a long name."""
    keys = ("E1/tau_gradient_inputs", "E1/tau_leave_one_out", "E2/flipped", "E2/tvd_median")
    root = base.path.parents[2] / "settings"
    runs = []
    for k in range(RUNS):
        means = {key: 0.04 * k if key == keys[0] else 0.3 for key in keys}
        numbers = {f"{key}/{end}": mean + by for key, mean in means.items() for end, by in ENDS}
        name = f"jw-bilstm-additive-sparsegen--{k}-{k:08x}"
        made = made_run(root / "mine" / name / "seed0", {"test/accuracy": 0.8} | numbers, projection=f"sparsegen:-{k // 2}")
        encoder = {"network": {"init_args": {"encoder": {"init_args": {"embedding_size": 50 * k}}}}}
        settings = made.settings() | {"model": {"init_args": encoder}}
        made.config.write_text(yaml.safe_dump(settings), encoding="utf-8")
        runs.append(made)
    write_comparison(root / "comparison.html", runs)
    return root / "comparison.html"


ENDS = (("mean", 0.0), ("ci_low", -0.02), ("ci_high", 0.02))


@pytest.fixture(scope="module", params=[controls, sweep, comparison], ids=lambda write: write.__name__)
def opened(request, browser, base) -> Iterator:
    """The page, what it said to the console, what it asked of others, and where it lies."""
    path = request.param(base)
    page, said, asked = browser.new_page(), [], []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    yield page, said, asked, path
    page.close()


@pytest.fixture
def page(opened):
    page = opened[0]
    page.bring_to_front()
    resize(page, 1400)
    page.emulate_media(color_scheme="light", media="screen")
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = false; })")
    return page


def test_it_says_nothing_to_the_console_and_asks_nothing_of_others(opened):
    _, said, asked, path = opened
    assert said == []
    assert {*asked} <= {path.as_uri()}


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_screen_folded_or_not(page, width):
    resize(page, width)
    for is_open in ("false", "true"):
        page.evaluate(f"document.querySelectorAll('details').forEach((each) => {{ each.open = {is_open}; }})")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_the_letters_of_a_figure_can_be_read(page, width):
    resize(page, width)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert min(page.locator("figure svg text").evaluate_all(LETTERS)) >= 9


def test_the_first_screen_answers_and_shows_the_numbers_below(page):
    concluded = page.locator(".conclusion")
    assert page.locator(".conclusion strong").count() >= 2
    assert concluded.bounding_box()["y"] + concluded.bounding_box()["height"] < 600
    assert page.locator("main thead").first.bounding_box()["y"] < 800


def test_the_page_of_many_runs_is_no_longer_than_two_screens(page):
    assert page.evaluate("document.documentElement.scrollHeight") <= TALLEST


def test_long_tables_scroll_under_their_heads(page):
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.locator(".tall").count() > 0
    for table in page.locator(".tall").all():
        table.evaluate("(each) => { each.scrollTop = 90; }")
        assert table.evaluate("(each) => each.scrollTop") == 90
        assert abs(table.locator("thead th").first.bounding_box()["y"] - table.bounding_box()["y"]) < 1


def test_what_is_folded_opens_by_keyboard_and_stands_in_print(page):
    for folded in page.locator("details.folded").all():
        folded.locator("summary").focus()
        page.keyboard.press("Enter")
        assert folded.evaluate("(each) => each.open")
        folded.evaluate("(each) => { each.open = false; }")
        tell_media(page, "print", media="print")
        assert folded.bounding_box()["height"] > 2 * folded.locator("summary").bounding_box()["height"]
        page.emulate_media(media="screen")


def test_dark_mode_is_dark_and_light_mode_light(page):
    brightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"
    light = page.evaluate(brightness)
    tell_media(page, "(prefers-color-scheme: dark)", color_scheme="dark")
    assert page.evaluate(brightness) < 150 < 600 < light


@with_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_rules_of_accessibility_are_kept(page, scheme):
    tell_media(page, f"(prefers-color-scheme: {scheme})", color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(each["id"], len(each["nodes"]), each["nodes"][0]["html"][:200]) for each in found] == []
