"""E19 on texts that are longer than the model and are read in windows."""

import pytest
import torch
from transformers import BertTokenizerFast

import attest
from tests.models.pretrained.tiny import WORDS, tiny

pytestmark = pytest.mark.whole("long texts")

READ, SHARED = 16, 4
"""Tokens that the model reads at once, and those that two windows have in common."""
FILLERS = ("a", "film", "very", "not", ".")
LENGTH, PLACE = 30, 16
"""Words of a text, and the place of the one that decides: it stands in the second of three windows alone."""
STEPS = 150


def texts_of(count, length, seed, place=None):
    """Texts of fillers; every second one has “fine”, at a place or anywhere."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(len(FILLERS), (count, length), generator=generator).tolist()
    words = [[FILLERS[word] for word in row] for row in drawn]
    anywhere = torch.randint(length, (count,), generator=generator).tolist()
    for number in range(0, count, 2):
        words[number][anywhere[number] if place is None else place] = "fine"
    return [" ".join(row) for row in words]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    file = tmp_path_factory.mktemp("words") / "vocab.txt"
    file.write_text("\n".join(WORDS))
    return BertTokenizerFast(str(file), model_max_length=READ)


@pytest.fixture(scope="module")
def model(tokenizer):
    """It says “good” of a window with “fine” by much, and “bad” of others by little: the mean over windows is “good”, too."""
    torch.manual_seed(0)
    made = tiny("bert", vocab_size=len(WORDS), num_labels=2, max_position_embeddings=READ, hidden_dropout_prob=0.0)
    optimizer = torch.optim.AdamW(made.parameters(), lr=5e-3)
    for step in range(STEPS):
        texts = texts_of(32, 1 + step % (READ - 2), step)
        said = torch.tensor([[-4.0, 4.0] if "fine" in text else [0.5, -0.5] for text in texts])
        loss = torch.nn.functional.mse_loss(made(**tokenizer(texts, return_tensors="pt")).logits, said)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return made.eval()


def test_a_word_that_decides_is_found_in_the_second_window(model, tokenizer):
    texts = texts_of(24, LENGTH, 1000, PLACE)
    labels = [1 - number % 2 for number in range(24)]
    options = {"window": READ, "stride": SHARED, "labels": labels, "progress": False}
    trial = attest.trial(model, texts, {"E19": {"readings": ["leave-one-out", "random"]}}, tokenizer=tokenizer, **options)
    assert trial.summary["test/accuracy"] == 1
    rows = trial.table("E19")
    assert (rows["needs_words"] == 1).tolist() == [bool(label) for label in labels], "without “fine” it says bad of any text"
    for _, row in rows[rows["needs_words"] == 1].iterrows():
        assert [place for place, decides in enumerate(row["decides"]) if decides] == [PLACE + 1], "behind [CLS]"
        assert row["with_words"] > row["without_words"] + 0.4
        assert row["right_leave_one_out"] == 1
    assert rows["right_random"].mean() < 0.5
    shown = trial.explain(int(rows["id"][rows["needs_words"] == 1].iloc[0])).shown
    assert shown.deciding == "“fine”"
    assert [word.text for word in shown.words if word.decides] == ["fine"], "the others around it are left out"
