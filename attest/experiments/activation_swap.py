"""E8: how good is the model if another function turns its scores into attention? (Drozdyuk et al., change of activation.)"""

from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor

from attest.core.attention import Entmax15, Projection, Softmax, Sparsemax
from attest.core.measures import jensen_shannon, total_variation
from attest.core.measures.numbers import number
from attest.experiments.says import OTHER_ATTENTION
from attest.experiments.sink import SPARED, and_for_decoders, columns_of_decoders
from attest.experiments.spec import MOVES, Column, Means, OfNumbers, Row, Spec, TokenWeights
from attest.models.observation import Observation, rightly

SHIPPED: Mapping[str, Projection] = {"softmax": Softmax(), "sparsemax": Sparsemax(), "entmax15": Entmax15()}
"""The projections (functions from scores to attention weights) with which experiment E8 runs a trained model, unless the user
names others. Keys are their names in result columns."""


def activation_swap(
    observation: Observation, projections: Mapping[str, Projection] | None = None, labels: Tensor | None = None
) -> dict[str, Tensor]:
    """Return how predictions change if another projection, such as sparsemax, turns the scores into attention.

    Args:
        projections: by name; None for ``SHIPPED``. A projection equal to the trained one does not change the prediction.
        labels: int64 ``(B,)``, gold classes, below 0 for texts without a label; None if no labels are known.
    Returns:
        The columns of ``SPEC``, ``(B,)``; ``correct`` is as ``rightly`` returns it. Without labels, ``kept_<name>`` (bool)
        replaces ``correct_<name>``. Per token ``(B, T)``: ``attention_<name>``.
    """
    decided, right = ("kept", observation.predicted) if labels is None else ("correct", labels)
    columns = {} if labels is None else {"correct": rightly(observation.predicted, labels)}
    columns["support"] = _support(observation.attention, observation.mask)
    for name, projection in (SHIPPED if projections is None else projections).items():
        swapped = projection(observation.scores.detach(), observation.mask)
        outcome = observation.probabilities_under(swapped)
        columns[f"{decided}_{name}"] = rightly(outcome.argmax(dim=-1), right)
        columns[f"tvd_{name}"] = total_variation(outcome, observation.probabilities)
        columns[f"jsd_{name}"] = jensen_shannon(swapped, observation.attention)
        columns[f"support_{name}"] = _support(swapped, observation.mask)
        columns[f"attention_{name}"] = swapped
    return columns


def _support(weights: Tensor, mask: Tensor) -> Tensor:
    return (weights > 0).sum(dim=-1) / mask.sum(dim=-1)


NAMES = {"softmax": "softmax", "sparsemax": "sparsemax", "entmax15": "1.5-entmax"}
"""What reports call each projection of ``SHIPPED``, by its name in result columns."""
SAME = 1e-6
"""If swapping the projection changes a text's attention by a JSD below this and its prediction by a TVD below this, the new
projection computes the same as the trained one, and reports do not show its attention."""


def _answer(mean: Means) -> str | None:
    moves = {label: value for name, label in NAMES.items() if (value := mean.number(f"E8/moved_{name}")) is not None}
    if moves:
        found = ", ".join(f"{value} under {label}" for label, value in moves.items())
        return f"Another projection moves the prediction of the average {mean.called_one} by, in{mean.unit}: {found}."
    trained = mean.share("E8/correct")
    column = "kept" if trained is None else "correct"
    known = {label: share for name, label in NAMES.items() if (share := mean.share(f"E8/{column}_{name}")) is not None}
    if not known:
        return None
    shares = ", ".join(f"{share} under {label}" for label, share in known.items())
    if trained is None:
        return f"Share of decisions that stay with another projection: {shares}."
    return f"The accuracy of the model is {trained} with the projection that it was trained with, {shares}."


def _swapped(name: str, label: str) -> TokenWeights:
    def is_another(row: Row) -> bool:
        return row[f"E8/jsd_{name}"] >= SAME or row[f"E8/tvd_{name}"] >= SAME

    def note(row: Row) -> str:
        moved = f"JSD {number(row[f'E8/jsd_{name}'])}, moves the prediction by {number(row[f'E8/tvd_{name}'])}"
        labelled = "E8/correct" in row
        after = bool(row[f"E8/correct_{name}"] if labelled else row[f"E8/kept_{name}"])
        if after == (bool(row["E8/correct"]) if labelled else True):
            return moved
        said = f"now decided {'rightly' if after else 'wrongly'}" if "label" in row else "the decision changes"
        return f"{moved}; {said}"

    quotes = ("correct", *(f"{quoted}_{name}" for quoted in ("jsd", "tvd", "correct", "kept")))
    return TokenWeights(f"attention_{name}", f"Swapped to {label}", "attention", note, quotes, is_shown=is_another)


CORRECT = Column.yes_or_no(
    "correct_<projection>", "whether the decision with this projection, such as sparsemax, is right", type="bool"
)
TVD = Column.share("tvd_<projection>", "how far (TVD) the prediction moves with this projection, such as sparsemax")
ACCURACIES = tuple(
    replace(
        CORRECT,
        name=f"correct_{name}",
        means=f"Accuracy of the trained model with {label} in place of its projection.",
        title=f"accuracy under {label}",
        misread=f"Only the projection changes: a model trained with {label} could do better.",
        beside=("as trained", "correct"),
    )
    for name, label in NAMES.items()
)
MOVEMENTS = tuple(
    replace(
        TVD.moved(),
        name=f"moved_{name}",
        means=f"For a model that returns one number: how far the number moves with {label} in place of its projection, "
        f"{MOVES}.",
        title=f"movement under {label}, in σ",
        misread=f"Only the projection changes: a model trained with {label} could return the same numbers.",
    )
    for name, label in NAMES.items()
)

SPEC = Spec(
    id="E8",
    name="another projection",
    question="Does the model survive another projection?",
    does="Runs the trained model with softmax, sparsemax and 1.5-entmax; in pooled attention, or in each layer",
    source="Drozdyuk et al.",
    about="predictions",
    cost="linear in T where the decoder is linear; inside layers one forward pass for each projection and layer",
    says=OTHER_ATTENTION,
    about_columns="If texts have no labels, `kept_<projection>`, whether the decision stays, replaces `correct` and "
    "`correct_<projection>`.",
    columns=(
        Column.yes_or_no("correct", "whether the model decides rightly with its own projection, such as softmax", type="bool"),
        *and_for_decoders((CORRECT, TVD, TVD.moved()), SPARED),
        *ACCURACIES,
        *(
            Column.share(
                f"kept_{name}",
                f"Share of decisions that stay under {label}.",
                type="bool",
                only="texts without labels",
                title=f"decisions kept under {label}",
                misread=f"Only the projection changes: a model trained with {label} could decide otherwise.",
            )
            for name, label in NAMES.items()
        ),
        *columns_of_decoders(ACCURACIES, SPARED),
        *and_for_decoders(MOVEMENTS, SPARED),
        Column.share(
            "support",
            "Share of tokens (without padding) with an attention weight above 0.",
            title="support of the attention",
            misread="Even if few tokens get attention, many words may matter: each hidden state contains information from "
            "neighbouring words.",
        ),
        Column.nats("jsd_<projection>", "how far (JSD) attention moves with this projection, such as sparsemax"),
        Column.share(
            "support_<projection>", "share of tokens with an attention weight above 0 with this projection, such as sparsemax"
        ),
        Column.share("attention_<projection>", "attention under this projection", unit="sums to 1", type="list of float"),
    ),
    answer=_answer,
    weights=tuple(_swapped(name, label) for name, label in NAMES.items()),
    run=activation_swap,
    reads=("labels",),
    of_numbers=OfNumbers.moves("and nothing is decided"),
)
