"""The documentation: it builds without a warning, every command in it can be typed, and README stays short."""

import csv
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from attest.app.cli.demo import MODEL, TEXTS
from attest.app.cli.main import COMMANDS
from attest.core.errors import AttestError
from attest.datamodules import forms
from attest.runs.choices import config_file, file_choices, names_a_file, take_words
from docs.generate import parsers_of
from docs.quoted import BLOCK
from docs.quoted import PAGES as PAGES_THAT_QUOTE

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
FILES_OF_THE_USER = ("train_file", "mine.yaml")
OTHER_WORDS = {
    *(
        "SEED",
        "EPOCHS",
        "BATCH",
        "LR",
        "FORCE",
        "ARGS",
        "TABLE",
        "SEEDS",
        "SMOKE",
        "DRY",
        "RUN",
        "JOBS",
        "GPUS",
        "PROFILE",
        "LAMBDA",
        "VARIANT",
        "CONVENTION",
        "PROBE",
    ),
    *("DIVERGENCE", "GUIDE", "ATTACK", "READING", "STEPS", "TRAINED", "LOGGER", "PROTOCOL", "ONLY", "SWEEP", "BASE"),
}
"""Words that are typed and name no file of configs."""


def commands_of(page: Path) -> list[str]:
    """The lines that begin with make or attest, in blocks of bash or of no language, unless ``…`` or ``<`` is in them."""
    blocks = re.findall(r"^```(?:bash)?\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if re.match(r"(make|attest) ", line) and "…" not in line and "<" not in line]


TYPED = [(page.relative_to(ROOT), line) for page in PAGES for line in commands_of(page)]


def test_there_are_commands_to_try():
    assert len(TYPED) >= 40


def test_every_command_of_the_documentation_can_be_typed():
    found = [f"{page}: {line}: {what}" for page, line in TYPED for what in wrong_in(line)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("make gone", "there is no target gone"),
        ("attest gone", "there is no command gone"),
        ("attest trial --gone=1", "the command has no option --gone"),
        ("attest fit GONE=1", "there is no word GONE="),
        ("attest fit DATA=gone", "gone"),
    ],
)
def test_what_cannot_be_typed_is_named(line, said):
    (found,) = wrong_in(line)
    assert said in found


def wrong_in(line: str) -> Iterator[str]:
    """What in a command cannot be typed."""
    program, first, *rest = shlex.split(line, comments=True)
    if program == "make" and first not in TARGETS:
        yield f"there is no target {first}"
    if program == "attest" and first not in ("--version", "--help"):
        if first in COMMANDS:
            yield from (f"the command has no option {option}" for option in sorted(_unknown_options(first, rest)))
        else:
            yield f"there is no command {first}"
    words, _ = take_words(rest)
    for name, value in words.typed.items():
        if name in file_choices():
            for each in [] if name == "EMBEDDINGS" and names_a_file(value) else value.split(","):
                try:
                    config_file(name, each.partition(":")[0])
                except AttestError as error:
                    yield str(error)
        elif name not in OTHER_WORDS:
            yield f"there is no word {name}="


def _unknown_options(command: str, rest: list[str]) -> set[str]:
    known = {option for parser in parsers_of(command) for action in parser._actions for option in action.option_strings}
    typed = {word.partition("=")[0] for word in rest if word.startswith("--")}
    return {option for option in typed if "." not in option} - known if known else set()


def test_readme_is_short():
    """At most 350 words of prose: what is typed and what is printed is not counted."""
    prose = re.sub(r"^```.*?^```", "", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(re.sub(r"\]\([^)]*\)", "]", prose).split()) <= 350


def test_the_columns_that_are_read_without_a_word_are_told():
    page = (ROOT / "docs" / "your-own-transformer.md").read_text(encoding="utf-8")
    (said,) = re.findall(r"^The texts stand in the first of these columns.*", page, flags=re.MULTILINE)
    assert re.findall(r"`(\w+)`", said) == [*forms.TEXT_NAMES, *forms.LABEL_NAMES]


def test_the_start_page_asks_who_reads_and_gives_each_at_most_seven_links():
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    sections = dict(part.split("\n", 1) for part in page.split("\n## ") if part.startswith("I "))
    assert [*sections] == ["I have a model", "I train models", "I reproduce papers"]
    assert all(5 <= section.count("](") <= 7 for section in sections.values())


def test_pages_quote_what_make_demo_and_make_train_say():
    """`python -m docs.quoted` writes it after `make demo` and `make train`, which continuous integration runs."""
    for name in PAGES_THAT_QUOTE:
        found = [block[1] for block in BLOCK.finditer((ROOT / name).read_text(encoding="utf-8"))]
        assert found == (["Folder", "Run folder"] if name == "README.md" else ["Run folder"])


@pytest.mark.whole("a trial of a model")
def test_the_python_of_readme_runs():
    """With the model and the texts of the demo in the place of one's own."""
    (code,) = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    with TEXTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:40]
    names: dict[str, Any] = {"texts": [row["text"] for row in rows], "labels": [row["label"] for row in rows]}
    code = code.replace('"my-model"', repr(str(MODEL))).replace("trial.explain(0)", "shown = trial.explain(0)")
    exec(code, names)
    assert names["trial"].verdict.startswith("Yes.")
    assert rows[0]["text"].split()[-2] in names["shown"]._repr_html_()


def test_every_relative_link_names_a_file_that_is_there():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    links = [
        (page, link) for page in pages for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 100
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


def test_nobody_who_installed_the_package_is_sent_to_a_page_of_the_repository():
    """A page is named by its title."""
    product = [
        file for room in ("attest", "callbacks", "datamodules", "lightning_modules") for file in (ROOT / room).rglob("*.py")
    ]
    assert [file.name for file in product if re.search(r"\bdocs/", file.read_text(encoding="utf-8"))] == []
    titles = re.findall(r"“([^”\n]{,40})” in the documentation", "".join(file.read_text(encoding="utf-8") for file in product))
    named = re.findall(r"- (.*?): .*\.md", (ROOT / "mkdocs.yml").read_text())
    named += [page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for page in PAGES]
    assert len(titles) >= 7
    assert {*titles} <= {*named}


def test_every_page_stands_in_the_navigation():
    def pages(entry) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        return [page for each in (entry.values() if isinstance(entry, dict) else entry) for page in pages(each)]

    shown = set(pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    written = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").glob("*.md")}
    assert written <= shown


@pytest.mark.whole("a generated book")
def test_the_site_is_built_without_a_warning_and_asks_nobody(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    page = (tmp_path / "index.html").read_text()
    assert re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?://', page) == []
    assert "var __index = " in (tmp_path / "search" / "search_index.js").read_text(), (
        "a page opened as a file may fetch nothing"
    )
    assert (tmp_path / re.search(r'<script src="(.*?iframe-worker.js)">', page)[1]).is_file()
    api = (tmp_path / "api.html").read_text()
    assert all(f"attest.{name}" in api for name in ("observe", "trial", "train", "open_run"))
