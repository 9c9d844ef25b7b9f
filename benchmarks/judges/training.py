"""The training of networks on the texts of the judges, whose labels follow a known rule. A network learns freely, or its
attention is guided to the words of the rule (the truth) or to other words (a decoy); then the tests judge the attention.

Legend: B texts, T tokens.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from typing import Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer, seed_everything
from torch import Tensor, nn
from torch.utils.data import DataLoader

from attest.core.attention import Entmax15, Softmax, Sparsemax
from attest.core.attention.interventions import recorded
from attest.judges.measuring import measure
from attest.judges.population import CausalAttention
from attest.judges.texts import VOCABULARY, Texts, draw_texts
from attest.lightning_modules import Classifier
from attest.lightning_modules.text_module import Batch
from attest.models.networks import Average, BiLSTM, Cnn, PoolingClassifier, TransformerClassifier
from attest.runs.versions import quieten
from benchmarks.judges.trained import DECOY, FREE, TRUTH, Trained

PROJECTIONS = {"softmax": Softmax, "entmax15": Entmax15, "sparsemax": Sparsemax}
OTHER_TEXTS = 1000
"""The number that is added to the seed of a model, so that no model is judged on its own training texts."""
LEAST_MASS = 1e-6
"""The least mass inside the logarithm, which stays finite if sparse attention gives no mass to the target."""
Asked = tuple[str, str, str, int, str]
"""A model: its network, its projection, its rule, its seed, and the target that guides its attention."""


class Decoder(TransformerClassifier):
    """A small decoder: a token attends to itself and to what stands before it, and the last one decides."""

    attends_everywhere = False

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        for layer in self.encoder.layers:
            causal = CausalAttention(settings["size"] if "size" in settings else given[2], settings["heads"])
            causal.projection = layer.attention.projection
            layer.attention = causal

    def deciding(self, mask: Tensor) -> Tensor:
        """Return 1 at the last token of each text, ``(B, T)``."""
        return nn.functional.one_hot(mask.sum(dim=-1) - 1, mask.shape[1]).float()

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Return the weights of ``deciding``, whatever the scores ``(B, T)``."""
        return self.deciding(mask).to(scores)


class Guided(Classifier):
    """A classifier that is trained to put its pooled attention on given tokens.

    Args:
        strength: the weight of the pull, which is minus the mean logarithm of the mass on these tokens.
    """

    def __init__(self, strength: float, **everything_else: Any) -> None:
        super().__init__(**everything_else)
        self.strength = strength

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the loss of one batch, whose ``target``, bool ``(B, T)``, marks the tokens to attend to in B texts."""
        with recorded(self.network, "weights") as weights:
            loss = super().training_step(batch, batch_idx)
        (pooled,) = weights.values()
        mass = (pooled * batch["target"]).sum(dim=-1)
        return loss - self.strength * (mass + LEAST_MASS).log().mean()


class Enough(Callback):
    """Ends the training after an epoch whose mean loss is at most a bound."""

    def __init__(self, bound: float) -> None:
        self.bound = bound
        self.losses: list[float] = []

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, *batch: Any) -> None:
        self.losses.append(float(outputs["loss"]))

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        trainer.should_stop = sum(self.losses) <= self.bound * len(self.losses)
        self.losses.clear()


def asked_for(stated: Mapping[str, Any]) -> list[Asked]:
    """Return every network that must be trained, described by five settings; networks without a guide come first."""
    return [
        (network, projection, rule, seed, guided_to)
        for networks, sides in ((stated["networks"], (FREE,)), (stated["guided"], (TRUTH, DECOY)))
        for rule, network, projection, seed, guided_to in product(
            stated["rules"], networks, stated["projections"], stated["seeds"], sides
        )
    ]


def trained_and_heard(
    asked: Asked, stated: Mapping[str, Any], tests: Mapping[str, Any], settings: Mapping[str, Any]
) -> Trained:
    """Train one network, and return its accuracy and the results of the tests whose right answer is known for it."""
    network_name, projection, rule, seed, guided_to = asked
    network = trained(asked, stated)
    family = "layered" if network_name == "transformer" else "pooled"
    texts = draw_texts(rule, stated["layered_texts" if family == "layered" else "texts"], seed)
    others = draw_texts(rule, stated["train_texts"], seed + 2 * OTHER_TEXTS)
    known = {name: test for name, test in tests[family].items() if test["of"] == "tokens" or network_name == "average"}
    heard = measure(network, "/".join(map(str, asked)), texts, texts.deciding, seed, known, settings[family])
    return Trained(
        *(network_name, projection, rule, seed, guided_to),
        accuracy=float((_decided(network, others.tokens, others.mask) == others.labels).double().mean()),
        counts=counting(network, texts),
        heard=heard,
    )


def trained(asked: Asked, stated: Mapping[str, Any], texts: Texts | None = None) -> nn.Module:
    """Train one model and return its network in evaluation mode.

    Args:
        texts: what it is trained on; None to draw as many texts of its rule as are stated.
        asked: a Transformer's or decoder's name may end with its number of layers, as ``transformer-4``; it has 2 otherwise.
        stated: its ``enough``, where it is there, is the mean loss of an epoch after which training ends before ``epochs``.
    """
    network_name, projection, rule, seed, guided_to = asked
    quieten()
    seed_everything(seed, verbose=False)
    made: dict[str, Any] = {
        "network": partial(_network, network_name, projection, stated["size"]),
        "optimizer": partial(torch.optim.Adam, lr=stated["learning_rate"]),
        "vocab_size": VOCABULARY,
    }
    model = Classifier(**made) if guided_to == FREE else Guided(stated["strength"], **made)
    texts = draw_texts(rule, stated["train_texts"], seed + OTHER_TEXTS) if texts is None else texts
    target = texts.deciding if guided_to == TRUTH else decoys(texts)
    loader: DataLoader[Batch] = DataLoader(
        range(len(texts.ids)),
        batch_size=stated["batch_size"],
        shuffle=True,
        collate_fn=lambda rows: {
            "id": texts.ids[rows],
            "token_ids": texts.tokens[rows],
            "mask": texts.mask[rows],
            "label": texts.labels[rows],
            "target": target[rows],
        },
    )
    trainer = Trainer(
        max_epochs=stated["epochs"],
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[Enough(stated.get("enough", -1))],
    )
    trainer.fit(model, loader)
    return model.network.eval()


def _network(name: str, projection: str, size: int, vocabulary: int, outputs: int) -> nn.Module:
    attends = PROJECTIONS[projection]()
    kind, _, layers = name.partition("-")
    if kind in ("transformer", "decoder"):
        made = TransformerClassifier if kind == "transformer" else Decoder
        shape = {"layers": int(layers or 2), "heads": 2, "feedforward_size": 2 * size}
        return made(vocabulary, outputs, size, **shape, projection=attends)
    encoders: dict[str, Callable[[int], nn.Module]] = {
        "bilstm": partial(BiLSTM, embedding_size=size, hidden_size=size),
        "average": partial(Average, embedding_size=size, hidden_size=size),
        "cnn": partial(Cnn, embedding_size=size, kernel_sizes=(1, 3), channels=size),
    }
    return PoolingClassifier(vocabulary, outputs, encoders[name], projection=attends)


def decoys(texts: Texts) -> Tensor:
    """Return a mask of the decoys, bool ``(B, T)``: in each of B texts, the first token that the rule does not read."""
    others = texts.mask & ~texts.deciding
    return others & (others.cumsum(dim=-1) == 1)


def counting(network: nn.Module, texts: Texts) -> Tensor:
    """Return which of B texts are classified right, and wrong after the words of the rule are exchanged, bool ``(B,)``."""
    right = _decided(network, texts.tokens, texts.mask) == texts.labels
    return right & (_decided(network, texts.exchanged, texts.mask) != texts.labels)


def all_heard(
    stated: Mapping[str, Any], tests: Mapping[str, Any], settings: Mapping[str, Any], processes: int
) -> Iterator[Trained]:
    """Yield the results of the tests on every network, in a fixed order; several processes share the networks."""
    torch.set_num_threads(1)
    hear = partial(trained_and_heard, stated=stated, tests=tests, settings=settings)
    with ProcessPoolExecutor(processes, get_context("fork")) as shared:
        yield from shared.map(hear, asked_for(stated))


@torch.no_grad()
def _decided(network: nn.Module, tokens: Tensor, mask: Tensor) -> Tensor:
    return (network(tokens, mask)[:, 0] > 0).long()
