"""The sections of a page and its navigation are one list."""

import re

import pytest
from markupsafe import Markup

from attest.report import sections
from attest.report.findings import Findings
from attest.report.page import write_report
from attest.report.sections import Section
from tests.report.made import decided, made_run


@pytest.fixture
def run(tmp_path):
    return made_run(tmp_path / "mine" / "bilstm" / "seed0", {"test/accuracy": 0.5}, decided([0, 1, 1], [0, 1, 0]))


def page_of(run, tmp_path):
    write_report(Findings(run), figures=[], alone=tmp_path / "page.html")
    return (tmp_path / "page.html").read_text(encoding="utf-8")


def links_of(page):
    (navigation,) = re.findall('<nav aria-label="Sections">(.*?)</nav>', page, re.DOTALL)
    return re.findall('href="#([^"]+)"', navigation)


def test_a_section_of_the_list_stands_in_its_place_on_the_page_and_in_its_navigation(run, tmp_path, monkeypatch):
    mine = Section("mine", "My own", Markup('<section id="mine">Said & done</section>'))
    glance, *others = sections.SECTIONS
    monkeypatch.setattr(sections, "SECTIONS", (glance, lambda asked: mine, *others))
    page = page_of(run, tmp_path)
    assert links_of(page)[:2] == ["glance", "mine"]
    places = [page.index(f'id="{key}"') for key in links_of(page)]
    assert places == sorted(places)
    assert page.count("Said & done") == 1, "a body is HTML, and is not escaped again"


def test_a_section_that_does_not_apply_is_neither_on_the_page_nor_in_its_navigation(run, tmp_path):
    page = page_of(run, tmp_path)
    for key in ("first", "figures", "texts", "sentences", "instances", "readings"):
        assert key not in links_of(page)
        assert f'id="{key}"' not in page


def test_each_link_of_the_navigation_leads_to_a_section(small_run):
    page = small_run.report.read_text(encoding="utf-8")
    assert {"glance", "questions", "first", "figures", "texts", "instances", "readings", "made"} <= {*links_of(page)}
    for key in links_of(page):
        assert page.count(f'id="{key}"') == 1
