"""For users of the ``Trainer`` of transformers: ``attest.hf.AttentionTrial``."""

from attest.app.api.hf import AttentionTrial as AttentionTrial

__all__ = ["AttentionTrial"]
