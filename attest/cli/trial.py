"""``attest trial``: a Hugging Face Transformer of yours on trial, without training anything.

    attest trial --model my-model --data reviews.csv LOGGER=wandb
    attest trial --model distilbert-base-uncased-finetuned-sst-2-english --data reviews.csv E2 E3 --texts 200
    attest trial --model my-llama --data reviews.csv --prompt "{text}\\nThis is" --labels good=" good",bad=" bad"

The model classifies texts and was fine-tuned already: a folder that save_pretrained wrote, or an id on the Hub. Or it is a
causal language model that is asked a prompt about each text, and decides by the first tokens of the labels' answers. The data
are a CSV, TSV, JSONL or parquet file with a column of texts and one of labels. Evidence is gathered in every layer and in all
together: who shuffles attention (E2), searches for another (E3), swaps the projection (E8), shuffles the keys (E9), cuts a
decoder's edges (E16); what attention rollout says of the tokens (E1, E14, E15). Without any experiment named, all that make
sense for the model are meant.
"""

import re
from argparse import Namespace
from pathlib import Path
from typing import Any

from attest.cli.command_parser import CommandParser
from attest.compute.cores import cores
from attest.errors import AttestError, unknown_choice
from attest.pretrained.needed import needing_transformers
from attest.runs.words import take_words

LOGGERS = ("none", "wandb")
LABELS = (
    "which label is class 0, 1, … of the model, where names differ: negative,positive; with --prompt what the model answers "
    'for each: positive=" good",negative=" bad"'
)
NEWLINE = r"\n"
"""As it is typed in a prompt."""
EXPERIMENT = re.compile(r"E\d+", re.IGNORECASE)


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code.

    Args:
        arguments: what follows ``attest trial``.
    Raises:
        AttestError: the model or the data cannot be read, or do not fit one another.
    """
    parser = _parser()
    words, rest = take_words(arguments)
    if unknown := [f"{name}={value}" for name, value in words.typed.items() if name != "LOGGER"]:
        raise AttestError(f"{unknown[0]} was typed; expected LOGGER=wandb or nothing of the kind.")
    if words.text("LOGGER", "none") not in LOGGERS:
        raise unknown_choice("LOGGER", words.text("LOGGER"), LOGGERS, "attest trial LOGGER={}")
    typed = parser.parse_args(rest)
    wanted = [name.upper() for name in typed.experiments]
    if other := [name for name in typed.experiments if not EXPERIMENT.fullmatch(name)]:
        raise AttestError(f"{other[0]} is no experiment; expected E1, E2, … Type: attest trial --model … --data … E2")
    if typed.out.exists() and any(typed.out.iterdir() if typed.out.is_dir() else [typed.out]):
        raise AttestError(f"{typed.out} is there already; expected a new folder. Give another: --out=<folder>")
    texts, labels = _read(typed.data, typed.texts, typed.text_column, typed.label_column)
    import torch

    import attest
    from attest.compute.memory import processes_that_fit

    torch.set_num_threads(1)  # one process a core instead
    model, tokenizer, options = _loaded(typed, labels)
    processes = typed.processes or min(cores(), processes_that_fit())
    options |= {"processes": processes, "seed": typed.seed, "batch_size": typed.batch_size}
    tried = attest.trial(model, texts, wanted or None, tokenizer=tokenizer, **options)
    for line in repr(tried).splitlines()[1:]:
        print(line)
    kept = tried.save(typed.out)
    print(f"Folder:     {kept.folder.path}\nReport:     {kept.folder.report}", flush=True)
    if words.text("LOGGER") == "wandb":
        from attest.tracking.trials import log_trial  # W&B takes seconds

        print(f"W&B:        {log_trial(kept.folder, typed.model)}", flush=True)
    return 0


def _loaded(typed: Namespace, labels: list[str]) -> tuple[Any, Any, dict[str, Any]]:
    """The model, its tokenizer, and what a trial is told of the labels, and of the prompt where there is one."""
    with needing_transformers():
        from attest.pretrained.labels import as_classes, class_names
        from attest.pretrained.loading import load
        from attest.pretrained.prompted import Prompt, answers_typed
    if typed.prompt is None:
        model, tokenizer = load(typed.model)
        order, names = typed.labels.split(",") if typed.labels else [], class_names(model.config)
        return model, tokenizer, {"labels": as_classes(labels, names, order), "label_names": order or names}
    asked = Prompt(typed.prompt.replace(NEWLINE, "\n"), answers_typed(typed.labels or ""))
    told = {"labels": asked.classes(labels), "prompt": asked.template, "answers": asked.answers}
    return *load(typed.model, prompted=True), told


def _parser() -> CommandParser:
    parser = CommandParser("attest trial", __doc__)
    parser.add_argument("experiments", nargs="*", help="E1, E2, …; all that make sense if none is named")
    parser.add_argument("--model", required=True, help="a folder that save_pretrained wrote, or an id on the Hub")
    parser.add_argument("--data", required=True, help="a CSV, TSV, JSONL or parquet file with texts and labels")
    parser.add_argument("--text-column", help="the column of texts; guessed if not given")
    parser.add_argument("--label-column", help="the column of labels; guessed if not given")
    parser.add_argument("--labels", help=LABELS)
    parser.add_argument(
        "--prompt", help=f"what a causal language model is asked, with {{text}} in it; {NEWLINE} is a new line"
    )
    parser.add_argument("--texts", type=int, default=200, help="at most so many texts, evenly spread over the file; 200")
    parser.add_argument("--batch-size", type=int, default=32, help="texts read at once; 32")
    parser.add_argument("--seed", type=int, default=0, help="of random draws; 0")
    parser.add_argument("--processes", type=int, help="how many share the work; one a core")
    parser.add_argument("--out", type=Path, default=Path("runs/trial"), help="a new folder for tables and report; runs/trial")
    return parser


def _read(source: str, most: int, text_column: str | None, label_column: str | None) -> tuple[list[str], list[str]]:
    """Texts and labels of a file, at most so many, evenly spread over it; bad rows are refused."""
    import numpy as np

    from attest.datamodules.bad_rows import complaint
    from attest.datamodules.columns import choose_columns
    from attest.datamodules.instances import instance
    from attest.datamodules.rows import read_rows

    if most < 1:
        raise AttestError(f"--texts {most} was typed; expected a whole number from 1.")
    rows = read_rows(source, "test")
    if not rows:
        raise AttestError(f"{source} has no rows, only a header or nothing; expected texts with labels.")
    columns = choose_columns(source, rows, text_column, label_column, False)
    spread = np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(int)
    chosen = [instance(rows[place], columns) for place in spread]
    if any(row.problem for row in chosen):
        raise AttestError(f"{complaint(source, chosen)} Expected a text and a label in every row. Mend these rows.")
    texts = [row.text if isinstance(row.text, str) else " ".join(row.text or []) for row in chosen]
    return texts, [str(row.label) for row in chosen]
