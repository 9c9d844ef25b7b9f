"""The page on versions says which lower bounds are tried, and which versions files have; its table is generated."""

import re

from attest.core.version import __version__
from attest.report import gate, summary
from benchmarks.installed import needed
from docs.generate import ROOT, pinned, versions_reference
from tests.test_lower_bounds import TRIED

PAGE = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")


def test_the_packages_whose_oldest_version_is_tried_are_named():
    (said,) = re.findall(r"installs the oldest accepted (.*?) together, beside", PAGE)
    assert re.split(", | and ", said) == [*TRIED]


def test_files_have_the_versions_that_it_says():
    assert re.findall(r"`version` (\d+)", PAGE) == [str(summary.VERSION), str(gate.VERSION)]


def test_a_lower_and_an_upper_bound_stand_in_the_table_with_what_was_tried():
    rows = [line.strip("| ").split(" | ") for line in versions_reference().splitlines()]
    accepted = {name.strip("`"): bounds for name, bounds, *_ in rows}
    assert accepted["pytorch-lightning"] == ">=2.6, &lt;3"
    assert accepted["Python"] == ">=3.11"
    assert "attest-attention" not in accepted


def test_the_lowest_version_that_was_tried_stands_beside_the_last():
    rows = [[cell.strip(" `") for cell in line.split("|")[1:5]] for line in versions_reference().splitlines()]
    tried = {name: (lowest, last) for name, _, lowest, last in rows}
    assert tried["torch"] == (pinned("constraints-lowest.txt")["torch"], pinned("constraints.txt")["torch"])
    assert tried["snakemake"][0] == "–", "of an extra that is not tried"


def test_the_page_of_others_names_this_version():
    text = (ROOT / "docs" / "others.md").read_text(encoding="utf-8")
    assert f"| Attest | {__version__} |" in text


def test_an_install_needs_what_its_packages_need_and_an_extra_only_where_it_is_asked_for():
    bare, more = needed("attest-attention"), needed("attest-attention", ["transformers"])
    assert {"torch", "sympy"} <= {*bare}, "sympy is needed by torch alone"
    assert "peft" not in bare
    assert {"peft", *bare} <= {*more}
