"""A trial in W&B, in a real offline run."""

import json

import pandas as pd
import yaml
from matplotlib.figure import Figure

from attest.report.tracking.wandb_report import log_trial
from attest.runs.folder import RunFolder, write_json
from tests.report.made import RUN


def test_a_trial_has_a_table_an_experiment_one_of_figures_and_its_report(tmp_path):
    folder = RunFolder(tmp_path)
    folder.figures.mkdir()
    folder.evidence("E1").parent.mkdir()
    Figure(figsize=(1, 1)).savefig(folder.figures / "E1-tau_histograms.png")
    pd.DataFrame({"id": [0], "tau": [0.5]}).to_parquet(folder.evidence("E1"))
    folder.report.write_text("<p>report</p>")
    folder.config.write_text(yaml.safe_dump({"run": RUN, "seed_everything": 0, "model": {}}))
    write_json(folder.summary, {"E1/tau/mean": 0.5})
    media = log_trial(folder, "some/model") / "files" / "media"
    kept = {path.name.split("_")[0]: path for path in media.rglob("*") if path.is_file() and path.suffix != ".png"}
    assert kept.keys() == {"table", "figures", "report"}
    (figure, _, _), *others = json.loads(kept["figures"].read_text())["data"]
    assert (figure, others) == ("E1/tau_histograms", [])
