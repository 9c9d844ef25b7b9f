"""Models of multiple choice: the choice that is made is on trial, and the decision is between all of them."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoConfig, AutoModelForMultipleChoice

import attest
from attest.app.api.choices import made_choices
from attest.app.cli.main import main
from attest.core.errors import AttestError
from attest.core.kinds import CHOICE, CLASSES
from attest.models.pretrained.network import Choices, PretrainedNetwork
from attest.models.pretrained.texts import Encoder
from attest.runs.contents import RunContents
from attest.runs.kinds import kind_before, kind_in
from tests.models.pretrained.tiny import ENCODERS, SMALL, TEXTS, WORDS

CHOICES = [(text, [TEXTS[place - 1], "a fine film", TEXTS[place - 2]]) for place, text in enumerate(TEXTS)]
LABELS = [0, 2, 1, 1, 0]
QUICK = {"E1": {}, "E2": {"permutations": 2}, "E8": {}, "E9": {}, "E14": {"texts": 20}, "E15": {"texts": 2}}


def made(kind, name="bert", **settings):
    torch.manual_seed(0)
    given = SMALL | ENCODERS.get(name, {}) | {"vocab_size": len(WORDS)} | settings
    model = kind.from_config(AutoConfig.for_model(name, **given)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


@torch.no_grad()
def said(model, tokenizer, text, choices):
    """What the model says of all choices in one pass, as its owner calls it."""
    read = tokenizer([text] * len(choices), choices, return_tensors="pt", padding=True)
    return model(**{name: each.unsqueeze(0) for name, each in read.items()}).logits[0].softmax(-1).double().numpy()


def tried(model, tokenizer, texts=CHOICES, asked=None, **options):
    asked = {"E2": {"permutations": 1}} if asked is None else asked
    return attest.trial(model, texts, asked, tokenizer=tokenizer, progress=False, **options)


@pytest.fixture(scope="module")
def model():
    return made(AutoModelForMultipleChoice)


@pytest.fixture(scope="module")
def trial(model, tokenizer):
    return tried(model, tokenizer, asked=QUICK, labels=LABELS)


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_probabilities_are_those_of_all_choices_in_one_pass(tokenizer, name):
    model = made(AutoModelForMultipleChoice, name)
    table = tried(model, tokenizer).table()
    expected = np.stack([said(model, tokenizer, *each) for each in CHOICES])
    np.testing.assert_allclose(table.filter(like="probability_choice").to_numpy(), expected, atol=1e-5)
    assert table["predicted"].tolist() == expected.argmax(axis=1).tolist()


def test_the_tokens_are_those_of_the_choice_that_is_made(trial, tokenizer):
    for (text, choices), (_, row) in zip(CHOICES, trial.table().iterrows(), strict=True):
        read = tokenizer(text, choices[row["predicted"]])["input_ids"]
        assert [*row["tokens"]] == tokenizer.convert_ids_to_tokens(read)


@torch.no_grad()
def logit(model, read, kept=None):
    """What the model says of one choice, perhaps without some of its tokens."""
    kept = range(read["input_ids"].shape[1]) if kept is None else kept
    return float(model(**{name: each[:, list(kept)].unsqueeze(0) for name, each in read.items()}).logits)


def test_leave_one_out_moves_the_probability_of_the_choice_among_all(trial, model, tokenizer):
    (text, choices), made = CHOICES[0], trial.table()["predicted"][0]
    reads = [tokenizer(text, choice, return_tensors="pt") for choice in choices]
    before = np.exp([logit(model, read) for read in reads])
    size = reads[made]["input_ids"].shape[1]
    for place in (1, 3):
        after = before.copy()
        after[made] = np.exp(logit(model, reads[made], [at for at in range(size) if at != place]))
        moved = 0.5 * np.abs(before / before.sum() - after / after.sum()).sum()
        assert trial.table("E1")["leave_one_out_inputs"][0][place] == pytest.approx(moved, abs=1e-5)


def test_scores_are_of_the_choices(trial):
    right = (trial.table()["predicted"] == LABELS).mean()
    assert trial.summary["test/accuracy"] == pytest.approx(right)
    assert trial.table("E2")["flipped"].between(0, 1).all()


def test_a_folder_and_a_file_are_put_on_trial_as_from_python(model, tokenizer, tmp_path, corpora, capsys, snapshot):
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    expected = tried(model, tokenizer, labels=LABELS)
    found = attest.trial(str(tmp_path), CHOICES, {"E2": {"permutations": 1}}, labels=LABELS, progress=False)
    np.testing.assert_allclose(found.table()["probability_choice 1"], expected.table()["probability_choice 1"])
    rows = [
        {"text": text, "choices": each, "label": "ABC"[right]} for (text, each), right in zip(CHOICES, LABELS, strict=True)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    given = ["trial", "--model", str(tmp_path), "--out", str(tmp_path / "out"), "E2"]
    assert main([*given, "--data", str(tmp_path / "a.jsonl")]) == 0
    of_file = attest.open_run(tmp_path / "out")
    columns = ["id", "label", "predicted", "tokens", *expected.table().filter(like="probability_choice")]
    pd.testing.assert_frame_equal(of_file.table()[columns], expected.table()[columns])
    assert of_file.summary["test/accuracy"] == expected.summary["test/accuracy"]
    capsys.readouterr()
    for data, options in (("sst", ()), (str(tmp_path / "a.jsonl"), ("--labels", "A,B,C"))):
        assert main([*given, "--data", data, *options]) == 2
        assert capsys.readouterr().err.replace(str(tmp_path), "FOLDER").strip() == snapshot


@pytest.mark.parametrize("texts", [TEXTS, [("a", ["b"])], [("a", ["b", "c"]), ("a", ["b", "c", "a"])]])
def test_texts_without_choices_are_refused(model, tokenizer, texts, snapshot):
    with pytest.raises(AttestError) as error:
        tried(model, tokenizer, texts)
    assert str(error.value) == snapshot


def test_choices_that_are_too_long_are_counted_once(model, tokenizer):
    """Texts that were cut were counted again for each choice, and windows cannot read pairs."""
    texts = [("a fine film", ["fine " * 80, "a film"]), ("dull " * 80, ["a film", "dull " * 80])]
    with pytest.warns(UserWarning, match="3 of 4 pairs") as said:
        tried(model, tokenizer, texts)
    assert [str(each.message) for each in said if "longer" in str(each.message)] == [
        "3 of 4 pairs of a text and a choice are longer than the 64 tokens that the model reads; their ends are cut."
    ]


def test_choices_of_a_table_are_arrays(model, tokenizer):
    arrays = [(text, np.array(choices, dtype=object)) for text, choices in CHOICES]
    found = tried(model, tokenizer, arrays).table()
    assert found["probability_choice 1"].tolist() == tried(model, tokenizer).table()["probability_choice 1"].tolist()


class Letters(Encoder):
    """Reads a pair of texts as one token each."""

    def __init__(self):
        self.cut = 0

    def columns(self, pair):
        return {"token_ids": [2, *(4 + len(each) for each in pair), 3]}


@torch.no_grad()
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_each_of_many_texts_is_asked_about_by_its_own_number(kind):
    """A number that went through the steps among embeddings would be rounded: bfloat16 has gaps above 256."""
    network, count = PretrainedNetwork(made(AutoModelForMultipleChoice).to(kind), 0, 4), 2_000_000
    table = torch.rand(count, 2, generator=torch.Generator().manual_seed(0))
    network.choices = Choices(table, torch.zeros(count, dtype=torch.int64))
    texts = torch.arange(count - 4000, count)
    tokens = torch.tensor([[2, 5, 6, 3]]).expand(len(texts), -1)
    others = network.decode(network.encode(tokens, tokens > 0), torch.ones(tokens.shape, dtype=kind), asked=texts)[:, 1]
    assert torch.equal(others, table[texts, 1].to(kind))


@pytest.mark.whole("it reads 40,000 texts")
def test_many_texts_are_taken(model):
    texts = [("a" * (1 + place % 5), ["b", "bbb"]) for place in range(20_000)]
    network = PretrainedNetwork(model, 0, 4)
    assert len(made_choices(network, texts, Letters(), batch_size=4000)) == len(network.choices.logits) == 20_000
    assert torch.equal(network.choices.logits[:5], network.choices.logits[-5:])


def test_its_kind_stands_in_its_settings_and_an_older_folder_shows_it(trial):
    assert (kind_in(RunContents(trial.folder)), kind_before(RunContents(trial.folder))) == (CHOICE, CLASSES)
