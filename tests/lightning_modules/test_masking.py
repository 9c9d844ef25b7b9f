"""Training texts masked at random rates."""

from types import SimpleNamespace

import torch
from scipy import stats

from attest.lightning_modules import Classifier
from attest.lightning_modules.text_module import masked_uniformly
from attest.models.networks import Average, PoolingClassifier

TEXTS, LENGTH = 2000, 200
TOKENS = torch.randint(2, 50, (TEXTS, LENGTH), generator=torch.Generator().manual_seed(0))
IDS = torch.arange(TEXTS)


def test_the_share_that_is_masked_is_uniform_over_texts():
    by_epoch = [masked_uniformly(TOKENS, IDS, seed=0, epoch=epoch) == 1 for epoch in range(5)]
    shares = torch.cat(by_epoch).double().mean(dim=1)
    assert stats.kstest(shares, "uniform").pvalue > 0.01
    masked = by_epoch[0]
    by_place = masked.double().mean(dim=0)
    assert (by_place - 0.5).abs().max() < 0.06, "no place is masked more often than another"
    assert torch.equal(masked_uniformly(TOKENS, IDS, 0, 0)[~masked], TOKENS[~masked]), "the others stay"


def test_what_is_masked_depends_on_the_text_and_the_epoch_alone():
    """Neither on the batch nor on its padding, so that a run taken up in another order or on two processes is the same."""
    order = torch.tensor([7, 3, 11])
    padded = torch.cat([TOKENS[order], torch.zeros(3, 5, dtype=torch.int64)], dim=1)
    whole = masked_uniformly(TOKENS, IDS, 0, 4)
    assert torch.equal(masked_uniformly(padded, order, 0, 4)[:, :LENGTH], whole[order])
    assert not masked_uniformly(padded, order, 0, 4)[:, LENGTH:].any(), "padding stays padding"
    assert not torch.equal(masked_uniformly(TOKENS, IDS, 0, 5), whole)
    assert not torch.equal(masked_uniformly(TOKENS, IDS, 1, 4), whole)


def test_every_epoch_masks_other_places_and_not_only_more_of_them():
    """Were places the same, of two epochs the one with the lower rate would mask some of the other's and no more."""
    early, late = (masked_uniformly(TOKENS, IDS, 0, epoch) == 1 for epoch in (0, 1))
    nested = (early & ~late).any(dim=1) ^ (late & ~early).any(dim=1)
    assert nested.double().mean() < 0.1


def test_words_of_sentences_are_masked_one_by_one_whatever_the_padding():
    texts = TOKENS[:40].view(40, 10, 20)
    wider = torch.nn.functional.pad(texts, (0, 3, 0, 2))
    masked = masked_uniformly(texts, IDS[:40], 0, 0)
    assert torch.equal(masked_uniformly(wider, IDS[:40], 0, 0)[:, :10, :20], masked)
    assert 0.3 < (masked == 1).double().mean() < 0.7
    assert not torch.equal(masked[:, 0] == 1, masked[:, 1] == 1), "sentences differ"


def test_only_training_steps_are_masked():
    torch.manual_seed(0)
    module = Classifier(lambda words, outputs: PoolingClassifier(words, outputs, Average), vocab_size=50, masking="uniform")
    seen = []
    module.network.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    module.log = lambda *arguments, **options: None
    module._trainer = SimpleNamespace(current_epoch=2, datamodule=SimpleNamespace(seed=3))
    batch = {"id": IDS[:8], "token_ids": TOKENS[:8], "mask": TOKENS[:8] > 0, "label": IDS[:8] % 2}
    module.training_step(batch, 0)
    module.validation_step(batch, 0)
    assert torch.equal(seen[0], masked_uniformly(TOKENS[:8], IDS[:8], 3, 2)), "by the DataModule's seed and the epoch"
    assert torch.equal(seen[1], TOKENS[:8])


def test_a_question_beside_a_text_is_not_masked():
    module = Classifier(lambda words, outputs: PoolingClassifier(words, outputs, Average), vocab_size=50, masking="uniform")
    module._trainer = SimpleNamespace(current_epoch=0, datamodule=None)
    mask = torch.arange(LENGTH) < 150
    batch = {"id": IDS[:8], "token_ids": TOKENS[:8], "mask": mask.expand(8, -1)}
    shown = module.training_tokens(batch)
    assert torch.equal(shown[:, 150:], TOKENS[:8, 150:])
    assert (shown[:, :150] == 1).any()
