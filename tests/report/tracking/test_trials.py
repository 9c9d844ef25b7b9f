"""A trial in W&B, in a real offline run."""

import json
from pathlib import Path

import pandas as pd
import yaml
from matplotlib.figure import Figure

from attest.report.findings import Findings
from attest.report.tracking.wandb_report import log_trial, texts_table
from attest.runs.folder import RunFolder, write_json
from tests.report.made import RUN
from tests.report.test_shown import text


def test_a_trial_has_a_table_an_experiment_its_figures_and_its_report(tmp_path):
    folder = RunFolder(tmp_path)
    folder.figures.mkdir()
    folder.evidence("E1").parent.mkdir()
    Figure(figsize=(1, 1)).savefig(folder.figures / "E1-tau_histograms.png")
    pd.DataFrame({"id": [0], "tau": [0.5]}).to_parquet(folder.evidence("E1"))
    folder.report.write_text("<p>report</p>")
    folder.config.write_text(yaml.safe_dump({"run": RUN, "seed_everything": 0, "model": {}}))
    write_json(folder.summary, {"E1/tau/mean": 0.5})
    media = log_trial(Findings(folder), "some/model") / "files" / "media"
    kept = {path.name.split("_")[0]: path for path in media.rglob("*") if path.is_file() and path.suffix != ".png"}
    assert kept.keys() == {"table", "report"}
    assert [path.parent.relative_to(media).as_posix() for path in media.rglob("*.png")] == ["images/figures/E1"]


def test_a_trial_has_a_table_of_its_texts_with_two_coloured_rows_each(tmp_path):
    folder = RunFolder(tmp_path)
    folder.evidence("E1").parent.mkdir()
    made = [text(1, "the <i>plot</i> is not dull .", "is", "not dull", False), text(2, "a good end .", "good", "good", True)]
    instances, measured = map(pd.DataFrame, zip(*made, strict=True))
    instances.assign(probability_blame=0.9, probability_praise=0.1).to_parquet(folder.evidence("instances"))
    measured.to_parquet(folder.evidence("E19"))
    folder.report.write_text("<p>report</p>")
    folder.config.write_text(yaml.safe_dump({"run": RUN, "seed_everything": 0, "model": {}}))
    write_json(folder.summary, {})
    table = texts_table(Findings(folder))
    wrong, right = table.data
    assert [wrong[1], wrong[2], wrong[3], wrong[5], right[1]] == [False, "blame", "“is”", "“not dull”", True]
    cell = Path(wrong[0]._path).read_text()
    assert "&lt;i&gt;plot&lt;/i&gt;" in cell
    assert "<i>plot</i>" not in cell
    assert cell.count("box-shadow:inset 0 -3px") == 3, "the name of the row, and two words"
    media = log_trial(Findings(folder), "some/model") / "files" / "media"
    assert [path for path in media.rglob("texts*.json") if json.loads(path.read_text())["columns"] == table.columns]
    place = log_trial(Findings(folder), "some/model", texts=False)
    assert not [path for path in place.rglob("*") if path.is_file() and b"dull" in path.read_bytes()]
