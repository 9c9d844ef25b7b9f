"""The changelog, the package and the citation name the same version, and releases stand newest first."""

import re
import tomllib
from pathlib import Path

import yaml

import attest

ROOT = Path(__file__).parents[2]
HEADINGS = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
RELEASES = [heading.split(" — ") for heading in HEADINGS[1:]]


def test_the_newest_release_is_the_version_of_the_package_and_of_the_citation():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert [attest.__version__, project["version"], citation["version"]] == [RELEASES[0][0]] * 3
    assert str(citation["date-released"]) == RELEASES[0][1]


def test_releases_stand_newest_first_below_what_is_unreleased():
    assert HEADINGS[0] == "Unreleased"
    dates = [date for _, date in RELEASES]
    assert dates == sorted(dates, reverse=True)
    assert all(re.fullmatch(r"\d{4}-\d{2}-\d{2}", date) for date in dates)
