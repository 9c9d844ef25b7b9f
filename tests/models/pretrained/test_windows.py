"""Long texts in windows: the tokenizer's own, decided as the model's owner does, with evidence about the whole text."""

import numpy as np
import pytest
import torch

import attest
from attest.app.api.foreign import read_by
from attest.core.attention.interventions import Intervention, intervene
from attest.core.errors import AttestError
from attest.experiments import observe
from attest.experiments.erasure.operators import attention, delete
from attest.experiments.layers import attention_rollout, observe_layers, read_from_layers
from attest.models.pretrained.windows import POOLED, WindowedNetwork, Windows, _in_windows, require_own_windows, windowed
from tests.models.pretrained.tiny import WORDS, tiny

PLAIN = [word for word in WORDS[5:] if not word.startswith("#")]
WINDOW, STRIDE = 12, 4
QUICK = {"E1": {}, "E2": {"permutations": 2}, "E3": {"steps": 2, "texts": 2}, "E8": {}, "E10": {}, "E14": {}}


def written(lengths, seed=0):
    """Texts of so many words."""
    generator = torch.Generator().manual_seed(seed)
    return [" ".join(PLAIN[word] for word in torch.randint(7, (length,), generator=generator).tolist()) for length in lengths]


LENGTHS = (3, 10, 17, 30, 41)
TEXTS = written(LENGTHS)


@pytest.fixture(scope="module")
def bert():
    return tiny("bert", vocab_size=len(WORDS))


def in_windows(model, tokenizer, pooled="mean", window=WINDOW, stride=STRIDE):
    network, encode, *_ = read_by(model, tokenizer, None, None, None)
    return windowed(network, tokenizer, encode.longest, window, stride, pooled).eval()


def batch(tokenizer, texts):
    read = tokenizer(texts, padding=True, return_tensors="pt")
    return read["input_ids"], read["attention_mask"].bool()


def decided_by_hand(model, tokenizer, text, pooled, window=WINDOW, stride=STRIDE):
    """The probabilities of one text, as its owner's loop over windows has them, each alone."""
    told = tokenizer(text, truncation=True, max_length=window, stride=stride, return_overflowing_tokens=True)["input_ids"]
    logits = torch.cat([model(torch.tensor([ids])).logits for ids in told])
    if pooled == "mean-of-probabilities":
        return logits.softmax(dim=-1).mean(dim=0)
    return (logits.mean(dim=0) if pooled == "mean" else logits.amax(dim=0)).softmax(dim=-1)


@pytest.mark.parametrize(("window", "stride"), [(12, 4), (12, 0), (5, 2), (20, 17), (64, 8)])
def test_windows_are_those_of_the_tokenizer(bert, tokenizer, window, stride):
    network = in_windows(bert, tokenizer, window=window, stride=stride)
    texts = written(range(40))
    tokens, mask = batch(tokenizer, texts)
    require_own_windows(network, tokenizer, texts, tokens, mask)
    told = tokenizer(texts, truncation=True, max_length=window, stride=stride, return_overflowing_tokens=True)
    numbers = torch.tensor(told["overflow_to_sample_mapping"]).bincount().tolist()
    assert [network.windows.of(length) for length in mask.sum(dim=-1).tolist()] == numbers
    assert network.windows.places(mask).there.sum(dim=-1).tolist() == numbers


def test_windows_that_a_tokenizer_makes_otherwise_are_refused(bert, tokenizer):
    network, (tokens, mask) = in_windows(bert, tokenizer), batch(tokenizer, TEXTS)
    tokenizer.truncation_side = "left"
    try:
        with pytest.raises(AttestError, match="truncation_side='left'; expected truncation_side='right'"):
            require_own_windows(network, tokenizer, TEXTS, tokens, mask)
    finally:
        tokenizer.truncation_side = "right"


@pytest.mark.whole("long texts")
@torch.no_grad()
@pytest.mark.parametrize("pooled", POOLED)
@pytest.mark.parametrize("name", ["bert", "roberta", "deberta-v2"])
def test_a_long_text_is_decided_as_by_a_loop_over_its_windows(tokenizer, name, pooled):
    settings = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]} if name == "deberta-v2" else {}
    model = tiny(name, vocab_size=len(WORDS), **settings)
    tried = attest.trial(
        model, TEXTS, ["E14"], tokenizer=tokenizer, window=WINDOW, stride=STRIDE, pooled=pooled, batch_size=3, progress=False
    )
    found = torch.tensor(tried.table().filter(like="probability_").to_numpy())
    expected = torch.stack([decided_by_hand(model, tokenizer, text, pooled) for text in TEXTS])
    torch.testing.assert_close(found.float(), expected, rtol=0, atol=1e-5)


def test_one_sigmoid_is_pooled_too(bert, tokenizer):
    """Of two classes that a single logit decides between; no classifier of transformers that is taken has one."""
    network = in_windows(bert, tokenizer)
    tokens, mask = batch(tokenizer, TEXTS)
    first = torch.zeros(len(tokens), dtype=torch.int64)  # one logit, of the label that is asked about
    for pooled in POOLED:
        network.pooled = pooled
        places = network.windows.places(mask)
        read = _in_windows({"tokens": tokens}, places)["tokens"]
        logits = bert(read, places.real.flatten(0, 1).long()).logits[:, :1]
        logits = logits.unflatten(0, places.there.shape).squeeze(-1)
        alone = [row[there] for row, there in zip(logits, places.there, strict=True)]
        expected = torch.stack([
            {"mean": each.mean(), "max": each.amax(), "mean-of-probabilities": each.sigmoid().mean().logit()}[pooled]
            for each in alone
        ])  # fmt: skip
        torch.testing.assert_close(network(tokens, mask, asked=first).squeeze(-1), expected, rtol=1e-4, atol=1e-5)


def test_each_of_several_labels_is_pooled_alone(tokenizer):
    """As which labels a text has is read for all labels at once: their probabilities do not sum to 1."""
    model = tiny("bert", vocab_size=len(WORDS), problem_type="multi_label_classification")
    network = in_windows(model, tokenizer, "mean-of-probabilities")
    tokens, mask = batch(tokenizer, TEXTS)
    for text, ours in zip(TEXTS, network(tokens, mask).sigmoid(), strict=True):
        told = tokenizer(text, truncation=True, max_length=WINDOW, stride=STRIDE, return_overflowing_tokens=True)["input_ids"]
        windows = torch.cat([model(torch.tensor([ids])).logits for ids in told])
        torch.testing.assert_close(ours, windows.sigmoid().mean(dim=0), rtol=1e-4, atol=1e-6)


def test_short_texts_are_tried_as_without_windows(bert, tokenizer):
    texts = written((3, 8, 10, 5))
    plain = attest.trial(bert, texts, QUICK, tokenizer=tokenizer, labels=[0, 1, 2, 0], progress=False)
    read = attest.trial(bert, texts, QUICK, tokenizer=tokenizer, labels=[0, 1, 2, 0], window=WINDOW, stride=2, progress=False)
    for name in ("instances", *QUICK):
        ours, theirs = (each.table(name).select_dtypes("number").filter(regex="^(?!tau_randomised)") for each in (read, plain))
        assert list(ours) == list(theirs)
        for column in ours:
            np.testing.assert_allclose(ours[column], theirs[column], rtol=0, atol=1e-5, err_msg=f"{name}/{column}")


def observed(model, tokenizer, texts, pooled="mean"):
    network = in_windows(model, tokenizer, pooled)
    tokens, mask = batch(tokenizer, texts)
    special = torch.isin(tokens, torch.tensor([2, 3])) & mask
    observation = observe(network, None, tokens, mask, special=special)
    return observation, observe_layers(network, None, tokens, mask)


@pytest.mark.parametrize("pooled", ["mean", "max"])
def test_what_windows_say_of_a_token_is_added_up_each_as_much_as_it_decides(bert, tokenizer, pooled):
    seen, layers = observed(bert, tokenizer, TEXTS, pooled)
    found = read_from_layers(seen, layers.attention)
    assert found.sum(dim=-1).tolist() == pytest.approx([1] * len(TEXTS), abs=1e-5)
    inner = seen.network.network
    for row, text in enumerate(TEXTS):
        ids, expected = seen.tokens[row].tolist(), torch.zeros(seen.mask.shape[-1])
        told = tokenizer(text, truncation=True, max_length=WINDOW, stride=STRIDE, return_overflowing_tokens=True)
        windows = [torch.tensor([each]) for each in told["input_ids"]]
        ones = [torch.ones_like(each, dtype=torch.bool) for each in windows]
        logits = torch.cat([inner(each, one) for each, one in zip(windows, ones, strict=True)])
        largest = int(logits[:, seen.predicted[row]].argmax())
        for number, (each, one) in enumerate(zip(windows, ones, strict=True)):
            share = 1 / len(windows) if pooled == "mean" else float(number == largest)
            rolled = attention_rollout(observe_layers(inner, None, each, one).attention, inner.deciding(one))[0].detach()
            begin = number * (WINDOW - 2 - STRIDE)
            places = [0, *range(1 + begin, 1 + begin + each.shape[-1] - 2), len(text.split()) + 1]
            assert [ids[place] for place in places] == each[0].tolist()
            expected[places] += share * rolled
        torch.testing.assert_close(found[row], expected, rtol=0, atol=1e-5)


@torch.no_grad()
def test_an_erased_token_is_erased_in_every_window(bert, tokenizer):
    text = TEXTS[3]
    seen, _ = observed(bert, tokenizer, [text])
    word = 9  # the windows from 0 and from 6 have it
    kept = torch.ones(1, 1, seen.mask.shape[-1], dtype=torch.bool)
    kept[..., 1 + word] = False
    places = seen.network.windows.places(seen.mask)
    assert int((places.tokens == 1 + word).sum()) == 2
    told = tokenizer(text, truncation=True, max_length=WINDOW, stride=STRIDE, return_overflowing_tokens=True)
    logits = []
    for number, ids in enumerate(told["input_ids"]):
        place = 1 + word - number * (WINDOW - 2 - STRIDE)
        left = torch.tensor([[int(at != place) for at in range(len(ids))]])
        logits.append(bert(torch.tensor([ids]), left).logits)
    expected = torch.cat(logits).mean(dim=0).softmax(dim=-1)[seen.predicted[0]]
    assert float(attention(seen, kept)) == pytest.approx(float(expected), abs=1e-6)
    assert float(attention(seen, kept)) != pytest.approx(float(seen.confidence), abs=1e-5)
    words = text.split()
    shorter = decided_by_hand(bert, tokenizer, " ".join(words[:word] + words[word + 1 :]), "mean")
    assert float(delete(seen, kept)) == pytest.approx(float(shorter[seen.predicted[0]]), abs=1e-6)


@torch.no_grad()
def test_attention_of_windows_stands_side_by_side_and_can_be_replaced(bert, tokenizer):
    seen, layers = observed(bert, tokenizer, TEXTS)
    windows = seen.network.windows.of(seen.mask.shape[-1])
    (first, weights), *_ = layers.attention.items()
    assert weights.shape == (len(TEXTS), windows * 4, WINDOW, WINDOW)
    rows, places = layers.rows_that_count(weights), layers.places(weights)
    torch.testing.assert_close(weights.sum(dim=-1)[rows], torch.ones(int(rows.sum())))
    assert (weights.masked_select(~places & rows.unsqueeze(-1)) == 0).all()
    numbers = [seen.network.windows.of(length + 2) for length in LENGTHS]
    assert rows.any(dim=-1).sum(dim=-1).tolist() == [4 * number for number in numbers]
    with intervene(seen.network, Intervention("weights", weights.flip(-1), [first])):
        every = seen.network(seen.tokens, seen.mask)
    with intervene(seen.network, Intervention("weights", lambda computed, mask: computed.flip(-1), [first])):
        again = seen.network(seen.tokens, seen.mask)
    torch.testing.assert_close(every, again)
    one = weights.clone()
    one[:, :4] = weights[:, :4].flip(-1)  # of the first window alone
    with intervene(seen.network, Intervention("weights", one, [first])):
        first_window = seen.network(seen.tokens, seen.mask)
    moved = (first_window - seen.logits).abs().amax(dim=-1), (first_window - every).abs().amax(dim=-1)
    assert (moved[0] > 1e-5).all(), "also the window that shorter texts have again in place of others decides once"
    assert (moved[1][2:] > 1e-5).all()


REFUSED = {
    "stride": ({"window": 12, "stride": 10}, "the stride is 10 and the window 12 tokens, of which 2 are special; expected a"),
    "no place": ({"window": 2}, "a window of 2 tokens has no place for a word, because 2 tokens of each window are special"),
    "long": (
        {"window": 65},
        "the window has 65 tokens, and BertForSequenceClassification reads at most 64",
    ),
    "pooled": ({"window": 12, "pooled": "median"}, "pooled is 'median'; expected one of mean, max, mean-of-probabilities"),
    "alone": ({"stride": 4}, "stride= and pooled= need window=, which was not given"),
    "keys": (
        {"window": 12, "experiments": ["E9"]},
        r"E9 asks about keys, .* expected one or more of: E1, E2, E3, E8, E10, E14, E15",
    ),
    "pairs": (
        {"window": 12, "data": [("a film", "fine")]},
        "window= works only for texts that are single strings, and with a",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_in_windows_is_refused(bert, tokenizer, name):
    options, sentence = REFUSED[name]
    with pytest.raises(AttestError, match=sentence):
        attest.trial(bert, **{"data": TEXTS, "tokenizer": tokenizer, "progress": False} | options)


def test_models_that_decide_otherwise_than_at_the_beginning_of_a_window_are_refused(tokenizer):
    with pytest.raises(AttestError, match="gives every token a class, so a token in two windows would get two classes"):
        in_windows(tiny("bert", tokens=True, vocab_size=len(WORDS)), tokenizer)
    with pytest.raises(AttestError, match="decides at the last token of a window"):
        in_windows(tiny("gpt2", vocab_size=len(WORDS)), tokenizer)


def test_texts_in_several_windows_are_counted_in_print_and_in_the_report(bert, tokenizer, capsys, tmp_path):
    tried = attest.trial(bert, TEXTS, ["E2"], tokenizer=tokenizer, window=WINDOW, stride=STRIDE, progress=False)
    told = (
        "3 of 5 texts are longer than a window of 12 tokens and are read in up to 7 windows, which share 4 tokens with the "
        "next; the mean of their logits decides."
    )
    assert capsys.readouterr().out.splitlines()[0] == told
    assert told in tried.save(tmp_path / "kept").report_path.read_text()


def test_batches_of_token_ids_that_are_too_long_are_refused(bert):
    tokens = torch.full((1, 65), 6)
    with pytest.raises(
        AttestError, match="the longest text has 65 tokens, and BertForSequenceClassification reads at most 64"
    ):
        attest.trial(bert, [{"token_ids": tokens, "mask": torch.ones_like(tokens, dtype=torch.bool)}], ["E2"], progress=False)


def test_windows_of_texts_without_special_tokens():
    assert isinstance(Windows(4, 1), Windows)
    places = Windows(4, 1).places(torch.tensor([[True] * 8, [True] * 5 + [False] * 3]))
    assert places.tokens.tolist()[0] == [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 0, 0]]
    assert places.real.tolist()[0] == [[True] * 4, [True] * 4, [True, True, False, False]]
    assert places.tokens[1, :2].tolist() == [[0, 1, 2, 3], [3, 4, 0, 0]]
    assert places.there.tolist() == [[True] * 3, [True, True, False]]
    assert WindowedNetwork.moves_keys is False
