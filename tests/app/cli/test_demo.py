"""The demo: a model that comes with Attest gets a verdict, a page and a picture, without a network."""

import json
import socket

import pytest

from attest.app.cli.demo import MODEL, TEXTS
from attest.app.cli.main import main

pytestmark = pytest.mark.whole("a whole demo")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "out"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(socket.socket, "connect", _refused)
        assert main(["demo", "--out", str(out)]) == 0
    return out


def _refused(*_: object) -> None:
    raise OSError("the demo asked for a network")


def test_the_demo_finds_what_it_has_always_found(demo):
    summary = json.loads((demo / "summary.json").read_text())
    verdict = summary["verdict"]["tokens"]
    assert summary["test/accuracy"] == 1.0
    assert (verdict["answer"], verdict["read"]) == ("yes", 80)
    assert verdict["share"] == pytest.approx(0.91, abs=0.03)  # another processor may judge two of the texts otherwise
    assert verdict["random"]["value"] == pytest.approx(0.15, abs=0.03)


def test_the_demo_leaves_a_page_and_a_picture(demo):
    assert "Attention rollout is attention, followed through all layers." in (demo / "report.html").read_text(encoding="utf-8")
    assert (demo / "text.svg").read_text(encoding="utf-8").startswith("<svg")


def test_the_demo_can_be_typed_again_and_ends_with_the_command_for_ones_own_model(demo, capsys):
    assert main(["demo", "--out", str(demo)]) == 0
    *_, picture, yours = capsys.readouterr().out.splitlines()
    assert picture == f"Picture:    {demo / 'text.svg'}"
    assert yours.startswith("Your model: attest trial --model ")


def test_the_demo_is_small():
    assert sum(file.stat().st_size for file in (TEXTS, *MODEL.iterdir())) < 2e6


def test_the_demo_leaves_the_trial_of_somebody_alone(demo, capsys):
    identity = json.loads((demo / "run.json").read_text())
    identity["options"]["texts"] = 7
    (demo / "run.json").write_text(json.dumps(identity))
    assert main(["demo", "--out", str(demo)]) == 2
    assert "contains a trial that was made by another command" in capsys.readouterr().err
