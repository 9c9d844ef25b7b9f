"""The same texts are tokenised once where that is asked for, and nothing is kept afterwards."""

import pyarrow as pa

from attest.datamodules.once import each_text_once, remembering

TEXTS = pa.array(["a b", "c"])


def counting(calls: list[list[str]]):
    @remembering
    def tokenise(texts: pa.Array) -> pa.Array:
        calls.append(texts.to_pylist())
        return pa.array([text.split() for text in texts.to_pylist()])

    return tokenise


def test_equal_texts_are_tokenised_once():
    calls: list[list[str]] = []
    tokenise = counting(calls)
    with each_text_once():
        first, again = tokenise(TEXTS), tokenise(pa.array(TEXTS.to_pylist()))
        assert tokenise(pa.array(["a b", "d"])).to_pylist() == [["a", "b"], ["d"]]
    assert first.to_pylist() == again.to_pylist() == [["a", "b"], ["c"]]
    assert calls == [["a b", "c"], ["a b", "d"]]


def test_each_tokeniser_has_tokens_of_its_own():
    calls: list[list[str]] = []
    with each_text_once():
        counting(calls)(TEXTS)
        counting(calls)(TEXTS)
    assert len(calls) == 2


def test_nothing_is_kept_outside_and_afterwards():
    calls: list[list[str]] = []
    tokenise = counting(calls)
    for _ in range(2):
        tokenise(TEXTS)
        with each_text_once():
            tokenise(TEXTS)
    assert len(calls) == 4
