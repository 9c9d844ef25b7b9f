"""E8: does the model survive another projection than the one it was trained with? (Drozdyuk et al., change of activation.)"""

from collections.abc import Mapping

from torch import Tensor

from attest.attention import Projection
from attest.experiments.observation import Observation
from attest.measures import jensen_shannon, total_variation


def activation_swap(
    observation: Observation, projections: Mapping[str, Projection], labels: Tensor | None
) -> dict[str, Tensor]:
    """Evaluate under each projection, all parameters and hidden states untouched.

    Args:
        observation: the batch, as the trained projection has it.
        projections: by name; one equal to the trained projection moves nothing.
        labels: int64 ``(B,)``, gold classes; None where they are not known.
    Returns:
        Per instance ``(B,)``, for each name: ``correct_<name>`` (bool), ``tvd_<name>`` of predictions in [0, 1],
        ``jsd_<name>`` of attention in nats, ``support_<name>``, the share of real tokens with weight; and ``correct`` and
        ``support`` of the trained projection. Without labels ``kept_<name>`` (bool), whether the decision stays, stands
        instead of ``correct_<name>``. Per token ``(B, T)``: ``attention_<name>``, the weights under it.
    """
    decided, right = ("kept", observation.predicted) if labels is None else ("correct", labels)
    columns = {} if labels is None else {"correct": observation.predicted == labels}
    columns["support"] = _support(observation.attention, observation.mask)
    for name, projection in projections.items():
        swapped = projection(observation.scores.detach(), observation.mask)
        outcome = observation.probabilities_under(swapped)
        columns[f"{decided}_{name}"] = outcome.argmax(dim=-1) == right
        columns[f"tvd_{name}"] = total_variation(outcome, observation.probabilities)
        columns[f"jsd_{name}"] = jensen_shannon(swapped, observation.attention)
        columns[f"support_{name}"] = _support(swapped, observation.mask)
        columns[f"attention_{name}"] = swapped
    return columns


def _support(weights: Tensor, mask: Tensor) -> Tensor:
    return (weights > 0).sum(dim=-1) / mask.sum(dim=-1)
