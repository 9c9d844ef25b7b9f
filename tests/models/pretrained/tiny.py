"""Tiny random models of many architectures, as somebody's classifiers of texts."""

from collections.abc import Callable, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    BertTokenizerFast,
    PreTrainedModel,
)

SMALL = {
    "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "num_labels": 3,
}  # fmt: skip
DISTIL = {"dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 24}
GPT = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64}
GROUPED = {"num_key_value_heads": 2, "head_dim": 4}
BART = {
    "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24, "decoder_ffn_dim": 24,
}  # fmt: skip
ENCODERS: dict[str, dict[str, Any]] = {
    "bert": {},
    "roberta": {},
    "xlm-roberta": {},
    "distilbert": DISTIL,
    "electra": {"embedding_size": 16},
    "albert": {"embedding_size": 16},
    "camembert": {},
    "modernbert": {"cls_token_id": 1, "sep_token_id": 2, "global_attn_every_n_layers": 2, "local_attention": 64},
    "roberta-prelayernorm": {},
    "data2vec-text": {},
    "ernie": {},
    "xlm-roberta-xl": {},
}
DECODERS: dict[str, dict[str, Any]] = {
    "llama": GROUPED,
    "mistral": GROUPED,
    "qwen3": GROUPED,
    "gemma2": GROUPED,
    "gpt2": GPT,
    "gpt_neox": {},
    "phi3": GROUPED,
    "gpt_oss": GROUPED | {"num_local_experts": 2, "num_experts_per_tok": 1},
}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CALLS = {"bart": 6}
"""Two layers of an encoder, two of a decoder that look at themselves and at the encoder."""

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "fine", "dull", "film", "very", "not", "##y", "."]
TEXTS = ["a fine film", "a dull film .", "not a fine film .", "very dully film", "a very , very fine film"]


def tiny(name: str, tokens: bool = False, speaks: bool = False, **settings: Any) -> PreTrainedModel:
    """A model with random parameters in evaluation mode.

    Args:
        name: of the architecture, as transformers calls it.
        tokens: whether it classifies tokens instead of texts.
        speaks: whether it is a causal language model instead.
        settings: of its configuration.
    """
    given = SMALL | {**ENCODERS, **DECODERS, "bart": BART}.get(name, {}) | settings
    kinds = {(False, False): AutoModelForSequenceClassification, (True, False): AutoModelForTokenClassification}
    make: Callable[..., PreTrainedModel] = kinds.get((tokens, speaks), AutoModelForCausalLM).from_config
    torch.manual_seed(0)
    model = make(AutoConfig.for_model(name, **given)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def batch(lengths: tuple[int, ...] = (5, 9, 7)) -> tuple[torch.Tensor, torch.Tensor]:
    """Random token ids and their mask; the second token of the end, as BART asks for it."""
    torch.manual_seed(1)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(-1)
    tokens = torch.randint(5, 40, mask.shape).where(mask, 0)
    tokens[range(len(lengths)), [length - 1 for length in lengths]] = 2
    return tokens, mask


def pretrained_folder(place: Path, words: Sequence[str], longest: int = 64) -> Path:
    """A tiny BERT without a head and its tokenizer, as save_pretrained leaves them.

    Args:
        place: an empty folder.
        words: that are single tokens; all others of small letters are cut into these.
        longest: most tokens of a text.
    """
    pieces = [*SPECIAL, *ascii_lowercase, *(f"##{letter}" for letter in ascii_lowercase)]
    vocabulary = [*pieces, *(word for word in words if word not in pieces)]
    (place / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(str(place / "vocab.txt"), model_max_length=longest).save_pretrained(place)
    config = SMALL | {"vocab_size": len(vocabulary), "max_position_embeddings": longest, "bos_token_id": None}
    torch.manual_seed(0)
    AutoModel.from_config(AutoConfig.for_model("bert", **config)).save_pretrained(place)
    return place
