"""A network that attends to whole sentences: every door says why there is no verdict about it."""

import pytest

from attest.app.cli.main import main
from attest.report.answer import NO_WORDS
from tests.finished_runs import only_folder

pytestmark = pytest.mark.whole("a run from beginning to end")

SMALL = (
    *("fit", "DATA=planted", "MODEL=han", "LOGGER=csv", "--trainer.max_epochs=1", "--trainer.enable_progress_bar=false"),
    *(f"--data.init_args.{split}_texts=32" for split in ("train", "validation", "test")),
    "--run.processes=1",
)
WHY = "what decides is measured for texts in tokens alone"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    root = tmp_path_factory.mktemp("sentences")
    assert main([*SMALL, f"--run.root={root}"]) == 0
    return only_folder(root)


def test_its_run_is_told_why_there_is_no_verdict(run, capsys):
    for command in (["evidence", "--run", str(run.path)], ["gate", str(run.path), "--require", "tokens=yes"]):
        main(command)
        assert "this model attends to whole sentences" in "".join(capsys.readouterr())
    page = run.report.read_text()
    assert NO_WORDS in page
    assert "E19" not in page.split("At a glance")[0]


def test_e19_is_refused_on_its_run_and_before_it_is_trained(run, tmp_path, capsys):
    assert main(["evidence", "--run", str(run.path), "E19"]) == 2
    assert WHY in capsys.readouterr().err
    assert main([*SMALL, "EXPERIMENTS=verdict", f"--run.root={tmp_path}"]) == 2
    told = capsys.readouterr()
    assert WHY in told.err
    assert "Epoch" not in told.out
