"""Models that say one number of each text, regressions and rerankers: evidence is how far it moves."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

import attest
from attest.app.api.one_number import numbers_of
from attest.core.errors import AttestError
from attest.core.kinds import NUMBER
from attest.core.measures.numbers import number, significant
from attest.experiments.registry import EXPERIMENTS
from attest.runs.contents import RunContents
from attest.runs.kinds import kind_before, kind_in
from tests.conftest import without_numbers
from tests.docs.test_evidence_columns import IDENTITY
from tests.models.pretrained.tiny import TEXTS, WORDS, tiny

LABELS = [1.5, "-0.25", 2, 0.0, 3.75]
QUICK = {
    "E1": {}, "E2": {"permutations": 2}, "E3": {"texts": 2, "steps": 3}, "E8": {}, "E9": {}, "E10": {}, "E13": {},
    "E14": {"texts": 20}, "E15": {"texts": 20},
}  # fmt: skip
OF_CLASSES = ("tvd", "flipped", "correct", "kept", "probability", "violation", "eraser", "ferret", "comprehensiveness", "gap")


def made(name="bert", **settings):
    return tiny(name, vocab_size=len(WORDS), num_labels=1, **settings)


def near_one():
    """A model whose rounding is known: a number near 0 is what is left of larger terms, with their rounding error."""
    model = made()
    torch.nn.init.ones_(model.classifier.bias)
    return model


def tried(model, tokenizer, asked=None, texts=TEXTS, labels=None):
    asked = {"E2": {"permutations": 1}} if asked is None else asked
    return attest.trial(model, texts, asked, tokenizer=tokenizer, labels=labels, progress=False)


@torch.no_grad()
def said(model, tokenizer, texts=TEXTS):
    """What the model says by itself, one text at a time."""
    return np.array([float(model(**tokenizer(text, return_tensors="pt")).logits[0, 0]) for text in texts])


@pytest.fixture(scope="module")
def model():
    return made(problem_type="regression")


@pytest.fixture(scope="module")
def trial(model, tokenizer):
    return tried(model, tokenizer, QUICK, labels=LABELS)


def test_the_table_holds_the_models_own_numbers_and_no_class(trial, model, tokenizer):
    table = trial.table()
    np.testing.assert_allclose(table["prediction"], said(model, tokenizer), atol=1e-5)
    assert table["label"].tolist() == [float(each) for each in LABELS]
    assert not [name for name in table if name.startswith(("predicted", "probability"))]


def test_scores_are_correlations_and_an_error(trial, model, tokenizer):
    numbers, labels = said(model, tokenizer), np.array([*map(float, LABELS)])
    expected = {
        "test/pearson": stats.pearsonr(numbers, labels).statistic,
        "test/spearman": stats.spearmanr(numbers, labels).statistic,
        "test/rmse": np.sqrt(np.mean((numbers - labels) ** 2)),
        "test/rmse_of_mean": labels.std(),
        "number/deviation": numbers.std(ddof=1),
        "number/mean": numbers.mean(),
    }
    scores = {key: value for key, value in trial.summary.items() if key.startswith(("test/", "number/"))}
    assert scores == pytest.approx(expected, rel=1e-3)


def test_no_column_is_of_classes_and_every_column_is_documented(trial):
    for experiment in QUICK:
        columns = {*trial.table(experiment)} - IDENTITY - {"prediction"}
        assert columns
        assert not [name for name in columns if name.startswith(OF_CLASSES)]
        for name in columns:
            assert EXPERIMENTS[experiment].column(name.partition("_layer")[0]) is not None, name
    assert not [key for key in trial.summary if "predict" in key or "accuracy" in key or "flipped" in key]


def test_leave_one_out_is_how_far_the_number_moves_over_the_spread_of_all(trial, model, tokenizer):
    spread = said(model, tokenizer).std(ddof=1)
    for text, found in zip(TEXTS, trial.table("E1")["leave_one_out_inputs"], strict=True):
        ids = tokenizer(text)["input_ids"]
        shortened = [ids[:place] + ids[place + 1 :] for place in range(len(ids))]
        with torch.no_grad():
            whole, *without = (float(model(torch.tensor([each])).logits) for each in [ids, *shortened])
        expected = np.abs(np.array(without) - whole) / spread
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize(("name", "more"), [("bert", {}), ("llama", {"E16": {"draws": 3}})])
def test_evidence_is_the_same_whatever_the_unit_of_the_number(tokenizer, name, more):
    model = made(name)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)  # for numbers that are well above their rounding
    other = deepcopy(model)
    with torch.no_grad():
        for parameter in getattr(other, "classifier" if name == "bert" else "score").parameters():
            parameter.mul_(-32)
    asked = {key: value for key, value in (QUICK | more).items() if key != "E3" or name == "bert"}
    one, two = (tried(each, tokenizer, asked) for each in (model, other))
    np.testing.assert_allclose(-32 * one.table()["prediction"], two.table()["prediction"], rtol=1e-4)
    for experiment in asked:
        ours, theirs = one.table(experiment), two.table(experiment)
        assert [*ours] == [*theirs]
        for column in {*ours} - IDENTITY - {"prediction"}:
            first, second = (np.hstack([*table[column]]).astype(float) for table in (ours, theirs))
            np.testing.assert_allclose(first, second, rtol=2e-3, atol=2e-3, err_msg=f"{experiment}/{column}")


def test_cutting_edges_moves_the_number(tokenizer):
    table = tried(made("llama"), tokenizer, {"E16": {"draws": 3}}).table("E16")
    assert (table.filter(regex="^moved").min() >= 0).all()
    assert table["moved"].max() > 0
    assert not [name for name in table if name.startswith(("drop", "flipped"))]


def test_without_labels_there_are_no_scores(model, tokenizer):
    assert not [key for key in tried(model, tokenizer).summary if key.startswith("test/")]


def test_a_number_is_what_its_owner_puts_behind_the_logit(tokenizer):
    for kept, expected in (
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}}, lambda x: 1 / (1 + np.exp(-x))),
        ({"sbert_ce_default_activation_function": "torch.nn.modules.activation.Sigmoid"}, lambda x: 1 / (1 + np.exp(-x))),
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}}, lambda x: x),
    ):
        model = made(**kept)
        numbers = tried(model, tokenizer).table()["prediction"]
        np.testing.assert_allclose(numbers, expected(said(model, tokenizer)), atol=1e-5)


def test_pairs_are_read_together(model, tokenizer):
    pairs = [(text, TEXTS[-place]) for place, text in enumerate(TEXTS)]
    with torch.no_grad():
        own = [float(model(**tokenizer(*pair, return_tensors="pt")).logits) for pair in pairs]
    found = tried(model, tokenizer, texts=pairs, labels=LABELS)
    np.testing.assert_allclose(found.table()["prediction"], own, atol=1e-5)
    assert "pairs/attention_between/mean" in found.summary


@pytest.mark.parametrize("pooled", ["mean", "max"])
def test_long_texts_are_read_in_windows(model, tokenizer, pooled):
    texts = [*TEXTS[:3], " ".join([*TEXTS, *TEXTS])]
    own = []
    for text in texts:
        read = tokenizer(text, truncation=True, max_length=12, stride=3, return_overflowing_tokens=True)["input_ids"]
        with torch.no_grad():
            own.append(getattr(torch.cat([model(torch.tensor([ids])).logits for ids in read])[:, 0], pooled)())
    asked = {"E2": {"permutations": 1}}
    found = attest.trial(
        model, texts, asked, tokenizer=tokenizer, window=12, stride=3, pooled=pooled, progress=False, labels=LABELS[:4]
    )
    np.testing.assert_allclose(found.table()["prediction"], own, atol=1e-5)
    assert found.summary["number/deviation"] == pytest.approx(np.std(own, ddof=1), rel=1e-3)
    with pytest.raises(AttestError, match="one number and no probabilities"):
        attest.trial(model, texts, asked, tokenizer=tokenizer, window=12, pooled="mean-of-probabilities", progress=False)


def test_batches_bring_their_numbers(model, tokenizer):
    read = tokenizer(TEXTS, return_tensors="pt", padding=True)
    batch = {"token_ids": read["input_ids"], "mask": read["attention_mask"].bool()}
    labels = torch.tensor([*map(float, LABELS)])
    found = attest.trial(model, [batch | {"label": labels}], ["E13"], tokenizer=tokenizer, progress=False)
    assert found.table()["label"].tolist() == pytest.approx(labels.tolist())
    assert "test/rmse" in found.summary


def test_what_is_said_of_it(trial, tmp_path, snapshot):
    said = repr(trial).splitlines()[1:6]
    assert [without_numbers(line) for line in said] == snapshot
    for score in ("pearson", "spearman", "rmse", "rmse_of_mean"):
        assert number(trial.summary[f"test/{score}"]) in said[1]
    assert f"{significant(trial.summary['number/deviation'])}." in said[1]
    assert number(trial.summary["E2/moved_median/mean"]) in said[3]
    assert str(trial.explain(0)).splitlines()[0] == f"text 0: {significant(trial.table()['prediction'][0])}"
    page = trial.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "from the smallest to the largest number" in page
    assert "of decisions" not in page
    assert "decided rightly" not in page


REFUSED = {
    "classes": lambda model, tokenizer: tried(model, tokenizer, labels=["good", "bad", "good", "bad", "good"]),
    "too few labels": lambda model, tokenizer: tried(model, tokenizer, labels=[1, 2]),
    "letters": lambda model, tokenizer: tried(model, tokenizer, labels="12345"),
    "a dictionary": lambda model, tokenizer: tried(model, tokenizer, labels=dict.fromkeys(TEXTS, 1.0)),
    "one number": lambda model, tokenizer: tried(model, tokenizer, labels=3),
    "not finite": lambda model, tokenizer: tried(model, tokenizer, labels=[1, 2, float("nan"), 3, 4]),
    "one text": lambda model, tokenizer: tried(model, tokenizer, texts=TEXTS[:1]),
    "the same text": lambda model, tokenizer: tried(near_one(), tokenizer, texts=TEXTS[:1] * 3),
    "another function": lambda model, tokenizer: tried(
        made(sentence_transformers={"activation_fn": "torch.nn.modules.activation.Tanh"}), tokenizer
    ),
    "several numbers": lambda model, tokenizer: tried(
        tiny("bert", vocab_size=len(WORDS), problem_type="regression"), tokenizer
    ),
    "numbers of tokens": lambda model, tokenizer: tried(
        tiny("bert", tokens=True, vocab_size=len(WORDS), num_labels=1), tokenizer, texts=[text.split() for text in TEXTS]
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(model, tokenizer, what, snapshot):
    with pytest.raises(AttestError) as error:
        REFUSED[what](model, tokenizer)
    assert str(error.value) == snapshot


def test_an_experiment_that_says_nothing_of_numbers_is_not_asked(model, tokenizer, monkeypatch, refusal):
    monkeypatch.setitem(EXPERIMENTS, "E2", replace(EXPERIMENTS["E2"], of_numbers=None))
    with refusal():
        tried(model, tokenizer)


def test_its_kind_stands_in_its_settings_and_an_older_folder_shows_it(trial):
    assert (kind_in(RunContents(trial.folder)), kind_before(RunContents(trial.folder))) == (NUMBER, NUMBER)


def test_numbers_of_batches_are_read_as_those_of_labels(model):
    """With a number missing, correlations were silently those of the other texts."""
    batch = {"token_ids": torch.tensor([[2, 5, 3], [2, 6, 3], [2, 7, 3]]), "mask": torch.ones(3, 3, dtype=torch.bool)}
    asked = {"experiments": {"E2": {"permutations": 1}}, "progress": False}
    with pytest.raises(AttestError, match="the label of text 1 is nan"):
        attest.trial(model, [batch | {"label": torch.tensor([1.0, float("nan"), 2.0])}], **asked)
    with pytest.raises(AttestError, match="a label is not a number"):
        attest.trial(model, [batch | {"label": torch.tensor([[1.0], [0.5], [2.0]])}], **asked)
    found = attest.trial(model, [batch | {"label": [1.0, 0.5, 2.0]}], **asked)
    assert found.table()["label"].tolist() == [1.0, 0.5, 2.0]
    with pytest.raises(AttestError, match="labels= is a int; expected a list with a number for each text"):
        numbers_of(3, 1)
