"""The examples in docstrings run, and each name that ``docs/api.md`` shows has one."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import attest

ROOT = Path(__file__).parents[2]
FILES = sorted(file for file in (ROOT / "attest").rglob("*.py") if ">>> " in file.read_text(encoding="utf-8"))
MODULES = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in FILES]
LONG = {"attest.app.api.trials", "attest.app.api.run", "attest.judges.metric"}
"""Modules whose examples train or try a model."""


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.whole("trials of models") if each in LONG else ()) for each in MODULES]
)
def test_the_examples_of_a_module_run(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", sorted({*attest.__all__} - {"EXPERIMENTS"}))
def test_what_the_api_page_shows_has_an_example(name):
    assert re.search(r"^\s*>>> ", inspect.getdoc(getattr(attest, name)) or "", flags=re.MULTILINE)
