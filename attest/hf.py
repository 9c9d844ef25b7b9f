"""The callback ``attest.hf.AttentionTrial``, which tests attention while the ``Trainer`` of transformers trains a model."""

from attest.app.api.hf import AttentionTrial as AttentionTrial

__all__ = ["AttentionTrial"]
