"""``EMBEDDINGS``: vectors, and an embedding of as many dimensions, whatever the model."""

import pytest

from attest.runs.choices import choice_arguments

ENCODER = "--model.init_args.network.init_args.encoder.init_args.embedding_size"


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "own.vec"
    path.write_text("2 3\nthe 1 2 3\nplot 4 5 6\n")
    return path


def options(**choices) -> list[str]:
    """What the choices stand for, but for the files that stand below ``configs``."""
    return [option for option in choice_arguments(choices) if not option.startswith("--config=")]


@pytest.mark.parametrize(
    ("model", "embeddings", "expected"),
    [
        ("bilstm", "glove-50", f"{ENCODER}=50"),
        ("average", "glove-300", f"{ENCODER}=300"),
        ("transformer-me", "random:20", f"{ENCODER}=20"),
        ("transformer-dr", "glove-50", "--model.init_args.network.init_args.embedding_size=50"),
        ("han", "fasttext-simple", f"{ENCODER}=300"),
    ],
)
def test_the_embedding_has_as_many_dimensions_as_the_vectors(model, embeddings, expected):
    assert options(MODEL=model, EMBEDDINGS=embeddings) == [expected]


def test_a_file_is_taken_by_its_path(vectors):
    assert options(EMBEDDINGS=str(vectors)) == [f"--data.init_args.embeddings={vectors}", f"{ENCODER}=3"]
    vectors.write_text("the 1 2 3 4\n")
    assert options(EMBEDDINGS=str(vectors))[1] == f"{ENCODER}=4", "GloVe writes no header"


def test_random_leaves_the_model_its_own_number():
    assert options(EMBEDDINGS="random") == []


@pytest.mark.parametrize(
    "choices",
    [
        {"EMBEDDINGS": "glove-51"},
        {"EMBEDDINGS": "glove-50:3"},
        {"EMBEDDINGS": "random:0"},
        {"EMBEDDINGS": "nowhere/own.vec"},
        {"EMBEDDINGS": "glove-50", "MODEL": "pretrained"},
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(choices, refusal):
    with refusal():
        choice_arguments(choices)
