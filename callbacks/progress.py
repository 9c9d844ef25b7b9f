"""Progress of long evidence: which experiment runs, how far through the split, how long still."""

from pytorch_lightning import Trainer
from pytorch_lightning.callbacks import RichProgressBar


class EvidenceProgress(RichProgressBar):
    """Lightning's bar, which names the experiment that runs while the test split is gone through.

    Batches are sorted by length, and long ones take longer: what remains is an estimate from the batches so far.
    """

    @property
    def refresh_rate(self) -> float:
        """Batches between two updates: every one of the test split, which takes longer."""
        running = self._trainer is not None and self._trainer.testing
        return 1 if running else super().refresh_rate

    def name_experiment(self, identity: str) -> None:
        """Show which experiment runs now."""
        if self.progress is not None and self.test_progress_bar_id is not None:
            self.progress.update(self.test_progress_bar_id, description=f"Evidence {identity}")
            self.refresh()


def show_running(trainer: Trainer, identity: str) -> None:
    """Name an experiment in the trainer's bar, if it has one that can."""
    bar = getattr(trainer, "progress_bar_callback", None)
    if isinstance(bar, EvidenceProgress):
        bar.name_experiment(identity)
