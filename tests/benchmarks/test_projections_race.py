import re

from benchmarks import projections


def test_both_sides_agree_and_every_setting_gets_a_line(monkeypatch, capsys):
    monkeypatch.setattr(projections, "LENGTHS", (5, 40))
    monkeypatch.setattr("sys.argv", ["projections", "--repeats", "1"])
    projections.main()
    lines = re.findall(r"^(sparsemax|entmax15) +(5|40) +(0.1|1.0|3.0) ", capsys.readouterr().out, flags=re.M)
    assert len(set(lines)) == 2 * 2 * 3
