"""The loading of a fine-tuned model and its tokenizer from a folder or the Hub, without running code from there.

Weights are read from safetensors only, in float32: evidence compares numbers that half precision does not distinguish.
"""

import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMultipleChoice,
    AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME, cached_file, logging

from attest.core.errors import AttestError, refusing
from attest.core.hub import hub_answers
from attest.core.kinds import TAGS
from attest.models.pretrained.adapters import SETTINGS, WEIGHTS, Adapter
from attest.models.pretrained.folders import misfit, require_buildable, require_its_weights, require_no_pointer
from attest.models.pretrained.heads import kind_saved
from attest.models.pretrained.texts import require_fast, require_length
from attest.models.pretrained.told import told_by

VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
"""Patterns for the files that hold the vocabulary of a tokenizer. If all are missing, transformers makes a tokenizer without a
vocabulary, so such a folder is refused."""
KINDS: dict[str, tuple[Any, str, str]] = {
    "texts": (AutoModelForSequenceClassification, "classifier of texts", "BERT or ModernBERT"),
    "tokens": (AutoModelForTokenClassification, "classifier of tokens", "BERT or ModernBERT"),
    "choices": (AutoModelForMultipleChoice, "model of multiple choice", "BERT or RoBERTa"),
    "answers": (AutoModelForQuestionAnswering, "model that marks answers", "BERT or RoBERTa"),
    "next": (AutoModelForCausalLM, "language model", "Llama or Qwen"),
    "written": (AutoModelForSeq2SeqLM, "language model", "T5 or BART"),
}
"""How to load a model, by what it decides about. Each value has the class of transformers that loads the model, and for
messages a phrase for such models and examples of them."""
PICKLED = "pytorch_model.bin"
COMMAND = "attest trial --model <folder or Hub id> --data <file>"


@contextmanager
def transformers_quiet() -> Iterator[None]:
    """Silence the messages and progress bars of transformers inside the ``with`` block."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


@transformers_quiet()
def load(name: str, prompted: bool = False) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a model in evaluation mode, and its tokenizer.

    Args:
        name: a folder or Hub id with ``config.json``, ``model.safetensors`` and the tokenizer's files, or with
            ``adapter_config.json``; then the base model of the adapter is loaded too.
        prompted: whether the model answers a prompt: it is then loaded as a language model, and not as a classifier.
    """
    adapter = adapter_of(name)
    if adapter is not None and adapter.decides and (adapter.decides == "next") != prompted:
        kind = "a language model" if adapter.decides == "next" else "a classifier"
        raise AttestError(
            f"{name} is an adapter for {kind}; expected {'no' if prompted else 'a'} prompt (--prompt, or prompt= in Python)."
        )
    config = config_tried(name)
    tagging = not prompted and kind_saved(config) == TAGS
    language = "written" if config.is_encoder_decoder else "next"
    decided = language if prompted else kind_saved(config).loaded_as
    model, missing = _model(adapter.base if adapter else name, config, decided)
    if adapter is not None:
        if missing and _file(name, "config.json") is None:
            warnings.warn(
                f"{name} does not say what its {model.config.num_labels} classes are called, nor whether several are given at "
                "once; it is taken to choose one. model.config.save_pretrained(folder) writes this beside the adapter.",
                stacklevel=2,
            )
        model, missing = adapter.applied_to(model, missing)
    if missing and prompted:
        raise AttestError(
            f"{name} has no weights for {', '.join(missing[:3])}; expected a language model with all its weights."
        )
    if missing:
        raise AttestError(
            f"{name} has no weights for {', '.join(missing[:3])}, so they would be random; expected a model that was "
            "fine-tuned to classify. Fine-tune the model and save it with save_pretrained, or use a language model with "
            "--prompt."
        )
    words_apart = {"add_prefix_space": True} if tagging else {}  # where text is cut at bytes, a word begins after a blank
    alone = adapter is not None and not any(_file(name, file) for file in VOCABULARIES[:-1])
    return model.eval(), tokenizer_of(adapter.base if adapter and alone else name, **words_apart)


@transformers_quiet()
def to_fine_tune(name: str, classes: int, tagging: bool = False) -> PreTrainedModel:
    """Load a pretrained model to classify; its head is random unless the saved head has ``classes`` outputs."""
    config = config_of(name)
    config.num_labels, config.problem_type = classes, None
    model, missing = _model(name, config, "tokens" if tagging else "texts", ignore_mismatched_sizes=True)
    embeddings = {id(parameter) for parameter in model.get_input_embeddings().parameters()}
    if any(id(parameter) in embeddings for key, parameter in model.named_parameters() if key in missing):
        raise AttestError(f"{name} has no weights for its token embeddings; expected a pretrained model.")
    return model


def adapter_of(name: str) -> Adapter | None:
    """Return the adapter, such as LoRA, that a folder or Hub repository contains; None for a whole model."""
    settings = _file(name, SETTINGS)
    if settings is None:
        return None
    _file(name, WEIGHTS)  # which the Hub puts beside its settings
    return Adapter(name, settings)


def config_tried(name: str) -> Any:
    """Return the configuration of a model; for an adapter, return that of the adapted base model."""
    adapter = adapter_of(name)
    if adapter is None:
        return config_of(name)
    beside = _file(name, "config.json")
    config = _config(str(beside.parent), name) if beside else config_of(adapter.base)
    kind, *_ = KINDS[adapter.decides or ("tokens" if kind_saved(config) == TAGS else "texts")]
    return adapter.configured(config, kind) if type(config) in kind._model_mapping else config


def config_of(name: str) -> Any:
    """Return the configuration of a whole model in a folder or on the Hub."""
    if (found := _file(name, SETTINGS)) is not None:  # transformers would apply it only if peft is installed
        raise AttestError(
            f"{name} contains only an adapter, such as LoRA ({found.name}); expected a whole model. Save one with "
            "model.merge_and_unload().save_pretrained(folder), and save the tokenizer into the same folder."
        )
    return _config(name, name)


def _config(name: str, called: str) -> Any:
    path = Path(name).expanduser()
    if path.exists() and not (path / "config.json").is_file():
        raise AttestError(f"{name} has no config.json; expected a folder that save_pretrained wrote. Type: {COMMAND}")
    require_no_pointer(name)
    neither = f"{name} is neither a local folder nor a model that can be loaded from the Hub"
    unread = f"the config.json of {name} cannot be read" if path.exists() else neither
    wanted = "a file that save_pretrained wrote" if path.exists() else "a folder or the id of a model on the Hub"
    with refusing(lambda said: f"{unread} ({said}); expected {wanted}. Type: {COMMAND}"):
        looked_for = _looked_for(name)
        written = path / "config.json" if path.exists() else Path(str(cached_file(name, "config.json", **looked_for)))
        require_buildable(written)
        config = AutoConfig.from_pretrained(name, trust_remote_code=False, **looked_for)
    if told_by(config).auto_map:
        raise AttestError(
            f"{called} needs Python code from its own folder (auto_map in its config.json), and Attest never runs such code; "
            "expected a model that is part of the library transformers."
        )
    return config


def _require_safe_weights(name: str, config: Any) -> None:
    """Refuse a model whose weight index names files other than safetensors, since transformers would open these files."""
    index = _file(name, SAFE_WEIGHTS_INDEX_NAME)
    named = set() if index is None else {*json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()}
    named |= {told_by(config).transformers_weights} - {None}
    if other := sorted(file for file in map(str, named) if Path(file).name != file or not file.endswith(".safetensors")):
        raise AttestError(
            f"the index of {name} names the file of weights {other[0]}; expected files in the folder of the model that end in "
            ".safetensors. model.save_pretrained(folder) writes such files."
        )
    folder = Path(name).expanduser()
    if absent := sorted(file for file in map(str, named) if folder.is_dir() and not (folder / file).is_file()):
        raise AttestError(
            f"{len(absent)} of the {len(named)} files of weights of {name} are missing ({absent[0]}); expected all files that "
            f"{SAFE_WEIGHTS_INDEX_NAME} names. Copy or download the folder again."
        )
    if not named and folder.is_dir() and not (folder / SAFE_WEIGHTS_NAME).is_file():
        pickled = f", only {PICKLED}, which could run code" if (folder / PICKLED).is_file() else ""
        raise AttestError(
            f"{name} has no {SAFE_WEIGHTS_NAME}{pickled}; expected weights in this form. Load the model, and type "
            "model.save_pretrained(folder)"
        )


def _file(name: str, file: str) -> Path | None:
    path = Path(name).expanduser()
    if path.exists():
        return path / file if (path / file).is_file() else None
    with suppress(OSError):  # there is no such model; the code that loads it says so
        found = cached_file(name, file, _raise_exceptions_for_missing_entries=False, **_looked_for(name))
        return None if found is None else Path(found)
    return None


def _looked_for(name: str) -> dict[str, bool]:
    """Return where transformers looks for a model: on this machine alone if the Hub does not answer.

    Otherwise each file is asked for six times, which takes half a minute.
    """
    return {} if Path(name).expanduser().exists() else {"local_files_only": not hub_answers()}


def _model(name: str, config: Any, decided: str, **options: Any) -> tuple[PreTrainedModel, list[str]]:
    kind, what, example = KINDS[decided]
    if type(config) not in kind._model_mapping:
        raise AttestError(
            f"{name} is a {config.model_type}, and transformers has no {what} of this type; expected another model, such as "
            f"{example}."
        )
    expected = "expected a whole file model.safetensors, which model.save_pretrained(folder) writes."
    beside = _file(name, "config.json") or Path()

    def why(said: str) -> str:
        return misfit(beside, kind, config) or f"the weights of {name} cannot be read ({said}); {expected}"

    with refusing(why):
        _require_safe_weights(name, config)
        model, told = kind.from_pretrained(
            name, config=config, dtype=torch.float32, attn_implementation=_attention_of(config),
            use_safetensors=True, trust_remote_code=False, output_loading_info=True,
            **_looked_for(name), **options,
        )  # fmt: skip
    missing = sorted(told["missing_keys"])
    require_its_weights(name, model, missing, told["unexpected_keys"])
    return model, missing


def _attention_of(config: Any) -> str | None:
    """Return the attention implementation to load: the library's choice (None), as for a model that the user has loaded.

    A model with soft caps needs ``eager``, because SDPA leaves soft caps out.
    """
    return "eager" if told_by(config.get_text_config()).attn_logit_softcapping else None


def tokenizer_of(name: str, **options: Any) -> PreTrainedTokenizerBase:
    """Load the fast tokenizer of a model in a folder or on the Hub."""
    path = Path(name).expanduser()
    if path.is_dir() and not any(list(path.glob(pattern)) for pattern in VOCABULARIES):
        raise AttestError(
            f"{name} has no tokenizer (none of {', '.join(VOCABULARIES)}); expected a tokenizer in the folder of the model. "
            "Type tokenizer.save_pretrained(folder)"
        )
    require_no_pointer(name)
    expected = "expected the file tokenizer.json in the folder of the model. Type tokenizer.save_pretrained(folder)"
    with refusing(lambda said: f"{name} has no readable tokenizer ({said}); {expected}"):
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False, **_looked_for(name), **options)
    require_fast(tokenizer)
    require_length(tokenizer)
    return tokenizer


@transformers_quiet()
def save(model: PreTrainedModel, names: Sequence[str], tokenizer: str, path: Path) -> None:
    """Save a fine-tuned model with its tokenizer and its class names, so that ``load`` can read them."""
    model.config.id2label = dict(enumerate(names))
    model.config.label2id = {name: number for number, name in enumerate(names)}
    model.save_pretrained(path)
    tokenizer_of(tokenizer).save_pretrained(path)
