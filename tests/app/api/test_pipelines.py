"""A pipeline on trial: it is its model, and a setting that makes other scores of them is refused by its name."""

import pytest
import torch
from transformers import BertTokenizerFast, TextClassificationPipeline, pipeline

import attest
from attest.core.errors import AttestError
from tests.models.pretrained.speaking import ANSWERS, TEMPLATE, speaking_tokenizer
from tests.models.pretrained.tiny import TEXTS, WORDS, tiny

QUICK = {"E2": {"permutations": 1}}
ASKED = {"prompt": TEMPLATE, "answers": ANSWERS}


def made(task, model, tokenizer, **settings):
    return pipeline(task, model=model, tokenizer=tokenizer, device="cpu", **settings)


def tried(task, model, tokenizer, data=TEXTS, given=None, **settings):
    options = {"progress": False} | (given or {})
    return attest.trial(made(task, model, tokenizer, **settings), data, QUICK if task != "ner" else ["E2"], **options)


@pytest.mark.parametrize("settings", [{"top_k": None, "padding": True}, {"function_to_apply": "softmax", "truncation": True}])
def test_settings_that_change_no_score_are_taken(settings, model, tokenizer):
    assert "E2" in tried("text-classification", model, tokenizer, **settings).experiments


@pytest.mark.parametrize(
    "settings", [{"function_to_apply": "sigmoid"}, {"truncation": True, "max_length": 4}, {"add_special_tokens": False}]
)
def test_a_setting_that_changes_scores_is_refused_by_its_name(settings, model, tokenizer):
    guilty = [*settings][-1]
    with pytest.raises(AttestError, match=rf"the scores of the pipeline .* because of {guilty}="):
        tried("text-classification", model, tokenizer, **settings)


class Cooled(TextClassificationPipeline):
    def postprocess(self, model_outputs, **settings):
        return super().postprocess({**model_outputs, "logits": model_outputs["logits"] / 3}, **settings)


def test_a_pipeline_of_a_class_of_ones_own_is_compared(model, tokenizer):
    for kind in (TextClassificationPipeline, Cooled):
        classify = kind(model=model, tokenizer=tokenizer, device="cpu")
        assert classify.task == ""
        if kind is TextClassificationPipeline:
            assert "E2" in attest.trial(classify, TEXTS, QUICK, progress=False).experiments
        else:
            with pytest.raises(AttestError, match="of what it computes after its model"):
                attest.trial(classify, TEXTS, QUICK, progress=False)


def test_a_tokenizer_other_than_the_pipelines_is_noticed(model, tokenizer, tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join([*WORDS[:5], *reversed(WORDS[5:])]))
    other = BertTokenizerFast(str(tmp_path / "vocab.txt"), model_max_length=64)
    with pytest.raises(AttestError, match="because of its tokenizer"):
        tried("text-classification", model, tokenizer, given={"tokenizer": other})


def test_several_labels_and_one_number_are_compared_as_the_pipeline_gives_them(tokenizer):
    several = tiny("bert", vocab_size=len(WORDS), problem_type="multi_label_classification")
    assert "E2" in tried("text-classification", several, tokenizer).experiments
    number = tiny("bert", vocab_size=len(WORDS), num_labels=1)
    assert "E2" in tried("text-classification", number, tokenizer, function_to_apply="none").experiments
    with pytest.raises(AttestError, match="what it computes after its model"):
        tried("text-classification", number, tokenizer)  # the pipeline gives a sigmoid of this number


def test_a_word_is_tagged_by_its_first_token(tokenizer, refusal):
    tagger = tiny("bert", tokens=True, vocab_size=len(WORDS))
    words = [text.split() for text in TEXTS]
    given = {"labels": [[0] * len(each) for each in words]}
    for strategy in ("none", "first"):
        assert "E2" in tried("ner", tagger, tokenizer, words, given, aggregation_strategy=strategy).experiments
    with refusal():
        tried("ner", tagger, tokenizer, words, given, aggregation_strategy="average")


def test_a_pipeline_that_puts_words_before_a_prompt_is_refused(refusal):
    model, tokenizer, text = tiny("llama", speaks=True), speaking_tokenizer(), "a fine film. not dull."
    assert "E2" in tried("text-generation", model, tokenizer, given=ASKED, num_beams=2).experiments
    with refusal():
        tried("text-generation", model, tokenizer, given=ASKED, prefix="very ")
    with pytest.raises(AttestError, match="because of prefix="):
        attest.sources(made("text-generation", model, tokenizer, prefix="very "), text, ablations=0)


def test_an_encoder_beside_a_pipeline_is_refused(model, tokenizer, refusal):
    """It ended in an AttributeError."""
    with refusal():
        tried("text-classification", model, tokenizer, given={"encode": lambda text: [1, 2, 3]})


def test_a_long_text_is_cut_by_the_trial_alone(model, tokenizer):
    long = [" ".join(["a very fine film"] * 30), *TEXTS]
    with pytest.warns(UserWarning, match="their ends are cut"):
        assert "E2" in tried("text-classification", model, tokenizer, long).experiments
    assert "E2" in tried("text-classification", model, tokenizer, long, {"window": 16}).experiments


def test_a_pipeline_computes_where_it_computed_before(model, tokenizer):
    classify = made("text-classification", model, tokenizer)
    before = classify.device
    attest.trial(classify, TEXTS, QUICK, progress=False)
    assert classify.device == before == torch.device("cpu")
