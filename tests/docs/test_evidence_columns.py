"""The columns that the documentation names are those that a run writes, no fewer and no more."""

import re

import numpy as np
import pandas as pd
import pytest

from attest.core.measures.summary import SHARES
from attest.experiments.feature_importance import GRADIENTS, LEAVE_ONE_OUT
from attest.experiments.readings import READINGS
from attest.experiments.readings.compared import column_of
from attest.experiments.registry import EXPERIMENTS
from attest.report.summary import VERSION
from attest.runs.folder import read_json
from docs.generate import PAGES, ROOT, generated

TEXT = (ROOT / "docs" / "evidence-columns.md").read_text(encoding="utf-8")
IDENTITY = {"id", "label", "predicted", "length"}
RANKINGS = [column_of(name) for name in READINGS] + [f"{column_of(name)}_signed" for name in READINGS] + ["oracle"]
HERE = ("", "two classes and a linear decoder")
"""Whose columns a classifier of whole texts writes."""
PLACES = {
    "importance": "|".join([*GRADIENTS, *LEAVE_ONE_OUT]),
    "projection": "softmax|sparsemax|entmax15",
    "order": "attention|gradient|product|random|minimum",
    "class": "blame|praise",
    "kind": r"\w+",
    "operator": "attention|delete|mask|resample",
    "either": "comprehensiveness|sufficiency",
    "part": "decoder|attention|encoder",
    **dict.fromkeys(("reading", "other"), "|".join(sorted(RANKINGS, key=len, reverse=True))),
}


def documented(experiment: str) -> dict[str, str]:
    """The type that each column of a table is said to have, by its name as a regular expression."""
    if experiment in EXPERIMENTS:
        columns = {column.name: column.type for column in EXPERIMENTS[experiment].columns if column.only in HERE}
    else:
        section = TEXT.split(f"\n## {experiment}\n")[1].split("\n## ")[0]
        columns = dict(re.findall(r"^\| `([\w<>]+)` \| ([\w ]+) \|", section, flags=re.MULTILINE))
    return {re.sub(r"<(\w+)>", lambda place: f"(?:{PLACES[place[1]]})", name): kind for name, kind in columns.items()}


def type_of(column: pd.Series) -> str:
    first = column.iloc[0]
    if isinstance(first, np.ndarray):
        return f"list of {type_of(pd.Series(first))}"
    if isinstance(first, str):
        return "str"
    return {"f": "float", "b": "bool", "i": "int"}[np.asarray(first).dtype.kind]


def experiments(small_run) -> list[str]:
    return [path.stem for path in sorted(small_run.evidence("E1").parent.glob("*.parquet"))]


WHERE_ASKED = {"entropy_hidden_facets"}
"""Columns that a run has only where its options ask for them."""


def test_every_column_is_documented_with_its_type_and_every_documented_one_is_there(small_run):
    for experiment in experiments(small_run):
        table = pd.read_parquet(small_run.evidence(experiment))
        patterns = {pattern: kind for pattern, kind in documented(experiment).items() if not pattern.startswith("moved_")}
        matched = set()
        for name in {*table.columns} - IDENTITY:
            found = [pattern for pattern in patterns if re.fullmatch(pattern, name)]
            assert found, f"{experiment}: {name} is not documented"
            assert type_of(table[name]) in {patterns[pattern] for pattern in found}, f"{experiment}: {name}"
            matched |= {*found}
        assert matched == {*patterns} - WHERE_ASKED, f"{experiment}: not every documented column is there"


def test_values_keep_their_documented_range(small_run):
    for experiment in {*experiments(small_run)} & {*EXPERIMENTS}:
        table = pd.read_parquet(small_run.evidence(experiment))
        for name in {*table.columns} - IDENTITY:
            column = EXPERIMENTS[experiment].column(name)
            low, high = column.range
            values = np.concatenate([np.atleast_1d(np.asarray(value, dtype=float)) for value in table[name]])
            values = values[~np.isnan(values)]
            assert ((values >= low - 1e-6) & (values <= high + 1e-6)).all(), f"{experiment}: {name} is not in {column.range}"
            if column.unit == "0 or 1":
                assert {*values} <= {0, 1}, f"{experiment}: {name}"


def test_columns_documented_as_yes_or_no_are_those_summed_up_as_shares():
    """So that one who adds such a column, which may be undefined and is no bool for that, adds its name as well."""
    kinds = PLACES | {"kind": "context|context_strict|prediction|prediction_strict"}
    pooled = [spec for spec in EXPERIMENTS.values() if spec.run is not None]
    names = [column.name for spec in pooled for column in spec.columns if (column.type, column.unit) == ("float", "0 or 1")]
    filled = [re.sub(r"<\w+>", value, name) for name in names for value in _values_of(name, kinds)]
    assert len(filled) > len(GRADIENTS) + len(LEAVE_ONE_OUT)
    for name in filled:
        assert SHARES.fullmatch(name), f"{name} is documented as 0 or 1"
    assert not SHARES.fullmatch("trivial_layer1")


@pytest.mark.parametrize("page", PAGES)
def test_generated_parts_of_pages_are_as_the_registry_has_them(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "<!-- experiments: " in text
    assert generated(text) == text, f"{page} is older than the registry: make docs"


def _values_of(name: str, kinds: dict[str, str]) -> list[str]:
    return [value for place in re.findall(r"<(\w+)>", name) for value in kinds[place].split("|")] or [""]


def test_the_version_of_the_summary_is_the_documented_one(small_run):
    (version,) = re.findall(r'`"version": (\d+)`', TEXT)
    assert int(version) == VERSION == read_json(small_run.summary)["version"]


@pytest.mark.parametrize("statistic", ["mean", "std", "median", "ci_low", "ci_high", "nan", "mean/predicted_1"])
def test_the_documented_statistics_are_there(small_run, statistic):
    assert f"E2/tvd_median/{statistic}" in read_json(small_run.summary)
