"""What a run is stands in its folder; where the folder lies says nothing, but of runs of earlier versions."""

import shutil

import pytest

from attest.report.collection import settings_of
from attest.runs.contents import RunContents
from attest.runs.folder import RunFolder, write_json
from attest.runs.identity import RunIdentity, identity_of

RUN = {"data": "sst", "recipe": "jw", "model": "bilstm", "scoring": "additive", "projection": "entmax:1.3"}
SETTINGS = {"run": RUN, "seed_everything": 2}


def known(folder):
    return identity_of(RunContents(folder))


def made(path, settings=SETTINGS):
    """A folder with a configuration alone, as an earlier version may have left it."""
    write_json(path / "config.yaml", {"model": {}} | settings)
    write_json(path / "summary.json", {})
    return RunFolder(path)


@pytest.mark.parametrize("folder", ["jw-bilstm-additive-entmax-1.3", "jw-bilstm-additive-entmax:1.3"])
def test_a_folder_of_an_earlier_version_says_it_by_its_place(tmp_path, folder):
    plain, other = (made(tmp_path / "sst" / name / "seed2") for name in (folder, f"{folder}-0ae91bc5"))
    assert known(plain) == RunIdentity("sst", "jw-bilstm-additive-entmax-1.3", 2)
    assert known(other) == RunIdentity("sst", "jw-bilstm-additive-entmax-1.3", 2, "0ae91bc5")


def test_a_dependent_run_of_an_earlier_version_belongs_to_its_base(tmp_path):
    base = made(tmp_path / "sst" / "jw-bilstm-additive-entmax-1.3" / "seed2")
    adversary = made(base.path / "adversarial" / "unfrozen-kl-0.001", {"run": RUN, "seed_everything": 0})
    assert known(adversary) == known(base).with_dependent("adversarial", "unfrozen-kl-0.001")
    assert known(adversary).setting == "sst/jw-bilstm-additive-entmax-1.3/adversarial/unfrozen-kl-0.001"


def test_a_trained_run_is_the_same_wherever_it_is_copied(small_run, tmp_path):
    copy = RunFolder(tmp_path / "of" / "somebody" / "else")
    shutil.copytree(small_run.path, copy.path)
    assert known(copy) == known(small_run)
    assert known(copy).setting == f"planted/jw-bilstm-additive-softmax-{known(copy).variant}"


def test_seeds_are_one_setting_wherever_they_lie_and_copies_are_another(tmp_path):
    identity = RunIdentity("sst", "jw-bilstm-additive-softmax", 0)
    runs = {place: made(tmp_path / place) for place in ("first", "second", "copy of the first")}
    for (place, run), seed in zip(runs.items(), (0, 1, 0), strict=True):
        RunIdentity(identity.data, identity.name, seed).store(run)
        assert known(run).seed == seed, place
    one, copied = settings_of(list(runs.values()))
    assert {seed: run.folder.path.name for seed, run in one.runs.items()} == {0: "first", 1: "second"}
    assert {seed: run.folder.path.name for seed, run in copied.runs.items()} == {0: "copy of the first"}
    assert one.name != copied.name


def test_old_and_new_spellings_of_a_name_are_one_setting(tmp_path):
    old = made(tmp_path / "sst" / "jw-bilstm-additive-entmax:1.3" / "seed2")
    new = made(tmp_path / "sst" / "jw-bilstm-additive-entmax-1.3" / "seed3", {"run": RUN, "seed_everything": 3})
    (both,) = settings_of([old, new])
    assert sorted(both.runs) == [2, 3]
