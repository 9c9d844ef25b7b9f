"""How experiments are measured on the batches of a run, of a trial or of somebody's own Trainer."""

from attest.evidence.engine import Engine

__all__ = ["Engine"]
