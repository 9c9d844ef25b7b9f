"""Two runs compared from their tables, against plain loops."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.special import rel_entr
from scipy.stats import kendalltau

from attest.core.errors import AttestError
from attest.runs.comparison import compare_runs
from attest.runs.contents import RunContents
from attest.runs.folder import RunFolder, write_table

LENGTHS = (4, 1, 3)


def simplex(generator: np.random.Generator, *shape: int) -> np.ndarray:
    return generator.dirichlet(np.ones(shape[-1]), shape[:-1]).astype(np.float32)


def classified(folder: RunFolder, seed: int) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    probabilities = simplex(generator, 3, 2)
    attention = [simplex(generator, length) for length in LENGTHS]
    rows = pd.DataFrame({"id": [4, 6, 9], "label": [0, 1, 1], "predicted": probabilities.argmax(1), "length": LENGTHS})
    rows = rows.assign(probability_a=probabilities[:, 0], probability_b=probabilities[:, 1], attention=attention)
    rows["max_attention"] = rows["attention"].map(max)
    write_table(folder.evidence("instances"), rows)
    return rows


def tagged(folder: RunFolder, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Probabilities (L, K) and attention (L, heads, L) of each sentence."""
    generator = np.random.default_rng(seed)
    sentences = [(simplex(generator, length, 3), simplex(generator, length, 2, length)) for length in LENGTHS]
    columns = {f"probability_{tag}": [p[:, k] for p, _ in sentences] for k, tag in enumerate("ABO")}
    columns["attention"] = [a.transpose(0, 2, 1).ravel() for _, a in sentences]
    tags = [np.zeros(length, np.int64) for length in LENGTHS]
    rows = pd.DataFrame(
        {"id": range(3), "length": LENGTHS, "tags": tags, "max_attention": [0.5] * 3, "heads": [[2]] * 3} | columns
    )
    write_table(folder.evidence("tagged"), rows)
    return sentences


@pytest.fixture
def folders(tmp_path):
    return RunFolder(tmp_path / "base"), RunFolder(tmp_path / "other")


def test_classifiers(folders):
    base, other = (classified(folder, seed) for seed, folder in enumerate(folders))
    found = compare_runs(*map(RunContents, folders))
    for row in range(3):
        p, q = (rows["attention"][row].astype(float) for rows in (other, base))
        assert found["jsd"][row] == pytest.approx(np.nan_to_num(jensenshannon(p, q) ** 2), abs=1e-7)
        assert found["kl"][row] == pytest.approx(rel_entr(p, q).sum(), abs=1e-6)
        assert found["kl_mean"][row] == pytest.approx(rel_entr(p, q).mean(), abs=1e-6)
        assert found["tau"][row] == pytest.approx(kendalltau(p, q).statistic, nan_ok=True)
        assert found["tvd"][row] == pytest.approx(abs(other["probability_b"][row] - base["probability_b"][row]), abs=1e-7)
        assert found["same"][row] == (other["predicted"][row] == base["predicted"][row])
    assert found["max_attention"].equals(base["max_attention"])
    assert found["predicted"].equals(other["predicted"])


def test_taggers(folders):
    base, other = (tagged(folder, seed) for seed, folder in enumerate(folders))
    found = compare_runs(*map(RunContents, folders))
    for row, length in enumerate(LENGTHS):
        (q, base_attention), (p, attention) = base[row], other[row]
        pairs = [(attention[t, n].astype(float), base_attention[t, n].astype(float)) for t in range(length) for n in range(2)]
        assert found["jsd"][row] == pytest.approx(
            np.mean([np.nan_to_num(jensenshannon(*pair) ** 2) for pair in pairs]), abs=1e-6
        )
        assert found["kl"][row] == pytest.approx(np.mean([rel_entr(*pair).sum() for pair in pairs]), abs=1e-6)
        assert found["kl_mean"][row] == pytest.approx(np.mean([rel_entr(*pair) for pair in pairs]), abs=1e-6)
        ranked = [kendalltau(*pair).statistic for pair in pairs] if length > 1 else np.nan
        assert found["tau"][row] == pytest.approx(np.mean(ranked), nan_ok=True)
        assert found["nll"][row] == pytest.approx(np.mean([-np.log(p[t, q[t].argmax()]) for t in range(length)]), abs=1e-5)
        assert found["same"][row] == pytest.approx(np.mean(p.argmax(1) == q.argmax(1)))
        assert found["tvd"][row] == pytest.approx(np.mean(0.5 * np.abs(p - q).sum(1)), abs=1e-6)


def test_a_tagger_with_its_heads_exchanged_attends_as_before(folders):
    base = tagged(folders[0], seed=0)
    rows = pd.read_parquet(folders[0].evidence("tagged"))
    rows["attention"] = [attention[:, ::-1].transpose(0, 2, 1).ravel() for _, attention in base]
    write_table(folders[1].evidence("tagged"), rows)
    found = compare_runs(*map(RunContents, folders))
    assert (found["jsd"][[0, 2]] > 0.01).all()
    assert found["jsd_matched"].to_numpy() == pytest.approx(0, abs=1e-12)


def test_heads_are_matched_once_for_all_sentences(folders):
    base, other = (tagged(folder, seed) for seed, folder in enumerate(folders))

    def divergence(row: int, order: tuple[int, int]) -> float:
        theirs, ours = (sentences[row][1].astype(float) for sentences in (base, other))
        return np.mean(np.nan_to_num(jensenshannon(ours, theirs[:, order], axis=-1) ** 2))

    orders = [(0, 1), (1, 0)]
    best = min(orders, key=lambda order: np.mean([divergence(row, order) for row in range(len(LENGTHS))]))
    expected = [divergence(row, best) for row in range(len(LENGTHS))]
    assert compare_runs(*map(RunContents, folders))["jsd_matched"].to_numpy() == pytest.approx(expected, abs=1e-6)


def written(folder: RunFolder, attention: np.ndarray, heads: list[int]) -> None:
    """A tagger's table of one sentence, from attention (heads, L, L)."""
    length = attention.shape[-1]
    rows = {"id": [0], "length": [length], "tags": [np.zeros(length, np.int64)], "max_attention": [0.5]}
    rows |= {f"probability_{tag}": [np.full(length, 0.5)] for tag in "AB"}
    rows |= {"attention": [attention.transpose(1, 2, 0).ravel()], "heads": [heads]}
    write_table(folder.evidence("tagged"), pd.DataFrame(rows))


@pytest.mark.parametrize("heads", [[2, 2], [1, 3]])
def test_a_head_never_stands_for_one_of_another_layer(folders, heads):
    """The second run has the base's attention with its last heads first, which only a matching across layers would undo."""
    base = simplex(np.random.default_rng(0), 4, 5, 5).astype(float)
    other = base[::-1]
    for folder, attention in zip(folders, (base, other), strict=True):
        written(folder, attention, heads)
    layers = [range(heads[0]), range(heads[0], 4)]
    orders = [(*first, *second) for first in permutations(layers[0]) for second in permutations(layers[1])]
    expected = min(np.mean(jensenshannon(other, base[list(order)], axis=-1) ** 2) for order in orders)
    assert expected > 0.05
    assert compare_runs(*map(RunContents, folders))["jsd_matched"].item() == pytest.approx(expected)


def test_rows_without_a_ranking_are_left_out_of_its_mean(folders):
    attention = simplex(np.random.default_rng(0), 2, 4, 4)
    written(folders[0], attention, [2])
    attention[0, 1] = 0.25
    written(folders[1], attention, [2])
    assert compare_runs(*map(RunContents, folders))["tau"].item() == pytest.approx(1)
    written(folders[1], np.full_like(attention, 0.25), [2])
    assert compare_runs(*map(RunContents, folders))["tau"].isna().all()


def test_kl_is_undefined_where_a_sparse_base_gives_nothing(folders):
    rows = classified(folders[0], 0)
    rows.at[0, "attention"] = np.array([1.0, 0, 0, 0], np.float32)
    write_table(folders[0].evidence("instances"), rows)
    classified(folders[1], 1)
    found = compare_runs(*map(RunContents, folders))
    assert found["kl"].isna().tolist() == found["kl_mean"].isna().tolist() == [True, False, False]
    assert found["jsd"].notna().all()


def test_other_texts_and_missing_tables_are_refused(folders):
    rows = classified(folders[0], 0)
    with pytest.raises(AttestError, match=r"other/evidence/instances.parquet does not exist.*EXPERIMENTS"):
        compare_runs(*map(RunContents, folders))
    write_table(folders[1].evidence("instances"), rows.iloc[:2])
    with pytest.raises(AttestError, match="different texts"):
        compare_runs(*map(RunContents, folders))
