"""Try a tiny model of every class that transformers has for classifying texts: each is itself in a trial, or gets a sentence.

    python -m benchmarks.architectures                 # all; a quarter of an hour on one core
    python -m benchmarks.architectures bert llama esm  # a few

Each model is made from its configuration, with random weights, and tried on five texts. What the trial writes of its
probabilities is held against the model's own, one text at a time.
"""

import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES

import attest
from attest.core.errors import AttestError, DisagreementError, said_by
from attest.models.contract import CLOSE
from attest.models.pretrained.loading import transformers_quiet

HIDDEN = 16
SIZES: dict[str, Any] = {
    "vocab_size": 40, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "max_position_embeddings": 64,
    **dict.fromkeys(("hidden_size", "dim", "n_embd", "d_model", "embedding_size", "word_embed_proj_dim", "emb_dim"), HIDDEN),
    **dict.fromkeys(("intra_bottleneck_size", "true_hidden_size", "input_embedding_size", "moe_intermediate_size"), HIDDEN),
    **dict.fromkeys(("shared_expert_intermediate_size", "output_embedding_size"), HIDDEN),
    **dict.fromkeys(("intermediate_size", "hidden_dim", "encoder_ffn_dim", "decoder_ffn_dim", "ffn_dim", "d_ff", "dff"), 24),
    **dict.fromkeys(("n_inner", "d_inner", "mamba_d_state"), 24),
    **dict.fromkeys(("num_hidden_layers", "n_layers", "n_layer", "encoder_layers", "decoder_layers", "num_layers"), 2),
    **dict.fromkeys(("num_decoder_layers", "global_attn_every_n_layers", "num_key_value_heads", "num_local_experts"), 2),
    **dict.fromkeys(("num_experts", "n_routed_experts", "rotary_dim"), 2),
    **dict.fromkeys(("num_attention_heads", "n_heads", "n_head", "num_heads", "encoder_attention_heads", "num_kv_heads"), 4),
    **dict.fromkeys(("decoder_attention_heads", "head_dim", "d_kv", "d_head", "kv_channels", "num_buckets"), 4),
    **dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim", "attention_window"), 4),
    **dict.fromkeys(("num_experts_per_tok", "n_shared_experts", "n_group", "topk_group", "first_k_dense_replace"), 1),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank"), 8), "n_positions": 64, "local_attention": 64,
    **dict.fromkeys(("num_latents", "d_latents"), HIDDEN), "num_self_attends_per_block": 2,
}  # fmt: skip
"""What makes a model tiny, wherever its configuration has a setting of this name."""
ALSO: dict[str, dict[str, Any]] = {
    **{name: {"eos_token_id": 3} for name in ("bart", "bigbird_pegasus", "mbart", "mvp", "plbart")},
    **{name: {"eos_token_id": 3, "decoder_start_token_id": 0} for name in ("mt5", "t5", "umt5")},
    "esmc": {"num_key_value_heads": 4},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "reformer": {"attn_layers": ["local", "lsh"], "axial_pos_embds": False, "attention_head_size": 4, "feed_forward_size": 24},
    "perceiver": {"num_cross_attention_heads": 4, "num_self_attention_heads": 4, "qk_channels": 16, "v_channels": 16},
    "luke": {"entity_vocab_size": 40, "entity_emb_size": HIDDEN},
    "roc_bert": {"pronunciation_vocab_size": 40, "shape_vocab_size": 40},
    "zamba": {"layer_types": ["mamba", "hybrid"]},
    "zamba2": {"layer_types": ["mamba", "hybrid"]},
    "xmod": {"languages": ["en"], "default_language": "en"},
    "nystromformer": {"segment_means_seq_len": 64, "num_landmarks": 32},
}
"""What single architectures ask for besides."""
APART = {"id2label", "label2id", "rope_parameters", "layer_types"}
WORDS = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "a",
    "fine",
    "film",
    "dull",
    "very",
    "not",
    "good",
    "bad",
    "slow",
    "warm",
)
TEXTS = ("a fine film", "a dull film", "not a fine film very very slow and warm", "bad", "a very very fine film")
OUTCOMES = ("agrees", "refused by name", "refused by comparison", "traceback", "cannot be made small")


def tiny(name: str) -> PreTrainedModel:
    """Return a small model of an architecture, with random weights, in evaluation mode."""
    config = AutoConfig.for_model(name)
    known = {*config.to_dict(), *config.attribute_map}
    parts = {key: _small(value) for key, value in config.to_dict().items() if _is_part(key, value)}
    sizes = {key: value for key, value in SIZES.items() if key in known}
    if "kv_lora_rank" in known:  # latent attention has no groups
        sizes["num_key_value_heads"] = sizes["num_attention_heads"]
    torch.manual_seed(0)
    config = AutoConfig.for_model(name, **{**sizes, **parts, "num_labels": 3, **ALSO.get(name, {})})
    if sum(each.numel() for each in _on_meta(config).parameters()) > 5e6:
        raise MemoryError("more than 5 million parameters")
    model = AutoModelForSequenceClassification.from_config(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def _on_meta(config: Any) -> PreTrainedModel:
    with torch.device("meta"):
        return AutoModelForSequenceClassification.from_config(config)


def _is_part(key: str, value: Any) -> bool:
    return isinstance(value, dict) and key not in APART


def _small(settings: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in settings.items() if key not in APART}
    return {key: _small(value) if _is_part(key, value) else SIZES.get(key, value) for key, value in kept.items()}


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer of words, with marks at both ends of a text."""
    made = Tokenizer(models.WordLevel({word: id for id, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    named = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=40, **named)


def outcome(name: str) -> tuple[str, str]:
    """Return one of ``OUTCOMES``, and what was found."""
    try:
        model = tiny(name)
    except Exception as error:  # somebody's architecture may raise anything
        return "cannot be made small", said_by(error)
    reads = tokenizer()
    try:
        tried = attest.trial(model, TEXTS, {"E2": {"permutations": 1}}, tokenizer=reads, progress=False)
        with torch.no_grad():
            own = [model(**reads(text, return_tensors="pt")).logits[0].softmax(dim=-1) for text in TEXTS]
    except DisagreementError as error:
        return "refused by comparison", str(error)
    except AttestError as error:
        return "refused by name", str(error)
    except Exception as error:  # this is what is looked for
        return "traceback", f"{type(error).__name__}: {said_by(error)}"
    found = torch.tensor(tried.table().filter(like="probability_").to_numpy())
    apart = float((found - torch.stack(own)).abs().max())
    return ("agrees" if apart < CLOSE else "traceback"), f"{apart:.1g} from its own probabilities"


@transformers_quiet()
def main(names: Sequence[str]) -> int:
    """Print a line for each architecture and the counts; returns 1 where one is neither itself nor refused in a sentence."""
    warnings.simplefilter("ignore")  # of models that were made up
    counts = Counter[str]()
    for name in names or sorted(MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES):
        kind, found = outcome(name)
        counts[kind] += 1
        print(f"{name:22} {kind}: {found}", flush=True)
    print(", ".join(f"{kind} {counts[kind]}" for kind in OUTCOMES))
    return int(counts["traceback"] > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
