"""The training and evaluation of a configured run, from the first batch to the report. ``train`` calls all steps; ``attest
fit``, ``attest.train`` and every dependent run call ``train``. The number of processes that share the test texts changes the
time and never the numbers.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pandas as pd
import torch
from lightning_utilities.core.rank_zero import rank_zero_only
from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks import WeightAveraging
from pytorch_lightning.plugins.environments import LightningEnvironment
from pytorch_lightning.strategies import DDPStrategy
from pytorch_lightning.utilities.exceptions import SIGTERMException

from attest.app.configured import ConfiguredRun
from attest.core.errors import AttestError
from attest.core.memory import cores, processes_that_fit
from attest.core.processes import can_fork, together
from attest.datamodules import TextDataModule
from attest.datamodules.notice import say
from attest.experiments.registry import EXPERIMENTS
from attest.experiments.stopping import read_until
from attest.lightning_modules.text_module import TextModule
from attest.report.controls import last_words
from attest.report.findings import Findings, write_summary
from attest.report.illustrations import illustrations
from attest.report.measured import scored
from attest.report.page import write_report
from attest.report.shown import terminal_lines
from attest.report.summary import summarise_run
from attest.report.tracking.loggers import log_report
from attest.runs.belonging import OnTrial, keep_digests
from attest.runs.folder import RunFolder, Stopped, read_json, write_json
from attest.runs.versions import peak_memory


class _Connected(LightningEnvironment):
    """A Lightning environment for one of several processes on this machine that are already connected."""

    creates_processes_externally = True

    def __init__(self, rank: int) -> None:
        super().__init__()
        self._rank = rank

    def local_rank(self) -> int:
        return self._rank


def write_early_tables(run: ConfiguredRun, trainer: Trainer, tested: Mapping[str, Any]) -> None:
    """Write the tables of experiments that may stop before all texts are read, and disable these experiments.

    ``tested`` is what ``Trainer.test`` takes. An experiment stops when all its means are known to ± ``run.until``.
    """
    data, experiments = _require_parts(run.datamodule, trainer), run.experiments
    asked = [name for name, evidence in experiments.items() if evidence.enabled_on_test]
    seconds: dict[str, float] = defaultdict(float)

    def enable(names: Collection[str]) -> None:
        for name, evidence in experiments.items():
            evidence.enabled_on_test = name in names

    def measure(texts: list[int], going: Collection[str]) -> dict[str, pd.DataFrame]:
        enable(going)
        data.part = texts
        trainer.test(**tested, verbose=False, weights_only=True)
        for name in going:
            seconds[name] += experiments[name].seconds
        return {name: experiments[name].table for name in going}

    stoppable = [name for name in asked if name in EXPERIMENTS and not experiments[name].draws_a_sample]
    loggers, trainer.loggers = trainer.loggers, []
    for evidence in experiments.values():
        evidence.folder = None  # a part of the split is no table
    try:
        early = read_until(run.run.until, stoppable, torch.tensor(data.test.ids), data.seed, measure)
    finally:
        data.part, trainer.loggers = None, loggers
        for evidence in experiments.values():
            evidence.folder = run.folder
    for name, table in early.items():
        stopped = Stopped(run.run.until, table.rule.found())
        experiments[name].write(run.folder, trainer, table.rows, seconds[name], stopped)
    enable({*asked} - early.keys())


def _require_parts(data: Any, trainer: Trainer) -> TextDataModule:
    if not isinstance(data, TextDataModule):
        raise AttestError(
            f"{type(data).__name__} cannot be read in random order; expected a TextDataModule. Leave --run.until out."
        )
    if trainer.limit_test_batches != 1.0:
        raise AttestError(
            f"trainer.limit_test_batches is {trainer.limit_test_batches} and run.until is set, but only one of them can limit "
            "the number of texts. Leave one of the two options out."
        )
    return data


def train(run: ConfiguredRun) -> RunFolder:
    """Train and test a run, write its report, and return its folder. A stopped run is continued."""
    with run.prepared():
        if run.nothing_to_do:
            say(f"complete: {run.folder.path} (FORCE=1 starts afresh)")
        else:
            if run.run.force or not run.folder.trained:
                fit(run)
            if (missing := run.missing_evidence()) or not run.folder.summed_up:
                until = f", each until its means are known to ± {run.run.until:g}" if run.run.until is not None else ""
                say(f"Evidence on the test split, {', '.join(missing) or 'scores only'}{until}")
                sum_up(run, missing, test(run, str(run.folder.best), missing))
            report(run)
        _name_results(run.folder)
    return run.folder


def fit(run: ConfiguredRun) -> None:
    """Train the model of a run from the beginning, or from the last checkpoint if the run was stopped."""
    resumed = run.folder.last.is_file() and not run.run.force
    say(f"{'Taking up' if resumed else 'Training'} {run.folder.path}")
    for logger in run.trainer.loggers:
        logger.log_hyperparams(run.settings)
    if run.run.compile:
        compile_training(run.model, run.trainer.strategy.root_device)
    started = time.perf_counter()
    checkpoint = str(run.folder.last) if resumed else run.checkpoint
    if checkpoint is not None and not resumed:
        _require_state(run, checkpoint)
    with _interrupting(run.trainer):
        run.trainer.fit(run.model, datamodule=run.datamodule, ckpt_path=checkpoint, weights_only=True)
    if run.trainer.is_global_zero:
        part = "train since the last stop" if resumed else "train"
        run.folder.note(seconds={part: time.perf_counter() - started})
        keep_digests(run.folder)
        write_json(run.folder.curves, run.curves.epochs)


def compile_training(model: LightningModule, device: torch.device) -> None:
    """Let ``torch.compile`` compile the network of a model for training steps on a device, if it can compile there."""
    if not isinstance(model, TextModule):
        raise AttestError(
            f"{type(model).__name__} is a LightningModule of your own, and Attest does not know what its training steps read; "
            "expected run.compile to be false. Call torch.compile in the module, and leave --run.compile out."
        )
    try:
        torch.compile(torch.sin)(torch.zeros(2, device=device))
    except RuntimeError as error:
        found = " ".join(str(error).split())[:100]
        raise AttestError(
            f"torch.compile cannot compile for the {device.type} here ({found} …); expected a compiler: g++ or clang++ for a "
            "CPU, Triton for a GPU. Install it, or type --run.compile=false"
        ) from error
    model.compile_training()


def test(run: ConfiguredRun, checkpoint: str, tables: Collection[str]) -> dict[str, float]:
    """Test a checkpoint on the test split: return its scores, and write the named result tables."""
    for name, evidence in run.experiments.items():
        evidence.folder, evidence.enabled_on_test = run.folder, name in tables
    gathers = any(name in run.experiments for name in tables)

    def evaluate(trainer: Trainer) -> Any:
        tested = {"model": run.model, "datamodule": run.datamodule, "ckpt_path": checkpoint}
        with _interrupting(trainer):
            if run.run.until is not None and gathers:
                write_early_tables(run, trainer, tested)
            return trainer.test(**tested, verbose=False, weights_only=True)

    def evaluate_share(rank: int) -> Any:
        strategy = DDPStrategy(cluster_environment=_Connected(rank), process_group_backend="gloo")
        return evaluate(run.another_trainer(accelerator="cpu", devices=processes, num_nodes=1, strategy=strategy))

    callbacks = cast(Any, run.trainer).callbacks  # WeightAveraging would restore the trained weights in place of their average
    callbacks[:] = [each for each in callbacks if not isinstance(each, WeightAveraging)]
    run.folder.made_from = OnTrial(Path(checkpoint), run.folder.data)
    processes = 1
    if gathers and run.trainer.world_size == 1 and run.trainer.strategy.root_device.type == "cpu" and can_fork():
        processes = run.run.processes or min(cores(), processes_that_fit())
    (scores,) = together(processes, evaluate_share) if processes > 1 else evaluate(run.trainer)
    run.after_testing()
    return dict(scores)


def _require_state(run: ConfiguredRun, checkpoint: str) -> None:
    """Refuse a checkpoint without the state of an optimiser, from which training cannot go on."""
    if "optimizer_states" not in run.trainer.strategy.checkpoint_io.load_checkpoint(checkpoint, weights_only=True):
        raise AttestError(
            f"{checkpoint} contains the parameters of a model alone, and training cannot go on from there; expected a "
            "checkpoint with the state of the optimiser. Type --ckpt_path=<run folder>/checkpoints/last.ckpt"
        )


@contextmanager
def _interrupting(trainer: Trainer) -> Iterator[None]:
    """Raise KeyboardInterrupt for Ctrl-C inside the ``with`` block, in place of Lightning's SystemExit."""
    try:
        yield
    except SystemExit as stop:
        if trainer.interrupted and not isinstance(stop, SIGTERMException):
            raise KeyboardInterrupt from stop
        raise


@rank_zero_only
def sum_up(run: ConfiguredRun, measured: list[str], scores: dict[str, float]) -> None:
    """Write ``summary.json`` from all tables and the scores, and print how many seconds each experiment took.

    Tables that an earlier command has made count, too: their settings stay in ``config.yaml``.
    """
    summary = summarise_run(run.folder, run.folder.tables, scores, run.run.monitor, run.run.mode)
    write_summary(run.folder, summary)
    seconds = read_json(run.folder.timing).get("seconds", {})
    known = [f"{name} {seconds[key]:.0f} s" for name in measured if (key := f"evidence/{name}") in seconds]
    if known:
        say(f"It took {', '.join(known)}.")


@rank_zero_only
def report(run: ConfiguredRun) -> None:
    """Write the report of a run, and send the report to the loggers."""
    run.folder.note(peak_memory=peak_memory())
    found = Findings(run.folder)
    figures = illustrations(found)
    write_report(found, figures)
    log_report(run.trainer.loggers, found, figures, run.texts_logged, run.run.upload_weights)


def score(run: ConfiguredRun) -> None:
    """Print the scores of a checkpoint, by default the best, on the test or the validation split."""
    with run.prepared():
        checkpoint = run.checkpoint or str(run.folder.best)
        if run.subcommand == "validate":
            (scores,) = run.trainer.validate(run.model, run.datamodule, checkpoint, verbose=False, weights_only=True)
        else:
            scores = test(run, checkpoint, [])
        say("\n".join(scored("validation" if run.subcommand == "validate" else "test", scores)))


@rank_zero_only
def _name_results(folder: RunFolder) -> None:
    found = Findings(folder)
    for line in last_words(found):
        print(line)
    print(f"Run folder: {folder.path}\nReport:     {folder.report}", flush=True)
    wandb = sys.modules.get("wandb")
    logged = None if wandb is None else wandb.run
    if logged is not None and logged.url:
        print(f"W&B:        {logged.url}", flush=True)
    elif (folder.path / "wandb").is_dir():
        print(f"W&B:        attest sync {folder.path}", flush=True)
    tell_verdict(found)


@rank_zero_only
def tell_verdict(found: Findings) -> None:
    """Print the verdict: whether the attention of a run may be read as an explanation, and a text that shows it."""
    for line in terminal_lines(found):
        print(line, flush=True)
