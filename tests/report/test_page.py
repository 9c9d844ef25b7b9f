"""The page that a person reads: self-contained, escaped, complete."""

import html
import json
import re
import shutil
import tarfile
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from attest.app.cli.main import main
from attest.experiments.experiment_errors import sentence_about
from attest.experiments.permutation import SPEC
from attest.report.evidence_figures import importance_histograms, learning_curves, permutation_violins
from attest.report.figures import to_svg
from attest.report.findings import Findings
from attest.report.illustrations import illustrations
from attest.report.page import write_report
from attest.runs.folder import RunFolder, made_from, read_json, write_json, write_table

RESULTS = Path(__file__).parents[2] / "docs" / "results"
HOSTILE = '</span></script><script>alert(1)</script><img src=x onerror=alert(2)>"onmouseover="alert(3)"{{7*7}}\u2028'


class Outline(HTMLParser):
    """What a browser would make of a page: its tags in order, identifiers, and the text of every script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data

    def all(self, name: str) -> list[str | None]:
        return [value for key, value in self.attributes if key == name]


@pytest.fixture
def run(small_run, tmp_path) -> RunFolder:
    path = tmp_path / small_run.path.relative_to(small_run.path.parents[2])
    shutil.copytree(small_run.path, path)
    return RunFolder(path)


@pytest.fixture
def outline(small_run) -> Outline:
    return Outline(small_run.report.read_text())


def test_it_needs_nothing_from_outside(small_run, outline):
    page = small_run.report.read_text()
    assert not re.search(r'(src|href)="(?!#|data:)', page)
    assert "@import" not in page
    assert "url(http" not in page
    assert outline.tags.count("svg") == len(illustrations(Findings(small_run))) > 3


def test_it_says_first_whether_attention_is_right_and_of_each_test_what_it_misses(small_run):
    """The corpus is planted, so that the truth is known."""
    page = small_run.report.read_text()
    first, rest = page.split('<ul class="glance">')[0], page.split('<ul class="asked">')[1].split('<div id="E3">')[1]
    assert re.search(
        r"top token is a deciding word in [\d.]+\s% \[.*?\] of texts for attention, [\d.]+\s% \[.*?\] for gradient × input",
        first,
    )
    assert sentence_about("E3") in rest.split("<table")[0], "above the numbers, which this question opens"


def test_it_opens_with_a_picture_a_question_the_truth_first_each_with_what_it_is_held_against(small_run):
    band = html.unescape(small_run.report.read_text()).split('<ul class="glance">')[1].split("</ul>")[0]
    questions = re.findall(r"<h3>(?:<span.*?</span>)?<a href=.*?>(.*?)</a></h3>", band)
    assert questions[:2] == ["In how many texts does the top token decide?", "Is the model worth asking?"]
    assert len(questions) == len({*questions}) == band.count("<li")
    truth, accuracy, *_ = band.split("<li")[1:]
    assert truth.count('class="scale"') == truth.count('class="control"') == 3
    assert "random token" in truth
    assert "always “" in accuracy


def test_only_the_answers_stand_open_and_each_opens_its_numbers(small_run):
    """A link to what is closed opens it, which takes its id to be inside."""
    page = small_run.report.read_text()
    stands_open = '<details class="folded answers" open><summary><h2>Each question and its answer</h2></summary>'
    assert page.count(stands_open) == 1
    page = page.replace(stands_open, "")
    closed = "".join(re.findall(r"<details.*?>(.*?)</details>", page, flags=re.DOTALL))
    opened = html.unescape(re.sub(r"<details.*?</summary>.*?</details>", "", page, flags=re.DOTALL))
    assert "<table" not in opened
    assert not re.search("<details[^>]* open", page)
    for identity in ("test", "E1", "E2", "E3", "first", "figures", "texts", "instances", "made"):
        assert f'id="{identity}"' in closed
    asked = page.split('<ul class="asked">')[1].split('<details class="missing">')[0]
    summaries = [html.unescape(re.sub("<.*?>", "", each)) for each in re.findall(r"<summary>(.*?)</summary>", asked)]
    assert [each for each in summaries if "Shuffling the attention weights among the tokens moves the prediction" in each]


def test_identifiers_are_unique_and_links_lead_somewhere(outline):
    ids = outline.all("id")
    assert len(ids) == len({*ids})
    targets = [link.removeprefix("#") for link in outline.all("href") + outline.all("xlink:href") if link.startswith("#")]
    assert targets
    assert {*targets} <= {*ids}


@pytest.mark.whole("every figure is drawn twice")
def below(page: str) -> str:
    """The page without its first screen, whose texts are chosen by their words."""
    return re.sub('(?s)<div class="screen">.*<div class="about">', "", page)


def test_text_from_the_data_cannot_inject_markup(run):
    write_report(Findings(run))
    drawn = Outline(run.report.read_text())
    write_report(Findings(run), figures=[])
    before = Outline(below(run.report.read_text()))
    rows = pd.read_parquet(run.evidence("instances"))
    rows["tokens"] = [[f"{HOSTILE}{number}"] * len(tokens) for number, tokens in zip(rows["id"], rows["tokens"], strict=True)]
    hostile = rows.rename(columns={"probability_praise": f"probability_{HOSTILE}"})
    write_table(run.evidence("instances"), hostile, made_from(run.evidence("instances")))
    write_report(Findings(run))
    redrawn = Outline(run.report.read_text())
    assert {*redrawn.tags} == {*drawn.tags}, "figures wrap long names, so that they have more elements, but of no other kind"
    assert redrawn.tags.count("script") == drawn.tags.count("script")
    assert not [name for name, _ in redrawn.attributes if name.startswith("on")]
    write_report(Findings(run), figures=[])
    page = run.report.read_text()
    after = Outline(below(page))
    assert after.tags == before.tags, "not one element more or less"
    assert not [name for name, _ in after.attributes if name.startswith("on")]
    assert "&lt;script&gt;alert(1)" in page
    assert "49" not in page.split('id="text-')[1][:2000], "nothing in a text is a template"
    data = json.loads(after.scripts[0])
    assert {*data["texts"]["0"]["tokens"]} == {f"{HOSTILE}0"}, "and the script's data hold it unchanged"


@pytest.mark.whole("a run from beginning to end")
def test_what_was_read_beside_a_text_stands_above_it(run):
    write_report(Findings(run), figures=[])
    assert "Question or hypothesis:" not in run.report.read_text().split("<script")[0]
    rows = pd.read_parquet(run.evidence("instances"))
    asked = [["Where", "is", f"{HOSTILE}{identity}"] for identity in rows["id"]]
    write_table(run.evidence("instances"), rows.assign(question=asked))
    write_report(Findings(run), figures=[])
    page = run.report.read_text()
    (identity,) = re.findall(r'<article id="text-(\d+)"', page)[:1]
    assert f"Question or hypothesis: Where is {html.escape(HOSTILE).replace('&#x27;', '&#39;')}{identity}</p>" in page.replace(
        "&#34;", "&quot;"
    )
    assert json.loads(Outline(page).scripts[0])["texts"][identity]["question"] == f"Where is {HOSTILE}{identity}"


def test_whether_the_model_is_worth_asking_comes_first_then_its_control_with_the_command_that_runs_it(small_run):
    page = html.unescape(small_run.report.read_text())
    verdict = page.split('id="questions"')[1]
    order = ["Is the model worth asking?", "Accuracy</th>", "always “blame”:", "Does the task need", "τ-b of att"]
    places = [verdict.index(text) for text in (*order, "Controls that were not run")]
    assert places == sorted(places)
    assert "attest controls DATA=planted --data.init_args.rule=token" in page, "the words that trained the run"


def test_what_was_not_run_is_folded_and_named_once_and_columns_without_a_number_are_left_out(small_run):
    page = html.unescape(small_run.report.read_text())
    assert "not run" not in page.replace("Controls that were not run", "")
    folded = page.split('<details class="missing">')[1].split("</details>")[0]
    assert "<summary>Controls that were not run: uniform attention, other seeds</summary>" in folded
    assert "attest controls" in folded
    assert "Not known: the same model with uniform attention was not trained." in page, "the question is answered at any rate"
    accuracy = page.split('<table class="verdict"')[1].split("</table>")[0]
    shuffled = page.split('<div id="E2">')[1].split("</table>")[0]
    assert (">Controls</th>" in accuracy, ">Controls</th>" in shuffled) == (True, False)
    assert ">Published</th>" not in page
    assert "No published number of this setting is known." in page


def test_what_is_undefined_on_every_text_is_named_and_has_neither_row_nor_column(run):
    undefined = {f"E2/tvd_median/{part}": None for part in ("mean", "std", "ci_low", "ci_high")} | {"E2/tvd_median/nan": 77.0}
    write_json(run.summary, read_json(run.summary) | undefined)
    rows = pd.read_parquet(run.evidence("E2"))
    write_table(run.evidence("E2"), rows.assign(tvd_median=np.nan))
    write_report(Findings(run), figures=[])
    page = html.unescape(run.report.read_text())
    name = next(measure.title for measure in SPEC.measures if measure.name == "tvd_median")
    assert f"Undefined on every text: {name}." in page
    assert f">{name}</th>" not in page
    columns = [column["name"] for column in json.loads(Outline(run.report.read_text()).scripts[0])["columns"]]
    short = next(measure.short[0] for measure in SPEC.measures if measure.name == "tvd_median")
    assert short not in columns
    assert "max α" in columns
    assert short in page.split("Undefined on every text, and so without a column: ")[1].split("</p>")[0]


def sibling(run: RunFolder, name: str, seed: int, settings: dict, accuracy: float) -> None:
    """A run beside this one that has another accuracy."""
    folder = RunFolder(run.path.parents[1] / name / f"seed{seed}")
    write_json(folder.summary, read_json(run.summary) | {"test/accuracy": accuracy})
    folder.config.write_text(yaml.safe_dump(settings))


def test_controls_are_read_from_the_runs_beside_it(run):
    settings = yaml.safe_load(run.config.read_text())
    sibling(run, run.path.parent.name, 1, settings | {"seed_everything": 1}, 0.25)
    flat = settings | {"run": settings["run"] | {"projection": "uniform"}}
    sibling(run, "jw-bilstm-additive-uniform-00000000", 0, flat | {"seed_everything": 3}, 0.125)
    longer = flat | {"trainer": settings["trainer"] | {"max_epochs": 99}}
    sibling(run, "jw-bilstm-additive-uniform-11111111", 0, longer, 0.0625)
    write_report(Findings(run), figures=[])
    page = run.report.read_text()
    mine = read_json(run.summary)["test/accuracy"]
    assert f"{(mine + 0.25) / 2:.3f} ± {abs(mine - 0.25) / 2**0.5:.3f}" in page
    uniform = page.split('<div id="E4">')[1].split("</table>")[0]
    assert "<strong>0.125</strong>" in uniform, "and not 0.062, of a run that differs in more than its projection"
    assert "Controls that were not run" not in page


def test_what_controls_found_between_seeds_is_shown(run):
    found = {"E5/jsd/mean": 0.125, "E5/jsd/nan": 0.0} | {f"E5/jsd/{part}": 0.125 for part in ("std", "ci_low", "ci_high")}
    write_json(run.path / "controls" / "summary.json", {"rows": []} | found)
    write_report(Findings(run), figures=[])
    page = run.report.read_text()
    assert page.index("How far apart is attention when only the seed differs?") < page.index("JSD between seeds")


def test_every_text_can_be_seen_with_every_explanation(small_run, outline):
    data = json.loads(outline.scripts[0])
    tables = {name: pd.read_parquet(small_run.evidence(name)).set_index("id") for name in ("instances", "E1", "E3")}
    assert [row[0] for row in data["rows"]] == list(range(77))
    names = [shown["name"] for shown in data["texts"]["5"]["shown"]]
    assert names == ["Attention", "What decides", "Gradient × input", "Leave-one-out", "Another attention, same prediction",
                     "Swapped to sparsemax", "Swapped to 1.5-entmax"]  # fmt: skip
    heat = [int(level, 36) for level in data["texts"]["5"]["shown"][0]["heat"]]
    attention = tables["instances"].loc[5, "attention"]
    np.testing.assert_allclose(np.array(heat) / 35, attention / attention.max(), atol=0.5 / 35 + 1e-6)
    assert data["texts"]["5"]["tokens"] == list(tables["instances"].loc[5, "tokens"])
    place = [column["name"] for column in data["columns"]].index("ε-max JSD") + 4
    assert data["rows"][5][place] == pytest.approx(tables["E3"].loc[5, "jsd_exact"], abs=1e-4)


@pytest.mark.whole("every figure is drawn")
def test_figures_lie_beside_it_as_vectors_and_pictures(run):
    write_report(Findings(run))
    (run.figures / "E99-gone.svg").write_text("<svg/>")
    with (run.figures / "drawn.txt").open("a") as listed:
        listed.write("\nE99-gone.svg")
    write_report(Findings(run))
    names = {figure.key.replace("/", "-") for figure in illustrations(Findings(run))}
    drawn = {f"{name}.{kind}" for name in names for kind in ("svg", "png")}
    assert {path.name for path in run.figures.iterdir()} == {*drawn, "readings.svg", "drawn.txt"}
    assert (run.figures / "E2-permutation_by_max_attention.png").read_bytes().startswith(b"\x89PNG")


def test_what_the_report_did_not_draw_stays(run):
    """Neither a file of somebody's beside the figures goes, nor one elsewhere that a list of a stranger's names."""
    one = illustrations(Findings(run))[:1]
    write_report(Findings(run), figures=one)
    others = [run.figures / "mine.png", run.figures / "mine.svg", run.path / "mine.svg"]
    for file in others:
        file.write_text("mine")
    (run.figures / "drawn.txt").write_text(f"../mine.svg\n{run.path / 'mine.svg'}\n..\n")
    write_report(Findings(run), figures=one)
    assert [file.read_text() for file in others] == ["mine"] * 3


def test_no_report_is_written_through_a_link(run, tmp_path, capsys):
    mine = tmp_path / "pictures"
    mine.mkdir()
    for name in ("holiday.png", "E2-permutation_by_max_attention.svg"):
        (mine / name).write_text("mine")
    shutil.rmtree(run.figures)
    run.figures.symlink_to(mine)
    assert main(["report", str(run.path)]) == 2
    assert f"{run.figures} is a link to the folder {mine}" in capsys.readouterr().err
    assert {file.name: file.read_text() for file in mine.iterdir()} == {
        "holiday.png": "mine",
        "E2-permutation_by_max_attention.svg": "mine",
    }


def test_it_is_written_without_evidence_that_did_not_run(run):
    for table in (run.path / "evidence").glob("*.parquet"):
        table.unlink()
    write_report(Findings(run))
    assert Outline(run.report.read_text()).tags.count("svg") == 1


@pytest.mark.parametrize(("best", "epochs", "said"), [(0, 3, True), (1, 3, False), (0, 1, False)])
def test_it_says_when_the_first_epoch_was_the_best(run, best, epochs, said):
    write_json(run.summary, read_json(run.summary) | {"best/epoch": best})
    write_json(run.curves, [read_json(run.curves)[0] | {"epoch": epoch} for epoch in range(epochs)])
    write_report(Findings(run))
    page = html.unescape(run.report.read_text())
    assert f"The model is that of epoch {best + 1} of {epochs}, the best by validation." in page
    assert ("No later epoch was better, so the rest of the training did not help." in page) == said


@pytest.mark.parametrize("corpus", ["conll2000", "sst"])
def test_it_is_written_of_the_runs_that_are_kept_without_curves_and_tables(corpus, tmp_path):
    """Those behind the published tables: configuration, summary and timing are all there is."""
    with tarfile.open(RESULTS / f"runs-{corpus}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    kept = [RunFolder(path.parent) for path in sorted(tmp_path.rglob("summary.json"))]
    base = next(run for run in kept if not (run.path / "base.json").is_file())
    dependent = next(run for run in kept if (run.path / "base.json").is_file())
    assert not base.curves.exists()
    for run in (base, dependent):
        write_report(Findings(run))
        page = html.unescape(run.report.read_text())
        assert f"The model is that of epoch {read_json(run.summary)['best/epoch'] + 1}, the best by validation." in page
        assert "Not known: " in page.split('<ul class="asked">')[1].split("</ul>")[0]
        assert "<svg" not in page
        assert 'id="figures"' not in page


@pytest.mark.parametrize(
    "name", ["evidence/E2.parquet", "evidence/instances.parquet", "summary.json", "curves.json", "config.yaml"]
)
@pytest.mark.parametrize("keep", [300, 0])
def test_a_damaged_file_is_named_in_a_sentence(run, capsys, name, keep):
    path = run.path / name
    path.write_bytes(b"{" + path.read_bytes()[:keep] + b"\xff")
    assert main(["report", str(run.path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"attest: {path} cannot be read as ")
    assert "expected the complete file that Attest wrote. Replace it by a complete copy" in said
    assert "Traceback" not in said


def test_undefined_evidence_is_drawn_and_counted_not_crashed_on():
    columns = {"predicted": [0, 0, 1], "length": 3, "tau_gradient_inputs": [float("nan")] * 3}
    rows = pd.DataFrame(columns | {"max_attention": [1.0, 0.2, 0.2], "tvd_median": [0.1] * 3})
    for figure in (importance_histograms(rows, ["a", "b"]), permutation_violins(rows, ["a", "b"])):
        assert to_svg(figure).startswith("<svg")


def test_equal_data_draw_equal_figures():
    epochs = [{"epoch": 0, "train/loss": 1.0, "validation/loss": 2.0}]
    assert to_svg(learning_curves(epochs)) == to_svg(learning_curves(epochs))


def test_the_page_ends_with_all_readings_and_which_survived_best(small_run):
    page = small_run.report.read_text(encoding="utf-8")
    part = page[page.index('id="readings"') : page.index('id="made"')]
    for cell in ("random sets beaten", "NAOPC", "seconds a text", "P@k", "depth", "AUPRC", "oracle"):
        assert f">{cell}<" in part
    assert part.index("</table>") < part.index("survived best")


def test_a_model_trained_on_masked_texts_is_said_to_be_another(small_run, tmp_path):
    said = "That makes it another model than one trained on whole texts"
    assert said not in small_run.report.read_text(encoding="utf-8")
    copy = tmp_path / small_run.path.relative_to(small_run.path.parents[2])
    shutil.copytree(small_run.path, copy)
    folder = RunFolder(copy)
    settings = folder.settings()
    settings["model"]["init_args"]["masking"] = "uniform"
    folder.config.write_text(yaml.safe_dump(settings, sort_keys=False))
    write_report(Findings(folder), figures=[])
    assert said in folder.report.read_text(encoding="utf-8")


def test_copies_of_training_texts_and_a_cut_of_the_old_kind_are_said(run):
    record, settings = read_json(run.data), run.settings()
    assert record["sampling"] == "keyed"
    write_json(run.data, record | {"copies": {"test in train": 3}})
    write_report(Findings(run), figures=[])
    said = f"3 of the {record['counts']['test']:,} texts of the test split are also in the train split"
    assert said in run.report.read_text(encoding="utf-8")
    settings["data"]["init_args"]["texts"] = 7
    run.config.write_text(yaml.safe_dump(settings, sort_keys=False))
    write_json(run.data, {name: value for name, value in record.items() if name not in ("sampling", "copies")})
    write_report(Findings(run), figures=[])
    page = run.report.read_text(encoding="utf-8")
    assert "texts=7: rows at equal distances, as this run was made" in page
    assert "are also in" not in page


def test_each_experiment_says_in_how_many_texts_it_measured_something(small_run, run):
    section = small_run.report.read_text().partition('<div id="E1">')[2].partition("</div>")[0]
    assert "Measured in 77 texts." in section
    rows = pd.read_parquet(run.evidence("E1"))
    measured = [column for column in rows.select_dtypes("number") if column not in ("id", "label", "predicted", "length")]
    write_table(run.evidence("E1"), rows.assign(**{name: rows[name].where(rows.index >= 7) for name in measured}))
    assert Findings(run).read_by("E1") == "70 texts"
    assert Findings(run).read_by("E99") is None
