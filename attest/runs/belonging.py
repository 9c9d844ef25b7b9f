"""The digests that tell whether the files of a run belong together: checkpoint, settings, data and tables of evidence.

When training ends, ``run.json`` keeps the digests of the run's files. Every table keeps the digests of the checkpoint and the
data that it was made from, and the version of Attest; ``timing.json`` keeps the commit that made each table. Files of earlier
versions have no digests and are not compared. Start at ``require_together``.
"""

import hashlib
import json
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from attest.core.errors import AttestError
from attest.runs.asked import by_class, differing_keys, evidence_digest
from attest.runs.contents import RunContents
from attest.runs.experiment_settings import is_own_class
from attest.runs.folder import RunFolder, made_from, read_json, write_json
from attest.runs.versions import commit, made_by

DIGESTS = "digests"
"""The section of ``run.json`` that holds the SHA-256 digests of the run's checkpoint, settings and data, by which a file of
another run is noticed."""
TRAINED_WITH = "trained_with"
"""The entry of a checkpoint that holds the seed, the class of the model and the settings of its network."""
WHERE = ("sources", "files")
"""The entries of ``data.json`` with the places that the texts were read from. They are left out of the file's digest, because
texts may be moved."""
SHOWN = 12
"""How many hexadecimal digits of a git commit are shown and compared in messages; a mark ``-dirty`` after them is cut off."""
TRAIN_AGAIN = "type the command that trained it with FORCE=1"


def digests_of(folder: RunFolder) -> dict[str, str]:
    """Return the digests of a run's files under the keys ``checkpoint``, ``settings``, ``data``; skip missing files."""
    return _digests(checkpoint=folder.best, settings=folder.config, data=folder.data)


def _digests(**files: Path) -> dict[str, str]:
    digests = {"checkpoint": checkpoint_digest, "settings": settings_digest, "data": data_digest}
    return {part: digests[part](path) for part, path in files.items() if path.is_file()}


def checkpoint_digest(path: Path) -> str:
    """Compute the digest of a checkpoint's tensors from the sizes and checksums that its zip file lists.

    Equal tensors have the same digest on every machine. For a file of gigabytes this takes a millisecond.
    """
    try:
        with zipfile.ZipFile(path) as file:
            tensors = [each for each in file.infolist() if "/data/" in each.filename]
    except zipfile.BadZipFile as error:
        raise unreadable(path) from error
    return _sha256("".join(f"{each.filename} {each.file_size} {each.CRC}\n" for each in tensors))


def unreadable(path: Path) -> AttestError:
    """Return the error for a file that cannot be read as a checkpoint."""
    run = RunFolder(path.absolute().parent.parent)
    if path.absolute() in (run.best.absolute(), run.last.absolute()) and run.config.is_file():
        return AttestError(
            f"the checkpoint {path} is damaged and cannot be read; expected a complete file. To train a new model, "
            f"{TRAIN_AGAIN}."
        )
    return AttestError(
        f"{path} cannot be read as a checkpoint; expected a file that this program wrote, such as "
        "<run folder>/checkpoints/best.ckpt. Name another file."
    )


def settings_digest(path: Path) -> str:
    """Return the digest of the settings that decide the results of a run, including seed and experiments."""
    return evidence_digest(RunFolder(path.parent).settings_as_written())


def trained_with(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a configuration that a checkpoint stores: the seed, the model and the network.

    The folder of a pretrained model is left out, because it may move; the weights are in the checkpoint.
    """
    model = settings["model"]
    network = (model.get("init_args") or {}).get("network") or {}
    options = {name: value for name, value in (network.get("init_args") or {}).items() if name != "pretrained"}
    about = {"seed_everything": settings["seed_everything"], "model": model["class_path"]}
    return by_class(about | {"network": network | {"init_args": options}})


def require_trained_with(checkpoint: Mapping[str, Any], settings: Mapping[str, Any], path: Path) -> None:
    """Refuse a checkpoint that was trained with another seed or model than the configuration names."""
    kept, ours = checkpoint.get(TRAINED_WITH), trained_with(settings)
    if kept is not None and (different := differing_keys(kept, ours)):
        raise AttestError(
            f"{path} was trained with other settings (different: {', '.join(different[:5])}); expected the settings of its "
            "training. Type the choices that trained it, with SEED, or --config=<config.yaml of its run>"
        )


def data_digest(path: Path) -> str:
    """Return the digest of ``data.json`` without the entries that say where the texts are."""
    record: dict[str, Any] = read_json(path)
    return _sha256(json.dumps({name: value for name, value in record.items() if name not in WHERE}, sort_keys=True))


def _sha256(said: str) -> str:
    return hashlib.sha256(said.encode()).hexdigest()


def known_digests(folder: RunFolder) -> dict[str, str]:
    """Return the digest of each file of a run, as stored in ``run.json``; empty if none is stored."""
    return read_json(folder.identity).get(DIGESTS, {}) if folder.identity.is_file() else {}


def keep_digests(folder: RunFolder) -> None:
    """Write the current digests of the files of a run into ``run.json``."""
    write_json(folder.identity, read_json(folder.identity) | {DIGESTS: digests_of(folder)})


def require_files(*folders: RunFolder) -> None:
    """Refuse runs whose checkpoint, settings or data have changed since training ended."""
    for folder in folders:
        if not (known := known_digests(folder)):
            continue
        found = digests_of(folder)
        for part in [part for part in known if found.get(part, known[part]) != known[part]]:
            path = {"checkpoint": folder.best, "settings": folder.config, "data": folder.data}[part]
            raise AttestError(
                f"{path} has changed since this run was trained and tested (run.json contains another digest); expected the "
                f"file that `attest fit` wrote. Put the old file back, or {TRAIN_AGAIN}."
            )


def stray_tables(folder: RunFolder) -> list[str]:
    """Return the names of the tables that were not computed from the run's own checkpoint and data."""
    tables = {name: made_from(path) for name, path in folder.tables.items()}
    if not any(tables.values()):
        return []
    ours = known_digests(folder) or digests_of(folder)
    return [name for name, made in tables.items() if any(made.get(part, digest) != digest for part, digest in ours.items())]


OF_TRAINING = ("every_n_epochs", "validation_instances")
"""The options of an experiment that only affect validation during training. Tables of test texts do not depend on them."""


def outdated_tables(folder: RunFolder, experiments: Mapping[str, Any]) -> list[str]:
    """Return the names of the tables whose checkpoint, data or settings differ from the current ones.

    Args:
        experiments: the settings that the user asks for, by id of the experiment.
    """
    known = folder.settings().get("experiments") or {} if folder.config.is_file() else {}
    asked = [name for name, given in experiments.items() if given is not None and known.get(name) is not None]
    both = [name for name in asked if folder.evidence(name).is_file()]
    others = [name for name in both if differing_keys(_settings_of_table(experiments[name]), _settings_of_table(known[name]))]
    return list(dict.fromkeys([*stray_tables(folder), *others]))


def _settings_of_table(evidence: dict[str, Any]) -> dict[str, Any]:
    if is_own_class(evidence):
        return by_class(evidence | {"init_args": _of_table(evidence.get("init_args") or {})})
    return by_class(_of_table(evidence))


def _of_table(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in OF_TRAINING and value is not None}


def require_together(folders: Sequence[RunFolder]) -> None:
    """Refuse runs with a changed file, or with a table computed from another checkpoint or from other data."""
    require_files(*folders)
    for folder in folders:
        if stray := stray_tables(folder):
            raise AttestError(
                f"{folder.evidence(stray[0])} was computed from another checkpoint or other data; expected evidence on the "
                f"checkpoint and the data of this run. Type: attest evidence --run {folder.path} {' '.join(stray)}"
            )


def finished(folder: RunFolder) -> RunFolder:
    """Return the folder of a finished run or trial; refuse every other folder."""
    such = "the folder of a run or of a trial, such as runs/<data>/<name>/seed0"
    if not folder.path.is_dir():
        raise AttestError(f"{folder.path} does not exist; expected {such}.")
    if not folder.config.is_file():
        inside = sorted(str(config.parent) for config in folder.path.glob("*/**/config.yaml"))
        expected = f"one of the run folders inside it: {', '.join(inside[:3])}" if inside else such
        raise AttestError(f"{folder.path} is not the folder of a run: it has no config.yaml; expected {expected}.")
    if not folder.summary.is_file():
        raise AttestError(
            f"the run in {folder.path} is not finished: it has no summary.json; expected a finished run. Type the command "
            "that started the run again: it continues the run."
        )
    require_together([folder])
    return folder


def other_version(run: RunContents, identity: str) -> str:
    """Return a phrase such as ``, by attest 0.2.0 …`` if another version of Attest made a table, else empty text."""
    made, known = run.origin_of(identity), commit()
    ours = made_by() | ({"commit": known} if known else {})
    return f", by {version_of(made)}" if _several_versions([made, ours]) else ""


def mixed_versions(run: RunContents) -> str | None:
    """Return a warning if several versions of Attest made the tables of a run; None if only one did."""
    origins = {name: run.origin_of(name) for name in run.experiments}
    if not _several_versions(origins.values()):
        return None
    tables: dict[str, list[str]] = {}
    for name, made in origins.items():
        tables.setdefault(version_of(made), []).append(name)
    told = "; ".join(f"{', '.join(names)} by {version}" for version, names in tables.items())
    return (
        f"The evidence was computed by different versions, which may measure differently: {told}. "
        f"attest evidence --run {run.folder.path} FORCE=1 computes all of it again."
    )


def versions_of(run: RunContents, identities: Sequence[str]) -> list[str]:
    """Return the versions of Attest that made some tables, in words; a commit is named only where it is known."""
    made = {version_of(run.origin_of(name)) for name in identities}
    return sorted(version for version in made if not any(other.startswith(f"{version} of ") for other in made))


def _several_versions(origins: Collection[Mapping[str, str]]) -> bool:
    """Return whether tables are known to be of several versions or commits; a commit that git did not tell is not another."""
    versions = {made.get("attest") for made in origins}
    commits = {made["commit"][:SHOWN] for made in origins if "commit" in made}
    return len(versions) > 1 or len(commits) > 1


def version_of(made: Mapping[str, str]) -> str:
    """Return the version of Attest that made a table, in words."""
    if "attest" not in made:
        return "an earlier version of attest"
    return f"attest {made['attest']}" + (f" of commit {made['commit'][:SHOWN]}" if "commit" in made else "")


class OnTrial:
    """A guard that raises an error if the checkpoint or the data of a run change during its experiments."""

    def __init__(self, checkpoint: Path, data: Path) -> None:
        self._checkpoint, self._data = checkpoint, data
        self._began_with = _digests(checkpoint=checkpoint, data=data)

    def __call__(self) -> dict[str, str]:
        """Return digests of checkpoint and data, and the version of Attest; raise an error if a file changed."""
        if _digests(checkpoint=self._checkpoint, data=self._data) != self._began_with:
            raise AttestError(
                f"{self._checkpoint} or {self._data.name} changed while this command computed evidence on the run; expected "
                "both files to stay the same until the end. The command stopped: type it again."
            )
        return self._began_with | made_by()
