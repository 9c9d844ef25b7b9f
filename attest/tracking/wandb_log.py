"""A W&B run whose history is readable: some thirty numbers by step or epoch, and everything else once."""

from collections.abc import Mapping
from math import isnan
from typing import Any

from pytorch_lightning.loggers import WandbLogger
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from attest.tracking.headlines import IN_EACH, is_headline


class HeadlineWandbLogger(WandbLogger):
    """Lightning's logger, whose history has headline numbers alone; its arguments are ``WandbLogger``'s.

    Scores that are no headline go to W&B's summary. Other evidence on validation stands in ``curves.json``, which
    ``log_report`` logs as a table.
    """

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Part headlines, tables and pictures from the rest; ``epoch`` goes with them, and undefined numbers with nothing."""
        from wandb.sdk.data_types.base_types.wb_value import WBValue  # this class is also read where no W&B is wanted

        metrics = {name: each for name, each in metrics.items() if isinstance(each, WBValue) or not isnan(each)}
        shown: dict[str, Any] = {
            name: each for name, each in metrics.items() if is_headline(name) or isinstance(each, WBValue)
        }
        once = {name: value for name, value in metrics.items() if name not in {*shown, "epoch"} and IN_EACH not in name}
        if shown:
            super().log_metrics(shown | {name: metrics[name] for name in ("epoch",) if name in metrics}, step)
        if once:
            self.experiment.summary.update(once)
