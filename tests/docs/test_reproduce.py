"""The table of one's own is one that can be read, and its list of tables is whole."""

import re
from pathlib import Path

import yaml

from attest.runs.published_tables import parse_published, table_names

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_ones_own_is_well_formed():
    (given,) = re.findall(r"```yaml\n(.*?)```", (DOCS / "your-own-table.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    experiment = parse_published("own", yaml.load(given, yaml.BaseLoader), Path("own.yaml"))
    assert experiment.rows["adversary"].then["command"] == "adversarial"
    assert experiment.rows["dense"].published["them"]["files"]["accuracy"].spread == 0.01
    assert experiment.claims[-1].that == "adversary is as accurate as dense"


def test_every_table_is_named():
    listed = (DOCS / "reproduce.md").read_text(encoding="utf-8").split("## The tables")[1].split("##")[0]
    assert set(re.findall(r"`([a-z]+-[a-z0-9]+|embeddings|sparse)`", listed)) == set(table_names())
