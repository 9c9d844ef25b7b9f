"""Pretrained vectors reach the embedding, or a sentence says why they cannot."""

import pytest
import torch
from torch import nn

from attest.lightning_modules import Classifier
from attest.lightning_modules.text_module import load_vectors
from attest.models.networks import PoolingClassifier


def test_vectors_become_the_embedding_and_can_be_trained():
    vectors = torch.randn(11, 300)
    module = Classifier(PoolingClassifier, vocab_size=11, pretrained_embeddings=vectors)
    embedding = module.network.encoder.embedding
    assert torch.equal(embedding.weight, vectors)
    assert embedding.weight.requires_grad


@pytest.mark.parametrize("vectors", [torch.ones(11, 300), None])
def test_frozen_embeddings_stay_as_they_start(vectors):
    module = Classifier(PoolingClassifier, vocab_size=11, pretrained_embeddings=vectors, freeze_embeddings=True)
    before = module.network.encoder.embedding.weight.clone()
    optimizer = module.configure_optimizers()
    mask = torch.ones(2, 3, dtype=torch.bool)
    module(torch.tensor([[2, 3, 4], [5, 6, 7]]), mask).sum().backward()
    optimizer.step()
    assert torch.equal(module.network.encoder.embedding.weight, before)
    assert not module.network.encoder.embedding.weight.requires_grad


def test_without_vectors_nothing_changes():
    torch.manual_seed(0)
    one = PoolingClassifier(11, 1)
    before = one.encoder.embedding.weight.clone()
    load_vectors(one, None, 11)
    assert torch.equal(one.encoder.embedding.weight, before)


def test_another_dimension_is_named(refusal):
    with refusal():
        load_vectors(PoolingClassifier(11, 1), torch.zeros(11, 50), 11)


def test_a_network_without_embedding_is_named(refusal):
    with refusal():
        load_vectors(nn.Linear(2, 2), torch.zeros(11, 50), 11)
