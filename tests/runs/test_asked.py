"""A run is named by what was asked for: other choices and options give another name, evidence and machines do not."""

import shutil
from pathlib import Path

import pytest
import yaml

from attest.app.cli.main import main
from attest.app.configured import ConfiguredRun
from attest.replication.plan import make_plan
from attest.runs.asked import (
    AskedRun,
    as_argument,
    asked_settings,
    differing_keys,
    digest,
    evidence_digest,
    folder_of_words,
    identity,
    merged,
    merged_files,
)
from attest.runs.belonging import DIGESTS
from attest.runs.choices import choice_arguments, expand
from attest.runs.folder import RunFolder, read_json, write_json
from attest.runs.published_tables import read_published, table_file, table_names
from tests.finished_runs import SMALL_RUN, only_folder

PLAIN = "jw-bilstm-additive-softmax"


def name_of(*words):
    return folder_of_words(words).parent.name


def test_choices_alone_give_the_readable_name():
    assert folder_of_words(["DATA=sst", "SEED=3"]) == Path("runs/sst", PLAIN, "seed3")
    assert folder_of_words(["DATA=sst", "--run.root=elsewhere"]) == Path("elsewhere/sst", PLAIN, "seed0")


@pytest.mark.parametrize(
    "word",
    [
        "EXPERIMENTS=none",
        "--experiments.E2.permutations=3",
        "--experiments.E3=null",
        "LOGGER=csv",
        "TRAINER=gpu",
        "FORCE=1",
        "--run.processes=3",
        "--run.until=0.01",
        "--run.max_search_steps=3",
        "--trainer.devices=2",
        "--trainer.strategy=ddp",
        "--data.init_args.num_workers=4",
    ],
)
def test_evidence_and_machines_are_no_part_of_a_name(word):
    if word.startswith("TRAINER="):
        word = "--trainer.accelerator=gpu"
    assert name_of("DATA=sst", word) == PLAIN
    assert name_of("DATA=sst", "--trainer.max_epochs=3", word) == name_of("DATA=sst", "--trainer.max_epochs=3")


def test_any_other_option_gives_a_name_of_its_own():
    options = ["--trainer.max_epochs=3", "--trainer.max_epochs=4", "CUT=smoke", "--data.init_args.texts=100"]
    names = {name_of("DATA=sst", option) for option in options}
    assert len(names) == len(options)
    assert all(name.startswith(f"{PLAIN}-") and len(name) == len(PLAIN) + 9 for name in names)


@pytest.mark.parametrize("value", ["entmax:1.3", "sparsegen:-1"])
def test_a_parameter_stands_in_the_name_without_its_colon(value):
    assert name_of("DATA=sst", f"PROJECTION={value}") == f"jw-bilstm-additive-{value.replace(':', '-')}"
    assert name_of("DATA=sst", f"PROJECTION={value}") != name_of("DATA=sst", f"PROJECTION={value}1")


def test_an_option_is_read_alike_with_an_equals_sign_and_with_a_blank():
    assert name_of("DATA=sst", "--trainer.max_epochs=3") == name_of("DATA=sst", "--trainer.max_epochs", "3")


def test_what_was_typed_last_counts():
    assert name_of("DATA=sst", "--trainer.max_epochs=4", "--trainer.max_epochs=3") == name_of(
        "DATA=sst", "--trainer.max_epochs=3"
    )


def test_a_model_of_ones_own_always_has_a_hash(tmp_path):
    config = tmp_path / "mine.yaml"
    config.write_text(yaml.safe_dump(asked_settings(expand(["DATA=sst"]))))
    assert name_of(f"--config={config}") == PLAIN
    assert name_of(f"--config={config}", "--run.model=mine").startswith("jw-mine-additive-softmax-")


def test_a_class_is_named_wherever_it_lies():
    here, there = ({"model": {"class_path": f"attest.{place}.BiLSTM"}} for place in ("networks", "models.networks"))
    mine, yours = ({"model": {"class_path": f"{place}.BiLSTM"}} for place in ("mine", "yours"))
    assert digest(here) == digest(there)
    assert digest(mine) != digest(yours) != digest(here)


def test_another_class_takes_over_no_arguments_and_the_same_class_all():
    first = {"network": {"class_path": "a.A", "init_args": {"size": 1, "rate": 2}}}
    assert merged(first, {"network": {"class_path": "a.B"}}) == {"network": {"class_path": "a.B"}}
    same = merged(first, {"network": {"class_path": "a.A", "init_args": {"size": 3}}})
    assert same["network"]["init_args"] == {"size": 3, "rate": 2}


def test_the_settings_of_all_tables_have_a_name_each():
    words = {}
    tables = [read_published(table_file(name)) for name in table_names()]

    def locate(typed):
        folder = folder_of_words(typed)
        words[tuple(sorted(word for word in typed if not word.startswith("EXPERIMENTS=")))] = folder.parent
        return folder

    make_plan(tables, 1, locate)
    assert len(words) == len(set(words.values())) >= 160


def test_a_plan_and_a_run_have_one_folder():
    for words in (["DATA=sst", "PROJECTION=entmax:1.3"], ["DATA=imdb", "MODEL=han", "--trainer.max_epochs=2", "SEED=4"]):
        run = ConfiguredRun("fit", AskedRun.of(words))
        run.locate()
        assert run.folder.path == folder_of_words(words)


def test_files_are_merged_as_the_parser_merges_them():
    """Parsed one after the other by jsonargparse, and merged by us and parsed once, they are the same settings."""
    arguments = choice_arguments({"DATA": "sst", "MODEL": "cnn", "PROJECTION": "sparsemax", "EXPERIMENTS": "none"})
    run = ConfiguredRun("fit", AskedRun.of(arguments))
    theirs = run.parser.parse_args(["fit", *arguments])
    assert run.resolved(theirs) == run.resolved(run.config)


def test_a_configuration_that_cannot_be_read_is_named(tmp_path, refusal):
    with refusal():
        asked_settings(["--config=nowhere.yaml"])
    (tmp_path / "list.yaml").write_text("- a")
    with refusal():
        asked_settings([f"--config={tmp_path / 'list.yaml'}"])


def test_settings_differ_where_both_have_a_value():
    ours, theirs = {"a": 1, "b": {"c": 2}, "new": 3}, {"a": 1, "b": {"c": 4}, "old": 3}
    assert differing_keys(ours, theirs) == ["b.c"]


def test_evidence_depends_on_seed_and_experiments_too():
    settings = {"seed_everything": 0, "experiments": {"E2": {"permutations": 3}}, "run": {}}
    others = [settings | {"seed_everything": 1}, settings | {"experiments": {}}]
    assert {digest(each) for each in others} == {digest(settings)}
    assert len({evidence_digest(each) for each in (settings, *others)}) == 3
    assert "experiments" not in identity(settings)


@pytest.fixture
def kept(small_run, tmp_path):
    """A copy of the small run that the command which trained it finds again."""
    place = tmp_path / small_run.path.relative_to(small_run.path.parents[2])
    shutil.copytree(small_run.path, place)
    return RunFolder(place)


def modified(folder: RunFolder):
    return {path: path.stat().st_mtime_ns for path in folder.path.rglob("*") if path.is_file()}


def fit(root, *more):
    return main(["fit", *SMALL_RUN, f"--run.root={root}", *more])


def test_a_finished_run_is_recognised_and_nothing_is_done(kept, tmp_path, capsys):
    before = modified(kept)
    assert fit(tmp_path) == 0
    assert f"complete: {kept.path}" in capsys.readouterr().out
    assert modified(kept) == before


@pytest.mark.whole("commands on copies of a run")
def test_an_experiment_that_is_new_is_gathered_for_a_finished_run_without_training_it_again(kept, tmp_path, capsys):
    """What an author sees who adds an experiment to the shipped ones when there are runs already."""
    settings = kept.settings()
    del settings["experiments"]["E12"]
    kept.config.write_text(yaml.safe_dump(settings, sort_keys=False))
    digests = read_json(kept.identity)
    write_json(kept.identity, {name: value for name, value in digests.items() if name != DIGESTS})
    kept.evidence("E12").unlink()
    before = modified(kept)
    assert fit(tmp_path) == 0
    said, after = capsys.readouterr().out, modified(kept)
    assert "Evidence on the test split, E12" in said
    assert "Training" not in said
    assert after[kept.best] == before[kept.best]
    assert after[kept.evidence("E2")] == before[kept.evidence("E2")]
    assert only_folder(tmp_path).path == kept.path


@pytest.mark.whole("three commands in a row")
def test_evidence_with_other_settings_is_gathered_again_and_is_no_other_run(kept, tmp_path, capsys):
    before, draws = modified(kept), "--experiments.E12.draws=2"
    assert fit(tmp_path, draws) == 0
    assert "Evidence on the test split, E12\n" in capsys.readouterr().out
    assert only_folder(tmp_path).path == kept.path
    assert kept.settings()["experiments"]["E12"]["draws"] == 2
    assert modified(kept)[kept.evidence("E12")] > before[kept.evidence("E12")]
    assert modified(kept)[kept.evidence("E2")] == before[kept.evidence("E2")]
    assert main(["evidence", "--run", str(kept.path), "E12", draws]) == 0
    assert "E12" in capsys.readouterr().out
    again = modified(kept)
    assert main(["evidence", "--run", str(kept.path), "E12", "--experiments.E12.draws=3"]) == 0
    assert "computed" in capsys.readouterr().out
    assert modified(kept)[kept.evidence("E12")] > again[kept.evidence("E12")]
    assert kept.settings()["experiments"]["E12"]["draws"] == 3
    assert kept.settings()["experiments"]["E2"], "the settings of other tables stay"


def test_another_reading_lies_apart_and_leaves_the_runs_own_tables(kept, capsys):
    own = kept.evidence("E11").read_bytes()
    assert main(["evidence", "--run", str(kept.path), "--reading", "norm", "E11", "e14"]) == 0
    (apart,) = kept.best.parent.glob("best-evidence-norm-*")
    assert {path.stem for path in (apart / "evidence").iterdir()} == {"E11", "E14"}
    assert kept.evidence("E11").read_bytes() == own != (apart / "evidence" / "E11.parquet").read_bytes()
    assert main(["evidence", "--run", str(kept.path), "--reading", "norm", "E2"]) != 0
    assert (
        "E2 tests only the attention weights, and --reading was typed; expected one or more of: E1, E11, E12, E14"
        in capsys.readouterr().err
    )
    assert main(["evidence", "--run", str(kept.path), "--reading", "nrom"]) != 0
    assert "norm" in capsys.readouterr().err


def test_a_text_of_a_file_reaches_the_parser_as_it_stands_there(tmp_path):
    file = tmp_path / "mine.yaml"
    for text in ("reviews 😀.csv", "1e3", "2026-01-01"):
        file.write_text(yaml.safe_dump({"data": {"init_args": {"train": text}}}, allow_unicode=True), encoding="utf-8")
        parsed = ConfiguredRun("fit", AskedRun.of(["DATA=files", "--data.init_args.test=t.csv", f"--config={file}"]))
        assert str(parsed.config.fit.data.init_args.train) == text


def test_an_argument_holds_the_configuration_as_it_is():
    settings = {"a": 1e-05, "b": "1e-05", "c": [None, "null", True, "😀 \n"], "d": {"e": {}}}
    assert merged_files([as_argument(settings)]) == (settings, [])
