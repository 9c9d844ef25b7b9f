"""Many runs as one table: found, grouped by setting, averaged over seeds, in every format."""

import csv
import io
import shutil
import subprocess
from dataclasses import replace

import pytest

from attest.app.cli.main import main
from attest.core.errors import AttestError
from attest.report.collection import in_order, leading, settings_of, shared_keys
from attest.report.run_tables import as_csv, as_latex, as_markdown, as_text
from attest.report.summary import label_of
from attest.runs.folder import read_json
from attest.runs.identity import find_runs

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


def test_patterns_match_part_by_part(settings, small_run, refusal):
    summary = read_json(small_run.summary)
    taus = {key.removesuffix("/mean") for key in summary if key.startswith("E1/tau_") and key.endswith("/mean")}
    assert {*shared_keys(settings, ["E1/tau_*"])} == taus
    assert shared_keys(settings, ["E2/tvd_median/std"]) == ["E2/tvd_median/std"]
    with pytest.raises(AttestError, match=r"no number in summary\.json is called 'E77/"):
        shared_keys(settings, ["E77/*"])
    with refusal():
        shared_keys(settings, ["test/f1", "test/acuracy"])


def test_markdown_has_a_row_a_setting(settings, snapshot):
    lines = as_markdown(settings, ["test/accuracy"]).splitlines()
    assert lines == snapshot


@pytest.mark.parametrize("width", [60, 90])
def test_a_table_that_is_wider_than_a_page_goes_on_below_with_all_its_columns(settings, width):
    keys, many = shared_keys(settings)[:4], settings * 30
    lines = as_markdown(many, keys, width).splitlines()
    tables = [line for line in lines if line.startswith("|")]
    heads = [line for line in tables if line.startswith("| Setting")]
    assert [cell.strip() for head in heads for cell in head.split("|")[3:-1]] == [label_of(key) for key in keys]
    assert all(len(line) <= width or line.count(" | ") == 2 for line in tables), "a column that is too wide stands alone"
    assert 1 < len(heads) <= len(keys)
    assert as_latex(many, keys, width).count(r"\begin{tabular}{llr") == len(heads)


def test_measures_are_the_rows_where_that_makes_fewer_lines(settings, snapshot):
    keys = leading(shared_keys(settings))
    five = [replace(settings[0], name=f"setting {place}") for place in range(5)]
    lines = as_markdown(five, keys).splitlines()
    assert [line.split("|")[1].strip() for line in lines[2 : 2 + len(keys)]] == [label_of(key) for key in keys]
    assert [head.strip() for head in lines[0].split("|")[1:-1]] == ["Measure", *"12345"]
    assert lines[3 + len(keys) :] == snapshot
    assert as_latex(five, keys).startswith(r"\begin{tabular}{lrrrrr}")
    assert len(lines) <= 40
    assert leading(["test/accuracy", "E1/a", "E1/b", "E2/a", "E1/c"], 2) == ["test/accuracy", "E1/a", "E1/b", "E2/a"]


def test_a_sweep_is_in_the_order_of_its_numbers(several, tmp_path):
    (base,) = find_runs([several / "planted" / "a_b" / "seed0"])
    for name in ("l-0.1", "l-1e-05", "l-0.02", "l-10"):
        folder = tmp_path / "planted" / NAME / "seed0" / "adversarial" / name
        folder.mkdir(parents=True)
        shutil.copy(base.config, folder)
        shutil.copy(base.summary, folder)
    names = [each.name.rsplit("/", 1)[-1] for each in settings_of(find_runs([tmp_path]))]
    assert names == ["l-1e-05", "l-0.02", "l-0.1", "l-10"]


def test_only_what_differs_in_numbers_alone_is_reordered():
    names = ["z-2", "other", "z-1", "z-1.5-ab", "a-3", "z-0.5", "x-11111111", "x-0000000e"]
    assert in_order(names, str) == ["z-0.5", "other", "z-1", "z-1.5-ab", "a-3", "z-2", "x-11111111", "x-0000000e"]


def test_csv_is_unrounded(settings):
    rows = list(csv.DictReader(io.StringIO(as_csv(settings, ["test/accuracy"]))))
    assert rows[1] == {"setting": "c|d", "measure": "test/accuracy", "mean": "0.8", "std": "", "seeds": "1"}
    assert float(rows[0]["std"]) == pytest.approx(0.2 / 2**0.5, abs=1e-15)


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1+1", "-1-1", "@SUM(1)", "\t=1", "\r\n=1", "a\n=1,2"])
def test_no_cell_of_a_csv_is_computed_or_goes_on_in_another_line(settings, name):
    hostile = [replace(settings[0], name=name)]
    (row,) = csv.reader(io.StringIO(as_csv(hostile, ["test/accuracy"]).partition("\n")[2]))
    assert row[0] == f"{'' if name[0] == 'a' else chr(39)}{name}".translate(dict.fromkeys(map(ord, "\t\r\n"), " "))
    assert as_markdown(hostile, ["test/accuracy"]).splitlines()[2].startswith("| ")
    assert row[2] == "0.6", "numbers stay numbers"
    assert [as_text(each) for each in ("-0.675", "+1", "-.1 + 2")] == ["-0.675", "+1", "'-.1 + 2"]


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
    assert main(["table", str(several), "--format", "csv", "--columns", "test/accuracy", "--out", str(out)]) == 0
    assert out.read_text().count("\n") == 3
    page = tmp_path / "table.md"
    for _ in range(2):
        assert main(["table", str(several), "--width", "60", "--out", str(page)]) == 0, "a table of Attest may be written over"
    assert page.read_text().startswith("| Measure")
    assert main(["table", str(tmp_path)]) == 2
    assert "contains no finished run" in capsys.readouterr().err
