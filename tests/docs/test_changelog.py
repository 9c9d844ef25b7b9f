"""The changelog, the package and the citation name the same version; releases stand newest first, and each is short."""

import re
import tomllib
from pathlib import Path

import yaml

import attest

ROOT = Path(__file__).parents[2]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
HEADINGS = re.findall(r"^## (.+)$", CHANGELOG, flags=re.MULTILINE)
RELEASES = [heading.split(" — ") for heading in HEADINGS]


def test_the_newest_release_is_the_version_of_the_package_and_of_the_citation():
    version, date = RELEASES[0]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert [attest.__version__, project["version"], citation["version"]] == [version] * 3
    assert str(citation.get("date-released", "unreleased")) == date


def test_releases_stand_newest_first_and_only_the_newest_may_be_unreleased():
    dates = [date for _, date in RELEASES]
    if dates[0] == "unreleased":
        del dates[0]
    assert dates == sorted(dates, reverse=True)
    assert all(re.fullmatch(r"\d{4}-\d{2}-\d{2}", date) for date in dates)


def test_a_release_has_at_most_60_lines_none_of_them_long():
    _, *releases = re.split(r"^(?=## )", CHANGELOG, flags=re.MULTILINE)
    assert len(releases) == len(HEADINGS)
    lines = {release.partition("\n")[0]: len(release.splitlines()) for release in releases}
    assert max(lines.values()) <= 60, lines
    assert [line for line in CHANGELOG.splitlines() if len(line) > 240] == []
