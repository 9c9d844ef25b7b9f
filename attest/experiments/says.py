"""What evidence can say, and what it cannot, where several experiments give evidence of the same sort."""

from attest.experiments.spec import Says

AGREEMENT = Says(
    "Agreement with importance",
    "that attention orders tokens like another explanation of the model",
    "which explanation is right: gradients and leave-one-out often disagree, too",
)
OTHER_ATTENTION = Says(
    "Other attention, same weights",
    "that the prediction depends on where attention lies",
    "that attention lies in the right place",
)
MISLEADING = Says(
    "Attention that misleads",
    "that a very different attention gives the same prediction",
    "that attention is wrong: if two tokens have the same meaning, attention may be split between them in any way",
)
ERASED_WEIGHTS = Says(
    "Erasing weights",
    "that the hidden states with large weights carry the decision",
    "which *tokens* decide: a hidden state also carries information from its neighbours",
)
OTHER_MODELS = Says(
    "Other models",
    "that the task needs attention, that seeds agree, that attention helps a model without context",
    "anything about one text and one model",
)
