"""The comparison of two runs, text by text, for the experiments E4 to E7. Start at ``compare_runs``.

The table has one row for each instance: ``id`` and ``length``; ``label`` and ``predicted`` of the second run (not for
taggers); ``tvd`` of the predictions, in [0, 1]; ``same``, whether both runs decide alike; ``jsd`` of attention, in [0, ln 2]
nats; ``kl`` of attention, in nats, from the second run to the base, undefined if the base gives 0 to a token to which the
second run attends; ``kl_mean``, the same as a mean over the entries of a row and not their sum; ``tau``, Kendall's tau-b
between the two attentions, undefined where a run gives all tokens the same weight; and ``max_attention`` of the base. For
taggers, the numbers are means over tokens (``same`` is a share), those of attention also over heads. Taggers have two more
columns: ``nll`` is the second run's negative log-likelihood of the tags that the base predicts, and ``jsd_matched`` is the JSD
between each head and its match in the base. Heads are matched because they have no order: a tagger with two heads exchanged
has the same attention, but differs from the base head by head.
"""

from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from attest.core.errors import AttestError
from attest.core.kinds import TAGS
from attest.core.measures import total_variation
from attest.core.measures.divergences import jensen_shannon_terms, kullback_leibler_terms
from attest.core.measures.rank_correlation import kendall_tau_b
from attest.runs.contents import RunContents
from attest.runs.folder import INSTANCES, TAGGED, RunFolder, read_table
from attest.runs.identity import TextsOfRun
from attest.runs.kinds import kind_in


def compare_runs(base: RunContents, other: RunContents) -> pd.DataFrame:
    """Compare two runs that were tested on the same texts; return a table with one row for each text."""
    theirs, ours = _instances(base), _instances(other)
    if not TextsOfRun(base).same_as(TextsOfRun(other)):
        raise AttestError(
            f"{base.folder.path} and {other.folder.path} were tested on different texts; expected runs on the same corpus."
        )
    compare = _tagged if kind_in(base) == TAGS else _labelled
    return compare(theirs, ours)


def require_comparable(settings: dict[str, Any]) -> None:
    """Refuse a run that does not save predictions and attention of each text; comparisons of runs need them."""
    if all(settings["experiments"].get(name) is None for name in (INSTANCES, TAGGED)):
        raise AttestError(
            "the run does not save the predictions and attention of each text, which comparisons with other runs need; "
            f"expected the experiment `{INSTANCES}`, or for taggers `{TAGGED}`. Leave EXPERIMENTS out."
        )


def write_pair(identity: str, base: RunFolder, other: RunFolder) -> None:
    """Compare two runs, and write the result into the folder of ``other`` as the table ``identity``."""
    other.write_evidence(identity, compare_runs(RunContents(base), RunContents(other)))


def _instances(run: RunContents) -> pd.DataFrame:
    """Return the whole table of the texts of one run, which is not kept: a base is compared with many runs."""
    if run.of_texts is not None:
        return read_table(run.folder.evidence(run.of_texts))
    raise AttestError(
        f"{run.folder.evidence(INSTANCES)} does not exist; expected the predictions and attention of each text. Leave "
        "EXPERIMENTS out, so that the run writes them."
    )


def _labelled(theirs: pd.DataFrame, ours: pd.DataFrame) -> pd.DataFrame:
    probabilities = [torch.tensor(rows.filter(regex="^probability_").to_numpy(np.float64)) for rows in (theirs, ours)]
    columns = {
        "tvd": total_variation(*probabilities).numpy(),
        "same": theirs["predicted"] == ours["predicted"],
        **_attention(theirs["attention"], ours["attention"], np.ones(len(ours), dtype=np.int64)),
        "max_attention": theirs["max_attention"],
    }
    return ours[["id", "label", "predicted", "length"]].assign(**columns)


def _tagged(theirs: pd.DataFrame, ours: pd.DataFrame) -> pd.DataFrame:
    lengths = ours["length"].to_numpy()
    sentences = _starts(lengths)
    p, q = _tag_probabilities(ours), _tag_probabilities(theirs)
    base_tags = q.argmax(axis=1)
    per_token = {
        "tvd": 0.5 * np.abs(p - q).sum(axis=1),
        "same": (p.argmax(axis=1) == base_tags).astype(np.float64),
        "nll": -np.log(np.maximum(p[np.arange(len(p)), base_tags], np.finfo(np.float32).tiny)),
    }
    heads = list(theirs["heads"].iloc[0])
    tagged = np.concatenate(ours["tags"].to_numpy()) >= 0
    tokens = np.add.reduceat(tagged.astype(np.int64), sentences)
    means = {name: np.add.reduceat(values * tagged, sentences) / tokens for name, values in per_token.items()}
    attention = _attention(theirs["attention"], ours["attention"], sum(heads) * lengths, sum(heads))
    by_layer = (_weights(rows["attention"]).view(-1, sum(heads)).split(heads, dim=1) for rows in (ours, theirs))
    matched = np.concatenate([_matched_in_layer(p, q, lengths) for p, q in zip(*by_layer, strict=True)], axis=1)
    jsd = matched.mean(axis=1).clip(min=0)
    columns = means | attention | {"jsd_matched": jsd, "max_attention": theirs["max_attention"]}
    return ours[["id", "length"]].assign(**columns)


def _tag_probabilities(rows: pd.DataFrame) -> np.ndarray:
    # float64 (tokens, K), one sentence after the other
    columns = rows.filter(regex="^probability_").items()
    return np.stack([np.concatenate(column.to_numpy()).astype(np.float64) for _, column in columns], axis=1)


def _attention(theirs: pd.Series, ours: pd.Series, rows: np.ndarray, heads: int = 1) -> dict[str, np.ndarray]:
    """Compare two attentions of each text; ``rows`` is the number of rows of a text, those of all heads together."""
    p, q = _weights(ours), _weights(theirs)
    terms = {"jsd": jensen_shannon_terms(p, q), "kl": kullback_leibler_terms(p, q)}
    entries = ours.str.len().to_numpy()
    sums = {name: np.add.reduceat(each.numpy(), _starts(entries)) for name, each in terms.items()}
    means = {name: each / rows for name, each in sums.items()} | {"kl_mean": sums["kl"] / entries}
    distances = {name: np.where(np.isfinite(each), each.clip(min=0), np.nan) for name, each in means.items()}
    return distances | {"tau": _rankings(p, q, entries, entries // rows, heads)}


def _rankings(p: Tensor, q: Tensor, entries: np.ndarray, lengths: np.ndarray, heads: int) -> np.ndarray:
    """Return Kendall's tau-b between the rows of two attentions, mean over the rows of each text, ``(texts,)``.

    Texts of one length are compared together, so that no row is padded.
    """
    tau, starts = np.full(len(entries), np.nan), _starts(entries)
    for length in np.unique(lengths):
        chosen = np.flatnonzero(lengths == length)
        place = torch.from_numpy(starts[chosen, None] + np.arange(entries[chosen[0]]))
        first, second = (each[place].view(len(chosen), -1, length, heads).mT.reshape(-1, length) for each in (p, q))
        of_rows = kendall_tau_b(first, second, torch.ones_like(first, dtype=torch.bool)).tau
        tau[chosen] = of_rows.view(len(chosen), -1).nanmean(dim=-1)
    return tau


def _matched_in_layer(p: Tensor, q: Tensor, lengths: np.ndarray) -> np.ndarray:
    """Return the JSD between the attention of each head and its match in the base run, ``(sentences, heads)``.

    One matching, that of the smallest mean JSD, is used for the whole corpus. Looping over heads bounds memory.
    """
    starts = _starts(lengths**2)
    against = [np.add.reduceat(jensen_shannon_terms(p[:, [head]], q).numpy(), starts) for head in range(p.shape[1])]
    pairs = np.stack(against, axis=1) / lengths[:, None, None]
    own, base = linear_sum_assignment(pairs.mean(axis=0))
    return pairs[:, own, base]


def _weights(attention: pd.Series) -> Tensor:
    return torch.tensor(np.concatenate(attention.to_numpy()), dtype=torch.float64)


def _starts(lengths: np.ndarray) -> np.ndarray:
    return lengths.cumsum() - lengths
