"""Where a planted word decides, leaving it out says so, and the page and the command say what the function says."""

import json
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import torch

import attest
from attest.app.cli.main import main
from attest.experiments.sources import head_weights, random_sets, scored, sentences, shares, surrogate
from attest.models.pretrained.answering import Answer
from tests.models.pretrained.planted import SPAN, trained
from tests.models.pretrained.tiny import tiny

PROMPT = "Review: {context}\nSentiment:"


@pytest.fixture(scope="session")
def planted():
    return trained()


def words(text):
    ends = [place for place, sign in enumerate(text) if sign == " "]
    return list(zip([0, *ends], [*ends, len(text)], strict=True))


def asked(planted, text, **options):
    return attest.sources(planted.model, text, tokenizer=planted.tokenizer, prompt=PROMPT, **options)


@pytest.mark.whole("a training to its end")
def test_the_planted_words_are_found_in_every_text(planted):
    for text in planted.texts[:16:2]:
        place = text.split().index(SPAN.split()[0])
        found = asked(planted, text, answer="good", units=words(text), truth=[place, place + 1], ablations=64)
        assert found.scores.loc[["leave-one-out", "random sets"], "precision"].tolist() == [1.0, 1.0]
        assert found.table["share"][[place, place + 1]].sum() > 0.5, "two of ten words"
        assert found.table["text"].tolist() == text.split()
    assert found.scores["tau"]["leave-one-out"] == pytest.approx(1)


@pytest.mark.whole("a training to its end")
def test_a_source_of_several_tokens_gets_the_sum_of_what_they_get(planted):
    text = planted.texts[0]
    single = words(text)
    pairs = [(first[0], second[1]) for first, second in zip(single[::2], single[1::2], strict=True)]
    by_word, by_pair = (asked(planted, text, answer="good", units=units, ablations=0).table for units in (single, pairs))
    for name in ("attention", "rollout", "gradient × input"):
        np.testing.assert_allclose(by_pair[name], by_word[name].to_numpy().reshape(-1, 2).sum(axis=1), atol=1e-6)


def test_where_nothing_matters_no_source_is_named(planted, tmp_path):
    model = deepcopy(planted.model)
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()  # no token hears of another
            layer.self_attn.o_proj.weight[0, 0] = 1e-7
    text = planted.texts[0]
    found = attest.sources(model, text, tokenizer=planted.tokenizer, prompt=PROMPT, answer="good", units=words(text))
    none = "No source stands out: without any one of them, the answer's log-probability does not fall. Attention names: “"
    assert found.sentence.startswith(none)
    assert (found.strip, [row.deciding for row in found.rows]) == ([], [False])
    assert found.advice == "Show no single source: the answer needs none of them by itself."
    assert len(str(found).splitlines()) == 3
    assert found.table[["share", "drop"]].eq(0).all(axis=None)
    assert found.scores["same"].isna().all()
    found.write_page(tmp_path / "page.html")
    assert "<td>undefined</td><td>undefined</td>" in (tmp_path / "page.html").read_text()


def chatting(planted, template):
    tokenizer = deepcopy(planted.tokenizer)
    tokenizer.chat_template = template
    return lambda text, **options: attest.sources(planted.model, text, tokenizer=tokenizer, ablations=0, **options)


TEMPLATE = "{{ bos_token }}{% for each in messages %}Review: {{ each.content | trim }}\nSentiment:{% endfor %}"


def test_a_chat_model_is_asked_by_the_template_of_its_tokenizer(planted, tmp_path):
    text, chat = f"  {planted.texts[0]} .  {planted.texts[1]} .  ", chatting(planted, TEMPLATE)
    spans = {"units": [(2, len(planted.texts[0]) + 4), (len(planted.texts[0]) + 4, len(text) - 2)]}
    found = chat(text, chat=True, prompt="{context}", answer=" good", **spans)
    whole = chat(text, prompt="<s>Review: {context}\nSentiment:".replace("{context}", "{context}"), answer=" good", **spans)
    assert found.table["text"].tolist() == whole.table["text"].tolist()
    bare = attest.sources(
        planted.model, text.strip(), tokenizer=planted.tokenizer, prompt="<s>Review: {context}\nSentiment:", answer=" good",
        ablations=0, units=[(begin - 2, end - 2) for begin, end in spans["units"]],
    )  # fmt: skip
    pd.testing.assert_frame_equal(found.table, bare.table)
    assert found.log_probability == bare.log_probability


@pytest.mark.parametrize("template", [None, "{{ raise_exception('no user') }}", "{{ messages[0].content | upper }}"])
def test_a_chat_template_that_is_missing_or_writes_something_else_is_refused(template, planted, refusal):
    with refusal():
        chatting(planted, template)(planted.texts[0], chat=True)


def test_special_tokens_in_a_context_are_told(planted, capsys):
    first, *others = planted.texts[:3]
    asked(planted, [f"{first} </s>", *others], answer="good", ablations=0, units="documents")
    assert "1 of 1 texts contain special tokens of the tokenizer as words (</s>)" in capsys.readouterr().out


def test_modes_of_torch_around_the_question_change_nothing(planted):
    text = planted.texts[0]
    plain = asked(planted, text, answer="good", units=words(text), ablations=8)
    with torch.autocast("cpu", torch.bfloat16), torch.inference_mode():
        found = asked(planted, text, answer="good", units=words(text), ablations=8)
    pd.testing.assert_frame_equal(found.table, plain.table, check_exact=True)


def test_weights_that_are_not_finite_are_named_first(planted):
    model = deepcopy(planted.model)
    with torch.no_grad():
        next(model.parameters())[0, 0] = float("nan")
    with pytest.raises(attest.AttestError, match="contain NaN or infinity"):
        attest.sources(model, planted.texts[0], tokenizer=planted.tokenizer, prompt=PROMPT, answer="good")


def test_groups_find_the_planted_words_and_say_that_they_approximate(planted, refusal):
    text = planted.texts[0]
    place = text.split().index(SPAN.split()[0])
    found = asked(planted, text, answer="good", units=words(text), truth=[place, place + 1], ablations=0, leave_out="groups")
    each = asked(planted, text, answer="good", units=words(text), truth=[place, place + 1], ablations=0)
    assert found.scores.loc["leave-one-out", "precision"] == 1
    ours, theirs = (each_way.table["drop"][[place, place + 1]] for each_way in (found, each))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)  # logits of up to 10 times the rounding of single precision
    assert "of all falls over 10 sources, which were left out in groups: an approximation." in found.sentence
    assert "approximation" not in each.sentence
    assert (found.as_json()["by_groups"], each.as_json()["by_groups"]) == (True, False)
    with refusal():
        asked(planted, text, answer="good", leave_out="some")


def test_a_source_that_is_named_twice_counts_once(planted):
    text = planted.texts[0]
    place = text.split().index(SPAN.split()[0])
    once, twice = (
        asked(planted, text, answer="good", units=words(text), truth=truth, ablations=0) for truth in ([place], [place] * 3)
    )
    pd.testing.assert_series_equal(twice.scores["precision"], once.scores["precision"])


def test_heads_learn_from_other_answers_alone(planted, refusal, tmp_path):
    found = [
        asked(planted, text, answer="good", units=words(text), truth=[text.split().index(SPAN.split()[0])], ablations=0)
        for text in planted.texts[:16:2]
    ]
    last, others = found[-1], found[:-1]
    learned = last.learning_from(others)
    weights = head_weights([(other.by_head, other.table["drop"].to_numpy()) for other in others])
    np.testing.assert_allclose(learned.table["learned heads"], last.by_head @ weights)
    np.testing.assert_allclose(last.by_head.mean(axis=1), last.table["attention"], rtol=1e-5)
    assert learned.scores.loc["learned heads"].notna().all()
    assert [*learned.scores.index] == [*last.scores.index, "learned heads"]
    assert learned.learning_from(others[:2]).scores.index.is_unique
    learned.write_page(tmp_path / "page.html")
    assert "with weights that were fitted to the sources of other answers" in (tmp_path / "page.html").read_text()
    for wrong in ([], found):
        with refusal():
            last.learning_from(wrong)


def test_what_the_model_writes_by_itself_is_explained(planted):
    text = planted.texts[0]
    found = asked(planted, text, new_tokens=1, units=words(text), ablations=0)
    assert found.answer.endswith("good"), "this tokenizer marks the blank before a word"
    ids = planted.tokenizer(PROMPT.replace("{context}", text), return_tensors="pt")["input_ids"]
    with torch.no_grad():
        expected = planted.model(input_ids=ids).logits[0, -1].log_softmax(-1).max()
    assert found.log_probability == pytest.approx(float(expected), abs=1e-5)
    assert "random sets" not in found.table


def test_documents_are_sources_too(planted):
    texts = [planted.texts[1], planted.texts[0]]
    found = asked(planted, texts, answer="good", units="documents", ablations=0)
    assert found.table["text"].tolist() == texts
    assert found.table["drop"].idxmax() == 1


@pytest.mark.parametrize(
    "options",
    [
        {"text": " "},
        {"units": [(0, 3), (2, 5)]},
        {"units": "words"},
        {"units": {0: 3}},
        {"units": {(0, 3)}},
        {"units": 3},
        {"units": [0, 3]},
        {"units": [(0.5, 3.5)]},
        {"units": np.array(["the", "plot"], dtype=object)},
        {"answer": ""},
        {"truth": [7]},
        {"truth": [0.5]},
        {"ablations": -1},
        {"text": "the plot " * 40},
        {"question": "Who?"},
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(planted, options, refusal):
    given = {"answer": "good", "ablations": 0} | options
    with refusal():
        asked(planted, given.pop("text", "the plot"), **given)


def test_a_classifier_is_refused(planted, refusal):
    with refusal():
        attest.sources(tiny("bert"), "a text", tokenizer=planted.tokenizer)


def test_the_page_and_the_command_say_what_the_function_says(planted, tmp_path, capsys):
    planted.model.save_pretrained(tmp_path / "model")
    planted.tokenizer.save_pretrained(tmp_path / "model")
    texts = planted.texts[:2]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text)
    page = tmp_path / "page.html"
    files = [str(tmp_path / f"{number}.txt") for number in range(2)]
    typed = ["sources", "--model", str(tmp_path / "model"), "--context", *files, "--units", "documents", "--answer", "good"]
    assert main([*typed, "--prompt", PROMPT.replace("\n", r"\n"), "--ablations", "4", "--out", str(page), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = asked(planted, texts, answer="good", units="documents", ablations=4)
    assert [each["drop"] for each in told["sources"]] == pytest.approx(found.table["drop"].tolist(), abs=1e-6)
    assert told["sentence"] == found.sentence
    shown = page.read_text()
    assert all(text in shown for text in texts)
    assert shown.count("<tr>") == 2 + 2 + len(found.scores)
    assert main([*typed, "--prompt", PROMPT.replace("\n", r"\n"), "--ablations", "0", "--out", str(page)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) <= 6, "no more lines than a reader takes in at once"
    assert " ".join(said[1:3]) == found.sentence
    assert said[0].startswith("Answer:     ")
    assert said[0].endswith("good"), "this tokenizer marks the blank before a word"
    assert said[-1] == f"Page:       {page}"
    assert main(["sources", "--model", "m", "--context", str(tmp_path / "none.txt")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_sentences_part_a_text():
    text = 'He said "Stop!" and left. Then 3.5 men came?  Yes.\nA new line. End'
    found = [text[begin:end] for begin, end in sentences(text)]
    assert found == ['He said "Stop!" and left.', " Then 3.5 men came?", "  Yes.", "\nA new line.", " End"]
    assert "".join(found) == text


@pytest.mark.parametrize(
    "parts",
    [
        ["这部电影很好。", "演员不错！", "「我们看了两次？」", "他说了……再见。"],
        ["यह फ़िल्म अच्छी थी।", " हमने इसे दो बार देखा।।", " हाँ"],
        ["هل الفيلم جيد؟", " نعم كان جيدا.", " لا"],
        ["とても良い！？", "はい．", "値は３．５です。"],
        ["Լավ է։", " Այո։"],
        ["One is here.", "\r\nTwo is here.", "\u2028Three"],
    ],
)
def test_sentences_of_other_scripts_part_a_text(parts):
    text = "".join(parts)
    assert [text[begin:end] for begin, end in sentences(text)] == parts


def test_one_source_alone_says_that_there_is_nothing_to_compare(planted):
    found = asked(planted, "the plot is dull", answer="good", ablations=0)
    assert found.sentence.startswith("The whole context is one source, so no explanation can be compared")
    assert found.sentence in str(found)


def test_a_byte_order_mark_belongs_to_no_source(planted):
    text = f"{planted.texts[0]}. The plot"
    plain, marked = (asked(planted, f"{mark}{text}", answer="good", ablations=0) for mark in ("", "\ufeff"))
    pd.testing.assert_frame_equal(marked.table, plain.table, check_exact=True)


def test_a_surrogate_of_sources_that_add_up_finds_what_each_adds():
    kept = random_sets(0, 400, 5)
    adds = torch.tensor([3.0, 0.0, -1.0, 0.5, 2.0])
    torch.testing.assert_close(surrogate(kept, kept.float() @ adds), adds.double(), rtol=0.05, atol=0.05)
    assert 0.4 < kept.float().mean() < 0.6
    assert not torch.equal(kept, random_sets(1, 400, 5))


def test_the_head_whose_attention_tells_what_sources_give_gets_the_weight():
    generator = np.random.default_rng(0)
    attention = [generator.random((6, 3)) for _ in range(40)]
    level = generator.normal(size=40) * 100  # of one example's falls: what is shared by all its sources says nothing
    weights = head_weights([(each, 5 * each[:, 1] + shift) for each, shift in zip(attention, level, strict=True)])
    np.testing.assert_allclose(weights, [0, 2.5, 0], atol=0.2)  # half of 5: the penalty is as large as the head's own variance
    alike = head_weights([(np.ones((4, 2)) * [1, 0], np.arange(4.0))])
    np.testing.assert_allclose(alike, 0, atol=1e-6)


def test_readings_are_scored_against_leaving_out():
    drops = torch.tensor([0.0, 4.0, 1.0, -2.0], dtype=torch.float64).numpy()
    table = scored({"same": 2 * drops, "turned": -drops}, drops, truth=[1, 2])
    assert table["tau"].tolist() == pytest.approx([1, 1, -1])
    assert table["same"].tolist() == [1, 1, 0]
    assert table["drop"].tolist() == [4, 4, -2]
    assert table["precision"].tolist() == [1, 1, 0]
    assert shares(drops).tolist() == [0, 0.8, 0.2, 0]
    assert shares(-abs(drops)).tolist() == [0, 0, 0, 0]


def test_a_prompt_of_nothing_but_its_only_source_is_refused():
    """A model cannot read a text without tokens."""
    said = Answer(tiny("llama", speaks=True), torch.tensor([5, 6]), torch.tensor([7]))
    with pytest.raises(attest.AttestError, match="the prompt has no token"):
        said.without_each([(0, 2)])
