"""One Transformer through both doors: ours, and its copy as a BERT of transformers, give the same evidence."""

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, BertForTokenClassification

from attest.experiments import observe
from attest.experiments.layers import attention_rollout, observe_layers, where_rollout_begins
from attest.experiments.registry import Context, chosen
from attest.models.networks import TransformerClassifier, TransformerTagger
from attest.models.networks.transformer import sinusoids
from attest.models.pretrained.network import PretrainedNetwork

WORDS, SIZE, LAYERS, HEADS, FEEDFORWARD = 30, 16, 2, 4, 24
SHAPE = {"size": SIZE, "layers": LAYERS, "heads": HEADS, "feedforward_size": FEEDFORWARD, "embedding_size": None}
CONFIG = BertConfig(
    vocab_size=WORDS, hidden_size=SIZE, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=FEEDFORWARD,
    hidden_act="relu", max_position_embeddings=16, layer_norm_eps=1e-5, num_labels=3,
)  # fmt: skip
PARTS = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "widen": "intermediate.dense",
    "narrow": "output.dense",
    "feedforward_norm": "output.LayerNorm",
}
"""Modules of a layer of ours, and what they are called in BERT."""


class Mean(nn.Module):
    """Pools as our classifier does, texts without padding."""

    def forward(self, hidden):
        return hidden.mean(dim=1)


@torch.no_grad()
def copied(ours, theirs):
    """Our parameters in their model; embeddings are scaled and told where they stand."""
    bert = theirs.bert
    bert.embeddings.word_embeddings.weight.copy_(SIZE**0.5 * ours.encoder.embedding.weight)
    bert.embeddings.position_embeddings.weight.copy_(sinusoids(16, SIZE))
    bert.embeddings.token_type_embeddings.weight.zero_()
    bert.embeddings.LayerNorm = nn.Identity()
    for mine, other in zip(ours.encoder.layers, bert.encoder.layer, strict=True):
        for name, called in PARTS.items():
            other.get_submodule(called).load_state_dict(mine.get_submodule(name).state_dict())
    theirs.classifier.load_state_dict(ours.decoder.state_dict())
    return PretrainedNetwork(theirs.eval(), 0)


@pytest.fixture(scope="module")
def taggers():
    torch.manual_seed(3)
    ours = TransformerTagger(WORDS, 3, **SHAPE).eval()
    return ours, copied(ours, BertForTokenClassification(CONFIG))


@pytest.fixture(scope="module")
def classifiers():
    torch.manual_seed(4)
    ours = TransformerClassifier(WORDS, 3, **SHAPE).eval()
    theirs = BertForSequenceClassification(CONFIG)
    theirs.bert.pooler = Mean()
    return ours, copied(ours, theirs)


def batch(padded):
    torch.manual_seed(5)
    lengths = torch.tensor([6, 9, 4] if padded else [7, 7, 7])
    mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(-1)
    return torch.tensor([3, 8, 5]), torch.randint(2, WORDS, mask.shape).where(mask, 0), mask


def require_same(columns, others):
    assert columns.keys() == others.keys()
    assert columns
    for name, column in columns.items():
        assert torch.allclose(others[name], column, rtol=2e-4, atol=2e-5, equal_nan=True), name


@pytest.mark.parametrize(
    ("experiment", "settings"), [("E2", {}), ("E8", {}), ("E9", {}), ("E13", {}), ("E3", {"steps": 5, "each_layer": True})]
)
def test_evidence_inside_layers_is_the_same_through_both_doors(taggers, experiment, settings):
    ids, tokens, mask = batch(padded=True)
    asked = chosen({experiment: settings}, inside=True)[experiment]
    seen = [observe_layers(network, ids, tokens, mask) for network in taggers]
    require_same(*(asked(each, Context(torch.zeros_like(tokens), ids)) for each in seen))


def test_what_rollout_says_of_tokens_is_the_same_through_both_doors(classifiers):
    ids, tokens, mask = batch(padded=False)
    asked, columns = Context(torch.zeros_like(ids), ids), []
    for network in classifiers:
        seen, layers = observe(network, ids, tokens, mask), observe_layers(network, ids, tokens, mask)
        rollout = attention_rollout(layers.attention, where_rollout_begins(seen)).detach()
        found = chosen(["E1"], inside=True)["E1"](seen.explained_by(rollout), asked)
        columns.append({name: column for name, column in found.items() if "hidden" not in name})
    require_same(*columns)
