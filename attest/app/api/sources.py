"""The function ``attest.sources``: which parts of its context a decoder's answer comes from (E18)."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import torch

from attest.app.api.foreign import bare, is_of_transformers
from attest.app.api.pipelines import pipeline_in, require_own_prompt
from attest.app.api.trials import on_device
from attest.core.bounds import require_bounds, require_given
from attest.core.errors import AttestError, needing_transformers, refusing
from attest.core.label_values import in_order, listed
from attest.core.memory import in_evaluation_mode
from attest.core.modes import as_it_is, one_at_a_time
from attest.datamodules.notice import say
from attest.experiments.sources import by_groups, random_sets, scored, sentences, shares, surrogate
from attest.models.contract import require_finite_weights
from attest.report.sources import Sources

if TYPE_CHECKING:
    from attest.models.pretrained.answering import Answer

PROMPT = "{context}\n\nQuestion: {question}\nAnswer:"
MESSAGE = "{context}\n\n{question}"
"""The template of the user's message to a chat model. The chat template of the model is then applied to this message."""
PLACES = ("{context}", "{question}")
Span = tuple[int, int]


@one_at_a_time()
def sources(
    model: Any,
    context: str | Sequence[str],
    question: str = "",
    answer: str | None = None,
    *,
    tokenizer: Any = None,
    units: str | Sequence[Span] = "sentences",
    prompt: str | None = None,
    chat: bool = False,
    new_tokens: int = 20,
    ablations: int = 32,
    leave_out: Literal["each", "groups"] = "each",
    truth: Collection[int] = (),
    seed: int = 0,
    device: str | torch.device | None = None,
) -> Sources:
    """Measure how a language model's answer depends on each part of its context, and compare this with attention.

    A source is a part of the context. Each source is left out alone, and its effect is the fall of the answer's
    log-probability; the tokens before the source are computed only once. The effects are compared with attention from the
    tokens that predict the answer (with and without the first token, and times its gradient), attention rollout, gradient ×
    input, and a linear surrogate that is fitted to random sets. Tokens are left out, not characters: a token belongs to the
    source in which it ends. A fall that rounding can make (0.0001, or 0.01 in half precision) counts as 0.

    Args:
        model: a causal language model of transformers, its folder or Hub id.
        context: a text, or several documents, which are joined with a blank line between them.
        question: the question about the context, which the prompt contains.
        answer: the answer whose sources are measured; None for the answer that the model writes itself.
        tokenizer: the tokenizer of the model; None for a folder or Hub id, which contains its own.
        units: ``sentences``, ``documents`` as they were given, or for each source its start and end in the context, in
            characters.
        prompt: the prompt, with ``{context}`` and ``{question}``, each once; None for the context and the question.
        chat: whether the prompt is a message to a chat model, around which the tokenizer puts its chat template.
        new_tokens: the largest number of tokens that the model writes.
        ablations: the number of random sets of sources to which the surrogate is fitted; 0 for no surrogate.
        leave_out: ``each`` source alone; or ``groups``: leave out groups of neighbours first, then parts of the groups that
            matter most. For U sources this takes about 8 log₄(U) passes instead of U; all results say that they are
            approximate.
        truth: the numbers, from 0, of the sources from which the answer is known to come.
        seed: the seed of the random sets.
        device: the device on which the model computes; None for its present device.
    Raises:
        AttestError: the model is no causal language model, or the context, its units or the prompt is not valid.

    Examples:
        Needs a network, for the model:

        >>> import attest
        >>> context = "The lease begins on 1 June 2024. It ends on 31 May 2027."
        >>> attest.sources("HuggingFaceTB/SmolLM2-135M", context, "When does it end?")  # doctest: +SKIP
    """
    numbers = {"seed": seed, "new_tokens": new_tokens, "ablations": ablations}
    require_given(numbers)
    require_bounds(numbers)
    if leave_out not in ("each", "groups"):
        raise AttestError(f"`leave_out` is {leave_out!r}; expected 'each' or 'groups'.")
    grouped = leave_out == "groups"
    pipeline = pipeline_in(model)
    model, tokenizer = bare(model, tokenizer, prompted=True)
    with needing_transformers():
        from attest.models.pretrained.answering import Answer, written_by
        from attest.models.pretrained.texts import begun_once, longest_read, quoted_in, require_fast
    require_fast(tokenizer)
    if not is_of_transformers(model) or model.get_output_embeddings() is None or model.config.is_encoder_decoder:
        raise AttestError(
            f"{type(model).__name__} does not continue a prompt; expected a causal language model, such as LlamaForCausalLM."
        )
    text, spans = _sources(context, units)
    truth = _each_once(truth, len(spans))
    asked, begins = _asked(prompt or (MESSAGE if chat else PROMPT), text, question)
    if chat:
        asked, begins = _in_template(tokenizer, asked, begins)
    told = {"add_special_tokens": False} if chat else begun_once(tokenizer, asked)
    read = tokenizer(asked, return_offsets_mapping=True, verbose=False, **told)
    if quoted := quoted_in(tokenizer, [text]):
        say(quoted)
    if pipeline is not None and not chat:
        require_own_prompt(pipeline, asked, read["input_ids"])
    parts = _in_tokens(spans, begins, read["offset_mapping"])
    require_finite_weights(model)
    with on_device(model, device), as_it_is(model), in_evaluation_mode(model):
        ids = torch.tensor(read["input_ids"], device=model.device)
        if answer is None:
            given = written_by(model, tokenizer, ids, new_tokens)
        else:
            apart = "" if chat or answer[:1].isspace() else " "
            given = _tokens_of(answer, asked, f"{apart}{answer}", ids, tokenizer, told)
        if len(ids) + len(given) > longest_read(model, tokenizer):
            raise AttestError(
                f"context, question and answer together have {len(ids) + len(given)} tokens; expected at most "
                f"{longest_read(model, tokenizer)}, because the model reads no more. Give fewer documents, or a part of the "
                "context."
            )
        said = Answer(model, ids, given)
        measured = _measured(said, parts, ablations, seed, truth, grouped)
    measured["table"].insert(0, "text", [text[begin:end].strip() for begin, end in spans])
    return Sources(
        question, tokenizer.decode(given).strip(), model=type(model).__name__, truth=truth, by_groups=grouped, **measured
    )


def _measured(
    said: "Answer", parts: Sequence[Span], sets: int, seed: int, truth: Collection[int], grouped: bool
) -> dict[str, Any]:
    """Return a dictionary of an answer's results: log-probability, table of context parts, scores, head attention."""
    log_probability = said.log_probability()
    if grouped:
        say(f"{len(parts)} sources in {len(said.tokens)} tokens are left out by groups; falls are approximate.")
    seconds: dict[str, float] = {}

    def timed(name: str, read: Callable[[], Any]) -> Any:
        begun = time.perf_counter()
        found = read()
        seconds[name] = time.perf_counter() - begun
        return found

    def falls_without(groups: Sequence[Span]) -> np.ndarray:
        merged = [(parts[first][0], parts[last - 1][1]) for first, last in groups]
        found = (log_probability - said.without_each(merged)).numpy()
        return np.where(abs(found) > said.within, found, 0.0)

    def falls() -> np.ndarray:
        alone = [(source, source + 1) for source in range(len(parts))]
        return by_groups(falls_without, len(parts))[0] if grouped else falls_without(alone)

    rows, drops = timed("attention", said.rows), timed("leave-one-out", falls)
    by_token = {
        "attention": rows.attention,
        "attention without the first token": rows.without_first,
        "attention × gradient": rows.written,
        "rollout": timed("rollout", said.rollout),
        "gradient × input": timed("gradient × input", said.gradient_times_input),
    }
    readings = {name: _of_sources(values, parts) for name, values in by_token.items() if values is not None}
    if sets:
        readings["random sets"] = timed("random sets", lambda: _by_random_sets(said, parts, sets, seed))
    scores = scored(readings, drops, truth)
    scores["seconds"] = [seconds.get(name, seconds["attention"]) for name in scores.index]
    table = pd.DataFrame({"share": shares(drops), "drop": drops, **readings})
    by_head = _of_sources(rows.by_head, parts)
    return {"log_probability": log_probability, "table": table, "scores": scores, "by_head": by_head}


def _of_sources(values: torch.Tensor, parts: Sequence[Span]) -> np.ndarray:
    """Sum values over the tokens of each source (part of the context): ``(T, ...)`` -> float64 ``(U, ...)``."""
    return np.stack([values[begin:end].double().sum(dim=0).cpu().numpy() for begin, end in parts])


def _by_random_sets(said: "Answer", parts: Sequence[Span], sets: int, seed: int) -> np.ndarray:
    kept = random_sets(seed, sets, len(parts))
    outcomes = []
    for row in kept:
        tokens = torch.ones_like(said.prompt, dtype=torch.bool)
        for (begin, end), stays in zip(parts, row.tolist(), strict=True):
            tokens[begin:end] = stays
        outcomes.append(said.log_probability(tokens))
    return surrogate(kept, torch.tensor(outcomes)).numpy()


def _sources(context: str | Sequence[str], units: str | Sequence[Span]) -> tuple[str, list[Span]]:
    """Return the text of the context, and the start and end of each of its parts (sources) in characters."""
    documents = [context] if isinstance(context, str) else list(context)
    if isinstance(units, str):
        documents = [document.removeprefix("\ufeff") for document in documents]  # a byte order mark
    text = "\n\n".join(documents)
    if not all(document.strip() for document in documents) or not text:
        raise AttestError("the context is empty or contains an empty text; expected one or more texts with words.")
    named = units if isinstance(units, str) else ""
    if named == "sentences":
        return text, sentences(text)
    if named == "documents":
        ends = np.cumsum([len(document) + 2 for document in documents])
        return text, [(int(end) - len(each) - 2, int(end) - 2) for end, each in zip(ends, documents, strict=True)]
    spans = _spans_in(units)
    apart = all(first[1] <= second[0] for first, second in pairwise(spans))
    if not spans or not apart or any(not 0 <= begin < end <= len(text) for begin, end in spans):
        raise AttestError(
            f"units= is {units!r}; expected 'sentences', 'documents', or a pair (begin, end) for each source in the "
            f"{len(text)} characters of the context, without overlaps. For example: units=[(0, 40), (40, 95)]"
        )
    return text, spans


def _spans_in(units: Any) -> list[Span]:
    """Return the pairs of whole numbers in ``units``; an empty list if it is something else."""
    found = [listed(each) for each in in_order(units) or ()]
    pairs = all(isinstance(each, list) and len(each) == 2 and all(isinstance(end, Integral) for end in each) for each in found)
    return [(int(begin), int(end)) for begin, end in found] if pairs else []


def _asked(prompt: str, context: str, question: str) -> tuple[str, int]:
    """Return the filled prompt, and the character position in it at which the context begins."""
    if prompt.count(PLACES[0]) != 1 or prompt.count(PLACES[1]) > 1 or (question and PLACES[1] not in prompt):
        raise AttestError(f"the prompt is {prompt!r}; expected {PLACES[0]} and {PLACES[1]} in it, each once.")
    before, after = (part.replace(PLACES[1], question) for part in prompt.split(PLACES[0]))
    return before + context + after, len(before)


def _in_tokens(spans: Sequence[Span], begins: int, offsets: Sequence[Span]) -> list[Span]:
    """Convert the start and end of each source (part of the context) from characters to tokens."""
    lasts = np.array([end - 1 if end > start else -1 for start, end in offsets])
    parts = []
    for begin, end in spans:
        (inside,) = ((lasts >= begin + begins) & (lasts < end + begins)).nonzero()
        if not len(inside):
            raise AttestError(
                f"no token ends in the source from {begin} to {end}; expected sources with at least one token. Join this "
                "source to its neighbour."
            )
        parts.append((int(inside[0]), int(inside[-1]) + 1))
    return parts


def _in_template(tokenizer: Any, message: str, begins: int) -> tuple[str, int]:
    """Return a message inside the chat template of a tokenizer, and the character in it at which the context begins.

    Args:
        begins: the character of the message at which the context begins.
    """
    if not tokenizer.chat_template:
        raise AttestError(
            "the tokenizer has no chat template (chat_template), so that it is not known how its model is told a message; "
            "expected the tokenizer of a chat model. Leave chat (--chat) out, or give the whole prompt: prompt= (--prompt)."
        )
    with refusing(lambda said: f"the chat template of the tokenizer refuses the message ({said}); expected one for a user."):
        asked = tokenizer.apply_chat_template(
            [{"role": "user", "content": message}], tokenize=False, add_generation_prompt=True
        )
    before = len(message) - len(message.lstrip())  # many templates take white space away
    if asked.count(message.strip()) != 1:
        raise AttestError(
            f"the chat template of the tokenizer writes the message {asked.count(message.strip())} times, or changes it, so "
            "that its parts are not found; expected a template that writes it once. Give the whole prompt with prompt= "
            "(--prompt)."
        )
    return asked, asked.index(message.strip()) + begins - before


def _each_once(truth: Collection[int], sources: int) -> list[int]:
    """Return the indexes of the sources from which the answer comes, each once; refuse those of no source."""
    found = [*dict.fromkeys(truth)]
    if wrong := [each for each in found if not (isinstance(each, Integral) and 0 <= each < sources)]:
        raise AttestError(f"truth= contains {wrong[0]}; expected indexes of sources, from 0 to {sources - 1}.")
    return found


def _tokens_of(
    answer: str, asked: str, behind: str, ids: torch.Tensor, tokenizer: Any, told: Mapping[str, Any]
) -> torch.Tensor:
    """Return the tokens of an answer after a prompt.

    Args:
        behind: the answer with the white space before it.
        told: what the tokenizer is told besides.
    """
    whole = tokenizer(asked + behind, verbose=False, **told)["input_ids"]
    if not answer.strip() or len(whole) <= len(ids) or whole[: len(ids)] != ids.tolist():
        raise AttestError(
            f"the answer {answer!r} has no tokens of its own after the prompt, which ends with {asked[-10:]!r}; expected an "
            "answer that begins with a new token, and a tokenizer that adds no token at the end of a text."
        )
    return torch.tensor(whole[len(ids) :], device=ids.device)
