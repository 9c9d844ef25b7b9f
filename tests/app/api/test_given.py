"""Whatever the texts and labels come in, the trial is the same; what cannot be read gets the line that would have worked."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from datasets import ClassLabel, Dataset, DatasetDict, Features, Sequence, Value

import attest
from attest.app.api.given import given
from attest.core.errors import AttestError
from tests.models.pretrained.tiny import TEXTS, WORDS, tiny

LABELS = [1, 0, 0, 0, 1]
NAMES = ["good", "bad", "bad", "bad", "good"]
EXPERIMENTS = {"E1": {}, "E2": {"permutations": 2}}
PAIRS = [("a fine film", "a dull film ."), ("not a fine film .", "very dully film"), ("a very fine film", "a film")]


def classed(names=("bad", "good"), labels=LABELS):
    """A data set as the Hub has them: numbers, whose names stand beside."""
    features = Features({"idx": Value("int64"), "sentence": Value("string"), "label": ClassLabel(names=list(names))})
    return Dataset.from_dict({"idx": [*range(5)], "sentence": TEXTS, "label": labels}, features=features)


def shuffled():
    """Rows in another order than their index, as after ``frame.sample``."""
    frame = pd.DataFrame({"review": TEXTS, "stars": NAMES, "n": range(5)}, index=[4, 1, 0, 3, 2])
    return frame


WAYS = {
    "names": (lambda _: TEXTS, {"labels": NAMES}),
    "an array": (lambda _: np.array(TEXTS), {"labels": torch.tensor(LABELS)}),
    "series": (lambda _: shuffled()["review"], {"labels": shuffled()["stars"]}),
    "a DataFrame": (lambda _: shuffled(), {"text_column": "review", "label_column": "stars"}),
    "a DataFrame by usual names": (lambda _: shuffled(), {}),
    "a DataFrame beside labels": (lambda _: shuffled(), {"text_column": "review", "labels": LABELS}),
    "a data set": (lambda _: classed(), {}),
    "its columns": (lambda _: classed()["sentence"], {"labels": classed()["label"]}),
    "its rows": (lambda _: [*classed()], {}),
    "a stream": (lambda _: classed().to_iterable_dataset(), {"label_column": "label"}),
    "columns": (lambda _: {"text": TEXTS, "label": LABELS}, {}),
    "words": (lambda _: [text.split() for text in TEXTS], {"labels": LABELS}),
    "what a tokenizer gives": (lambda reads: reads(TEXTS), {"labels": LABELS}),
    "its tensors": (lambda reads: reads(TEXTS, padding=True, return_tensors="pt"), {"labels": LABELS}),
    "padded on the left": (lambda reads: reads(TEXTS, padding=True, padding_side="left"), {"labels": NAMES}),
    "its batches": (lambda reads: [reads(TEXTS[:2]), reads(TEXTS[2:])], {"labels": LABELS}),
}


@pytest.fixture(scope="module")
def plain(model, tokenizer):
    return attest.trial(model, TEXTS, EXPERIMENTS, tokenizer=tokenizer, labels=LABELS, progress=False)


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize("way", WAYS)
def test_the_same_trial_by_every_way(way, plain, model, tokenizer):
    data, options = WAYS[way]
    found = attest.trial(model, data(tokenizer), EXPERIMENTS, tokenizer=tokenizer, progress=False, **options)
    assert found.experiments == plain.experiments
    for experiment in plain.experiments:
        pd.testing.assert_frame_equal(found.table(experiment), plain.table(experiment), check_exact=True)
    assert found.summary == plain.summary


@pytest.mark.whole("many models, each tried as a whole")
def test_rows_that_a_tokenizer_was_mapped_over(plain, model, tokenizer):
    """Which word a token is of is lost there; all else is the same."""
    data = classed().map(lambda row: tokenizer(row["sentence"]), remove_columns=["sentence", "idx"])
    called_otherwise = data.rename_column("label", "label_ids").add_column("n", [*range(5)])
    seen = called_otherwise.with_format("torch", columns=["attention_mask", "input_ids", "label_ids"])
    for rows in (data, data.with_format("torch"), seen, torch.utils.data.DataLoader(data.with_format("torch"))):
        found = attest.trial(model, rows, EXPERIMENTS, tokenizer=tokenizer, progress=False)
        pd.testing.assert_frame_equal(found.table("E2"), plain.table("E2"), check_exact=True)
        shared = [name for name in found.table("E1") if "word" not in name]
        pd.testing.assert_frame_equal(found.table("E1")[shared], plain.table("E1")[shared], check_exact=True)


@pytest.mark.whole("many models, each tried as a whole")
def test_pairs_that_a_tokenizer_gave_keep_their_types(tokenizer):
    model = tiny("bert", vocab_size=len(WORDS))
    torch.nn.init.normal_(model.bert.embeddings.token_type_embeddings.weight, std=3)
    first, second = map(list, zip(*PAIRS, strict=True))
    options = {"tokenizer": tokenizer, "progress": False}
    plain = attest.trial(model, PAIRS, EXPERIMENTS, **options)
    read = tokenizer(first, second, padding=True, return_tensors="pt")
    given = [read, pd.DataFrame({"premise": first, "hypothesis": second}), [list(pair) for pair in PAIRS]]
    for each in given:
        found = attest.trial(model, each, EXPERIMENTS, **options)
        for experiment in plain.experiments:
            pd.testing.assert_frame_equal(found.table(experiment), plain.table(experiment), check_exact=True)
    batch = {"token_ids": read["input_ids"], "mask": read["attention_mask"].bool(), "token_type_ids": read["token_type_ids"]}
    own = attest.trial(model, [batch], EXPERIMENTS, **options)
    columns = [*plain.table().filter(like="probability_")]
    torch.testing.assert_close(*(torch.tensor(each.table()[columns].to_numpy()) for each in (own, plain)))
    with pytest.raises(AttestError, match=r"token_type_ids above 0, and without a tokenizer.*Give tokenizer=tokenizer"):
        attest.trial(model, [batch], EXPERIMENTS, progress=False)


def test_tags_that_a_tokenizer_was_given_words_for(tokenizer):
    model = tiny("bert", tokens=True, vocab_size=len(WORDS))
    words, tags = [["a", "dully", "film"], ["fine", "film"]], [[0, 2, 1], [1, 0]]
    plain = attest.trial(model, words, {"E2": {"permutations": 1}}, tokenizer=tokenizer, labels=tags, progress=False)
    read = tokenizer(words, is_split_into_words=True, padding=True)
    read["labels"] = [[-100, 0, 2, -100, 1, -100], [-100, 1, 0, -100, -100, -100]]
    features = Features({"tokens": Sequence(Value("string")), "ner_tags": Sequence(ClassLabel(names=["Z", "Y", "X"]))})
    turned = [[2 - tag for tag in each] for each in tags]
    named = Dataset.from_dict({"tokens": words, "ner_tags": turned}, features)
    for data, names in ((read, None), (named, ["X", "Y", "Z"])):
        experiments, options = {"E2": {"permutations": 1}}, {"tokenizer": tokenizer, "progress": False}
        found = attest.trial(model, data, experiments, label_names=names, **options)
        pd.testing.assert_frame_equal(found.table("E2"), plain.table("E2"), check_exact=True)
        assert found.summary["test/accuracy"] == plain.summary["test/accuracy"]


def test_a_model_without_names_takes_the_numbers_of_a_data_set(tokenizer):
    model = tiny("bert", vocab_size=len(WORDS), num_labels=2)
    found = attest.trial(model, classed(["nay", "yea"]), {"E2": {"permutations": 1}}, tokenizer=tokenizer, progress=False)
    assert found.table()["label"].tolist() == LABELS


def test_numbers_of_a_data_set_mean_what_it_calls_them(plain, model, tokenizer):
    """Its classes stand the other way round than the model's."""
    other = classed(["Good", "Bad"], [1 - label for label in LABELS])
    found = attest.trial(model, other, EXPERIMENTS, tokenizer=tokenizer, progress=False)
    assert found.table()["label"].tolist() == LABELS


def test_a_test_split_without_labels_has_none(model, tokenizer):
    found = attest.trial(model, classed(labels=[-1] * 5), {"E2": {"permutations": 1}}, tokenizer=tokenizer, progress=False)
    assert "label" not in found.table()


def test_which_columns_are_read_is_said(model, tokenizer, capsys):
    attest.trial(model, classed(), {"E2": {"permutations": 1}}, tokenizer=tokenizer, progress=False)
    assert capsys.readouterr().out == "Read from the Dataset: sentence, label. Not read: idx.\n"


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (lambda _: "a fine film", {}),
        (lambda _: shuffled()[["n"]].assign(said=TEXTS), {}),
        (lambda _: shuffled(), {"text_column": "text"}),
        (lambda _: TEXTS, {"text_column": "text"}),
        (lambda _: shuffled()["review"], {"labels": shuffled()["stars"].sort_index()}),
        (lambda _: shuffled()["review"], {"labels": shuffled()["stars"].reset_index(drop=True).rename(lambda row: row + 9)}),
        (lambda _: DatasetDict(train=classed(), test=classed()), {}),
        (lambda _: classed(["neutral", "good"]), {}),
        (lambda _: classed(labels=[1, -1, 0, 0, 1]), {}),
        (lambda _: Dataset.from_dict({"text": []}), {}),
        (lambda reads: {"input_ids": reads(TEXTS)["input_ids"]}, {}),
        (lambda _: {"input_ids": [[2, 5, 3]], "attention_mask": [[1, 0, 1]]}, {}),
        (lambda reads: [{**reads(TEXTS), "labels": LABELS}], {"labels": LABELS}),
        (lambda reads: [dict(reads(TEXTS)), {**reads(TEXTS), "labels": LABELS}], {}),
        (lambda _: [["a", "fine", "film"]], {"encode": lambda text: [5]}),
        (lambda _: pd.DataFrame([["a", "b"]], columns=["text", "text"]), {}),
        (lambda _: [{"text": "a film", "label": 1}, {"text": "a film"}], {}),
    ],
)
def test_what_cannot_be_read_gets_the_line_that_would_have_worked(data, options, model, tokenizer, refusal):
    with refusal():
        attest.trial(model, data(tokenizer), EXPERIMENTS, tokenizer=tokenizer, progress=False, **options)


def test_the_index_of_labels_that_are_sorted_otherwise_mends_them(plain, model, tokenizer):
    """As the refusal says."""
    texts, labels = shuffled()["review"], shuffled()["stars"].sort_index()
    found = attest.trial(model, texts, EXPERIMENTS, tokenizer=tokenizer, labels=labels.loc[texts.index], progress=False)
    assert found.table()["label"].tolist() == LABELS


@pytest.mark.parametrize("device", ["mps", "cuda:7", "gpu"])
def test_a_device_that_cannot_be_used_is_refused(device, model, tokenizer, monkeypatch, refusal):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with refusal():
        attest.trial(model, TEXTS, EXPERIMENTS, tokenizer=tokenizer, device=device)


def test_a_model_comes_back_from_its_device(model, tokenizer, monkeypatch):
    """Where there is one device alone: its moves are written down."""
    moved = []
    monkeypatch.setattr(type(model), "to", lambda self, device: moved.append(str(device)))
    attest.trial(model, TEXTS, {"E2": {"permutations": 1}}, tokenizer=tokenizer, device="cpu", progress=False)
    with pytest.raises(AttestError, match="E4"):
        attest.trial(model, TEXTS, ["E4"], tokenizer=tokenizer, device="cpu")
    assert moved == ["cpu"] * 4


def test_a_data_set_of_torch_has_a_text_at_each_place():
    class Texts(torch.utils.data.Dataset):
        def __getitem__(self, place):
            return TEXTS[place]

        def __len__(self):
            return len(TEXTS)

    assert given(Texts()).items == [*TEXTS]


def test_one_column_of_arrow_is_a_list_of_texts():
    assert given(pa.chunked_array([TEXTS])).items == [*TEXTS]
    assert given(pa.table({"text": TEXTS})).items == [*TEXTS]


def test_several_labels_of_a_data_set(tokenizer):
    names = {0: "joy", 1: "anger", 2: "fear"}
    model = tiny("bert", vocab_size=len(WORDS), id2label=names, problem_type="multi_label_classification")
    labels = [["joy"], ["anger", "fear"], [], ["fear"], ["joy"]]
    options = {"tokenizer": tokenizer, "progress": False}
    plain = attest.trial(model, TEXTS, {"E2": {"permutations": 1}}, labels=labels, **options)
    data = Dataset.from_dict(
        {"text": TEXTS, "labels": labels}, Features({"text": Value("string"), "labels": Sequence(Value("string"))})
    )
    read = tokenizer(TEXTS)
    read["labels"] = [[float(name in each) for name in names.values()] for each in labels]
    for each in (data, read):
        found = attest.trial(model, each, {"E2": {"permutations": 1}}, **options)
        pd.testing.assert_frame_equal(found.table("E2"), plain.table("E2"), check_exact=True)
