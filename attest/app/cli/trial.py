"""``attest trial``: a Hugging Face Transformer of yours on trial, without training.

    attest trial --model my-model --data reviews.csv LOGGER=wandb
    attest trial --model distilbert-base-uncased-finetuned-sst-2-english --data reviews.csv E2 E3 --texts 200
    attest trial --model my-model --data reviews.csv --json | jq '."E2/tvd_median/mean"'
    attest trial --model my-llama --data reviews.csv --prompt "{text}\\nThis is" --labels good=" good",bad=" bad"

The model is a folder that save_pretrained wrote, or an id on the Hub, and was fine-tuned to classify texts or tokens. The
model may also be a causal language model, which gets a prompt about each text and decides by the first tokens of the answers.
The data are a CSV, TSV, JSONL or parquet file with a column of texts and a column of labels, or a corpus: sst, imdb, 20news
or agnews. A model that classifies tokens needs words with one tag each: a file, or conll2000. A model for pairs needs two
columns of texts. A model that answers questions needs questions, passages and answers, as SQuAD has them. A model of multiple
choice needs texts, the choices of each, and the right one by its number from 0 or its letter. A model with several labels for
a text needs a column of lists, of labels separated by commas, or, for each label, a column of 0 and 1 that has its name. A
model that gives one number, such as a regression or a reranker, needs a column of numbers.

Experiments change attention in each layer alone and in all layers together. They shuffle attention (E2), search for other
attention (E3), replace the projection (E8), shuffle the keys (E9), cut edges in a decoder (E16) or switch off heads (E17).
E1, E14 and E15 ask what attention rollout says about the tokens of a text, and E19 which words decide. If you name no
experiment, the trial runs E19, on which the verdict rests, and E1; ``all`` runs every experiment that suits the model.
"""

import hashlib
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lightning_utilities.core.rank_zero import rank_zero_only

from attest.app.cli.main import TORCHRUN, CommandParser
from attest.app.places import beside
from attest.app.trial_folder import claimed, default_folder, keep_options, options_of
from attest.core import kinds
from attest.core.catalogue import require_source
from attest.core.errors import AttestError, needing_transformers, unknown_choice
from attest.core.hub import missing_model
from attest.runs.choices import TypedWords, take_words
from attest.runs.folder import RunFolder

if TYPE_CHECKING:
    from attest.app.api.trials import Trial
    from attest.datamodules.labelled import Labelled

LOGGERS = ("none", "wandb")
SHOWN_IN_FULL = 10
HALF = ("bfloat16", "float16")
LABELS = (
    "the names of the classes in the data, in the order of the model's classes, such as negative,positive; with --prompt, "
    'the answer for each label, such as positive=" good",negative=" bad"'
)
SECOND = (
    "the column of the second text of a pair, of the passages, or of the choices (if these have a column each: all of them, "
    "with commas between); guessed by its name if not given"
)
POOLED = (
    "how the windows of a text give one decision: by the mean of their logits (mean, the default), the largest logit of each "
    "class (max), or the mean of their probabilities (mean-of-probabilities)"
)
EXPLANATION = (
    "a parquet file with explanations of your own: a column of texts and, for each explanation, a column of lists with one "
    "number for each token or word"
)
PROMPT = "the prompt for a causal language model, with {text} in it; type \\n for a new line"
ALL = "all"
EXPERIMENT = re.compile(r"E\d+", re.IGNORECASE)


def main(arguments: list[str]) -> int:
    words, typed = _typed(arguments)
    wanted = [name.upper() for name in typed.experiments]
    _require_writable(typed.out)
    folder, options, force = RunFolder(typed.out), options_of(vars(typed)), words.flag("FORCE")
    with redirect_stdout(sys.stderr) if typed.json else nullcontext(), _torchrun() as rank:
        tried = _prepared(typed, wanted, rank)
        if rank:  # the first process writes what all have measured
            tried.trial()
            return 0
        with claimed(folder, options, force), beside(folder.path):
            found = tried.trial()
            keep_options(found.folder, folder, arguments, options)
            found.write_into(folder)
        _tell(tried, folder, bool(wanted))
        if words.text("LOGGER") == "wandb":
            _log(folder, typed)
        _tell_verdict(folder)
    if typed.json:
        print(folder.summary.read_text(encoding="utf-8"), end="", flush=True)
    return 0


def _typed(arguments: list[str]) -> tuple[TypedWords, Namespace]:
    """Return the choices and the options that were typed; refuse what no trial can be asked."""
    words, rest = take_words(arguments)
    if unknown := [f"{name}={value}" for name, value in words.typed.items() if name not in ("LOGGER", "FORCE")]:
        option, _, value = unknown[0].partition("=")
        hint = f" Type --{option.lower()} {value}" if f"--{option.lower()}" in _parser().format_help() else ""
        raise AttestError(
            f"{unknown[0]!r} is not known here; expected LOGGER=wandb or FORCE=1, the choices of this command.{hint}"
        )
    if words.text("LOGGER", "none") not in LOGGERS:
        raise unknown_choice("LOGGER", words.text("LOGGER"), LOGGERS, "attest trial LOGGER={}")
    typed = _parser().parse_args(rest)
    if other := [name for name in typed.experiments if name != ALL and not EXPERIMENT.fullmatch(name)]:
        raise AttestError(f"{other[0]} is not an experiment; expected E1, E2, … Type: attest trial --model … --data … E2")
    if typed.second_column is not None and typed.prompt is not None:
        raise AttestError("a prompt contains one text, and --second-column names a second text. Leave --second-column out.")
    for option, number in (("--texts", typed.texts), ("--verdict-texts", typed.verdict_texts)):
        if number is not None and number < 1:
            raise AttestError(f"{option} {number} was typed; expected a whole number from 1.")
    if typed.verdict_texts is not None and typed.experiments and "E19" not in map(str.upper, typed.experiments):
        raise AttestError(
            f"--verdict-texts {typed.verdict_texts} was typed, and E19, on which the verdict rests, was not named; expected "
            "E19 among the experiments, or no experiment. Type: attest trial --model … --data … E1 E19"
        )
    typed.out = typed.out or default_folder(typed.model, typed.data)
    return words, typed


def _require_writable(out: Path) -> None:
    nearest = next(place for place in (out.absolute(), *out.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        reason = "may not be written" if nearest.is_dir() else "is no folder"
        raise AttestError(
            f"{out} cannot be written: {nearest} {reason}; expected a folder that can be created. Name another folder."
        )


def _torchrun() -> AbstractContextManager[int | None]:
    if TORCHRUN not in os.environ:
        return nullcontext()
    from attest.core.processes import group_of_torchrun  # takes seconds to import

    return group_of_torchrun()


@dataclass(frozen=True)
class _Prepared:
    """A trial whose model and texts were loaded, so that most mistakes in its command have been found."""

    trial: "Callable[[], Trial]"
    data: "Labelled"


def _prepared(typed: Namespace, wanted: list[str], rank: int | None) -> _Prepared:
    """Load model and texts.

    Args:
        rank: the rank among the processes that torchrun has started, which share the texts; None without torchrun.
    """
    if rank is not None:
        cast(Any, rank_zero_only).rank = rank  # the others have the same to say
    _require_reach(typed)
    with needing_transformers():
        from attest.models.pretrained.heads import kind_saved
        from attest.models.pretrained.loading import config_tried
    from attest.datamodules.forms import form_for
    from attest.datamodules.instances import FileOptions
    from attest.datamodules.labelled import labelled
    from attest.datamodules.notice import say

    config = config_tried(typed.model)
    if (precision := str(config.dtype).removeprefix("torch.")) in HALF:
        say(f"{typed.model} is kept in {precision}, and is tried in float32: probabilities differ a little from its own.")
    kind = kinds.CLASSES if typed.prompt is not None else kind_saved(config)
    if not kind.named and typed.labels is not None:
        raise AttestError(f"--labels names classes, and {typed.model} has none; leave --labels out.")
    names = tuple(_names(typed.labels, config)) if kind.asks else ()
    of_files = ("text_column", "label_column", "encoding", "on_bad_rows", "second_column")
    named = {option: getattr(typed, option) for option in of_files}
    groups = tuple(dict.fromkeys(typed.group_column))
    how = FileOptions(**named, form=form_for(kind, names), pairs=typed.prompt is None, groups=groups)
    data = labelled(typed.data, typed.split, typed.texts, how)
    import torch

    from attest.app.api.trials import trial
    from attest.core.devices import device_named
    from attest.core.memory import cores, processes_that_fit
    from attest.core.processes import require_alike

    device = device_named(typed.device or "cpu")
    torch.set_num_threads(1)  # one process a core instead
    model, tokenizer, options = _loaded(typed, data, kind)
    readings = None if typed.readings is None else [name.strip() for name in typed.readings.split(",")]
    processes = 1 if device.type == "cuda" else typed.processes or min(cores(), processes_that_fit())
    if rank is not None:
        files = [Path(file).read_bytes() for file in (typed.rationales, typed.explanation) if file is not None]
        require_alike(
            weights=_digest_of_weights(model),
            texts=_digest([data.texts, data.labels, data.groups]),
            explanations_or_rationales=_digest(files),
            options=_digest([wanted, _of_trial(typed)]),
        )
    taken = ("window", "stride", "pooled", "reading", "rationales", "seed", "batch_size", "until")
    made = partial(
        trial,
        model,
        data.texts,
        ALL if ALL.upper() in wanted else _with_texts(wanted, typed.verdict_texts),
        tokenizer=tokenizer,
        device=device,
        explanations=typed.explanation,
        readings=readings,
        groups=data.groups or None,
        name=f"{Path(typed.model).name} on {Path(typed.data).name if Path(typed.data).is_file() else data.whence}",
        processes="ranks" if rank is not None else processes,
        **{option: getattr(typed, option) for option in taken},
        **options,
    )
    return _Prepared(made, data)


ON_EACH_MACHINE = ("model", "data", "out", "rationales", "explanation", "device", "processes", "json", "upload_texts")
"""The options of ``attest trial`` that may differ between the machines that share one trial. They are paths of files, whose
contents are compared instead, or options that change no result."""


def _of_trial(typed: Namespace) -> dict[str, Any]:
    return {name: value for name, value in vars(typed).items() if name not in ON_EACH_MACHINE}


def _digest(content: Any) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()


def _digest_of_weights(model: Any) -> str:
    import torch

    digest = hashlib.sha256()
    for name, weights in model.state_dict().items():
        digest.update(name.encode())
        digest.update(weights.detach().cpu().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def _require_reach(typed: Namespace) -> None:
    """Refuse a model and a corpus that cannot be had on this machine, before libraries that take seconds are imported."""
    if (missing := missing_model(typed.model)) is not None:
        raise AttestError(
            f"{typed.model} is neither a local folder nor a model that can be loaded from the Hub ({missing}); expected a "
            "folder that save_pretrained wrote, or the id of a model on the Hub and a network. Type: attest trial --model "
            "<folder or Hub id> --data <file>"
        )
    if not Path(typed.data).exists():
        require_source(typed.data)


def _with_texts(wanted: Sequence[str], most: int | None) -> list[str] | dict[str, dict[str, int]] | None:
    """Return the experiments of a trial; with the most texts that E19 may read, where they were typed."""
    from attest.experiments.verdict import NEEDED

    if most is None:
        return [*wanted] or None
    return {name: {"texts": most} if name == "E19" else {} for name in wanted or NEEDED}


def _log(folder: RunFolder, typed: Namespace) -> None:
    """Log a trial to W&B; texts of the user's own data only if ``--upload-texts`` was typed."""
    from attest.datamodules.labelled import is_corpus
    from attest.report.findings import Findings
    from attest.report.tracking.wandb_report import log_trial  # W&B takes seconds

    texts = typed.upload_texts or is_corpus(typed.data)
    if not texts:
        print(
            "W&B gets the numbers, settings and figures of this trial, and none of your texts: the report and the table of "
            "texts are left out. Add --upload-texts to log texts, too.",
            flush=True,
        )
    print(f"W&B:        {log_trial(Findings(folder), typed.model, texts)}", flush=True)


def _tell(tried: _Prepared, folder: RunFolder, named: bool) -> None:
    """Print what came out; the answers of experiments only where somebody has ``named`` experiments."""
    from attest.report.findings import Findings

    data = tried.data
    for name, answer in Findings(folder).answers.items() if named else ():
        print(f"{name:<5}{answer}")
    some = f"a random sample of {len(data.texts)} of the" if len(data.texts) < data.of else "all"
    print(f"Texts:      {some} {data.of} in {data.whence}")
    print(f"Folder:     {folder.path}\nReport:     {folder.report}", flush=True)


def _tell_verdict(folder: RunFolder) -> None:
    from attest.report.findings import Findings
    from attest.report.shown import terminal_lines

    found = Findings(folder)
    for line in terminal_lines(found) or [f"Verdict:    {found.unanswered}"]:
        print(line, flush=True)


def _loaded(typed: Namespace, data: "Labelled", kind: kinds.Kind) -> tuple[Any, Any, dict[str, Any]]:
    with needing_transformers():
        from attest.models.pretrained.loading import load
        from attest.models.pretrained.prompted import EXAMPLE, prompt_typed
    if typed.prompt is None:
        model, tokenizer = load(typed.model)
        if not kind.named:
            return model, tokenizer, {"labels": data.labels}
        names = _names(typed.labels, model.config)
        ways = [",".join(map(str, range(first, first + len(names)))) for first in (0, 1)]
        counted = f" For numbers type --labels {ways[0]} or --labels {ways[1]}." if len(names) <= SHOWN_IN_FULL else ""
        found = sorted(data.every)
        fit = len(found) == len(names) and not any(name.isdigit() for name in found)
        example = ",".join(found if fit else ("negative", "positive"))
        order = f"Type the labels of the data in the order of the classes of the model: --labels {example}.{counted}"
        return model, tokenizer, {"labels": data.called(names, order), "label_names": names}
    asked = prompt_typed(typed.prompt, typed.labels)
    labels = data.called(list(asked.answers), f"Give an answer for every label: {EXAMPLE}", numbered=False)
    return *load(typed.model, prompted=True), {"labels": labels, "prompt": asked.template, "answers": asked.answers}


def _names(typed: str | None, config: Any) -> list[str]:
    from attest.core.labels import class_names, names_of

    if typed is None:
        return class_names(config)
    names = list(names_of(name.strip() for name in typed.split(",")))
    if len(names) != config.num_labels:
        raise AttestError(
            f"--labels names {len(names)} labels for {config.num_labels} classes ({', '.join(config.id2label.values())}); "
            "expected one label for each class, in this order. Type for example: --labels negative,positive"
        )
    return names


def _parser() -> CommandParser:
    parser = CommandParser("attest trial", __doc__)
    parser.add_argument("experiments", nargs="*", help="E1, E2, …, or all; by default the experiments that the verdict needs")
    parser.add_argument("--model", required=True, help="a folder that save_pretrained wrote, or an id on the Hub")
    parser.add_argument(
        "--data", required=True, help="a CSV, TSV, JSONL or parquet file, or sst, imdb, 20news, agnews, conll2000"
    )
    parser.add_argument(
        "--split",
        default="test",
        help="the split of a corpus or of a dataset on the Hub: train, validation or test; by default test",
    )
    parser.add_argument("--text-column", help="the column of texts; guessed if not given")
    parser.add_argument("--second-column", help=SECOND)
    parser.add_argument("--label-column", help="the column of labels; guessed if not given")
    parser.add_argument(
        "--group-column",
        action="append",
        default=[],
        help="a column with what you know of each text, such as its source: the page asks in which groups attention is right; "
        "may be typed several times",
    )
    parser.add_argument("--encoding", default="utf-8", help="the encoding of a CSV, TSV or JSONL file; by default utf-8")
    parser.add_argument(
        "--on-bad-rows",
        choices=("refuse", "skip"),
        default="refuse",
        help="if the file has bad rows, refuse the file (the default) or skip these rows",
    )
    parser.add_argument(
        "--window",
        type=int,
        help="cut long texts into windows of this many tokens, including special tokens; without --window, texts that are "
        "too long are truncated",
    )
    parser.add_argument(
        "--stride", type=int, default=0, help="the number of tokens that a window shares with the next window; by default 0"
    )
    parser.add_argument("--pooled", default="mean", help=POOLED)
    parser.add_argument("--labels", help=LABELS)
    parser.add_argument(
        "--upload-texts",
        action="store_true",
        help="with LOGGER=wandb, log texts of your own data, too: the report, and a table",
    )
    parser.add_argument("--explanation", help=EXPLANATION)
    parser.add_argument(
        "--rationales", help="a parquet file with words that people marked: a column of texts and a column called rationales"
    )
    parser.add_argument(
        "--reading", help="the explanation that the experiments E1, E11, E12 and E14 test instead of attention"
    )
    parser.add_argument(
        "--readings",
        help="the explanations that the experiment E15 compares with attention, with commas between them; by "
        "default all that suit the model",
    )
    parser.add_argument("--prompt", help=PROMPT)
    parser.add_argument(
        "--texts", type=int, default=200, help="the largest number of texts, drawn at random from the data; by default 200"
    )
    parser.add_argument(
        "--verdict-texts",
        type=int,
        help="the most texts that E19 reads for the verdict, also 600 after a “cannot tell”; by default 160, and never more "
        "than --texts",
    )
    parser.add_argument("--batch-size", type=int, default=32, help="the number of texts in a batch; by default 32")
    parser.add_argument(
        "--device", help="the device of the model: cpu (the default), cuda or cuda:1; on a GPU, Attest uses one process"
    )
    parser.add_argument("--seed", type=int, default=0, help="the seed of random draws; by default 0")
    parser.add_argument(
        "--until",
        type=float,
        help="stop an experiment when its means over texts are known to ± this number, such as 0.01 (95 %% confidence)",
    )
    parser.add_argument(
        "--processes", type=int, help="the number of processes; by default one for each core. Those of torchrun share texts"
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="the folder for tables and report; by default runs/trial/<model>/<data>. The same command writes it again",
    )
    parser.add_argument(
        "--json", action="store_true", help="print only summary.json on standard output, and the rest on standard error"
    )
    return parser
