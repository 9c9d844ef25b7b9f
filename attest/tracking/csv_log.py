"""Metrics as one CSV file for each run; a resumed run continues it."""

import csv
from pathlib import Path

from lightning_fabric.loggers.logger import rank_zero_experiment
from pytorch_lightning.loggers import CSVLogger
from pytorch_lightning.loggers.csv_logs import ExperimentWriter
from pytorch_lightning.utilities.rank_zero import rank_zero_only


class CSVLog(CSVLogger):
    """Lightning's logger, without a new folder for every sitting of the same run; its arguments are ``CSVLogger``'s."""

    def __init__(
        self,
        save_dir: str,
        name: str | None = "csv",
        version: int | str | None = 0,
        prefix: str = "",
        flush_logs_every_n_steps: int = 100,
    ) -> None:
        super().__init__(save_dir, name, version, prefix, flush_logs_every_n_steps)
        self._writer: ContinuedWriter | None = None

    @property
    @rank_zero_experiment
    def experiment(self) -> "ContinuedWriter":
        """The file that is there, or a new one."""
        if self._writer is None:
            self._experiment = self._writer = ContinuedWriter(self.log_dir)
        return self._writer

    @rank_zero_only
    def forget_from(self, step: int) -> None:
        """Drop rows of this step and later ones, which a run goes through again when it is taken up before them."""
        self.experiment.forget_from(step)


class ContinuedWriter(ExperimentWriter):
    """Adds rows to the file that is there; Lightning's own deletes it."""

    def __init__(self, log_dir: str) -> None:
        super().__init__(log_dir)
        if rows := self._rows():
            self.metrics_keys = list(rows[0])

    def forget_from(self, step: int) -> None:
        """Write the file anew without these rows."""
        if rows := self._rows():
            with Path(self.metrics_file_path).open("w", newline="") as file:
                writer = csv.DictWriter(file, fieldnames=self.metrics_keys)
                writer.writeheader()
                writer.writerows(row for row in rows if int(row["step"]) < step)

    def _rows(self) -> list[dict[str, str]]:
        """As written, but for a last one that was cut off."""
        file = Path(self.metrics_file_path)
        if not file.is_file():
            return []
        with file.open(newline="") as lines:
            return [row for row in csv.DictReader(lines) if (row.get("step") or "").isdigit()]

    def _check_log_dir_exists(self) -> None:
        """A folder that is there is as it should be."""
