"""``attest card``: printed, written into a card, and refused."""

import pytest

from attest.app.cli.main import main
from attest.report.card import BEGIN
from tests.conftest import without_places
from tests.report.made import VERDICT, decided, made_run


@pytest.fixture
def run(tmp_path):
    return made_run(tmp_path / "run", {"verdict": VERDICT}, decided([0, 1], [0, 1]))


def test_a_card_is_printed_or_written(run, tmp_path, capsys):
    assert main(["card", str(run.path)]) == 0
    printed = capsys.readouterr().out
    assert printed.count(BEGIN) == 1
    new, mine = tmp_path / "new.md", tmp_path / "README.md"
    mine.write_bytes(b"# Mine\r\n")
    for card in (new, mine):
        assert main(["card", str(run.path), "--into", str(card)]) == 0
        assert capsys.readouterr().out == f"Card: {card}\n"
    assert new.read_text() == printed
    assert mine.read_bytes().startswith(b"# Mine\r\n\r\n<!--")


@pytest.mark.parametrize("arguments", [["{run}/nowhere"], ["{run}", "--into", "{run}"], ["{run}", "--into", "{run}/binary"]])
def test_what_cannot_be_done_is_said(run, arguments, capsys, snapshot):
    (run.path / "binary").write_bytes(b"\xff\xfe")
    assert main(["card", *(each.format(run=run.path) for each in arguments)]) == 2
    assert without_places(capsys.readouterr().err) == snapshot
