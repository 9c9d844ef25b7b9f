"""What is said of a token, or of a text, stays with it wherever texts are chosen, repeated, shortened or cut."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from attest.models.inputs import Inputs


@st.composite
def texts(draw):
    """Texts of different tokens, each with a type that follows from it, and a number of each text that its tokens contain."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(-1)
    tokens = (torch.arange(mask.numel()).view(mask.shape) + 1) * mask
    return Inputs(tokens, mask, {"token_type_ids": tokens % 3, "asked": torch.arange(len(lengths))}), mask.shape[1]


def require_together(found, width):
    assert torch.equal(found.beside["token_type_ids"], found.tokens % 3)
    row = (found.tokens - 1) // width
    assert torch.equal(row[found.tokens > 0], found.beside["asked"].unsqueeze(-1).expand(row.shape)[found.tokens > 0])


@given(texts(), st.data())
def test_what_is_said_of_a_token_or_a_text_moves_with_it(drawn, data):
    read, width = drawn
    count = len(read.mask)
    rows = torch.tensor(data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=6)))
    kept = torch.tensor(data.draw(st.lists(st.booleans(), min_size=read.mask.numel(), max_size=read.mask.numel())))
    kept = kept.view(read.mask.shape) & read.mask
    places = torch.randint(width, (count, 3), generator=torch.Generator().manual_seed(data.draw(st.integers(0, 9))))
    for found in (
        *(read.rows(rows), read.rows(slice(1)), read.repeated(3), read.only(kept), read.at(places), read.blank(kept)),
        read.of_tokens(lambda column: column[:, :2]),
        read.to(torch.device("cpu")),
    ):
        require_together(found, width)
    only = read.only(kept)
    assert [row[real].tolist() for row, real in zip(only.tokens, only.mask, strict=True)] == [
        row[real].tolist() for row, real in zip(read.tokens, kept, strict=True)
    ]
    assert torch.equal(read.repeated(3).tokens, read.tokens.repeat_interleave(3, dim=0))
    assert torch.equal(read.blank(kept).tokens, read.tokens * kept)


def test_sentences_of_words_move_as_tokens_do():
    words = torch.arange(12).view(1, 3, 4)
    found = Inputs(words, torch.ones(1, 3, dtype=torch.bool)).only(torch.tensor([[True, False, True]]))
    assert found.tokens.tolist() == words[:, [0, 2, 1]].tolist()
    assert found.mask.tolist() == [[True, True, False]]


def test_a_function_gets_each_column_by_its_name():
    read = Inputs(torch.tensor([[5]]), torch.tensor([[True]]), {"asked": torch.tensor([2])})
    assert read.read_by(lambda first, tokens, mask, asked: (first, tokens, mask, asked), 7) == (
        *(7, read.tokens, read.mask, read.beside["asked"]),
    )
