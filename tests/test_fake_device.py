"""The fake accelerator refuses what a real one refuses, counts what it costs, and computes what the CPU computes."""

import pytest
import torch
from torch import nn

from tests.fake_device import DEVICE, FakeTensor, fake_device


@pytest.fixture
def device():
    with fake_device() as found:
        yield found


def on_device(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32).to(DEVICE)


def test_tensors_say_that_they_lie_on_the_device(device):
    made = (on_device(1, 2), torch.zeros(2, device=DEVICE), torch.tensor([1], device=DEVICE), on_device(1).new_ones(3))
    assert all(each.device == DEVICE and isinstance(each, FakeTensor) for each in made)
    assert on_device(1, 2).cpu().device.type == "cpu"
    module = nn.LSTM(2, 3).to(DEVICE)
    assert {parameter.device for parameter in module.parameters()} == {DEVICE}


@pytest.mark.parametrize(
    "mixed",
    [
        lambda: on_device(1, 2) + torch.ones(2),
        lambda: torch.cat([torch.ones(2), on_device(1, 2)]),
        lambda: torch.ones(2)[on_device(1).long()],
        lambda: nn.Linear(2, 1)(on_device(1, 2)),
    ],
)
def test_operations_on_two_devices_are_refused(mixed, device):
    with pytest.raises(RuntimeError, match="expected all tensors on one device"):
        mixed()


def test_numpy_is_refused(device):
    with pytest.raises(RuntimeError, match="numpy"):
        on_device(1, 2).numpy()


@pytest.mark.parametrize(
    "reads",
    [
        lambda values: values[0].item(),
        lambda values: bool(values[0] > 0),
        lambda values: values.cpu(),
        lambda values: values.tolist(),
        lambda values: values.nonzero(),
        lambda values: values[values > 1],
        lambda values: values.unique(),
        lambda values: torch.zeros(2).copy_(values),
    ],
)
def test_each_read_of_the_device_is_counted(reads, device):
    values = on_device(1, 2)
    device.forget()
    reads(values)
    assert device.syncs.total() == 1


def test_uploads_and_kernels_are_counted_and_views_are_free(device):
    values = on_device(1, 2)
    values.add_(torch.tensor([1.0], device=DEVICE))
    values[torch.tensor([0, 1])].view(2, 1)
    assert (device.uploads.total(), device.syncs.total()) == (3, 0)
    device.forget()
    values.view(1, 2).unsqueeze(0).transpose(0, 1)
    assert device.launches == 0
    torch.exp(values, out=values)
    assert (device.launches, device.kernels["exp"]) == (1, 1)
    assert values.tolist() == pytest.approx([7.389056, 20.085537]), "a result written in place is seen"


def test_a_pass_through_a_recurrent_layer_is_one_fused_kernel_forwards_and_backwards(device):
    layer, linear = nn.LSTM(3, 2, batch_first=True).to(DEVICE), nn.Linear(2, 1).to(DEVICE)
    given = torch.ones(1, 5, 3).to(DEVICE).requires_grad_()
    device.forget()
    total = linear(layer(given)[0]).sum()
    assert len(device.layers) == 1
    beside = device.launches - device.layers.total()
    assert beside < 5 < device.layers.total()
    assert device.fused == beside + 1
    device.forget()
    torch.autograd.grad(total, given, retain_graph=True)
    torch.autograd.grad(total, given)
    assert len(device.layers) == 2
    assert device.fused == device.launches - device.layers.total() + 2 < 25 < device.layers.total()


def test_a_step_of_training_is_that_of_the_cpu(device):
    def trained(place):
        torch.manual_seed(0)
        module = nn.ModuleList([nn.Embedding(5, 3), nn.LSTM(3, 2, batch_first=True)]).to(place)
        optimizer = torch.optim.Adam(module.parameters(), fused=True)
        for _ in range(2):
            module[1](module[0](torch.tensor([[1, 4, 2]]).to(place)))[0].square().sum().backward()
            optimizer.step()
        return [parameter.detach().cpu() for parameter in module.parameters()]

    for here, there in zip(trained("cpu"), trained(DEVICE), strict=True):
        torch.testing.assert_close(here, there)


def test_nothing_of_the_device_stays():
    autocast, supported = torch.autocast, torch._C._only_lift_cpu_tensors()
    with fake_device():
        values = on_device(1, 2)
        with torch.autocast(DEVICE.type, enabled=False):
            assert not torch.is_autocast_enabled(DEVICE.type)
    assert (torch.autocast, torch._C._only_lift_cpu_tensors()) == (autocast, supported)
    with pytest.raises(RuntimeError, match="outside of"):
        values + 1
