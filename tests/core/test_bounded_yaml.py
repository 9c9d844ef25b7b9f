"""YAML of a stranger: what would fill the memory or the stack is refused before it is built, wherever it is read."""

import pytest
import yaml

from attest.app.cli.main import main
from attest.core.bounded_yaml import bounded
from attest.runs.folder import RunFolder

TENFOLD = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
BOMBS = {
    "nested aliases": f"a0: &a0 [x]\n{TENFOLD}",
    "aliases of mappings": "a: &a {x: 1, y: 2}\n" + "b: [" + "*a, " * 9000 + "]",
    "an anchor in itself": "a: &a [*a]\n",
    "an anchor in itself, deeper": "a: &a {b: [{c: *a}]}\n",
    "an alias of nothing": "a: *b\n",
    "brackets": "a: " + "[" * 100_000,
    "closed brackets": "a: " + "[" * 500 + "]" * 500,
    "blocks": "".join(f"{' ' * n}a:\n" for n in range(300)),
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_it_is_refused_in_a_sentence_wherever_it_is_read(text, tmp_path, capsys):
    with pytest.raises(yaml.YAMLError):
        bounded(text)
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    assert main(["fit", f"--config={file}"]) == 2
    assert "is not a configuration (" in capsys.readouterr().err
    assert main(["reproduce", f"TABLE={file}", "DRY=1"]) == 2
    assert f"{file} cannot be read as YAML (" in capsys.readouterr().err
    run = RunFolder(tmp_path / "data" / "name" / "seed0")
    run.best.parent.mkdir(parents=True)
    run.best.touch()
    run.config.write_text(text)
    assert main(["explain", "--run", str(run.path), "--text", "good"]) == 2
    assert f"{run.config} cannot be read as YAML (" in capsys.readouterr().err


def test_aliases_that_stand_for_little_are_read():
    text = "a: &a {x: [1, 2]}\nb: [*a, *a]\nc: &d word\nd: *d\n" + "e: [" + "1, " * 9_000 + "]"
    assert bounded(text) == text
    assert yaml.safe_load(bounded(text))["b"] == [{"x": [1, 2]}] * 2
