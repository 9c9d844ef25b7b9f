"""Configurations parsed piece by piece are those that are parsed as a whole, and pieces are parsed once."""

import pytest

from attest.errors import AttestError
from attest.runs import pieces
from attest.runs.choices import expand
from attest.runs.configured import resolve
from attest.runs.naming import variant
from attest.runs.pieces import Pieces, merged

PLAIN = ("DATA=sst", "MODEL=bilstm", "LOGGER=csv")
TYPED = [
    PLAIN,
    ("DATA=sst", "MODEL=bilstm", "PROJECTION=sparsegen:-1", "RECIPE=me", "SEED=3"),
    ("DATA=sst", "MODEL=bilstm", "PROJECTION=sparsegen:0.3", "RECIPE=me", "SEED=4"),
    ("DATA=imdb", "MODEL=bilstm", "SCORING=dot", "EMBEDDINGS=glove-50"),
    ("DATA=imdb", "MODEL=bilstm", "EMBEDDINGS=random:40", "PROTOCOL=plain", "--data.init_args.max_tokens=200"),
    ("DATA=planted", "MODEL=transformer-dr", "CUT=smoke", "PROJECTION=entmax:1.3", "--trainer.limit_val_batches=2.0"),
    ("DATA=planted", "MODEL=bilstm", "CUT=smoke", "--run.max_search_steps=1"),
    ("DATA=conll2000", "MODEL=tagger", "--experiments.E3=null", "--trainer.gradient_clip_val=0.5"),
    ("DATA=babi-generated", "MODEL=question-bilstm", "--model.init_args.optimizer=torch.optim.SGD"),
    ("DATA=cnn-qa", "MODEL=question-bilstm", "RECIPE=jw-cnn-qa"),
    ("DATA=sst", "MODEL=bilstm", "--trainer.max_epoch=3", "--seed_every=2"),
    ("DATA=sst", "MODEL=bilstm", "--analyses.E2.init_args.permutations=7", "--trainer.max_epochs", "3"),
    ("DATA=sst", "MODEL=cnn", "SCORING=dot", "PROJECTION=sparsegen:0.7", "EMBEDDINGS=random:40"),
    ("DATA=sst", "MODEL=han", "SCORING=dot", "PROJECTION=sparsemax", "RECIPE=me"),
    ("DATA=sst", "MODEL=bilstm", "SCORING=dot", "--model.init_args.network.init_args.projection=attest.attention.Sparsemax"),
    ("DATA=sst", "MODEL=cnn", "--model.init_args.network.init_args.encoder=attest.networks.BiLSTM", "EMBEDDINGS=random:40"),
    ("DATA=sst", "MODEL=bilstm", "--model=attest.lightning_modules.Classifier", "--model.init_args.learning_rate_scale=0.5"),
    *((*PLAIN, f"--run.root={text}") for text in ("a/b", "12", "yes", "null", "{a: 1}", "'a'", "1e3", "~")),
]
"""Each after the ones above it has been resolved with the same pieces."""


@pytest.fixture(scope="module")
def one():
    """The pieces of all of them."""
    return Pieces()


@pytest.mark.parametrize("typed", TYPED, ids=" ".join)
def test_the_settings_are_those_of_the_whole_configuration(one, typed):
    arguments = expand(list(typed))
    assert one.resolve(arguments) == resolve(arguments)
    assert variant(one.resolve(arguments)) == variant(resolve(arguments))


@pytest.fixture
def parsed(monkeypatch):
    """Names of the pieces that the parser has seen."""
    names: list[str] = []
    parse = pieces._parse
    monkeypatch.setattr(pieces, "_parse", lambda name, arguments: names.append(name) or parse(name, arguments))
    return names


def test_what_two_runs_share_is_parsed_once(parsed):
    both = Pieces()
    both.resolve(expand(list(PLAIN)))
    parsed.clear()
    both.resolve(expand([*PLAIN, "--run.mode=max"]))
    assert parsed == ["run"]


def test_a_piece_with_another_number_is_not_parsed(parsed):
    both = Pieces()
    first = both.resolve(expand([*PLAIN, "PROJECTION=sparsegen:0.25"]))
    parsed.clear()
    second = both.resolve(expand([*PLAIN, "PROJECTION=sparsegen:0.5"]))
    assert parsed == []
    assert [each["run"]["projection"] for each in (first, second)] == ["sparsegen:0.25", "sparsegen:0.5"]
    lams = [each["model"]["init_args"]["network"]["init_args"]["projection"]["init_args"]["lam"] for each in (first, second)]
    assert lams == [0.25, 0.5]


def test_classes_that_were_read_in_other_models_are_put_together(parsed):
    several = Pieces()
    for scoring, projection in [("dot", "softmax"), ("additive", "sparsemax"), ("additive", "entmax:1.3")]:
        several.resolve(expand([*PLAIN, f"SCORING={scoring}", f"PROJECTION={projection}"]))
    several.resolve(expand(["DATA=sst", "MODEL=cnn", "LOGGER=csv"]))
    parsed.clear()
    together = expand(["DATA=sst", "MODEL=cnn", "SCORING=dot", "PROJECTION=entmax:1.5", "LOGGER=csv"])
    assert several.resolve(together) == resolve(together)
    assert parsed == []


def test_a_text_that_must_be_one_of_some_is_not_taken_over(one):
    assert one.resolve(expand([*PLAIN, "--run.mode=max"]))["run"]["mode"] == "max"
    with pytest.raises(AttestError, match=r"run\.mode is best; expected one of max, min"):
        one.resolve(expand([*PLAIN, "--run.mode=best"]))


def test_settings_that_were_given_out_can_be_changed():
    both = Pieces()
    both.resolve(expand(list(PLAIN)))["model"]["init_args"]["network"]["init_args"]["encoder"]["init_args"].clear()
    assert both.resolve(expand(list(PLAIN))) == resolve(expand(list(PLAIN)))


@pytest.mark.parametrize("wrong", ["--model.init_args.hiden=3", "--trainer.max_epohcs=3", "--data.init_args.batch_size=many"])
def test_a_mistake_is_answered_as_by_the_whole_parser(one, wrong):
    with pytest.raises(AttestError) as whole:
        resolve(expand([*PLAIN, wrong]))
    with pytest.raises(AttestError) as piecewise:
        one.resolve(expand([*PLAIN, wrong]))
    assert str(piecewise.value) == str(whole.value)


@pytest.mark.parametrize("options", [["--trainer.max_epochs=1"], []])
def test_a_configuration_without_a_corpus_is_refused(one, options):
    with pytest.raises(AttestError):
        one.resolve(options)


def test_a_file_from_elsewhere_is_read_as_it_is_now(one, tmp_path):
    file = tmp_path / "mine.yaml"
    for epochs in (3, 4):
        file.write_text(f"trainer: {{max_epochs: {epochs}}}\n")
        assert one.resolve(expand([*PLAIN, f"--config={file}"]))["trainer"]["max_epochs"] == epochs


def of(name, **options):
    return {"class_path": name, "init_args": options}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([{"model": of("A", x=1)}, {"model": {"init_args": {"y": 2}}}], [{"model": of("A", x=1, y=2)}]),
        (
            [{"model": of("A", n=of("N", x=1))}, {"model": {"init_args": {"n": of("N", x=2)}}}],
            [{"model": of("A", n=of("N", x=2))}],
        ),
        ([{"trainer": {"a": 1, "b": 2}}, {"trainer": {"b": 3}}], [{"trainer": {"a": 1, "b": 3}}]),
        ([{"data": of("A", e={"name": "x"})}, {"data": {"init_args": {"e": None}}}], [{"data": of("A", e=None)}]),
    ],
)
def test_parts_that_add_to_one_another_become_one(parts, expected):
    assert merged(parts) == expected


@pytest.mark.parametrize(
    "parts",
    [
        [{"model": of("A", x=1)}, {"model": of("B")}],
        [{"model": of("A", n=of("N", x=1))}, {"model": {"init_args": {"n": of("M")}}}],
        [{"model": of("A", n="torch.optim.Adam")}, {"model": {"init_args": {"n": {"init_args": {"lr": 1}}}}}],
        [{"data": of("A", e={"name": "x"})}, {"data": {"init_args": {"e": {"other": "y"}}}}],
        [{"experiments": {"E1": of("A")}}, {"experiments": {"E2": of("B")}}],
    ],
)
def test_another_class_and_dictionaries_that_are_values_are_left_to_the_parser(parts):
    assert merged(parts) == parts
