"""An answer without parts of its prompt, and its rows of attention, are those of whole passes of the model itself."""

import pytest
import torch
from transformers.cache_utils import DynamicCache
from transformers.models.gpt2 import modeling_gpt2
from transformers.models.llama import modeling_llama

from attest.core.attention.rollout import attention_rollout
from attest.core.errors import AttestError
from attest.core.memory import budget_kept, set_memory_budget
from attest.models.pretrained import answering
from attest.models.pretrained.answering import Answer, written_by
from tests.models.pretrained.tiny import tiny

PARTS = [(0, 4), (4, 9), (9, 15), (15, 16), (16, 24)]
MODELS = {"llama": {}, "gpt2": {}, "mistral": {"sliding_window": 4}, "gemma2": {"sliding_window": 4}, "gpt_neox": {}}


def answer(name, **settings):
    torch.manual_seed(0)
    prompt, said = torch.randint(5, 40, (30,)), torch.randint(5, 40, (3,))
    return Answer(tiny(name, speaks=True, **settings), prompt, said)


def plain(model, prompt, said):
    """The log-probability by the whole text and the definition."""
    logits = model(input_ids=torch.cat([prompt, said]).unsqueeze(0), use_cache=False).logits[0]
    return sum(logits[len(prompt) - 1 + at].log_softmax(-1)[token] for at, token in enumerate(said.tolist()))


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_an_answer_without_a_part_is_that_of_the_shorter_prompt(name):
    asked = answer(name, **MODELS[name])
    assert asked.log_probability() == pytest.approx(float(plain(asked.model, asked.prompt, asked.answer)), abs=1e-5)
    expected = [
        float(plain(asked.model, torch.cat([asked.prompt[:begin], asked.prompt[end:]]), asked.answer)) for begin, end in PARTS
    ]
    assert asked.without_each(PARTS).tolist() == pytest.approx(expected, abs=1e-4)
    assert max(abs(each - asked.log_probability()) for each in expected) > 1e-3


def test_what_stands_before_a_part_is_read_once(monkeypatch):
    asked = answer("llama")
    read = []
    own = Answer._of_last_rows
    monkeypatch.setattr(
        Answer,
        "_of_last_rows",
        lambda self, tokens, *rest, **more: read.append(len(tokens)) or own(self, tokens, *rest, **more),
    )
    asked.without_each(PARTS)
    assert read == [32, 8, 16, 17, 23, 28, 24], "all, then behind each part, the last first; and the last by a whole pass"


def test_parts_are_read_by_whole_passes_where_the_memory_gives_other_numbers(monkeypatch):
    asked = answer("llama")
    expected = asked.without_each(PARTS)
    monkeypatch.setattr(Answer, "_by_reuse", lambda self, parts: expected + 1)
    assert asked.without_each(PARTS).tolist() == pytest.approx(expected.tolist(), abs=1e-4)


WINDOWED = {
    "mistral": {"sliding_window": 4},
    "gemma2": {"sliding_window": 4},
    "gemma3_text": {"sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]},
    "qwen2": {"sliding_window": 4, "use_sliding_window": True, "max_window_layers": 1, "num_key_value_heads": 2},
}


@pytest.mark.parametrize(("name", "settings"), [("llama", {}), ("gpt2", {}), *WINDOWED.items()])
def test_rows_and_their_gradients_are_those_of_a_whole_pass(name, settings):
    """Also where a window is shorter than the prompt, so that the cache forgets."""
    asked = answer(name, **settings)
    rows = asked.rows()
    asked.model.set_attn_implementation("eager")
    whole = torch.cat([asked.prompt, asked.answer[:-1]]).unsqueeze(0)
    seen = asked.model(input_ids=whole, output_attentions=True, use_cache=False)
    logits = seen.logits[0, -3:].log_softmax(-1)
    said = logits.gather(-1, asked.answer.unsqueeze(-1)).sum()
    gradients = torch.autograd.grad(said, seen.attentions)
    weights = torch.stack([each[0, :, -3:] for each in seen.attentions])
    torch.testing.assert_close(rows.attention, weights.mean(dim=(0, 1, 2))[:30].detach(), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(rows.by_head, weights.mean(dim=2).flatten(0, 1).mT[:30].detach(), rtol=1e-4, atol=1e-6)
    written = torch.stack([each[0, :, -3:] for each in gradients]) * weights
    torch.testing.assert_close(rows.written, written.sum(dim=(0, 1, 2))[:30].detach(), rtol=1e-3, atol=1e-5)
    others = weights[..., 1:] / weights[..., 1:].sum(dim=-1, keepdim=True)
    assert rows.without_first[0] == 0
    torch.testing.assert_close(rows.without_first[1:], others.mean(dim=(0, 1, 2))[:29].detach(), rtol=1e-4, atol=1e-6)
    begins = torch.zeros(1, 32)
    begins[:, -3:] = 1 / 3
    maps = {str(layer): each.detach() for layer, each in enumerate(seen.attentions)}
    torch.testing.assert_close(asked.rollout(), attention_rollout(maps, begins)[0, :30], rtol=1e-4, atol=1e-6)
    embedded = asked.model.get_input_embeddings()(whole).detach().requires_grad_()
    other = asked.model(inputs_embeds=embedded, use_cache=False).logits[0, -3:].log_softmax(-1)
    (gradient,) = torch.autograd.grad(other.gather(-1, asked.answer.unsqueeze(-1)).sum(), embedded)
    expected = (gradient * embedded).sum(dim=-1).abs()[0, :30].detach()
    torch.testing.assert_close(asked.gradient_times_input(), expected, rtol=1e-4, atol=1e-5)


def test_a_row_that_attends_to_the_first_token_alone_says_nothing_of_others(monkeypatch):
    asked = answer("llama")
    alone = torch.zeros(1, 4, 3, 32)
    alone[..., 0] = 1

    class Parked(answering.Look):
        def attend(self, *arguments, **options):
            output, weights = super().attend(*arguments, **options)
            self.seen[-1] = self.seen[-1] * 0 + alone
            return output + 0 * self.seen[-1].sum(), weights

    monkeypatch.setattr(answering, "Look", Parked)
    assert asked.rows().without_first.tolist() == [0.0] * 30


def test_rollout_is_computed_in_chunks_of_rows_within_the_budget(monkeypatch):
    for name, module in (("llama", modeling_llama), ("gpt2", modeling_gpt2)):
        asked, own, rows = answer(name), module.eager_attention_forward, []
        whole = asked.rollout()
        monkeypatch.setattr(
            module,
            "eager_attention_forward",
            lambda part, query, *rest, own=own, rows=rows, **options: (
                rows.append(query.shape[-2]) or own(part, query, *rest, **options)
            ),
        )
        with budget_kept():
            set_memory_budget(30_000 / 2**30)  # queries, keys and values of both layers, or 14 rows of a map
            torch.testing.assert_close(asked.rollout(), whole, rtol=0, atol=1e-6)
        assert rows == [14, 14, 4] * 4, "two layers, each in the pass and once again"


def test_rollout_is_left_out_where_not_even_queries_and_keys_fit():
    with budget_kept():
        set_memory_budget(1e-6)
        assert answer("llama").rollout() is None


def test_a_model_whose_attention_is_not_reached_is_refused(refusal):
    with refusal():
        answer("bloom", n_layer=2, n_head=4).rows()


class Words:
    """A tokenizer whose special token is none of the model's."""

    all_special_ids = (10_000,)


@torch.no_grad()
def test_an_answer_is_the_likeliest_token_each_time_whatever_the_model_would_generate_by(monkeypatch):
    model, prompt = answer("llama").model, answer("llama").prompt
    tokens = prompt
    for _ in range(6):
        tokens = torch.cat([tokens, model(input_ids=tokens.unsqueeze(0), use_cache=False).logits[0, -1:].argmax(-1)])
    expected = tokens[len(prompt) :]
    for settings in ({}, {"repetition_penalty": 5.0}, {"num_beams": 4}, {"suppress_tokens": expected[:1].tolist()}):
        model.generation_config.update(**settings)
        assert torch.equal(written_by(model, Words(), prompt, 6), expected)
    model.generation_config.update(eos_token_id=[7, int(expected[0])])
    with pytest.raises(AttestError, match="ends its answer at once"):
        written_by(model, Words(), prompt, 6)
    model.generation_config.update(eos_token_id=None)
    monkeypatch.setattr(Words, "all_special_ids", (int(expected[0]),))
    with pytest.raises(AttestError, match="ends its answer at once"):
        written_by(model, Words(), prompt, 6)


def test_a_row_that_does_not_lie_over_all_tokens_is_refused(monkeypatch):
    asked = answer("mistral", sliding_window=4)
    monkeypatch.setattr(answering, "DynamicCache", lambda: DynamicCache(config=asked.model.config))
    with pytest.raises(AttestError, match="attends to 6 of 32 tokens when earlier tokens are read first"):
        asked.rows()
