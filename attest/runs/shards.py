"""Evidence in shards: parts of one test split, gathered by jobs that know nothing of each other, and put together.

A shard is measured as the whole would be, in the same batches, so its rows are those of the whole, bit for bit.
"""

import re

import pandas as pd

from attest.callbacks.evidence import each_once
from attest.datamodules.batching import Shard
from attest.errors import AttestError
from attest.runs.evaluating import Apart, RunOnTrial, name_tables, sum_up
from attest.runs.folder import RunFolder, read_json, read_table
from attest.runs.training import test

SHARD = re.compile(r"([1-9]\d*)/([1-9]\d*)")


def read_shard(typed: str) -> Shard:
    """The shard that ``3/8`` names, the third of eight.

    Raises:
        AttestError: it names none.
    """
    match = SHARD.fullmatch(typed)
    if match is None or int(match[1]) > int(match[2]):
        raise AttestError(
            f"--shard={typed} is not a shard; expected its number and the number of shards. Type for example: --shard=3/8"
        )
    return Shard(int(match[1]) - 1, int(match[2]))


def shard_folder(run: RunFolder, shard: Shard) -> RunFolder:
    """Where the evidence of one shard goes: ``<run>/shards/3-of-8/``."""
    return RunFolder(run.path / "shards" / f"{shard.number + 1}-of-{shard.shards}")


def shard_on_trial(arguments: list[str], run: RunFolder, wanted: list[str], shard: Shard) -> RunOnTrial:
    """One shard of a run's evidence, to be evaluated into a folder of its own."""
    return RunOnTrial(arguments, run, run.best, wanted, Apart(run.best, shard_folder(run, shard).path), shard)


def put_together(run: RunOnTrial, shards: int) -> None:
    """Write the tables of a run that are missing, or all with ``run.force``, from those of its shards, and sum up.

    The scores take one pass over the whole split, which evidence is not part of.

    Raises:
        AttestError: a shard is not there, or it is of another model or configuration.
    """
    with run.prepared():
        missing = run.missing_evidence()
        if missing or not run.folder.reported:
            run.require_same_data()
            scores = _scores(run)
            _put_together(run, missing, [shard_folder(run.folder, Shard(number, shards)) for number in range(shards)])
            sum_up(run, scores)
        name_tables(run, missing)


def _put_together(run: RunOnTrial, tables: list[str], parts: list[RunFolder]) -> None:
    for part in parts:
        run.require_same_trial(part)
    for table in tables:
        run.folder.write_evidence(table, rows_together([_rows(part, table) for part in parts]))
        _note_seconds(run.folder, parts, f"evidence/{table}")


def _scores(run: RunOnTrial) -> dict[str, float]:
    for evidence in run.experiments.values():
        evidence.enabled_on_test = False
    return test(run, str(run.on_trial_checkpoint))


def rows_together(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all parts, sorted by id, as they stand where the whole was measured at once.

    Raises:
        AttestError: different instances have one id.
    """
    return each_once([part for part in parts if len(part)])


def _rows(part: RunFolder, table: str) -> pd.DataFrame:
    if not part.evidence(table).is_file():
        raise AttestError(
            f"{part.evidence(table)} does not exist; expected the table of every shard. Type: attest evidence --run "
            f"{part.path.parents[1]} {table} --shard={part.path.name.replace('-of-', '/')}"
        )
    return read_table(part.evidence(table))


def _note_seconds(folder: RunFolder, parts: list[RunFolder], measured: str) -> None:
    """What the shards took, all together, as if one job had gone through them."""
    times = [read_json(part.timing) for part in parts]
    seconds = sum(time["seconds"][measured] for time in times)
    folder.note(seconds={measured: seconds}, processes={measured: times[0]["processes"][measured]})
