"""All that was asked of a trial is written down, and the card's call makes the same trial again."""

import dataclasses
import inspect
import re
from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from torch import nn
from transformers import BertConfig

import attest
from attest.app.api.asked import NUMBERS, Options, written
from attest.core.errors import AttestError
from attest.report.card import section
from attest.report.findings import Findings
from attest.runs.folder import TRIAL
from tests.models.pretrained.test_prompted import ANSWERS, TEMPLATE, speaking_tokenizer
from tests.models.pretrained.tiny import TEXTS, WORDS, tiny

CALL = re.compile(r"```python\n(.+)\n```")
QUICK = {"E1": {}, "E14": {"texts": 20, "sets": 2, "erase_by": ["delete"], "extras": False}}


def windowed(tokenizer):
    asked = {"window": 6, "stride": 1, "pooled": "max", "label_names": ["bad", "good", "odd"]}
    return tiny("bert", vocab_size=len(WORDS)), {"tokenizer": tokenizer, "labels": [0, 1, 2, 0, 1], **asked}


def prompted(_tokenizer):
    asked = {"prompt": TEMPLATE, "answers": ANSWERS, "max_tokens": 40, "seed": 3}
    return tiny("llama", speaks=True), {"tokenizer": speaking_tokenizer(), "labels": [0, 1, 1, 0, 1], **asked}


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize("made", [windowed, prompted])
def test_the_call_of_the_card_is_the_same_trial(made, tokenizer):
    model, options = made(tokenizer)
    asked = QUICK | {"E19": {"texts": 5}}
    tried = attest.trial(model, TEXTS, asked, progress=False, **options)
    (call,) = CALL.findall(section(Findings(tried.folder)))
    known = {"attest": attest, "model": model, "texts": TEXTS, "tokenizer": options["tokenizer"], "labels": options["labels"]}
    again = eval(call, known)
    assert again.folder.config.read_text() == tried.folder.config.read_text()
    for name in asked:
        pd.testing.assert_frame_equal(again.table(name), tried.table(name), check_exact=True)
    about = yaml.safe_load(tried.folder.config.read_text())[TRIAL]
    assert about["asked"] == {name: options[name] for name in options if name not in ("tokenizer", "labels", "seed")}
    assert about["given"] == ["tokenizer", "labels"]


def test_where_model_and_tokenizer_come_from_is_written(tmp_path, tokenizer):
    tokenizer.save_pretrained(tmp_path)
    tiny("bert", vocab_size=len(WORDS)).save_pretrained(tmp_path)
    tried = attest.trial(str(tmp_path), TEXTS, {"E2": {"permutations": 2}}, second_column=None, progress=False)
    about = yaml.safe_load(tried.folder.config.read_text())[TRIAL]
    assert about["model_from"] == str(tmp_path)
    assert not {"asked", "given"} & {*about}


def test_a_module_around_a_model_comes_from_where_the_model_does():
    around, tokenizer = nn.Module(), SimpleNamespace(name_or_path="words")
    around.config = BertConfig(name_or_path="folder")
    found = written(lambda model, tokenizer: None, {"model": around, "tokenizer": tokenizer})
    assert found == {"model_from": "folder", "tokenizer_from": "words"}


def test_words_may_be_anything_that_has_a_word_for_each_token(refusal):
    usual = inspect.signature(attest.trial).parameters
    defaults = {each.name: usual[each.name].default for each in dataclasses.fields(Options)} | {"model": None, "data": None}
    for words in ("ab", {0: "a"}, np.array(["a"]), pd.Series(["a"])):
        Options(**defaults | {"words": words})
    with refusal():
        Options(**defaults | {"words": {"a", "b"}})


def test_what_yaml_cannot_hold_is_named():
    def asked(model, tokenizer=None, encode=None, labels=None, answers=None, window=4, seed=0):
        pass

    options = {"model": None, "tokenizer": None, "encode": len, "labels": [0], "answers": {"a": 1j}, "window": 5, "seed": 3}
    assert written(asked, options) == {"asked": {"window": 5}, "given": ["encode", "labels", "answers"]}
    answers = OrderedDict(bad=" bad")
    assert written(asked, options | {"answers": answers})["given"] == ["encode", "labels", "answers"]


def test_options_are_the_arguments_of_a_trial():
    assert [each.name for each in dataclasses.fields(Options)] == [*inspect.signature(attest.trial).parameters]


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_is_none_is_refused(name, tokenizer):
    with pytest.raises(AttestError, match=f"`{name}` is None; expected a value"):
        attest.trial(tiny("bert", vocab_size=len(WORDS)), TEXTS, tokenizer=tokenizer, progress=False, **{name: None})


def test_numbers_of_numpy_are_written_as_those_of_python(tokenizer):
    numbers = {"seed": 3, "batch_size": 2, "max_tokens": 40, "memory_gib": 0.5, "window": 6, "stride": 1}
    asked = {"model": tiny("bert", vocab_size=len(WORDS)), "data": TEXTS, "experiments": {"E2": {"permutations": 2}}}
    of_numpy = {name: np.array(number)[()] for name, number in numbers.items()}
    tried, again = (attest.trial(**asked, **each, tokenizer=tokenizer, progress=False) for each in (of_numpy, numbers))
    assert tried.folder.config.read_text() == again.folder.config.read_text()
    assert tried.settings["seed_everything"] == 3
