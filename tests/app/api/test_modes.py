"""Whatever surrounds the call, a trial is about the model's own weights, and the model stays as it was."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import accelerate
import pandas as pd
import pytest
import torch

import attest
from attest.core.modes import ORIGINAL, as_it_is
from tests.app.api import hf_training
from tests.models.pretrained.tiny import TEXTS, WORDS, tiny


@contextmanager
def rounded_products():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        yield
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


ASKED = {"E1": {}, "E2": {"permutations": 2}, "E3": {"texts": 2, "steps": 3}, "E15": {"texts": 2}}
AROUND = {
    "without gradients": torch.no_grad,
    "in inference mode": torch.inference_mode,
    "with rounded products": rounded_products,
    "in half precision": lambda: torch.autocast("cpu", torch.bfloat16),
}


def tried(model, tokenizer):
    return attest.trial(model, TEXTS, ASKED, tokenizer=tokenizer, labels=[1, 0, 0, 0, 1], progress=False)


def require_equal(found, plain):
    for name in ("instances", *ASKED):
        pd.testing.assert_frame_equal(found.table(name), plain.table(name), check_exact=True)


@pytest.fixture(scope="module")
def plain(model, tokenizer):
    return tried(model, tokenizer)


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize("around", AROUND)
def test_modes_of_torch_around_a_trial_change_nothing(around, plain, model, tokenizer):
    with AROUND[around]():
        require_equal(tried(model, tokenizer), plain)


@pytest.mark.whole("several threads")
def test_threads_take_turns_with_a_model(plain, model, tokenizer):
    quick = {"E1": {}}  # which changes attention by hook points, again and again

    def one(_number):
        return attest.trial(model, TEXTS, quick, tokenizer=tokenizer, labels=[1, 0, 0, 0, 1], progress=False)

    with ThreadPoolExecutor(2) as threads:
        for found in threads.map(one, range(2)):
            pd.testing.assert_frame_equal(found.table("E1"), plain.table("E1"), check_exact=True)
    assert model.config._attn_implementation == "sdpa"


def test_a_model_that_was_made_in_inference_mode_is_refused(tokenizer, refusal):
    with torch.inference_mode():
        made = tiny("bert", vocab_size=len(WORDS))
    with refusal():
        tried(made, tokenizer)


@pytest.mark.whole("many models, each tried as a whole")
def test_a_model_that_accelerate_casts_is_tried_in_its_own_precision(plain, model, tokenizer):
    cast = model.forward
    accelerate.state.AcceleratorState._reset_state(True)
    prepared = accelerate.Accelerator(cpu=True, mixed_precision="bf16").prepare(model)
    try:
        wrapped = prepared.forward
        require_equal(tried(prepared, tokenizer), plain)
        assert prepared.forward is wrapped
    finally:
        accelerate.state.AcceleratorState._reset_state(True)
        for name in ("forward", ORIGINAL):
            vars(model).pop(name, None)
    assert model.forward == cast


def test_a_model_gets_its_forward_back_whatever_happens(model):
    vars(model).update({"forward": len, ORIGINAL: model.forward})
    try:
        with as_it_is(model):
            assert "forward" not in vars(model)
        with pytest.raises(KeyError), as_it_is(model):
            raise KeyError
        assert model.forward is len
    finally:
        for name in ("forward", ORIGINAL):
            vars(model).pop(name)


@pytest.mark.whole("a training to its end")
def test_a_trainer_in_half_precision_is_tried_and_trains_to_its_end(tokenizer, tmp_path):
    trainer, callback, *_ = hf_training.trained(tokenizer, tmp_path, "epoch", bf16=True)
    assert trainer.state.epoch == trainer.args.num_train_epochs
    assert callback.last.experiments


def test_a_trial_that_is_refused_is_left_out_of_a_training(tokenizer, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(hf_training, "LABELS", [7])
    trainer, callback, *_ = hf_training.trained(tokenizer, tmp_path, "epoch")
    assert trainer.state.epoch == trainer.args.num_train_epochs
    assert callback.last is None
    assert "The trial after step 2 is left out: the number of labels is 1" in capsys.readouterr().out
