"""A fine-tuned classifier and its tokenizer from a folder or the Hub: safetensors alone, and never code of others."""

from pathlib import Path
from typing import Any

from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging

from attest.errors import AttestError
from attest.pretrained.texts import require_fast

VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
"""Files that a tokenizer is made of; where none is there, transformers makes one that knows no word."""
KINDS = {False: AutoModelForSequenceClassification, True: AutoModelForCausalLM}
"""Classes that read a model, by whether it answers a prompt."""
WANTED = {
    False: "a model that was fine-tuned to classify texts, not a pretrained one alone. Fine-tune it first and save it with "
    "save_pretrained; a language model is asked by --prompt.",
    True: "a language model with all of its weights. Without --prompt a classifier is meant.",
}
KNOWN = {
    False: "no classifier of texts; expected one that it has, BERT or ModernBERT for example.",
    True: "no language model; expected one that it has, Llama or Qwen for example.",
}
COMMAND = "attest trial --model <folder or Hub id> --data <file>"


def load(name: str, prompted: bool = False) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model in evaluation mode, and its tokenizer.

    Args:
        name: a folder with ``config.json``, ``model.safetensors`` and the tokenizer's files, or an id on the Hub.
        prompted: whether it is a language model that answers a prompt, instead of a classifier.
    Raises:
        AttestError: there is none, its weights are incomplete or no safetensors, it needs code of its own, or the tokenizer
            is not a fast one.
    """
    logging.set_verbosity_error()  # what it warns of is an error here, or nothing that a user can mend
    logging.disable_progress_bar()
    config = _config(name)
    if getattr(config, "auto_map", None):
        raise AttestError(
            f"{name} comes with Python code of its own (auto_map in its config.json), which is never run; expected a model "
            "that the library transformers knows itself."
        )
    model, missing = _model(name, config, prompted)
    if missing:
        wanted = WANTED[prompted]
        raise AttestError(f"{name} has no weights for {', '.join(missing[:3])}; expected {wanted}")
    tokenizer = _tokenizer(name)
    require_fast(tokenizer)
    return model.eval(), tokenizer


def _config(name: str) -> Any:
    path = Path(name).expanduser()
    if path.exists() and not (path / "config.json").is_file():
        raise AttestError(f"{name} has no config.json; expected a folder that save_pretrained has written. Type: {COMMAND}")
    try:
        return AutoConfig.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise AttestError(
            f"{name} is no folder here and no model that could be had from the Hub ({_first_line(error)}); expected one of "
            f"both. Type: {COMMAND}"
        ) from error


def _model(name: str, config: Any, prompted: bool) -> tuple[PreTrainedModel, list[str]]:
    try:
        model, told = KINDS[prompted].from_pretrained(
            name, config=config, use_safetensors=True, trust_remote_code=False, output_loading_info=True
        )
    except ValueError as error:
        raise AttestError(f"{name} is a {config.model_type}, of which transformers has {KNOWN[prompted]}") from error
    except OSError as error:
        raise AttestError(
            f"the weights of {name} cannot be read ({_first_line(error)}); expected model.safetensors. "
            "model.save_pretrained(folder) writes it."
        ) from error
    return model, sorted(told["missing_keys"])


def _tokenizer(name: str) -> PreTrainedTokenizerBase:
    path = Path(name).expanduser()
    if path.is_dir() and not any(list(path.glob(pattern)) for pattern in VOCABULARIES):
        raise AttestError(
            f"{name} has no tokenizer (none of {', '.join(VOCABULARIES)}); expected one beside the model. "
            "tokenizer.save_pretrained(folder) writes it."
        )
    try:
        return AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise AttestError(
            f"{name} has no tokenizer that can be read ({_first_line(error)}); expected tokenizer.json beside the model. "
            "tokenizer.save_pretrained(folder) writes it."
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
