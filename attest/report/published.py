"""Published numbers, each with its source; a report sets them beside its own.

``comparable`` is False where the paper's setting differs from every run made here, and ``why`` then says how.
"""

from dataclasses import dataclass

PRETRAINED = "pretrained fastText embeddings there, randomly initialised ones here"


@dataclass(frozen=True)
class Published:
    """One number of the literature."""

    value: str
    """As published, with its spread over instances where there is one."""
    source: str
    comparable: bool = True
    why: str = ""


_JW = "Jain & Wallace 2019, released outputs"
_RANDOM = "the original code with randomly initialised embeddings, one seed"
_MEISTER = "Meister et al. 2021, Table 6"
_OTHER_TRAINING = f"{PRETRAINED}; another learning rate, early stopping"

PUBLISHED: dict[tuple[str, str], dict[str, Published]] = {
    ("sst", "jw-bilstm-additive-softmax"): {
        "test/accuracy": Published("0.786", f"{_RANDOM}; 0.808 with pretrained ones ({_JW})"),
        "test/f1": Published("0.760", f"{_RANDOM}; 0.784 with pretrained ones ({_JW})"),
        "test/roc_auc": Published("0.877", f"{_RANDOM}; 0.902 with pretrained ones ({_JW})"),
        "E1/tau_gradient_inputs": Published("0.35 ± 0.21", _JW, comparable=False, why=PRETRAINED),
        "E1/significant_gradient_inputs": Published("0.49", _JW, comparable=False, why=PRETRAINED),
        "E1/tau_gradient_norm_inputs": Published("0.25 ± 0.28", _MEISTER, comparable=False, why=_OTHER_TRAINING),
        "E2/tvd_median": Published("0.024", _RANDOM),
    },
    ("sst", "jw-bilstm-additive-sparsemax"): {
        "E1/tau_gradient_norm_inputs": Published("0.45 ± 0.13", _MEISTER, comparable=False, why=_OTHER_TRAINING),
    },
}
"""By corpus and readable run name, then by the summary key without its statistic."""


def published(data: str, name: str) -> dict[str, Published]:
    """The published numbers that belong beside a run; empty where the literature has none."""
    return PUBLISHED.get((data, name), {})
