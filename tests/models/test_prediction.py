"""What a network says that it decides."""

import pytest

from attest.core.kinds import CLASSES, KINDS
from attest.models.networks import TransformerClassifier
from attest.models.prediction import kind_of


@pytest.mark.parametrize("said", ["number", 3, None])
def test_an_attribute_of_the_same_name_is_no_kind(said):
    network = TransformerClassifier(10, 2)
    network.kind = said
    assert kind_of(network) == CLASSES


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_network_says_its_kind(kind):
    network = TransformerClassifier(10, 2)
    network.kind = kind
    assert kind_of(network) == kind
