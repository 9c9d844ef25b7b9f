"""Two groups, their decay and their rates; schedules."""

from functools import partial

import pytest
import torch
from pytorch_lightning.cli import ReduceLROnPlateau
from torch import nn

from attest.lightning_modules import Classifier
from attest.lightning_modules.optimisation import Optimisation, WarmUp
from attest.models.networks import Average, PoolingClassifier

ADAM = partial(torch.optim.Adam, lr=0.01, weight_decay=1e-5)


def network():
    return PoolingClassifier(10, 1, Average)


@pytest.mark.parametrize(("scale", "attention_scale"), [(1.0, 1.0), (0.1, 1.0), (0.1, 10.0)])
def test_attention_is_apart_undecayed_and_at_its_own_rate(scale, attention_scale):
    model = network()
    optimiser = Optimisation(ADAM, learning_rate_scale=scale, attention_learning_rate_scale=attention_scale).configure(model)
    others, attention = optimiser.param_groups
    assert {id(p) for p in attention["params"]} == {id(p) for p in model.attention.parameters()}
    assert len(others["params"]) + len(attention["params"]) == len(list(model.parameters()))
    assert (others["weight_decay"], attention["weight_decay"]) == (1e-5, 0.0)
    assert others["lr"] == pytest.approx(0.01 * scale)
    assert attention["lr"] == pytest.approx(0.01 * scale * attention_scale)


def test_a_plateau_schedule_says_what_it_watches():
    schedule = partial(ReduceLROnPlateau, monitor="validation/accuracy", factor=0.5, patience=0)
    configured = Optimisation(ADAM, schedule).configure(network())["lr_scheduler"]
    assert (configured["monitor"], configured["interval"]) == ("validation/accuracy", "epoch")


def test_a_plain_schedule_watches_nothing():
    configured = Optimisation(ADAM, partial(torch.optim.lr_scheduler.StepLR, step_size=2)).configure(network())
    assert "monitor" not in configured["lr_scheduler"]


def test_warming_up_rises_to_the_full_rate_and_falls_to_zero_batch_by_batch():
    configured = Optimisation(ADAM, WarmUp, learning_rate_scale=0.5).configure(network(), lambda: 20)
    optimizer, schedule = configured["optimizer"], configured["lr_scheduler"]
    assert schedule["interval"] == "step"
    rates = []
    for _ in range(20):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule["scheduler"].step()
    assert rates == pytest.approx([0, 0.0025, *(0.005 * (20 - step) / 18 for step in range(2, 20))])
    assert optimizer.param_groups[0]["lr"] == 0


def test_warming_up_needs_an_end(refusal):
    with refusal():
        Optimisation(ADAM, WarmUp).configure(network())


def test_two_groups_step_as_the_three_optimisers_of_the_literature():
    torch.manual_seed(0)
    ours, theirs = network().double(), network().double()  # Adam divides tiny gradients by themselves, rounding and all
    theirs.load_state_dict(ours.state_dict())
    one = Optimisation(partial(torch.optim.Adam, lr=0.01, amsgrad=True, weight_decay=0.1, fused=True)).configure(ours)
    adam = partial(torch.optim.Adam, lr=0.01, amsgrad=True, foreach=False)
    three = [
        adam(theirs.encoder.parameters(), weight_decay=0.1),
        adam(theirs.attention.parameters()),
        adam(theirs.decoder.parameters(), weight_decay=0.1),
    ]
    for _ in range(5):
        tokens = torch.randint(1, 10, (4, 6))
        for model, optimisers in ((ours, [one]), (theirs, three)):
            model.zero_grad()
            model(tokens, tokens > 0).square().sum().backward()
            for optimiser in optimisers:
                optimiser.step()
    for name, value in ours.state_dict().items():
        torch.testing.assert_close(value, theirs.state_dict()[name], atol=1e-12, rtol=1e-12, msg=name)


def own_network() -> nn.Module:
    """Somebody's network, which does not tell what makes its attention."""
    return nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))


def test_a_network_may_leave_untold_what_makes_its_attention():
    others, attention = Optimisation(ADAM).configure(own_network()).param_groups
    assert (len(others["params"]), len(attention["params"])) == (4, 0)


def test_attention_that_is_untold_cannot_be_trained_at_another_rate(refusal):
    with refusal():
        Optimisation(ADAM, attention_learning_rate_scale=10.0).configure(own_network())


class WithoutForward(PoolingClassifier):
    forward = nn.Module.forward


@pytest.mark.parametrize(
    "make",
    [
        lambda words, outputs: own_network(),
        lambda words, outputs: WithoutForward(words, outputs, Average),
    ],
)
def test_networks_without_the_steps_are_refused_before_training(make, refusal):
    with refusal():
        Classifier(make)


class Training:
    """What a Trainer says of its gradients."""

    def __init__(self, precision: str, gradient_clip_val: float | None) -> None:
        self.precision, self.gradient_clip_val = precision, gradient_clip_val


@pytest.mark.parametrize(
    ("precision", "clipped", "fused"),
    [("16-mixed", 1.0, False), ("16-mixed", None, True), ("bf16-mixed", 1.0, True), (None, None, True)],
)
def test_gradients_that_are_scaled_and_clipped_are_left_to_an_optimiser_that_is_not_fused(precision, clipped, fused):
    """Lightning refuses a fused one there: it would clip gradients that are still scaled."""
    adam = partial(torch.optim.Adam, lr=0.5, fused=True)
    module = Classifier(
        lambda words, outputs: PoolingClassifier(words, outputs, Average), vocab_size=9, num_classes=2, optimizer=adam
    )
    if precision is not None:
        module.trainer = Training(precision, clipped)
    made = module.configure_optimizers()
    assert made.defaults["fused"] is fused
    assert made.defaults["lr"] == 0.5
    assert getattr(made, "_step_supports_amp_scaling", False) is fused
