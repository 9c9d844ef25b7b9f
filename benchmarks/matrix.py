"""Walk architectures × heads × precisions × forms × attention settings: each cell is the model itself, or one sentence.

    python -m benchmarks.matrix                    # writes docs/results/any-transformer.md; a quarter of an hour
    python -m benchmarks.matrix BERT "Llama"       # walks a few architectures and prints the page

Models are tiny and random. A cell makes one, tries it on a few texts, and holds the probabilities in the trial's table against
those of the model as its owner runs it, one text at a time. Of every architecture each value is walked alone, everything else
as in the first of each list. Then values that are taken alone are walked together, until each pair has been walked once.
"""

import logging
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import peft
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedTokenizerFast,
)

import attest
from attest.core.errors import AttestError, said_by
from attest.core.memory import in_evaluation_mode
from attest.models.contract import CLOSE, CLOSE_IN_HALF
from attest.models.pretrained.loading import transformers_quiet

HIDDEN, CLASSES = 16, 3
WORDS = ("a", "fine", "film", "dull", "very", "not", "good", "bad", "slow", "warm")
TEXTS = ("a fine film", "a dull film", "not a fine film very very slow and warm", "bad film", "a very very fine film")
PAIRS = tuple(zip(TEXTS, reversed(TEXTS), strict=True))
PAGE = Path(__file__).parents[1] / "docs/results/any-transformer.md"

SMALL = {
    "hidden_size": HIDDEN, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24,
    "max_position_embeddings": 64,
}  # fmt: skip
GPT = {"n_embd": HIDDEN, "n_layer": 2, "n_head": 4, "n_positions": 64}
GROUPED = SMALL | {"num_key_value_heads": 2, "head_dim": 4}


class Architecture(NamedTuple):
    """An architecture of transformers, made small; without a name of a configuration, one of torch alone."""

    name: str | None
    settings: dict[str, Any]
    padding: int | None = 0
    """The token id of padding; None if there is none."""
    typed: bool = False
    """Whether its tokenizer tells the two texts of a pair by token types."""
    decodes: bool = False


ARCHITECTURES = {
    "BERT": Architecture("bert", SMALL, typed=True),
    "RoBERTa": Architecture("roberta", SMALL, padding=1),
    "DeBERTa-v3": Architecture(
        "deberta-v2",
        SMALL | {
            "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "share_att_key": True, "position_buckets": 16,
            "norm_rel_ebd": "layer_norm", "layer_norm_eps": 1e-7, "position_biased_input": False, "type_vocab_size": 0,
        },
    ),
    "ModernBERT": Architecture("modernbert", SMALL | {"global_attn_every_n_layers": 2, "local_attention": 64}),
    "ALBERT": Architecture("albert", SMALL | {"embedding_size": HIDDEN}, typed=True),
    "DistilBERT": Architecture("distilbert", {"dim": HIDDEN, "n_layers": 2, "n_heads": 4, "hidden_dim": 24}),
    "MPNet": Architecture("mpnet", SMALL, padding=1),
    "XLNet": Architecture("xlnet", {"d_model": HIDDEN, "n_layer": 2, "n_head": 4, "d_inner": 24}, typed=True),
    "Longformer": Architecture("longformer", SMALL | {"attention_window": [4, 4]}, padding=1),
    "GPT-2": Architecture("gpt2", GPT, padding=None, decodes=True),
    "Llama": Architecture("llama", GROUPED, decodes=True),
    "Qwen 3": Architecture("qwen3", GROUPED, decodes=True),
    "Gemma 3": Architecture("gemma3_text", GROUPED | {"sliding_window": 64}, decodes=True),
    "Bloom": Architecture("bloom", {"hidden_size": HIDDEN, "n_layer": 2, "n_head": 4}, decodes=True),
    "Falcon": Architecture("falcon", SMALL, decodes=True),
    "GPT-J": Architecture("gptj", GPT | {"rotary_dim": 4}, decodes=True),
    "nn.TransformerEncoder": Architecture(None, {}),
}  # fmt: skip
AXES: dict[str, tuple[str, ...]] = {
    "head": ("softmax", "multi-label", "one number", "pair", "tagger"),
    "precision": ("float32", "float16", "bfloat16"),
    "form": ("plain", "LoRA", "compiled", "wrapped", "sharded"),
    "attention": ("eager", "SDPA"),
}


class Cell(NamedTuple):
    """A model with all its settings."""

    architecture: str
    head: str = "softmax"
    precision: str = "float32"
    form: str = "plain"
    attention: str = "eager"


class NoSuchModelError(Exception):
    """The error that there is no model with these settings, whoever runs it."""


class Own(nn.Module):
    """A Transformer in torch alone."""

    def __init__(self, vocabulary: int, classes: int, of_tokens: bool) -> None:
        super().__init__()
        self.embedding, self.positions = nn.Embedding(vocabulary, HIDDEN), nn.Embedding(64, HIDDEN)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(HIDDEN, 4, 24, batch_first=True), 2)
        self.head, self.of_tokens = nn.Linear(HIDDEN, classes), of_tokens

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return logits of the text, or of each of its tokens."""
        real = attention_mask.bool()
        states = self.embedding(input_ids) + self.positions(torch.arange(input_ids.shape[1]))
        states = self.encoder(states, src_key_padding_mask=~real)
        return self.head(states if self.of_tokens else states[:, 0])


class Wrapped(nn.Module):
    """A model of transformers, or of torch, inside a module of one's own."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """Return the logits of the model."""
        types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        found = self.model(input_ids=input_ids, attention_mask=attention_mask, **types)
        return getattr(found, "logits", found)


def tokenizer(architecture: Architecture) -> PreTrainedTokenizerFast:
    """Return a tokenizer of words, with the marks that the architecture's own has."""
    special = ["[CLS]", "[UNK]", "[SEP]", "[MASK]"]
    if architecture.padding is not None:
        special.insert(architecture.padding, "[PAD]")
    known = {word: id for id, word in enumerate([*special, *WORDS])}
    made = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    single, pair = ("[CLS] $A", "[CLS] $A $B:1") if architecture.decodes else ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
    marks = [(mark, known[mark]) for mark in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=marks)
    named = {f"{mark[1:-1].lower()}_token": mark for mark in special}
    given = ["input_ids", "attention_mask", *(["token_type_ids"] if architecture.typed else [])]
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=40, model_input_names=given, **named)


def model_of(cell: Cell, reads: PreTrainedTokenizerFast) -> nn.Module:
    """Return the model of a cell, before it is adapted, compiled, wrapped or written into files.

    Raises:
        NoSuchModelError: transformers has no such attention for it.
    """
    architecture, classes = ARCHITECTURES[cell.architecture], 1 if cell.head == "one number" else CLASSES
    torch.manual_seed(0)
    if architecture.name is None and cell.head == "multi-label":
        raise NoSuchModelError("a module of torch alone cannot say that it decides each label")
    if architecture.name is None:
        model: Any = Own(len(reads), classes, cell.head == "tagger")
    else:
        kind: Any = AutoModelForTokenClassification if cell.head == "tagger" else AutoModelForSequenceClassification
        named = {f"{mark}_token_id": getattr(reads, f"{mark}_token_id") for mark in ("pad", "bos", "eos")}
        problem = {"problem_type": "multi_label_classification"} if cell.head == "multi-label" else {}
        given = {"vocab_size": len(reads), "num_labels": classes, **named, **architecture.settings, **problem}
        config = AutoConfig.for_model(architecture.name, **given)
        try:
            model = kind.from_config(config, attn_implementation=cell.attention.lower())
        except ValueError as error:
            if "mplementation" in str(error) or "kernel" in str(error):
                raise NoSuchModelError(f"transformers has no {cell.attention} for it") from error
            if "Unrecognized configuration class" in str(error):
                raise NoSuchModelError("transformers has no such head for it") from error
            raise
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model.to(getattr(torch, cell.precision)).eval()


def formed(model: Any, cell: Cell, reads: PreTrainedTokenizerFast, folder: Path) -> tuple[Any, nn.Module]:
    """Return what is given to a trial, and the model as its owner runs it.

    Args:
        model: as ``model_of`` makes it.
        cell: which names the form.
        reads: the tokenizer, which is written into the folder too.
        folder: an empty folder for files.
    Raises:
        NoSuchModelError: a model of torch alone has no files that are read by a name.
    """
    if cell.form == "LoRA":
        of_torch = isinstance(model, Own)
        settings: dict[str, Any] = {"target_modules": ["linear1", "head"] if of_torch else "all-linear"}
        if not of_torch:  # whose head peft keeps whole
            settings |= {"exclude_modules": ".*(classifier|score|logits_proj).*"}
            settings |= {"task_type": "TOKEN_CLS" if cell.head == "tagger" else "SEQ_CLS"}
        model = peft.get_peft_model(model, peft.LoraConfig(r=2, init_lora_weights=False, **settings)).eval()
    elif cell.form == "compiled":
        torch.compiler.reset()
        model = torch.compile(model, backend="aot_eager", dynamic=True)
    elif cell.form == "wrapped":
        model = Wrapped(model).eval()
    elif cell.form == "sharded":
        if isinstance(model, Own):
            raise NoSuchModelError("a module of torch alone is not read from files")
        model.save_pretrained(folder, max_shard_size="5KB")
        reads.save_pretrained(folder)
        return str(folder), model.float()  # as files are tried
    return model, model


@torch.no_grad()
def own_logits(model: nn.Module, reads: PreTrainedTokenizerFast, cell: Cell) -> list[Tensor]:
    """Return the logits of each text, ``(C,)``, or of the tokens of each text, ``(T, C)``, as the owner gets them."""
    found = []
    with in_evaluation_mode(model):
        for text in given_to(cell):
            parts = text if isinstance(text, tuple) else (text,)
            output = model(**reads(*parts, return_tensors="pt", is_split_into_words=isinstance(text, list)))
            found.append(getattr(output, "logits", output)[0].float())
    return found


def given_to(cell: Cell) -> list[Any]:
    """Return the texts of a cell: pairs, lists of words, or strings."""
    if cell.head == "tagger":
        return [text.split() for text in TEXTS]
    return list(PAIRS if cell.head == "pair" else TEXTS)


def labels_of(cell: Cell) -> list[Any] | None:
    """Return labels where the trial needs some: of each word, or several of a text."""
    if cell.head == "tagger":
        return [[0 for _ in words] for words in given_to(cell)]
    return [[text % CLASSES] for text in range(len(TEXTS))] if cell.head == "multi-label" else None


def apart(table: Any, own: Sequence[Tensor], head: str) -> float:
    """Return how far the table of a trial is from what the owner gets, at most."""
    if head == "multi-label":
        names = [f"LABEL_{label}" for label in range(CLASSES)]
        probabilities = torch.stack(list(own)).sigmoid()
        rows = [(row["text"], names.index(row["asked"]), row["probability_present"]) for _, row in table.iterrows()]
        if {(text, label) for text, label, _ in rows} < {*map(tuple, (probabilities > 0.5).nonzero().tolist())}:
            return 1.0
        return max(abs(float(probabilities[text, label]) - found) for text, label, found in rows)
    if head == "one number" and "prediction" in table:
        return float((torch.tensor(table["prediction"].to_numpy()) - torch.cat(list(own))).abs().max())
    columns = table.filter(like="probability_")
    found = torch.stack([torch.tensor(np.hstack([*columns[name]])).float() for name in columns], dim=-1)
    if head == "one number":  # of a module of torch alone, which is read as one sigmoid
        return float((found[:, 1] - torch.cat(list(own)).sigmoid()).abs().max())
    return float((found - torch.cat([each.reshape(-1, CLASSES) for each in own]).softmax(dim=-1)).abs().max())


def outcome(cell: Cell) -> tuple[str, str]:
    """Walk a cell: ``agrees``, ``refused``, ``impossible`` or ``neither``, and what was found."""
    reads = tokenizer(ARCHITECTURES[cell.architecture])
    with tempfile.TemporaryDirectory() as folder:
        try:
            tried, owned = formed(model_of(cell, reads), cell, reads, Path(folder))
            own = own_logits(owned, reads, cell)
        except NoSuchModelError as error:
            return "impossible", str(error)
        except Exception as error:  # somebody's architecture may raise anything
            return "impossible", f"its owner cannot run it either ({type(error).__name__}: {said_by(error)})"
        try:
            options: dict[str, Any] = {"tokenizer": reads, "labels": labels_of(cell), "progress": False}
            trial = attest.trial(tried, given_to(cell), {"E2": {"permutations": 1}}, **options)
        except AttestError as error:
            return "refused", str(error)
        except Exception as error:  # this is what is looked for
            return "neither", f"{type(error).__name__}: {said_by(error)}"
    found = apart(trial.table("tagged" if cell.head == "tagger" else "instances"), own, cell.head)
    close = CLOSE if cell.precision == "float32" or cell.form == "sharded" else CLOSE_IN_HALF
    return ("agrees" if found <= close else "neither"), f"{found:.1g} from its own"


def alone(architecture: str) -> list[Cell]:
    """Return the cells of an architecture in which one value at most is not the first of its list."""
    first = Cell(architecture)
    return [first, *(first._replace(**{axis: value}) for axis, values in AXES.items() for value in values[1:])]


def paired(every: Sequence[Cell]) -> list[Cell]:
    """Return some cells in which every pair of two values stands that stands in any: each time the one with most new pairs."""
    wanted = {pair for cell in every for pair in _pairs(cell)}
    chosen = []
    while wanted:
        chosen.append(max(every, key=lambda cell: len(wanted & _pairs(cell))))
        wanted -= _pairs(chosen[-1])
    return chosen


def _pairs(cell: Cell) -> set[Any]:
    return set(combinations(enumerate(cell), 2))


Outcomes = dict[Cell, tuple[str, str]]


def page(outcomes: Outcomes) -> str:
    """Return the page in Markdown: which values each architecture takes, and the reasons where it takes one not."""
    reasons: dict[str, int] = {}

    def mark(cell: Cell) -> str:
        kind, found = outcomes[cell]
        if kind == "agrees":
            return "✓"
        number = reasons.setdefault(found.replace(str(Path(tempfile.gettempdir())), ""), len(reasons) + 1)
        return f"{'**neither**' if kind == 'neither' else '–'} [{number}](#reasons)"

    architectures = list(dict.fromkeys(cell.architecture for cell in outcomes))
    columns = [(axis, value) for axis, values in AXES.items() for value in values]
    head = f"| | {' | '.join(value for _, value in columns)} |"
    rows = [
        f"| {name} | {' | '.join(mark(Cell(name)._replace(**{axis: value})) for axis, value in columns)} |"
        for name in architectures
    ]
    single = {cell for name in architectures for cell in alone(name)}
    combined = {cell: found for cell, found in outcomes.items() if cell not in single}
    others = [f"* {', '.join(cell)}: {mark(cell)}" for cell, (kind, _) in combined.items() if kind != "agrees"]
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "peft"))
    kinds = [kind for kind, _ in outcomes.values()]
    listed = [f"{number}. {_shown(reason)}" for reason, number in reasons.items()]
    return "\n".join([
        "# Which models a trial takes",
        "",
        "```", "python -m benchmarks.matrix  # writes this page", "```",
        "",
        f"With {versions}: {len(outcomes)} tiny random models, each tried on five texts. In {kinds.count('agrees')} cells the "
        "trial's probabilities are those of the model as its owner runs it, to 1e-5, in half precision to 1e-2; "
        f"{kinds.count('refused')} get one sentence; {kinds.count('impossible')} are no models that anybody could run; "
        f"{kinds.count('neither')} are neither.",
        "",
        "## One value changed",
        "",
        "✓: the probabilities are the model's own. –: it is not taken, for the [reason](#reasons) with this number. Each "
        f"column changes one thing: a model that is not named otherwise is {', '.join(Cell('')[1:])}. *Wrapped* is a module "
        "of one's own around the model, *compiled* is by `torch.compile`, *sharded* are files of safetensors, tried in "
        "float32 and with the attention that the library chooses; all other models are given as objects. *One number* is a "
        "head with one logit.",
        "",
        head, "| --- |" + " --- |" * len(columns), *rows,
        "",
        "## Several values changed",
        "",
        f"{len(combined)} more cells walk all pairs of two values that an architecture takes alone. "
        f"{len(combined) - len(others)} agree{'; the others do not:' if others else '.'}",
        *(["", *others] if others else []),
        "",
        "## Reasons", "", *listed, "",
    ])  # fmt: skip


def _expected(cell: Cell, outcomes: Outcomes) -> bool:
    """Return whether each value of a cell is taken alone."""
    first = Cell(cell.architecture)
    return all(outcomes[first._replace(**{axis: getattr(cell, axis)})][0] == "agrees" for axis in AXES)


def _shown(reason: str) -> str:
    """Return a reason with code in it marked as such, for names in Markdown."""
    return reason.replace("__", "\\_\\_").replace("<", "&lt;")


def walked(architectures: Sequence[str], told: Callable[[str], None]) -> Outcomes:
    """Walk all cells of some architectures; ``told`` gets a line about each."""
    outcomes: Outcomes = {}

    def walk(cells: Iterable[Cell]) -> None:
        for cell in cells:
            if cell not in outcomes:
                outcomes[cell] = outcome(cell)
                told(f"{', '.join(cell)}: {': '.join(outcomes[cell])}")

    walk(cell for name in architectures for cell in alone(name))
    every = (Cell(*values) for values in product(architectures, *AXES.values()))
    walk(paired([cell for cell in every if _expected(cell, outcomes)]))
    return outcomes


@transformers_quiet()
def main(names: Sequence[str]) -> int:
    """Walk the matrix and write or print its page; returns 1 where a cell is neither the model itself nor a sentence."""
    warnings.simplefilter("ignore")  # of models that were made up
    torch._logging.set_logs(all=logging.ERROR)
    outcomes = walked(names or list(ARCHITECTURES), lambda line: print(line, flush=True))
    if names:
        print(page(outcomes))
    else:
        PAGE.write_text(page(outcomes), encoding="utf-8")
    return int(any(kind == "neither" for kind, _ in outcomes.values()))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
