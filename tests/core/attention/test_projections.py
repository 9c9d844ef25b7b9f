"""Projections against witnesses that share no code with them: projected gradient, bisection, closed forms."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq
from torch.autograd import gradcheck, gradgradcheck

from attest.core.attention import Entmax, Entmax15, Last, Softmax, Sparsegen, Sparsemax, Uniform
from attest.core.errors import AttestError

ALL = {
    "softmax": Softmax(),
    "sparsemax": Sparsemax(),
    "entmax15": Entmax15(),
    "entmax:1.3": Entmax(1.3),
    "entmax:1.7": Entmax(1.7),
    "entmax:4": Entmax(4.0),
    "entmax learned": Entmax(1.4, learned=True),
    "sparsegen:0.5": Sparsegen(0.5),
    "sparsegen:-2": Sparsegen(-2.0),
    "uniform": Uniform(),
}
every_projection = pytest.mark.parametrize("projection", ALL.values(), ids=ALL)
score_vectors = arrays(np.float64, st.integers(1, 7), elements=st.floats(-3, 3))


def full(scores):
    return torch.ones(scores.shape, dtype=torch.bool)


def project(projection, scores):
    scores = torch.as_tensor(scores)
    return projection(scores, full(scores)).detach().numpy()


@given(score_vectors)
def test_sparsemax_is_the_nearest_point_of_the_simplex(scores):
    def on_face(face):
        point = np.zeros_like(scores)
        point[face] = scores[face] - (scores[face].sum() - 1) / len(face)
        return point

    faces = (list(face) for size in range(1, scores.size + 1) for face in itertools.combinations(range(scores.size), size))
    nearest = min((p for p in map(on_face, faces) if (p >= 0).all()), key=lambda p: np.square(p - scores).sum())
    np.testing.assert_allclose(project(Sparsemax(), scores), nearest, atol=1e-9)


def descend_on_simplex(gradient, size, rate, steps):
    """Projected gradient."""
    point = np.full(size, 1 / size)
    for _ in range(steps):
        point = nearest_by_bisection(point - rate * gradient(point))
    return point


def nearest_by_bisection(ahead):
    threshold = brentq(lambda t: np.maximum(ahead - t, 0).sum() - 1, ahead.min() - 1, ahead.max(), xtol=1e-15)
    return np.maximum(ahead - threshold, 0)


@pytest.mark.parametrize("lam", [-30.0, -1.0, 0.0, 0.5, 0.9])
def test_sparsegen_minimises_its_objective(lam):
    scores = np.random.default_rng(0).normal(size=6)
    minimiser = descend_on_simplex(lambda p: 2 * (p - scores) - 2 * lam * p, 6, 0.25 / (1 - lam), 400)
    np.testing.assert_allclose(project(Sparsegen(lam), scores), minimiser, atol=1e-9)


@pytest.mark.parametrize("alpha", [1.2, 1.5, 1.7, 2.0, 3.0])
@settings(max_examples=40)
@given(scores=score_vectors)
def test_entmax_is_the_truncated_power_that_sums_to_one(alpha, scores):
    scaled = (alpha - 1) * scores

    def power(threshold):
        return np.maximum(scaled - threshold, 0) ** (1 / (alpha - 1))

    low = scaled.max() - 1 - 1e-12  # at the maximum less 1 the largest alone makes up 1, but for rounding
    threshold = brentq(lambda t: power(t).sum() - 1, low, scaled.max(), xtol=1e-16, rtol=1e-15)
    np.testing.assert_allclose(project(Entmax(alpha), scores), power(threshold), atol=1e-8)


def test_entmax_of_two_scores_in_closed_form():
    """1.5-entmax of (t, 0) is ((t/2 + √(2 − t²/4)) / 2)² for t in [0, 2], and one-hot beyond."""
    for gap in (0.0, 0.3, 1.0, 1.9, 2.0, 5.0):
        within = min(gap, 2.0)
        first = ((within / 2 + np.sqrt(2 - within**2 / 4)) / 2) ** 2
        np.testing.assert_allclose(project(Entmax15(), [gap, 0.0]), [first, 1 - first], atol=1e-6)


def test_named_alphas_are_their_exact_algorithms():
    scores = torch.randn(5, 9, dtype=torch.float64)
    for alpha, exact in ((1.0, Softmax()), (1.5, Entmax15()), (2.0, Sparsemax())):
        assert torch.equal(Entmax(alpha)(scores, full(scores)), exact(scores, full(scores)))


@pytest.mark.parametrize("alpha", [1.5 + 1e-9, 2.0 - 1e-9])
def test_bisection_meets_the_exact_algorithms(alpha):
    scores = torch.randn(50, 30, dtype=torch.float64)
    exact = Entmax15() if alpha < 1.7 else Sparsemax()
    torch.testing.assert_close(Entmax(alpha)(scores, full(scores)), exact(scores, full(scores)), atol=1e-7, rtol=0)


@every_projection
def test_gradients(projection):
    scores = torch.randn(3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 0, 1, 1, 0, 1]], dtype=torch.bool)
    assert gradcheck(lambda s: projection(s, mask), scores)


@pytest.mark.parametrize("projection", [Softmax(), Sparsemax(), Sparsegen(0.5)])
def test_second_derivatives(projection):
    scores = torch.randn(3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    assert gradgradcheck(lambda s: projection(s, full(s)), scores)


def test_a_learned_alpha_begins_where_it_is_told_and_stays_in_its_range():
    projection = Entmax(1.4, learned=True)
    assert projection.alpha.item() == pytest.approx(1.4)
    for logit, end in ((-100.0, 1.01), (100.0, 2.0)):
        projection.logit.data.fill_(logit)
        assert projection.alpha.item() == pytest.approx(end)


def test_gradient_of_a_learned_alpha():
    scores = torch.randn(2, 3, 4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    projection = Entmax(1.4, learned=True).for_heads(3).double()

    def at(logit):
        return torch.func.functional_call(projection, {"logit": logit}, (scores, full(scores)))

    assert projection.alpha.shape == (3, 1, 1)
    assert gradcheck(at, projection.logit.detach().clone().requires_grad_())


@every_projection
@given(data=st.data())
@settings(max_examples=25)
def test_laws_of_attention_over_shapes(projection, data):
    shape = (*data.draw(st.lists(st.integers(1, 4), max_size=3)), data.draw(st.integers(1, 40)))
    seed = data.draw(st.integers(0, 1000))
    scale = data.draw(st.sampled_from([0.0, 1e-3, 1.0, 30.0, 1e4]))
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(shape, generator=generator) * scale
    mask = torch.rand(shape, generator=generator) < 0.7
    mask[..., 0] = True
    weights = projection(scores, mask).detach()
    assert weights.shape == scores.shape
    assert weights.isfinite().all()
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(shape[:-1]), atol=1e-5, rtol=0)


@every_projection
def test_masked_equals_trimmed(projection):
    scores = torch.randn(4, 300, dtype=torch.float64)
    for length in (1, 2, 31, 127, 128, 200):
        mask = torch.arange(300).expand(4, 300) < length
        trimmed = projection(scores[:, :length], mask[:, :length])
        torch.testing.assert_close(projection(scores, mask)[:, :length], trimmed, atol=1e-12, rtol=0)


@every_projection
def test_shifting_all_scores_changes_nothing_and_permuting_permutes(projection):
    scores = torch.randn(3, 8, dtype=torch.float64)
    order = torch.randperm(8)
    weights = projection(scores, full(scores))
    torch.testing.assert_close(projection(scores + 1000, full(scores)), weights, atol=1e-9, rtol=0)
    torch.testing.assert_close(projection(scores[:, order], full(scores)), weights[:, order], atol=1e-12, rtol=0)


@every_projection
def test_ties_share_alike_and_a_single_token_takes_all(projection):
    tied = project(projection, torch.full((1, 7), 3.0))
    np.testing.assert_allclose(tied, 1 / 7, atol=1e-6)
    np.testing.assert_array_equal(project(projection, [[-1e4]]), [[1.0]])


@every_projection
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_large_scores(projection, dtype):
    scores = torch.tensor([[1e4, -1e4, 1e4, 0.0], [-1e4, -1e4, -1e4, -1e4]], dtype=dtype)
    expected = torch.tensor([[0.5, 0, 0.5, 0], [0.25] * 4], dtype=dtype)
    if projection is ALL["uniform"]:
        expected = torch.full((2, 4), 0.25, dtype=dtype)
    torch.testing.assert_close(projection(scores, full(scores)).detach(), expected, atol=1e-6, rtol=0)


@every_projection
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(projection, dtype):
    scores, mask = torch.randn(16, 20).to(dtype), torch.rand(16, 20) < 0.7
    mask[:, 0] = True
    weights = projection(scores, mask)
    assert weights.dtype == dtype
    assert (weights[~mask] == 0).all()
    assert torch.equal(weights, projection(scores.float(), mask).to(dtype))


@every_projection
def test_a_text_of_nothing_but_padding_is_refused(projection):
    with pytest.raises(ValueError, match=r"rows \[\[1\]\] of the mask \(2, 3\) are all padding"):
        projection(torch.zeros(2, 3), torch.tensor([[True, False, False], [False] * 3]))


@pytest.mark.parametrize("alpha", [0.9, float("nan"), float("inf")])
def test_alphas_out_of_range_are_refused(alpha):
    with pytest.raises(AttestError, match=f"alpha={alpha} .* finite α ≥ 1"):
        Entmax(alpha)


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_alphas_that_cannot_be_learned_from_are_refused(alpha):
    with pytest.raises(AttestError, match=f"alpha={alpha} .* 1.01 < α < 2"):
        Entmax(alpha, learned=True)


@pytest.mark.parametrize("lam", [1.0, 3.0, float("nan")])
def test_lambdas_out_of_range_are_refused(lam):
    with pytest.raises(AttestError, match=f"lam={lam} .* below 1"):
        Sparsegen(lam)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_the_last_real_token_takes_all_whatever_the_scores(dtype):
    mask = torch.tensor([[True, True, True], [True, True, False], [True, False, True], [True, False, False]])
    scores = torch.tensor([5.0, -3.0, 0.0], dtype=dtype).expand(4, 3)
    assert Last()(scores, mask).tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    of_heads = Last()(scores[:, None, None].expand(4, 2, 3, 3), mask[:, None, None])
    assert torch.equal(of_heads[:, 1, 2], Last()(scores, mask))
