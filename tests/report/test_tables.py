"""Many runs as one table: found, grouped by setting, averaged over seeds, in every format."""

import csv
import io
import shutil
import subprocess

import pytest

from attest.cli.main import main
from attest.errors import AttestError
from attest.report.collection import find_runs, settings_of, shared_keys
from attest.report.tables import as_csv, as_latex, as_markdown
from attest.runs.folder import read_json

NAME = "jw-bilstm-additive-softmax"


@pytest.fixture
def settings(several):
    return settings_of(find_runs([several]))


def test_runs_that_differ_in_the_seed_alone_are_one_setting(several, settings):
    assert [(each.name, [*each.runs]) for each in settings] == [("a_b", [0, 1]), ("c|d", [0])]
    again = find_runs([several / "planted" / "a_b" / "seed1", several])
    assert len(again) == 3, "none twice"


def test_runs_that_depend_on_others_are_settings_of_their_own_with_the_seeds_of_those(several, tmp_path):
    (base,) = find_runs([several / "planted" / "a_b" / "seed0"])
    for seed in (0, 1):
        for attack in ("adversarial", "random"):
            folder = tmp_path / "planted" / NAME / f"seed{seed}" / "keys" / attack
            folder.mkdir(parents=True)
            shutil.copy(base.config, folder)
            shutil.copy(base.summary, folder)
    settings = settings_of(find_runs([tmp_path]))
    assert [(each.name, [*each.runs]) for each in settings] == [
        (f"{NAME}/keys/adversarial", [0, 1]),
        (f"{NAME}/keys/random", [0, 1]),
    ]


def test_mean_and_spread_are_over_seeds(settings):
    over = settings[0].over_seeds("test/accuracy")
    assert (over.mean, over.std, over.seeds) == (pytest.approx(0.6), pytest.approx(0.2 / 2**0.5), 2)
    assert settings[0].over_seeds("no/such") is None


def test_patterns_match_part_by_part(settings, small_run):
    summary = read_json(small_run.summary)
    taus = {key.removesuffix("/mean") for key in summary if key.startswith("E1/tau_") and key.endswith("/mean")}
    assert {*shared_keys(settings, ["E1/tau_*"])} == taus
    assert shared_keys(settings, ["E2/tvd_median/std"]) == ["E2/tvd_median/std"]
    with pytest.raises(AttestError, match="no number is called E77/"):
        shared_keys(settings, ["E77/*"])


def test_markdown(settings):
    lines = as_markdown(settings, ["test/accuracy"]).splitlines()
    assert lines == [
        "|  | a_b | c\\|d |",
        "| --- | --- | --- |",
        "| seeds | 0, 1 | 0 |",
        "| Accuracy | 0.600 ± 0.141 | 0.800 |",
    ]


def test_csv_is_unrounded(settings):
    rows = list(csv.DictReader(io.StringIO(as_csv(settings, ["test/accuracy"]))))
    assert rows[1] == {"setting": "c|d", "measure": "test/accuracy", "mean": "0.8", "std": "", "seeds": "1"}
    assert float(rows[0]["std"]) == pytest.approx(0.2 / 2**0.5, abs=1e-15)


def test_latex_escapes_names_and_symbols(settings):
    text = as_latex(settings, ["test/accuracy", "E1/tau_gradient_inputs"])
    assert r"a\_b" in text
    assert r"0.600 $\pm$ 0.141" in text
    assert r"$\tau$-b of attention and gradient $\times$ input" in text
    assert text.isascii()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_latex_compiles(settings, tmp_path):
    table = as_latex(settings, shared_keys(settings))
    document = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{table}\end{{document}}"
    (tmp_path / "table.tex").write_text(document)
    subprocess.run(["pdflatex", "-halt-on-error", "table.tex"], cwd=tmp_path, check=True, capture_output=True, timeout=60)


def test_the_command_prints_or_writes(several, tmp_path, capsys):
    out = tmp_path / "table.csv"
    assert main(["table", str(several), "--format", "csv", "--keys", "test/accuracy", "--out", str(out)]) == 0
    assert out.read_text().count("\n") == 3
    assert main(["table", str(tmp_path)]) == 2
    assert "holds no finished run" in capsys.readouterr().err
