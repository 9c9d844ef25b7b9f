"""What is found about a text does not depend on padding, nor on the batch that the text sits in."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attest.core.attention import Entmax15, Softmax, Sparsemax
from attest.datamodules.corpus import Documents
from attest.datamodules.encoded import EncodedDocuments
from attest.datamodules.vocabulary import Vocabulary
from attest.experiments import activation_swap, attention_permutation, feature_importance, observe
from attest.models.networks import BiLSTM, PoolingClassifier

WORDS = [f"w{number}" for number in range(20)]
TEXTS = st.lists(st.lists(st.sampled_from([*WORDS, "unseen"]), min_size=1, max_size=12), min_size=2, max_size=6)
PROJECTIONS = {"softmax": Softmax(), "sparsemax": Sparsemax(), "entmax15": Entmax15()}


def network(projection: torch.nn.Module, outputs: int, seed: int) -> PoolingClassifier:
    torch.manual_seed(seed)

    def encoder(vocab_size: int) -> BiLSTM:
        return BiLSTM(vocab_size, embedding_size=5, hidden_size=4)

    return PoolingClassifier(len(WORDS) + 2, outputs, encoder=encoder, projection=projection).eval()


def encoded(texts: list[list[str]]) -> EncodedDocuments:
    return EncodedDocuments(Documents.of(range(len(texts)), texts, label=[0] * len(texts)), Vocabulary(WORDS))


def findings(model: PoolingClassifier, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    observation = observe(model, batch["id"], batch["token_ids"], batch["mask"])
    columns = {"logits": observation.logits.detach(), "attention": observation.attention}
    columns |= feature_importance(observation)
    columns |= attention_permutation(observation, permutations=7, seed=3)
    return columns | activation_swap(observation, PROJECTIONS, batch["label"])


@pytest.mark.whole("all experiments on each text alone")
@settings(deadline=None, max_examples=10)
@pytest.mark.parametrize("name", PROJECTIONS)
@given(texts=TEXTS, outputs=st.sampled_from([1, 3]), seed=st.integers(0, 1000))
def test_evidence_of_a_text_is_the_same_alone_and_in_company(name, texts, outputs, seed):
    model, dataset = network(PROJECTIONS[name], outputs, seed).double(), encoded(texts)
    together = findings(model, dataset.__getitems__(list(range(len(texts)))))
    for row, text in enumerate(texts):
        for column, alone in findings(model, dataset.__getitems__([row])).items():
            found = together[column][row]
            if found.shape and column != "logits":  # one value a token: nothing but zeros may follow the text
                assert not found[len(text) :].any()
                found = found[: len(text)]
            torch.testing.assert_close(found, alone[0], atol=1e-9, rtol=0, equal_nan=True)


@settings(deadline=None, max_examples=50)
@given(texts=TEXTS, outputs=st.sampled_from([1, 3]), seed=st.integers(0, 1000))
def test_single_precision_logits_agree_to_a_hundred_thousandth(texts, outputs, seed):
    model, dataset = network(Softmax(), outputs, seed), encoded(texts)
    batch = dataset.__getitems__(list(range(len(texts))))
    together = model(batch["token_ids"], batch["mask"])
    for row in range(len(texts)):
        batch = dataset.__getitems__([row])
        torch.testing.assert_close(together[row], model(batch["token_ids"], batch["mask"])[0], atol=1e-5, rtol=0)
