"""``attest doctor``: what is installed, and what would stop a run.

    attest doctor                     # the machine, the packages, the corpora, W&B, the disk
    attest doctor imdb --root runs    # … and whether a run on IMDb can begin
    attest doctor --model my-model    # whether your Transformer can be put on trial, and with which experiments
    attest doctor --model my-llama --prompt "{text}\\nThis is" --labels good=" good",bad=" bad"    # … with a prompt

The command trains nothing.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from huggingface_hub import constants
from requests.utils import get_netrc_auth
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from attest.app.cli.main import CommandParser
from attest.app.cli.trial import PROMPT
from attest.core.catalogue import CATALOGUE, DATA_VARIABLE
from attest.core.errors import AttestError, needing_transformers, own_requirements, unknown_choice
from attest.core.hub import within_reach
from attest.core.memory import CACHE_VARIABLE, cache_folder
from attest.experiments.registry import INSIDE, askable, suited
from attest.runs.versions import NOT_INSTALLED, environment, installed_version

LEAST_DISK_GIB, AMPLE_DISK_GIB = 0.1, 2.0
"""GiB of free disk space: below the first, which a small run writes, a folder is reported as too full; from the second on, it
has enough for a run on IMDb with all experiments."""
GIB = 1 << 30
COLOURS = {"fine": "green", "note": "yellow", "stops": "bold red"}


@dataclass(frozen=True)
class Finding:
    """A row of the table that the command ``attest doctor`` prints."""

    what: str
    found: str
    verdict: str = "fine"
    """How serious the finding is: ``fine``; ``note``, good to know; or ``stops``, a run could not begin or end."""


def main(arguments: Sequence[str]) -> int:
    """Print the table of findings about this machine or a model; return 1 if a finding would stop a run, else 0."""
    parser = CommandParser("attest doctor", __doc__)
    parser.add_argument("corpora", nargs="*", help=f"check that these corpora are available: any of {', '.join(CATALOGUE)}")
    parser.add_argument("--root", type=Path, default=Path("runs"), help="the folder for runs")
    parser.add_argument("--model", help="check only this Transformer: a folder or an id on the Hub")
    parser.add_argument("--prompt", help=PROMPT)
    parser.add_argument("--labels", help='with --prompt, the answer for each label: positive=" good",negative=" bad"')
    typed = parser.parse_args(list(arguments))
    if typed.model:
        show([Finding(what, found) for what, found in model(typed.model, typed.prompt, typed.labels)], "a trial")
        return 0
    if typed.prompt is not None:
        raise AttestError(
            "--prompt was typed without --model; expected a model that answers the prompt. Add --model=<folder or Hub id>"
        )
    for name in typed.corpora:
        if name not in CATALOGUE:
            raise unknown_choice("The corpus", name, CATALOGUE, "attest doctor {}")
    findings = [*packages(), *machine(), *corpora(typed.corpora), *wandb_state(), *folders(typed.root)]
    show(findings)
    return int(any(finding.verdict == "stops" for finding in findings))


def show(findings: Sequence[Finding], stopped: str = "a run") -> None:
    """Print the table of findings, and a sentence that names the findings that would stop a run."""
    table = Table("", "found", "", title="attest doctor", title_justify="left")
    for finding in findings:
        table.add_row(finding.what, escape(finding.found), f"[{COLOURS[finding.verdict]}]{finding.verdict}[/]")
    console = Console()
    console.print(table)
    stopping = [finding.what for finding in findings if finding.verdict == "stops"]
    told = ", ".join(stopping) or "nothing that can be seen from here"
    console.print(f"What would stop {stopped}: {told}.", highlight=False)


LEFT_OUT = {
    "attends_everywhere": "tokens see only what stands before them; it would let them look ahead",
    "moves_keys": "the softmax of its attention alone is reached, not its keys",
    "shows_values": "the softmax of its attention alone is reached, not its values",
    "shows_outputs": "what each of its heads hands on is not seen",
}
"""Why some experiments are left out for a model: the keys are capabilities that these experiments need, the values the reason
if the model lacks the capability."""
DECIDES = {
    "first": "at its first token",
    "last": "at its last token",
    "all": "at all of its tokens",
    "step": "at a step of its decoder, whose cross-attention over the text is on trial",
}


def model(name: str, prompt: str | None = None, labels: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield the properties of a Transformer as pairs of name and value, after the model has read a sample text."""
    with needing_transformers():
        from attest.app.api.foreign import read_by
        from attest.models.pretrained.loading import load
        from attest.models.pretrained.prompted import prompt_typed
        from attest.models.pretrained.texts import longest_read, shown_tokens
    asked = None if prompt is None else prompt_typed(prompt, labels)
    model, tokenizer = load(name, prompted=asked is not None)
    network, _, _, classes = read_by(model, tokenizer, None, None, None, asked)
    yield "model", f"{type(model).__name__}, {sum(each.numel() for each in model.parameters()):,} parameters"
    if not network.kind.chooses:
        yield "says", "one number of each text"
    else:
        yield "labels" if network.kind.asks else "classes", ", ".join(classes)
    if asked is not None:
        yield "prompt", f"takes {len(tokenizer(asked.about(''), verbose=False)['input_ids'])} tokens beside the text"
        first = shown_tokens(tokenizer, asked.first_tokens(tokenizer, model.config.is_encoder_decoder))
        pairs = zip(asked.answers.items(), first, strict=True)
        told = (f"{label}: {answer!r}, told by its first token {token!r}" for (label, answer), token in pairs)
        yield "answers", "; ".join(told)
    heads = ", ".join(dict.fromkeys(str(call.heads) for call in network.calls))
    yield "attention", f"computed {len(network.calls)} times in a pass, {heads} heads"
    yield "decides", DECIDES[network.decides_by]
    yield "reads", f"{longest_read(model, tokenizer)} tokens of a text at most"
    whole = [name for name in askable(inside=True) if name not in askable(inside=True, kind=network.kind)]
    yield "experiments", ", ".join(suited(network))
    for needed, why in LEFT_OUT.items():
        if left_out := [each.id for each in INSIDE.values() if each.needs == needed and not each.suits(network)]:
            yield "left out", f"{', '.join(left_out)}: {why}"
    if whole:
        why = "they ask what a whole text's decision rests on; each token is decided by itself"
        yield "left out", f"{', '.join(whole)}: {why}"


def packages() -> Iterator[Finding]:
    """Yield findings about the versions of packages, and about required packages that are missing or too old."""
    for name, found in environment().items():
        yield Finding(name, found)
    for requirement in own_requirements():
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        found = installed_version(requirement.name)
        if found == NOT_INSTALLED or not requirement.specifier.contains(found, prereleases=True):
            yield Finding(requirement.name, f"{found}; expected {requirement}; type: make setup", "stops")


def machine() -> Iterator[Finding]:
    """Yield findings about the devices, the memory and ``OMP_WAIT_POLICY``, which says how idle threads wait."""
    gpus = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    apple = ["mps"] if torch.backends.mps.is_available() else []
    yield Finding("devices", ", ".join([f"CPU with {os.cpu_count()} cores", *gpus, *apple]))
    if sys.platform != "win32":  # which has no sysconf
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIB
        yield Finding(
            "memory", f"{pages:.1f} GiB; evidence takes 1 GiB of it, or --run.memory_gib", "note" if pages < 4 else "fine"
        )
    policy = os.environ.get("OMP_WAIT_POLICY", "unset")
    spinning = policy.upper() != "PASSIVE"
    advice = "; PASSIVE keeps idle threads from spinning: export OMP_WAIT_POLICY=PASSIVE" if spinning else ""
    yield Finding("OMP_WAIT_POLICY", f"{policy}{advice}", "note" if spinning else "fine")


def corpora(wanted: Sequence[str]) -> Iterator[Finding]:
    """Yield for each corpus a finding that says from which local folder or public source it would be loaded."""
    folder = os.environ.get(DATA_VARIABLE)
    for name, source in CATALOGUE.items():
        if folder:
            place = Path(folder).expanduser() / name
            missing = ", ".join(file for file, found in source.found(place).items() if not found)
            there = not missing
            where = f"{place} ({DATA_VARIABLE})" if there else f"{place} lacks {missing}; correct or unset {DATA_VARIABLE}"
        else:
            where = f"{source.hub} on the Hugging Face Hub" if source.hub else source.archive
            there = _within_reach(constants.ENDPOINT if source.hub else source.archive)
            where += "" if there else f", out of reach now; an earlier download would serve, else set {DATA_VARIABLE}"
        yield Finding(f"DATA={name}", where, "fine" if there else "stops" if name in wanted else "note")
    yield Finding("DATA=planted", "made on the spot")


@cache
def _within_reach(url: str) -> bool:
    return within_reach(url)


def wandb_state() -> Iterator[Finding]:
    """Yield a finding that says how runs would be logged to W&B, without showing the API key."""
    mode = os.environ.get("WANDB_MODE")
    if mode:
        state = f"WANDB_MODE={mode}"
    elif "WANDB_API_KEY" in os.environ or get_netrc_auth("https://api.wandb.ai"):
        state = "logged in: runs are sent as they go"
    else:
        state = "not logged in: runs are logged offline; `attest sync <run folder>` sends them later"
    yield Finding("Weights & Biases", state)


def folders(root: Path) -> Iterator[Finding]:
    """Yield findings about whether the folders of runs and of downloads are writable and have free space."""
    runs = ("runs", root, "--run.root=<folder>", "stops")
    downloads = ("downloads", cache_folder(), f"{CACHE_VARIABLE}=<folder>", "note")
    for what, folder, option, verdict in (runs, downloads):
        nearest = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())
        try:
            with tempfile.NamedTemporaryFile(dir=nearest, prefix=".attest-doctor."):
                free = shutil.disk_usage(nearest).free / GIB
        except OSError as error:
            yield Finding(what, f"{folder} cannot be written ({error.strerror}); give another with {option}", verdict)
            continue
        if free < LEAST_DISK_GIB:
            yield Finding(what, f"{folder} has {free:.2f} GiB left; free some, or give another with {option}", verdict)
        else:
            yield Finding(what, f"{folder}, {free:.1f} GiB free", "note" if free < AMPLE_DISK_GIB else "fine")
