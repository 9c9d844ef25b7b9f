"""Models that decide each label by itself: an instance is a text and a label."""

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

import attest
from attest.core import kinds
from attest.models.pretrained.network import PretrainedNetwork
from attest.runs.contents import RunContents
from attest.runs.kinds import kind_before, kind_in
from tests.models.pretrained.tiny import TEXTS, WORDS, tiny

NAMES = ["joy", "anger", "fear"]
LABELS = [["joy"], ["anger", "fear"], [], ["fear"], ["joy", "anger"]]
GOLD = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0], [0, 0, 1], [1, 1, 0]])
QUICK = {"E1": {}, "E2": {"permutations": 2}, "E14": {"texts": 20}}


@pytest.fixture(scope="module")
def several():
    names = {"id2label": dict(enumerate(NAMES)), "label2id": {name: place for place, name in enumerate(NAMES)}}
    return tiny("bert", vocab_size=len(WORDS), problem_type="multi_label_classification", **names)


@pytest.fixture(scope="module")
def own(several, tokenizer):
    """The model's own probabilities of every label."""
    with torch.no_grad():
        read = [several(**tokenizer(text, return_tensors="pt")).logits[0].sigmoid() for text in TEXTS]
    return torch.stack(read).double().numpy()


@pytest.fixture(scope="module")
def tried(several, tokenizer):
    return attest.trial(several, TEXTS, QUICK, tokenizer=tokenizer, labels=LABELS, progress=False)


def test_each_label_that_a_text_has_or_is_given_is_asked_about(tried, own):
    table = tried.table()
    asked = {(text, NAMES.index(label)) for text, label in zip(table["text"], table["asked"], strict=True)}
    assert asked == {*zip(*np.nonzero((own > 0.5) | (GOLD == 1)), strict=True)}
    for _, row in table.iterrows():
        label = NAMES.index(row["asked"])
        assert row["probability_present"] == pytest.approx(own[row["text"], label], abs=1e-5)
        assert row["probability_present"] + row["probability_absent"] == pytest.approx(1)
        assert (row["label"], row["id"]) == (GOLD[row["text"], label], 3 * row["text"] + label)


def test_scores_are_of_all_labels_of_all_texts(tried, own):
    given = own > 0.5
    there = (given | (GOLD == 1)).any(axis=0)
    assert tried.summary["test/f1_micro"] == pytest.approx(f1_score(GOLD, given, average="micro"))
    assert tried.summary["test/f1_macro"] == pytest.approx(f1_score(GOLD[:, there], given[:, there], average="macro"))
    assert tried.summary["test/exact_match"] == pytest.approx((given == GOLD).all(axis=1).mean())
    assert "test/accuracy" not in tried.summary


def test_evidence_is_about_the_label_that_is_asked_about(tried, several, tokenizer):
    """Leave-one-out of each instance is that of its own label."""
    table, first = tried.table("E1"), tried.table()
    for place, row in first.iterrows():
        read, label = tokenizer(TEXTS[row["text"]], return_tensors="pt"), NAMES.index(row["asked"])
        with torch.no_grad():
            clean = several(**read).logits[0, label].sigmoid()
            left = {name: values[:, torch.arange(values.shape[1]) != 1] for name, values in read.items()}
            moved = (several(**left).logits[0, label].sigmoid() - clean).abs()
        assert table["leave_one_out_inputs"][place][1] == pytest.approx(float(moved), abs=1e-6)


def test_flips_are_counted_by_label(tried):
    by_label = tried.table("E2").groupby("asked")["flipped"].mean()
    for name, mean in by_label.items():
        assert tried.summary[f"E2/flipped/mean/asked_{name}"] == pytest.approx(mean)
    assert not any("predicted_" in key for key in tried.summary)


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize("given", [GOLD, GOLD.tolist(), torch.tensor(GOLD), [[0], [1, 2], [], [2], [0, 1]]])
def test_labels_are_names_numbers_or_a_table(several, tokenizer, tried, given):
    again = attest.trial(several, TEXTS, {"E2": QUICK["E2"]}, tokenizer=tokenizer, labels=given, progress=False)
    assert again.table()["label"].tolist() == tried.table()["label"].tolist()


def test_without_labels_those_that_the_model_gives_are_asked_about(several, tokenizer, own):
    alone = attest.trial(several, TEXTS, {"E2": QUICK["E2"]}, tokenizer=tokenizer, progress=False)
    assert len(alone.table()) == (own > 0.5).sum()
    assert not any(key.startswith("test/") for key in alone.summary)


@pytest.mark.parametrize(
    "labels",
    [
        ["joy", "anger"],
        [0, 1, 0, 1, 1],
        [["joy"], ["bliss"], [], [], []],
    ],
)
def test_labels_that_are_no_lists_or_not_known_are_refused(several, tokenizer, labels, refusal):
    with refusal():
        attest.trial(several, TEXTS, {"E2": QUICK["E2"]}, tokenizer=tokenizer, labels=labels, progress=False)


def test_labels_beside_batches_are_refused(several, refusal):
    batch = {"token_ids": torch.tensor([[2, 5, 3]]), "mask": torch.ones(1, 3, dtype=torch.bool)}
    with refusal():
        attest.trial(several, [batch], {"E2": QUICK["E2"]}, labels=[["joy"]], progress=False)
    found = attest.trial(several, [batch | {"label": torch.tensor([[1, 0, 1]])}], {"E2": QUICK["E2"]}, progress=False)
    assert {(0, "joy", 1), (0, "fear", 1)} <= {*found.table()[["text", "asked", "label"]].itertuples(index=False)}


@pytest.mark.parametrize(
    ("label", "said"),
    [
        (torch.tensor([[0.7, 0.2, 0.9], [0.6, 0.1, 0.3]]), "labels that the model does not know"),
        (torch.tensor([[1, 0], [1, 1]]), "a value occurs twice.*each of the 3 labels"),
    ],
)
def test_labels_of_batches_are_0_or_1_for_each_label(several, label, said):
    """Soft labels were all cut down to 0."""
    batch = {"token_ids": torch.tensor([[2, 5, 3], [2, 6, 3]]), "mask": torch.ones(2, 3, dtype=torch.bool), "label": label}
    with pytest.raises(attest.AttestError, match=said):
        attest.trial(several, [batch], {"E2": QUICK["E2"]}, progress=False)


def test_a_table_for_fewer_labels_than_the_model_has_is_not_read_as_numbers_of_labels(several, tokenizer):
    """A row 0, 0 was read as the label 0."""
    with pytest.raises(attest.AttestError, match="a value occurs twice"):
        attest.trial(several, TEXTS, {"E2": QUICK["E2"]}, tokenizer=tokenizer, labels=GOLD[:, :2], progress=False)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["fear", "Joy", "anger"], "same names in another order: joy, anger, fear"),
        (["joy", "anger"], "2 label names for 3 classes"),
    ],
)
def test_label_names_in_another_order_than_the_model_has_them_are_refused(several, tokenizer, names, said):
    with pytest.raises(attest.AttestError, match=said):
        attest.trial(several, TEXTS, {"E2": QUICK["E2"]}, tokenizer=tokenizer, label_names=names, progress=False)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_many_labels_are_told_apart_in_half_precision(kind):
    """A number that went through the steps among embeddings would be rounded: bfloat16 has gaps above 256."""
    model = tiny("bert", num_labels=700, problem_type="multi_label_classification").to(kind)
    network = PretrainedNetwork(model, 0, 4, kind=kinds.LABELS)
    tokens = torch.tensor([[2, 5, 6, 3]]).expand(700, -1)
    mask, own = torch.ones_like(tokens, dtype=torch.bool), network.model(tokens[:1]).logits[0].unsqueeze(-1)
    found = network.decode(network.encode(tokens, mask), mask.to(kind), asked=torch.arange(700))
    torch.testing.assert_close(found, own, rtol=0.02, atol=0.02)


def test_pairs_and_labels_stand_beside_the_ids_together(several, tokenizer):
    pairs = [(text, "a dull film") for text in TEXTS]
    tried = attest.trial(several, pairs, {"E14": {"texts": 20}}, tokenizer=tokenizer, labels=LABELS, progress=False)
    with torch.no_grad():
        read = [several(**tokenizer(*pair, return_tensors="pt")).logits[0].sigmoid() for pair in pairs]
    for _, row in tried.table().iterrows():
        assert row["probability_present"] == pytest.approx(float(read[row["text"]][NAMES.index(row["asked"])]), abs=1e-5)


def test_the_page_of_a_trial_names_the_labels(tried, tmp_path):
    page = tried.report(tmp_path / "page.html").read_text()
    assert "present" in page
    assert "anger" in page
    rows = tried.table()
    assert f"{len(rows)} labels of {rows['text'].nunique()} test texts" in page
    assert "F1 over all labels" in page
    assert "always answering" not in page, "labels are asked about because they are present"
    assert tried.answers["test"].startswith("The model decides each label by itself: F1 is ")


def test_its_kind_stands_in_its_settings_and_an_older_folder_shows_it(tried):
    assert (kind_in(RunContents(tried.folder)), kind_before(RunContents(tried.folder))) == (kinds.LABELS, kinds.LABELS)
