"""Train and evaluate: what is done with a configured run, from the first batch to the report.

``train`` is the whole story on one screen; ``attest fit``, ``attest.train`` and every dependent run call it.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from lightning_utilities.core.rank_zero import rank_zero_only
from pytorch_lightning import Trainer
from pytorch_lightning.callbacks import WeightAveraging
from pytorch_lightning.utilities.exceptions import SIGTERMException

from attest.report.baseline import last_words
from attest.report.page import illustrations, write_report
from attest.report.scored import scored
from attest.report.summary import summarise_run
from attest.runs.belonging import OnTrial, keep_digests
from attest.runs.configured import ConfiguredRun
from attest.runs.folder import RunFolder, read_json, write_json
from attest.runs.forecast import evidence_takes
from attest.runs.sharing import processes_for, shared
from attest.runs.until import read_until
from attest.runs.versions import peak_memory
from attest.tracking.loggers import log_report


def train(run: ConfiguredRun) -> RunFolder:
    """Train, gather the evidence on the test split with the best checkpoint, sum up and report.

    A run that was stopped is taken up where it stopped; what is there already is not done again, unless ``run.force`` is set.

    Returns:
        The run's folder.
    """
    with run.prepared():
        if run.nothing_to_do:
            _say(f"complete: {run.folder.path} (FORCE=1 starts afresh)")
        else:
            if run.run.force or not run.folder.trained:
                fit(run)
            if (missing := run.missing_evidence()) or not run.folder.summed_up:
                sum_up(run, missing, gather_evidence(run, missing))
            report(run)
        _name_results(run.folder)
    return run.folder


def fit(run: ConfiguredRun) -> None:
    """Train from the beginning, or from the last checkpoint of a run that was stopped."""
    resumed = run.folder.last.is_file() and not run.run.force
    _say(f"{'Taking up' if resumed else 'Training'} {run.folder.path}{run.expectation()}")
    run.before_training()
    for logger in run.trainer.loggers:
        logger.log_hyperparams(run.settings)
    started = time.perf_counter()
    checkpoint = str(run.folder.last) if resumed else run.checkpoint
    with _interrupting(run.trainer):
        run.trainer.fit(run.model, datamodule=run.datamodule, ckpt_path=checkpoint, weights_only=True)
    if run.trainer.is_global_zero:
        part = "train since the last stop" if resumed else "train"
        run.folder.note(seconds={part: time.perf_counter() - started})
        keep_digests(run.folder)
        write_json(run.folder.curves, run.curves.epochs)


def gather_evidence(run: ConfiguredRun, missing: list[str]) -> dict[str, float]:
    """Test the best checkpoint and write the tables that are missing; returns the scores."""
    for experiment, evidence in run.experiments.items():
        evidence.folder, evidence.enabled_on_test = run.folder, experiment in missing
    expected = evidence_takes(run.past, missing, processes_for(run.run.processes, run.trainer))
    until = f", each until its means are known to ± {run.run.until:g}" if run.run.until is not None else ""
    _say(f"Evidence on the test split, {', '.join(missing) or 'scores only'}{until or expected}")
    return test(run, str(run.folder.best))


def test(run: ConfiguredRun, checkpoint: str) -> dict[str, float]:
    """Scores on the test split under a checkpoint, and the evidence that is enabled, which all cores share."""

    def evaluate(trainer: Trainer) -> Any:
        tested = {"model": run.model, "datamodule": run.datamodule, "ckpt_path": checkpoint}
        with _interrupting(trainer):
            if run.run.until is not None and gathers:
                read_until(run.run.until, run.folder, run.experiments, trainer, **tested)
            return trainer.test(**tested, verbose=False, weights_only=True)

    callbacks = cast(Any, run.trainer).callbacks  # those below would put the model that was trained beside the average back
    callbacks[:] = [each for each in callbacks if not isinstance(each, WeightAveraging)]
    run.folder.made_from = OnTrial(Path(checkpoint), run.folder.data)
    gathers = any(evidence.enabled_on_test for evidence in run.experiments.values())
    processes = processes_for(run.run.processes, run.trainer) if gathers else 1
    (scores,) = shared(processes, run.another_trainer, evaluate) if processes > 1 else evaluate(run.trainer)
    run.after_testing()
    return dict(scores)


@contextmanager
def _interrupting(trainer: Trainer) -> Iterator[None]:
    """Ctrl-C as Python has it, which Lightning turns into an exit."""
    try:
        yield
    except SystemExit as stop:
        if trainer.interrupted and not isinstance(stop, SIGTERMException):
            raise KeyboardInterrupt from stop
        raise


@rank_zero_only
def sum_up(run: ConfiguredRun, measured: list[str], scores: dict[str, float]) -> None:
    """Write ``summary.json`` from the tables and scores."""
    summary = summarise_run(run.folder, run.expected_tables, scores, run.run.monitor, run.run.mode)
    write_json(run.folder.summary, summary)
    _say_seconds(run.folder, measured)


@rank_zero_only
def report(run: ConfiguredRun) -> None:
    """Write the report and hand it to the loggers."""
    run.folder.note(peak_memory=peak_memory())
    figures = illustrations(run.folder)
    write_report(run.folder, figures)
    log_report(run.trainer.loggers, run.folder, figures)


def score(run: ConfiguredRun) -> None:
    """Print the scores on the split that the command names, ``test`` or ``validate``, under the best checkpoint or another."""
    with run.prepared():
        checkpoint = run.checkpoint or str(run.folder.best)
        if run.subcommand == "validate":
            (scores,) = run.trainer.validate(run.model, run.datamodule, checkpoint, verbose=False, weights_only=True)
        else:
            for evidence in run.experiments.values():
                evidence.enabled_on_test = False
            scores = test(run, checkpoint)
        _say("\n".join(scored("validation" if run.subcommand == "validate" else "test", scores)))


@rank_zero_only
def _say(sentence: str) -> None:
    print(sentence, flush=True)


def _say_seconds(folder: RunFolder, expected_tables: list[str]) -> None:
    """What each experiment took."""
    seconds = read_json(folder.timing).get("seconds", {})
    known = [f"{name} {seconds[key]:.0f} s" for name in expected_tables if (key := f"evidence/{name}") in seconds]
    if known:
        print(f"It took {', '.join(known)}.", flush=True)


@rank_zero_only
def _name_results(folder: RunFolder) -> None:
    for line in last_words(folder):
        print(line)
    print(f"Run folder: {folder.path}\nReport:     {folder.report}", flush=True)
    logged = getattr(sys.modules.get("wandb"), "run", None)
    if logged is not None and logged.url:
        print(f"W&B:        {logged.url}", flush=True)
    elif (folder.path / "wandb").is_dir():
        print(f"W&B:        wandb sync {folder.path}/wandb/offline-run-*", flush=True)
