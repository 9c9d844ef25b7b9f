"""Pretrained models as networks that are trained: the library's own numbers, from the token ids of our data."""

import entmax
import pytest
import torch
from transformers import AutoTokenizer

from attest.core.attention import Entmax, Sparsemax
from attest.core.attention.interventions import recorded
from attest.datamodules import PlantedDataModule
from attest.datamodules.corpus import Documents
from attest.datamodules.encoded import EncodedDocuments, in_subwords
from attest.datamodules.vocabulary import Vocabulary
from attest.lightning_modules.tagger import Tagger
from attest.models.observation import observe
from attest.models.pretrained.fine_tuning import FineTunedClassifier, FineTunedTagger
from attest.models.pretrained.subwords import Subwords
from tests.models.pretrained.tiny import pretrained_folder

TEXTS = [["a", "fine", "film"], ["dull", "and", "long", "it", "was"], ["film"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return pretrained_folder(tmp_path_factory.mktemp("pretrained"), ["fine", "film", "dull"], longest=16)


@pytest.fixture(scope="module")
def subwords(folder):
    return Subwords(str(folder))


def network(folder, subwords, outputs=1, kind=FineTunedClassifier):
    torch.manual_seed(0)
    return kind(len(subwords.vocabulary) + 2, outputs, str(folder)).eval()


def batch_of(subwords, **columns):
    documents = in_subwords(Documents.of(range(3), TEXTS, **columns), subwords)
    return EncodedDocuments(documents, Vocabulary(subwords.vocabulary)).__getitems__([0, 1, 2])


def test_a_chunk_begins_at_the_first_word_that_is_read(subwords, capsys):
    texts = [["fine", "\u00ad", "film"], ["\u00ad", "dull"], ["film"]]
    documents = in_subwords(Documents.of(range(3), texts, tags=[[0, 1, 2], [2, 2], [2]]), subwords, ("O", "B-X", "I-X"))
    tags = documents.table["tags"].to_pylist()
    assert [[tag for tag in row if tag >= 0] for row in tags] == [[0, 1], [1], [2]], "a first I- alone is as it was"
    assert "2 of 6 words have no subword" in capsys.readouterr().out


@torch.no_grad()
@pytest.mark.parametrize("outputs", [1, 3])
def test_probabilities_are_those_of_the_library_on_its_own_tokens(folder, subwords, outputs):
    """One logit of ours is two of theirs; the tokens are theirs although our ids are others."""
    ours = network(folder, subwords, outputs)
    batch = batch_of(subwords)
    logits = ours(batch["token_ids"], batch["mask"])
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for row, words in enumerate(TEXTS):
        theirs = ours.model(**tokenizer(words, is_split_into_words=True, return_tensors="pt")).logits[0].softmax(dim=-1)
        found = logits[row].softmax(dim=-1) if outputs > 1 else logits[row].sigmoid()
        torch.testing.assert_close(found, theirs if outputs > 1 else theirs[1:], atol=1e-6, rtol=0)


@torch.no_grad()
def test_the_steps_give_what_forward_gives(folder, subwords):
    ours, batch = network(folder, subwords), batch_of(subwords)
    seen = observe(ours, batch["id"], batch["token_ids"], batch["mask"])
    torch.testing.assert_close(seen.logits, ours(batch["token_ids"], batch["mask"]), atol=1e-6, rtol=0)


@torch.no_grad()
def test_what_is_masked_in_our_data_is_masked_for_the_model(folder, subwords):
    ours, batch = network(folder, subwords), batch_of(subwords)
    masked = batch["token_ids"].clone()
    masked[:, 1] = 1
    known = batch["token_ids"].clone()
    known[:, 1] = subwords.vocabulary.index("[MASK]") + 2
    assert torch.equal(ours(masked, batch["mask"]), ours(known, batch["mask"]))
    assert not torch.equal(ours(masked, batch["mask"]), ours(batch["token_ids"], batch["mask"]))


def test_words_become_subwords_between_special_tokens(subwords):
    tokens, cut = subwords(TEXTS)
    assert tokens[0] == ["[CLS]", "a", "fine", "film", "[SEP]"]
    assert tokens[1][1:5] == ["dull", "a", "##n", "##d"]
    assert cut.words[1] == [None, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 4, None]
    assert cut.shortened == 0


def test_the_first_subword_of_a_word_has_its_tag_and_all_its_rationale(subwords):
    batch = batch_of(
        subwords, tags=[[0, 1, 2], [3, 4, 5, 6, 7], [8]], rationale=[[False] * 3, [False, True, False, False, False], [True]]
    )
    none = -100
    assert batch["tags"][0].tolist() == [none, 0, 1, 2, none] + [none] * 10
    assert batch["tags"][1].tolist() == [none, 3, 4, none, none, 5, none, none, none, 6, none, 7, none, none, none]
    assert batch["rationale"][1].nonzero().flatten().tolist() == [2, 3, 4], "a ##n ##d"


def test_long_texts_are_cut_and_counted(folder, capsys, refusal):
    few = in_subwords(Documents.of(range(3), TEXTS, label=[0, 1, 0]), Subwords(str(folder), 6))
    assert few.lengths.tolist() == [5, 6, 3]
    assert few.tokens[1][-1] == "[SEP]"
    assert "1 of 3 texts are longer than 6 subwords; their ends are cut" in capsys.readouterr().out
    left = Subwords(str(folder), 6)
    left.tokenizer.truncation_side = "left"
    assert in_subwords(Documents.of(range(3), TEXTS, label=[0, 1, 0]), left).tokens[1][0] == "[CLS]"
    assert "1 of 3 texts are longer than 6 subwords; their beginnings are cut" in capsys.readouterr().out
    with refusal():
        Subwords(str(folder), 17)


def test_a_corpus_and_texts_from_anywhere_are_cut_alike(folder, subwords):
    data = PlantedDataModule(subwords=str(folder), max_subwords=12, train_texts=20, validation_texts=4, test_texts=4)
    assert data.vocabulary.words == subwords.vocabulary
    assert data.corpus.test.lengths.max() == 12
    assert data.documents_of(["a fine film"]).tokens == [["[CLS]", "a", "fine", "film", "[SEP]"]]
    assert data.record.tokenising == {"subwords": str(folder), "max_subwords": 12}


@torch.no_grad()
def test_a_tagger_decides_every_token(folder, subwords):
    ours, batch = network(folder, subwords, 4, FineTunedTagger), batch_of(subwords)
    assert ours(batch["token_ids"], batch["mask"]).shape == (3, 15, 4)


def test_the_layers_of_a_tagger_are_observed_with_the_word_of_each_subword(folder, subwords):
    module = Tagger(lambda size, tags: FineTunedTagger(size, tags, str(folder)), vocab_size=len(subwords.vocabulary) + 2)
    batch = batch_of(subwords, tags=[[0] * len(text) for text in TEXTS])
    seen = module.eval().observe_layers(batch)
    assert seen.words[2].tolist() == [-1, 0] + [-1] * 13
    assert torch.equal(seen.words < 0, seen.special)


def test_training_moves_every_parameter(folder, subwords):
    ours, batch = network(folder, subwords).train(), batch_of(subwords)
    ours(batch["token_ids"], batch["mask"]).sum().backward()
    idle = [name for name, parameter in ours.named_parameters() if parameter.grad is None]
    assert not idle


def test_training_on_a_gpu_is_in_bfloat16_and_evidence_is_not(folder, subwords, monkeypatch):
    """As a CPU pretends: what is asked for is what counts."""
    ours, batch = network(folder, subwords), batch_of(subwords)
    asked = []
    autocast = torch.autocast
    monkeypatch.setattr(
        torch, "autocast", lambda device, dtype, enabled: asked.append((dtype, enabled)) or autocast("cpu", dtype, enabled)
    )
    monkeypatch.setattr(torch.Tensor, "is_cuda", property(lambda tensor: True))
    logits = ours.train()(batch["token_ids"], batch["mask"])
    ours.eval()(batch["token_ids"], batch["mask"])
    assert asked == [(torch.bfloat16, True), (torch.bfloat16, False)]
    assert logits.dtype == torch.float32


@pytest.mark.parametrize(
    "options",
    [
        {"pretrained": ""},
        {"vocab_size": 12},
    ],
)
def test_what_cannot_be_trained_is_refused(folder, subwords, options, refusal):
    given = {"vocab_size": len(subwords.vocabulary) + 2, "outputs": 1, "pretrained": str(folder)}
    with refusal():
        FineTunedClassifier(**given | options)


@pytest.mark.parametrize("kind", [FineTunedClassifier, FineTunedTagger])
def test_another_projection_stands_in_the_place_of_every_softmax(folder, subwords, kind, monkeypatch):
    """As if sparsemax stood in the library's own code, where attention is written out."""
    softened = network(folder, subwords, 3, kind)
    torch.manual_seed(0)
    ours = kind(len(subwords.vocabulary) + 2, 3, str(folder), Sparsemax()).eval()
    batch = batch_of(subwords)
    read = batch["token_ids"], batch["mask"]
    with recorded(ours, "weights") as weights:
        logits = ours(*read)
    assert not torch.allclose(logits, softened(*read))
    assert all((each[batch["mask"][:, None].expand(each.shape[:3])] == 0).any() for each in weights.values())
    torch.testing.assert_close(ours.itself(*read), logits)

    monkeypatch.setattr(torch.nn.functional, "softmax", lambda scores, dim, dtype=None: entmax.sparsemax(scores, dim=dim))
    softened.model.set_attn_implementation("eager")
    torch.testing.assert_close(logits, softened.itself(*read), rtol=1e-4, atol=1e-5)

    ours.train()(*read).square().sum().backward()
    queries = [each for name, each in ours.named_parameters() if name.endswith("query.weight")]
    assert queries
    assert all(each.grad.abs().sum() > 0 for each in queries)


def test_each_head_learns_its_own_projection(folder, subwords):
    ours = FineTunedClassifier(len(subwords.vocabulary) + 2, 1, str(folder), Entmax(learned=True))
    learned = [each for name, each in ours.named_parameters() if name.endswith("projection.logit")]
    assert [tuple(each.shape) for each in learned] == [(call.heads, 1, 1) for call in ours.calls]
