"""Explanations by the library captum: linear models of the prediction on texts with randomly masked tokens.

Each method reads ``SAMPLES`` variants of each text. An explanation is computed only if a user asks for it by name.

Legend: B batch, V variants of a text, T tokens.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attest.core.randomness import stream
from attest.experiments.erasure.operators import mask_tokens
from attest.models.observation import Observation

SAMPLES = 256
"""How many variants of a text, each with other randomly masked tokens, the model reads to compute one explanation."""


def kernel_shap(observation: Observation) -> Tensor:
    """Estimate the Shapley values of tokens by KernelSHAP (Lundberg & Lee 2017), ``(B, T)``, signed."""
    from captum.attr import KernelShap

    return _explained(observation, "KernelSHAP", KernelShap)


def lime(observation: Observation) -> Tensor:
    """Compute LIME (Ribeiro et al. 2016) by ridge regression on random variants of each text, ``(B, T)``, signed."""
    from captum._utils.models.linear_model import SkLearnRidge
    from captum.attr import Lime

    return _explained(observation, "LIME", lambda forward: Lime(forward, interpretable_model=SkLearnRidge(alpha=1.0)))


def _explained(observation: Observation, name: str, method: Callable[..., Any]) -> Tensor:
    """Return each text's explanation by a method of the library captum; the text's id seeds the random draws."""
    values = torch.zeros_like(observation.attention)
    for row, identity in enumerate(observation.ids.tolist()):  # captum fits one linear model at a time
        ranked = observation.ranked[row].nonzero().flatten()
        if not len(ranked):
            continue
        text = observation.part(torch.tensor([row], device=values.device))

        def left(kept: Tensor, text: Observation = text, ranked: Tensor = ranked) -> Tensor:
            whole = text.mask.expand(len(kept), -1).clone()
            whole[:, ranked] = kept.bool()
            return mask_tokens(text, whole.unsqueeze(0))[0]

        if len(ranked) == 1:
            one = torch.ones(1, 1, device=values.device)
            values[row, ranked] = (left(one) - left(1 - one)).to(values)
            continue
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(stream(identity, name))
            ones = torch.ones(1, len(ranked), device=values.device)
            found = method(left).attribute(ones, baselines=0, n_samples=SAMPLES, perturbations_per_eval=SAMPLES)
        values[row, ranked] = found[0].to(values)
    return values
