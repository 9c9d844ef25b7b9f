"""Damaged files in the folders of runs and trials: each command that reads them says a sentence, or does not need them."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import attest
from attest.app.cli.main import main
from attest.core.errors import AttestError
from attest.experiments.stopping import ALL, READ
from attest.runs.contents import RunContents
from attest.runs.folder import COUNTS, RunFolder, read_json, write_json
from attest.runs.shapes import Entries, misfit
from tests.finished_runs import copy_of

Place = tuple[Any, ...]
VALUES: dict[str, Any] = {
    "null": None, "a number": 3, "a fraction": -1.5, "true": True, "text": "x", "no text": "", "a list": [1],
    "an empty list": [], "a list of dictionaries": [{"a": 1}], "a dictionary": {"a": 1}, "an empty dictionary": {},
}  # fmt: skip
BYTES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda raw: b"",
    "a half": lambda raw: raw[: len(raw) // 2],
    "three quarters": lambda raw: raw[: 3 * len(raw) // 4],
    "its first line": lambda raw: raw.splitlines(keepends=True)[0],
    "without its last line": lambda raw: b"".join(raw.splitlines(keepends=True)[:-1]),
    "without its first byte": lambda raw: raw[1:],
    "zeros": lambda raw: b"\0" * len(raw),
    "not UTF-8": lambda raw: raw + b"\xff",
    "UTF-16": lambda raw: raw.decode().encode("utf-16"),
    "deeply nested": lambda raw: b"[" * 100_000,
    "twice": lambda raw: raw + raw,
}
KINDS = [
    *(("bytes", name) for name in BYTES),
    *(("whole", name) for name in VALUES),
    *(("entry", name) for name in ("missing", *VALUES)),
    *(("entry inside", name) for name in ("missing", *VALUES) if name not in ("true", "no text")),
]
RUN = ("run.json", "config.yaml", "data.json", "curves.json", "summary.json", "timing.json", "stopped.json")
TRIAL = ("config.yaml", "summary.json", "timing.json", "stopped.json")
FILES = [*(("run", file) for file in RUN), *(("trial", file) for file in TRIAL)]
QUICK: dict[str, tuple[str, ...]] = {
    "table": ("table", "{}"),
    "card": ("card", "{}"),
    "gate": ("gate", "{}", "--require", "E2/tvd_median>0.1", "--require", "tokens=yes"),
    "explain": ("explain", "--run", "{}", "--id", "0", "--out", "explained.html"),
}
SLOW: dict[str, tuple[str, ...]] = {
    "report": ("report", "{}"),
    "compare": ("report", "{}", "{whole}", "--out", "compared.html"),
    "explain a text": ("explain", "--run", "{}", "--text", "the film was brilliant", "--out", "explained.html"),
    "evidence": ("evidence", "--run", "{}", "instances"),
    "roar": ("roar", "--run", "{}", "READING=attention"),
}


@pytest.fixture(scope="module")
def folders(library, tmp_path_factory) -> dict[str, Path]:
    """A run and a trial, each with an experiment that stopped early."""
    place = tmp_path_factory.mktemp("damaged")
    run = copy_of(library.run("light"), place / "runs")
    whole = copy_of(library.run("light"), place / "whole")
    opened = attest.open_run(run.path)
    batches = list(opened.split())[:1]
    trial = attest.trial(opened.model, batches, "E2", label_names=opened.label_names, progress=False).save(place / "trial")
    for each in (run, trial.folder):
        counts = {"E2/texts_read/count": 20.0, "E2/texts/count": 77.0}
        write_json(each.stopped, {"E2": {"precision": 0.1, "summary": counts}})
    return {"run": run.path, "trial": trial.path, "whole": whole.path}


def places(content: Any, deep: int) -> Iterator[Place]:
    """Up to three entries of each dictionary at this depth, first and last; of a list its first item."""
    items = list(content.items()) if isinstance(content, dict) else [*enumerate(content)][:1]
    for name, value in [*items[:2], *items[2:][-1:]]:
        if deep == 0:
            yield (name,)
        elif isinstance(value, dict | list):
            yield from ((name, *below) for below in places(value, deep - 1))


def changed(content: Any, place: Place, how: str) -> Any:
    changed = deepcopy(content)
    inner = changed
    for name in place[:-1]:
        inner = inner[name]
    if how == "missing":
        del inner[place[-1]]
    else:
        inner[place[-1]] = VALUES[how]
    return changed


def damages(path: Path, kind: tuple[str, str]) -> list[bytes]:
    """The content of a file after each damage of a kind; none if the file has no such place."""
    raw, (sort, how) = path.read_bytes(), kind
    if sort == "bytes":
        return [BYTES[how](raw)]
    content = yaml.safe_load(raw) if path.suffix == ".yaml" else json.loads(raw)
    if sort == "whole":
        found = [VALUES[how]]
    else:
        depths = (0,) if sort == "entry" else (1, 2)
        found = [changed(content, place, how) for deep in depths for place in places(content, deep)]
    return [(yaml.safe_dump(each, sort_keys=False) if path.suffix == ".yaml" else json.dumps(each)).encode() for each in found]


def said_of(path: Path, damaged: bytes, command: tuple[str, ...], folders: dict[str, Path], capsys) -> SimpleNamespace:
    """What a command says while a file is damaged."""
    before = path.read_bytes()
    try:
        path.write_bytes(damaged)
        code = main([word.format(path.parent, whole=folders["whole"]) for word in command])
    finally:
        path.write_bytes(before)
    return SimpleNamespace(code=code, errors=capsys.readouterr().err)


def tried(kind: tuple[str, str], file: tuple[str, str], command: tuple[str, ...], folders, capsys, most: int) -> None:
    path = folders[file[0]] / file[1]
    for damaged in damages(path, kind)[-most:]:
        said = said_of(path, damaged, command, folders, capsys)
        refused = [line for line in said.errors.splitlines() if line.startswith("attest: ")]
        assert said.code == 0 or refused or command[0] == "gate", (kind, file, command, damaged[:300], said)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("number", range(len(KINDS)), ids=[" ".join(kind) for kind in KINDS])
def test_a_damaged_file_gets_a_sentence_and_no_traceback(number, folders, capsys):
    file, command = FILES[number % len(FILES)], list(QUICK.values())[number % len(QUICK)]
    tried(KINDS[number], file, command, folders, capsys, most=1)


@pytest.mark.whole("44 kinds of damage, eleven files, nine commands")
@pytest.mark.parametrize("number", range(len(KINDS)), ids=[" ".join(kind) for kind in KINDS])
def test_every_damage_of_every_file_under_every_command(number, folders, capsys):
    for file in FILES:
        for command in QUICK.values():
            tried(KINDS[number], file, command, folders, capsys, most=3)
    for place, command in enumerate(SLOW.values()):
        tried(KINDS[number], FILES[(number + place) % len(FILES)], command, folders, capsys, most=1)


def test_there_are_44_kinds_and_the_counts_are_those_of_the_rule_that_stops():
    assert len(KINDS) >= 44
    assert COUNTS == (READ, ALL)


@pytest.mark.parametrize("lines", [1, 4, 7, 9, 11])
def test_the_configuration_of_a_trial_that_was_cut_is_named(folders, lines, capsys):
    path = folders["trial"] / "config.yaml"
    cut = b"".join(path.read_bytes().splitlines(keepends=True)[:lines])
    for command in QUICK.values():
        said = said_of(path, cut, command, folders, capsys)
        assert said.code != 0
        assert f"attest: {path} is not the configuration of a run (" in said.errors


def test_a_record_of_another_shape_is_named_and_so_is_its_entry(tmp_path):
    folder = RunFolder(tmp_path)
    write_json(folder.stopped, {"E2": {"precision": 0.1, "summary": {"E2/texts_read/count": 20.0}}})
    with pytest.raises(AttestError, match=r"the entry E2.summary.E2/texts/count is missing\); expected the complete file"):
        folder.stopped_evidence()
    write_json(folder.timing, {"commits": ["E1"]})
    with pytest.raises(AttestError, match=r"timing.json cannot be read as JSON \(commits is a list\)"):
        RunContents(folder).origin_of("E1")
    write_json(folder.identity, {"data": "sst", "name": "a", "seed": "0"})
    with pytest.raises(AttestError, match=r"run.json cannot be read as JSON \(seed is text\)"):
        read_json(folder.identity)


def test_a_list_has_one_shape_for_all_items_or_one_for_each():
    assert misfit([1, 2, 3], [int]) is None
    assert misfit([1, "a"], [int]) == "[1] is text"
    assert misfit([1, "a"], [int, str]) is None
    assert misfit([1], [int, str]) == "its content has 1 items and not 2"
    assert misfit({"a": [1]}, Entries(others=([str], int))) == "a[0] is a whole number"
