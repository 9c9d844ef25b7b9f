"""Somebody else's scores as readings of a trial: the right token gets each number, and what cannot be one is refused."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

import attest
from attest.app.api.batched import with_words
from attest.app.api.batches import batches_of
from attest.app.api.beside import units_of
from attest.app.api.explanations import KEY, with_explanations
from attest.app.api.given import given
from attest.app.cli.main import main
from attest.models.pretrained.prompted import Prompt, PromptEncoder
from attest.models.pretrained.texts import Encoder
from tests.app.api import test_trials
from tests.experiments.networks import Sentences
from tests.models.pretrained.tiny import TEXTS, tiny

OF_WORDS = "one number for each word, in equal shares to its subwords"
WORDS = [[1.0, 2, 3], [1, 2, 3, 4], [5, 0, 0, 0, 1], [1, 4, 2], [1, 2, 3, 4, 5, 6]]
"""One number a word of ``TEXTS``; ``dully`` is read in two subwords."""
PLAIN = [[1.0, 2, 3], [1, 2, 3, 4], [5, 0, 0, 0, 1], [1, 2, 2, 2], [1, 2, 3, 4, 5, 6]]
"""One number a token without special ones, the same."""
TOKENS = [[9, *numbers, 9] for numbers in PLAIN]
FRAME = pd.DataFrame({"text": TEXTS, "shap": WORDS, "label": 0})


def held(encode, texts, explanations):
    batches = with_words(batches_of(texts, encode, batch_size=2), encode, texts)
    batches, said = with_explanations(batches, explanations, units_of(batches, given(texts), encode))
    rows = {int(row): each for batch in batches for row, each in zip(batch["id"], batch[KEY.format("shap")], strict=True)}
    return [rows[place].tolist() for place in range(len(texts))], said["shap"]


@pytest.mark.parametrize(
    ("explanations", "said"),
    [
        ({"shap": WORDS}, OF_WORDS),
        ({"shap": [np.array(each) for each in PLAIN]}, "one number for each token that is not special"),
        ({"shap": lambda texts: [WORDS[TEXTS.index(text)] for text in texts]}, OF_WORDS),
        (FRAME.sample(frac=1.0, random_state=1), OF_WORDS),
    ],
    ids=["words", "tokens", "a function", "a table in another order"],
)  # fmt: skip
def test_every_token_gets_its_number(explanations, said, model, tokenizer):
    found, told = held(Encoder(model, tokenizer), TEXTS, explanations)
    assert [row[1 : len(plain) + 1] for row, plain in zip(found, PLAIN, strict=True)] == PLAIN
    assert all(row[0] == 0 and sum(row) == sum(words) for row, words in zip(found, WORDS, strict=True))
    assert told == said


def test_numbers_may_stand_in_tensors_of_autograd_and_in_objects_of_shap(model, tokenizer):
    plain, told = held(Encoder(model, tokenizer), TEXTS, {"shap": TOKENS})
    for kind in (
        lambda row: torch.tensor(row, dtype=torch.float64, requires_grad=True),
        lambda row: SimpleNamespace(values=np.array(row)),
    ):
        assert held(Encoder(model, tokenizer), TEXTS, {"shap": [*map(kind, TOKENS)]}) == (plain, told)


def test_special_tokens_may_have_numbers(model, tokenizer):
    found, told = held(Encoder(model, tokenizer), TEXTS, {"shap": TOKENS})
    assert [row[: len(tokens)] for row, tokens in zip(found, TOKENS, strict=True)] == TOKENS
    assert told == "one number for each token"


def test_words_of_pairs_lists_and_prompts(model, tokenizer):
    encoder = Encoder(model, tokenizer)
    pairs = [("a fine film", "very dully"), ("dully", "a film .")]
    found, _ = held(encoder, pairs, {"shap": [[1, 2, 3, 4, 6], [8, 1, 2, 3]]})
    assert found == [[0, 1, 2, 3, 0, 4, 3, 3, 0], [0, 4, 4, 0, 1, 2, 3, 0, 0]] or found[1][:8] == [0, 4, 4, 0, 1, 2, 3, 0]
    found, _ = held(encoder, [["very", "dully"], ["a", "fine", "film"]], {"shap": [[1, 4], [1, 2, 3]]})
    assert [row[:5] for row in found] == [[0, 1, 2, 2, 0], [0, 1, 2, 3, 0]]
    prompted = PromptEncoder(model, tokenizer, Prompt("not {text} not", {"bad": "dull", "good": "fine"}))
    assert prompted.spaced_of("very dully") == [-1, -1, 0, 1, 1, -1, -1]


def test_words_that_are_not_read_are_counted(tokenizer):
    model = tiny("bert", vocab_size=13, max_position_embeddings=5, num_labels=2)
    _, told = held(Encoder(model, tokenizer), ["a fine film", "a dully film ."], {"shap": [[1, 2, 3], [1, 2, 3, 4]]})
    assert (
        told == "one number for each word, in equal shares to its subwords; 2 words that the model does not read are left out"
    )


WRONG = {
    "another length": {"shap": [*WORDS[:4], [1, 2]]},
    "units mixed": {"shap": [WORDS[0], WORDS[1], WORDS[2], WORDS[3], TOKENS[4]]},
    "a text too few": {"shap": WORDS[:4]},
    "not a number": {"shap": [*WORDS[:4], [1, 2, np.nan, 4, 5, 6]]},
    "no numbers": {"shap": ["high"] * 5},
    "a number for each class": {"shap": [np.ones((len(each), 2)) for each in TOKENS]},
    "a number for each hidden unit": {"captum": torch.ones(5, 9, 16, requires_grad=True)},
    "padded": {"captum": torch.ones(5, max(map(len, TOKENS)), requires_grad=True)},
    "objects with numbers for each class": {"shap": [SimpleNamespace(values=np.ones((len(each), 2))) for each in TOKENS]},
    "a name of ours": {"rollout": WORDS},
    "a name that is no part of a column": {"My SHAP": WORDS},
    "the same column": {"my-shap": WORDS, "my_shap": WORDS},
    "no names": [WORDS],
    "a function of another batch": {"shap": lambda texts: [[1.0]]},
    "a text missing": FRAME[1:],
    "a text twice": pd.concat([FRAME, FRAME.assign(shap=PLAIN)]),
    "no column of texts": FRAME[["shap"]],
    "no column of numbers": FRAME[["text", "label"]],
    "one number": {"shap": 3},
    "a table": {"shap": FRAME},
    "in no order": {"shap": {*map(tuple, WORDS)}},
    "a cell is empty": FRAME.assign(shap=[None, *FRAME["shap"][1:]]),
    "no file": "shap.parquet",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_an_explanation_is_refused(wrong, model, tokenizer, refusal):
    with refusal():
        attest.trial(model, TEXTS, ["E15"], tokenizer=tokenizer, explanations=WRONG[wrong], progress=False)


@pytest.mark.parametrize(
    "options",
    [
        {"reading": "limes"},
        {"reading": "shap", "experiments": ["E2"]},
        {"readings": ["shapp"]},
        {"readings": ["attention"]},
        {"experiments": ["E1"], "explanations": None, "readings": ["rollout"]},
    ],
    ids=str,
)
def test_what_cannot_be_compared_is_refused(options, model, tokenizer, refusal):
    with refusal():
        attest.trial(model, TEXTS, tokenizer=tokenizer, progress=False, **{"explanations": {"shap": WORDS}} | options)


@pytest.mark.parametrize("kind", ["labels", "sentences"])
def test_models_that_decide_of_something_else_are_refused(kind, tokenizer, refusal):
    if kind == "labels":
        network, data = tiny("bert", vocab_size=13, problem_type="multi_label_classification"), TEXTS
    else:
        network, data = Sentences(), [{"token_ids": torch.ones(1, 2, 3).long(), "mask": torch.ones(1, 2).bool()}]
        tokenizer = None
    with refusal():
        attest.trial(network, data, tokenizer=tokenizer, explanations={"shap": WORDS}, progress=False)


TAKING = {"E1": {}, "E11": {}, "E12": {}, "E14": {"texts": 4}, "E15": {"texts": 4}}


@pytest.fixture(scope="module")
def whole():
    return test_trials.tried(experiments=TAKING)


def test_attention_given_back_is_attention_in_every_experiment(whole):
    """What attention itself gets, the same numbers from somebody else get."""
    mine = [each.tolist() for each in whole.table()["attention"]]
    again = test_trials.tried(experiments=TAKING, explanations={"mine": mine}, reading="mine")
    for name in ("E1", "E11", "E12", "E14"):
        pd.testing.assert_frame_equal(again.table(name), whole.table(name), check_dtype=False)
    table = again.table("E15")
    ours = [name for name in table if name.endswith("_attention")]
    assert len(ours) > 8
    for name in ours:
        pd.testing.assert_series_equal(table[name.replace("attention", "mine")], table[name], check_names=False)
    assert again.settings["trial"]["explanation"] == "mine"
    assert again.report is not None
    assert (again.verdict, again.unanswered) == (None, "No answer. An answer needs the experiment E19.")


def test_another_explanation_gets_other_numbers(whole):
    upside_down = [(1 - each).tolist() for each in whole.table()["attention"]]
    other = test_trials.tried(experiments=TAKING, explanations={"mine": upside_down}, reading="mine")
    for name in ("E1", "E11", "E12", "E14"):
        assert not other.table(name).equals(whole.table(name)), name
    assert (other.table()["attention"].iloc[0] == upside_down[0]).all()


def test_numbers_below_0_rank_by_sign_too_in_every_text(model, tokenizer):
    signed = [[-1.0, 2, 3], *WORDS[1:]]
    asked = {"E15": {"texts": 5}}
    tried = attest.trial(
        model, TEXTS, asked, tokenizer=tokenizer, progress=False, batch_size=2, readings=["gradient-input"],
        explanations={"shap": signed, "mine": WORDS},
    )  # fmt: skip
    table = tried.table("E15")
    beaten = [name.removeprefix("win_comprehensiveness_") for name in table if name.startswith("win_comprehensiveness_")]
    assert {*beaten} == {"rollout", "gradient_input", "random", "shap", "mine", "gradient_input_signed", "shap_signed"}
    assert table["win_comprehensiveness_shap_signed"].notna().all()
    assert "shap" in tried.answers["E15"] or "mine" in tried.answers["E15"] or "survived best" in tried.answers["E15"]


def test_batches_of_ids_take_a_function_of_ids():
    tokens = torch.tensor([[3, 4, 5], [6, 7, 0]])
    batch = {"token_ids": tokens, "mask": tokens > 0}
    tried = attest.trial(
        test_trials.pooling_classifier(), [batch], {"E1": {}}, progress=False, reading="mine",
        explanations={"mine": lambda batch: batch["token_ids"] * 0.5},
    )  # fmt: skip
    assert [each.tolist() for each in tried.table()["attention"]] == [[1.5, 2, 2.5], [3, 3.5]]
    assert tried.experiments == ["E1", "E15", "instances"]


def test_a_function_of_pairs_gets_their_ids_and_types(model, tokenizer):
    read = tokenizer(["a fine film", "dully"], ["very dully", "a film ."], padding=True, return_tensors="pt")
    seen = []
    attest.trial(
        model, read, {"E15": {"texts": 1, "sets": 1}}, tokenizer=tokenizer, progress=False,
        explanations={"mine": lambda batch: seen.append(batch) or batch["mask"] * 0.5},
    )  # fmt: skip
    (batch,) = seen
    found = {tuple(row[real].tolist()) for row, real in zip(batch["token_ids"], batch["mask"], strict=True)}
    real = read["attention_mask"].bool()
    assert found == {tuple(row[kept].tolist()) for row, kept in zip(read["input_ids"], real, strict=True)}
    assert int(batch["token_type_ids"].sum()) == int(read["token_type_ids"].sum()) > 0


def test_from_the_command_line(model, tokenizer, tmp_path, capsys):
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    FRAME.assign(label=["bad", "good", "bad", "bad", "good"])[["text", "label"]].to_csv(tmp_path / "reviews.csv", index=False)
    FRAME[["text", "shap"]].to_parquet(tmp_path / "shap.parquet")
    typed = ["trial", f"--model={tmp_path / 'model'}", f"--data={tmp_path / 'reviews.csv'}", f"--out={tmp_path / 'out'}"]
    typed += [f"--explanation={tmp_path / 'shap.parquet'}", "--readings=gradient-input", "--processes=1", "E15"]
    assert main(typed) == 0
    said = capsys.readouterr().out
    assert "Explanation shap: one number for each word, in equal shares to its subwords." in said
    assert "shap" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "E15/win_comprehensiveness_shap/mean" in attest.open_run(tmp_path / "out").summary
