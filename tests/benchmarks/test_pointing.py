"""Training attention to point: the penalty, and how the settings are judged."""

from functools import partial

import numpy as np
import pandas as pd
import torch

from attest.models.networks import Average, PoolingClassifier
from benchmarks import pointing
from benchmarks.pointing import BASE, COMPARED, PointingClassifier
from benchmarks.sparse import by_seed_and_text

WORDS = 40


def batch_of(ids):
    tokens = torch.randint(2, WORDS, (len(ids), 9), generator=torch.Generator().manual_seed(0))
    mask = torch.arange(9) < torch.tensor([9, 6, 9, 4, 9, 9, 9, 9])[: len(ids), None]
    return {"id": torch.tensor(ids), "token_ids": tokens * mask, "mask": mask, "label": torch.tensor(ids) % 2}


def module_of(penalty, share=1.0):
    torch.manual_seed(0)
    network = partial(PoolingClassifier, encoder=Average)
    module = PointingClassifier(network, network=network, vocab_size=WORDS, penalty=penalty, share=share)
    base = module.base.network
    with torch.no_grad():
        base.decoder.weight.mul_(40)
    module.base.loaded = True
    module.log = lambda *arguments, **options: None
    return module


def test_attention_outside_the_words_that_decide_costs(monkeypatch):
    batch, decide = batch_of(range(8)), torch.zeros(8, 9, dtype=torch.bool)
    decide[0, 2] = decide[1, 0] = decide[1, 5] = True  # the other texts need no words
    monkeypatch.setattr(PointingClassifier, "deciding", lambda module, batch: decide)
    with torch.no_grad():
        free, dear = (module_of(penalty).training_step(batch, 0) for penalty in (0.0, 3.0))
        module = module_of(0.0)
        hidden = module.network.encode(batch["token_ids"], batch["mask"])
        weights = module.network.project(module.network.score(hidden, batch["mask"]), batch["mask"])
    outside = (1 - weights[0, 2]) + (1 - weights[1, 0] - weights[1, 5])
    torch.testing.assert_close(dear - free, 3.0 * outside / 8)


def test_the_base_is_asked_once_about_chosen_texts_alone(monkeypatch):
    asked, module = [], module_of(1.0, share=0.5)

    def found(observation):
        asked.append(observation.ids.tolist())
        return observation.mask & (torch.arange(observation.mask.shape[1]) == 1)

    monkeypatch.setattr(pointing, "tokens_that_decide", found)
    first = module.deciding(batch_of(range(8)))
    again = module.deciding({name: each.flip(0) for name, each in batch_of(range(8)).items()})
    assert len(asked) == 1
    assert 0 < len(asked[0]) < 8
    assert first.any(dim=1).nonzero().flatten().tolist() == asked[0]
    assert torch.equal(again.flip(0), first)


def test_words_that_decide_in_the_base_are_found_by_its_own_search():
    module, batch = module_of(1.0), batch_of(range(8))
    decide = module.deciding(batch)
    assert not (decide & ~batch["mask"]).any()
    assert decide.any(), "a network with large weights needs words"
    assert (decide.sum(dim=1) < batch["mask"].sum(dim=1)).any(), "fewer than all"


def test_a_setting_is_judged_against_the_base_with_the_same_seeds_and_texts():
    rows = [{"row": name, "seed": seed, "accuracy": value + seed / 1000}
            for name, value in ((BASE, 0.8), ("masking", 0.801)) for seed in range(3)]  # fmt: skip
    draw = np.random.default_rng(0)
    texts = pd.DataFrame([
        {"row": name, "seed": seed, "id": text, "right": float(draw.random() < share)}
        for name, share in ((BASE, 0.3), ("masking", 0.8)) for seed in range(3) for text in range(120)
    ])  # fmt: skip
    right = by_seed_and_text(texts, "right")
    apart, more, alike = COMPARED.judged("masking", pd.DataFrame(rows), right)
    assert apart.shape == (3, 120)
    assert (more, alike) == ("holds", "perhaps"), "seeds of accuracy do not differ at all in their difference"
    _, fewer, _ = COMPARED.judged("masking", pd.DataFrame(rows), {BASE: right["masking"], "masking": right[BASE]})
    assert fewer == "contradicted"
