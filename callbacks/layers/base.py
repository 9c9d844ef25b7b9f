"""What experiments inside layers have in common: what they observe."""

from attest.callbacks.evidence import Evidence


class LayerEvidence(Evidence):
    """An experiment on self-attention, of classifiers and taggers alike; a tagger has no one label or prediction a text.

    The LightningModule offers ``observe_layers(batch)``, which returns what ``attest.experiments.layers.observe_layers`` does.
    """

    observes = "observe_layers"
