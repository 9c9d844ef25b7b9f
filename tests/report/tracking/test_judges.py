"""The judges in W&B, in a real offline run."""

import pandas as pd
from matplotlib.figure import Figure

from attest.report.tracking.wandb_report import log_judges


def test_the_matrix_is_logged_as_a_table_and_an_image(tmp_path):
    Figure(figsize=(1, 1)).savefig(tmp_path / "judges.png")
    place = log_judges(tmp_path, pd.DataFrame({"test": ["E1"], "defendant": ["honest"], "auroc": [0.5]}))
    assert place.is_relative_to(tmp_path)
    kept = {path.name.split("_")[0] for path in (place / "files" / "media").rglob("*") if path.is_file()}
    assert kept == {"matrix", "heat"}
