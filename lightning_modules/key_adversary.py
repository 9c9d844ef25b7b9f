"""The training in E9, which learns other attention keys for an unchanged, trained Transformer (Drozdyuk et al.).

Legend: B batch, Y layers, T tokens, H size of the keys of all heads side by side.
"""

from functools import partial
from typing import Any, Literal, NamedTuple, cast

import torch
from torch import Tensor
from torch.nn import functional

from attest.core.attention.interventions import intervene
from attest.core.errors import AttestError
from attest.core.measures import class_logits
from attest.core.randomness import random_bits, random_uniforms
from attest.experiments.erasure.operators import UNKNOWN
from attest.experiments.layers import LayerObservation, clean_keys, observe_layers, replacing_keys
from attest.lightning_modules.classifier import Classifier
from attest.lightning_modules.optimisation import clips_scaled_gradients
from attest.lightning_modules.text_module import Batch
from attest.models.inputs import Inputs
from attest.models.layers_observed import self_attending
from attest.models.networks.transformer import KeyPerturbation

Attack = Literal["adversarial", "random", "opposite"]
Distance = Literal["log", "norm"]


class Attacked(NamedTuple):
    """The results of an attack on the attention keys of one batch."""

    observation: LayerObservation
    """What the frozen network computes for the batch if the adversary's keys are used in the place of its own."""
    labels: Tensor
    """int64 ``(B,)``: the labels by which the attack is scored: the true labels; for the attack ``opposite``, the other one of
    the two classes."""
    distance: Tensor
    """float ``(B,)``: the mean squared difference, for each text, between the network's own keys and the adversary's."""
    losses: Tensor
    """float ``(B,)``: for each text, the loss that the adversary is trained to minimise."""


class KeyAdversary(Classifier):
    r"""A LightningModule that learns new attention keys for a Transformer whose parameters are frozen.

    * ``adversarial``: :math:`K' = MLP(K)`; the loss asks for the right prediction from keys that are far away,
      :math:`w\,CE(y, \hat y) - (1 - w) d(K, K')`.
    * ``random``: :math:`K' = MLP(U)` with U uniform in (0, 1), drawn anew at every training step and fixed for each instance
      in evaluation; the loss is :math:`CE(y, \hat y)`.
    * ``opposite``: :math:`K' = MLP(K)`; the loss is :math:`CE(1 - y, \hat y)`; scored on the opposite label; two classes only.

    K are the keys of a pass without attack. Logs ``train/loss`` and ``{validation,test}/{loss,accuracy,f1,roc_auc}``.

    Args:
        attack: one of the three names above.
        distance: the distance d. ``log``, as in the released code, is the logarithm of a text's mean squared distance;
            ``norm``, as published, is its Euclidean distance, with which the keys move away without end.
        weight: the weight w of the adversarial attack; 0.5 in the released code.
        hidden_size: hidden size of the MLP; 256 as published.
        num_classes: as in ``Classifier``.
        options: as in ``Classifier``: ``network`` is the network under attack, whose parameters ``take_base`` loads, and
            ``optimizer`` is the optimiser of the MLP.
    Raises:
        AttestError: ``opposite`` without exactly two classes, or no layer of the network has self-attention.
    """

    trains_by_forward = False

    def __init__(
        self,
        attack: Attack = "adversarial",
        distance: Distance = "log",
        weight: float = 0.5,
        hidden_size: int = 256,
        num_classes: int = 2,
        **options: Any,
    ) -> None:
        super().__init__(num_classes=num_classes, **options)
        if attack == "opposite" and num_classes != 2:
            raise AttestError(
                f"ATTACK=opposite needs two classes, and the corpus has {num_classes}; expected a corpus with two classes. "
                "For three or more classes, type ATTACK=adversarial"
            )
        self.attack, self.distance, self.weight = attack, distance, weight
        self.network.requires_grad_(False).eval()
        self.layers = self_attending(self.network)
        text = torch.full((1, 1), UNKNOWN)
        with torch.no_grad():
            keys_11H = clean_keys(self.network, self.layers, Inputs(text, torch.ones_like(text, dtype=torch.bool)))
        self.adversary = KeyPerturbation(keys_11H.shape[-1], hidden_size)

    def take_base(self, state: dict[str, Tensor]) -> None:
        self.network.load_state_dict(state)

    def train(self, mode: bool = True) -> "KeyAdversary":
        super().train(mode)
        self.network.eval()
        return self

    def attacked(self, batch: Batch) -> Attacked:
        """Run the network on a batch with the adversary's attention keys, and return the results."""
        mask, labels = batch["mask"], batch["label"]
        with torch.no_grad():
            clean_BYTH = clean_keys(self.network, self.layers, Inputs(batch["token_ids"], mask))
        keys_BYTH = self.adversary(self._noise(batch["id"], clean_BYTH) if self.attack == "random" else clean_BYTH)
        with intervene(self.network, *replacing_keys(self.network, self.layers, keys_BYTH)):
            observation = observe_layers(self.network, batch["id"], batch["token_ids"], mask)
        scored = 1 - labels if self.attack == "opposite" else labels
        losses = functional.cross_entropy(class_logits(observation.logits), scored, reduction="none")
        squares = (torch.where(mask[:, None, :, None], clean_BYTH - keys_BYTH, 0) ** 2).sum(dim=(1, 2, 3))
        squared = squares / (clean_BYTH[0, :, 0].numel() * mask.sum(dim=-1))
        if self.attack == "adversarial":
            above_0 = squares.clamp(min=torch.finfo(squares.dtype).tiny)  # equal keys have a gradient of 0, not NaN
            far = squared.log() if self.distance == "log" else above_0.sqrt()
            losses = self.weight * losses - (1 - self.weight) * far
        return Attacked(observation, scored, squared, losses)

    def _noise(self, ids: Tensor, like_BYTH: Tensor) -> Tensor:
        """Return random numbers in (0, 1) in the shape of the keys; the seed, instance ids and step determine them."""
        step = self.global_step + 1 if self.training else 0
        seed = cast(Any, self.trainer).datamodule.seed
        layer_Y, token_T, place_H = (torch.arange(size, device=ids.device) for size in like_BYTH.shape[1:])
        draw_B = random_bits(seed, ids, torch.tensor(step, device=ids.device))
        counters = draw_B[:, None, None, None], layer_Y[:, None, None], token_T[:, None], place_H
        return random_uniforms(seed, *counters).to(like_BYTH)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        losses = self.attacked(batch).losses
        self.log("train/loss", losses.detach().mean(), batch_size=len(losses))
        return losses.mean()

    def collect(self, stage: str, batch: Batch) -> dict[str, Any]:
        attacked = self.attacked(batch)
        predicted = attacked.observation.probabilities
        self.collected(stage).update(batch["id"], attacked.losses, attacked.labels, predicted)
        return {"attacked": attacked}

    def configure_optimizers(self) -> Any:
        return self.optimisation.make(self.adversary.parameters(), partial(clips_scaled_gradients, self))
