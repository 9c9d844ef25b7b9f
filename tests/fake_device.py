"""A fake accelerator: tensors that say they lie on another device, although the CPU holds their numbers.

What an accelerator refuses is refused here, too: a mix of devices in one operation, and numpy. What costs time on an
accelerator is counted: kernels, copies to the device, and reads that the CPU waits for.

    with fake_device() as device:
        network.to(device.name)
        logits = network(tokens.to(device.name), mask.to(device.name))
        device.launches, device.fused, device.syncs, device.uploads

A recurrent layer runs as the CPU runs it, which is some kernels for each token. An accelerator computes it in one call of its
library (cuDNN) wherever no gradient is asked for; ``fused`` counts it as one kernel, and its backward pass as another.

PyTorch knows a device ``lazy`` that nothing computes on, unless somebody asks for it; here it is what tensors say.
"""

import sys
from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("lazy:0")
ROOT = Path(__file__).parents[1]
OURS = tuple(f"{ROOT / room}/" for room in ("attest", "callbacks", "datamodules", "lightning_modules"))
NO_KERNEL = {"empty", "empty_like", "empty_strided", "new_empty", "_unsafe_view", "unsafe_split", "unsafe_chunk"}
"""Operations that compute nothing, besides views."""
UNIQUE = {"_unique2", "unique_dim", "unique_consecutive"}
READS = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "bincount"} | UNIQUE
"""Operations whose answer, or its size, the CPU waits for."""
INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_"}
COPYING = {"_to_copy", "copy_"}


class FakeTensor(Tensor):
    """A tensor that says it lies on ``DEVICE``; ``held`` is the CPU tensor that holds its numbers."""

    held: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, held: Tensor) -> "FakeTensor":
        layout = {"strides": held.stride(), "storage_offset": held.storage_offset(), "dtype": held.dtype}
        fake = torch.Tensor._make_wrapper_subclass(cls, held.size(), device=DEVICE, **layout)
        fake.held = held
        return fake

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(f"{operation} on a tensor of a fake device outside of `with fake_device()`.")

    @property
    def data(self) -> Tensor:
        return self.detach()

    @data.setter
    def data(self, other: "FakeTensor") -> None:
        self.held = other.held

    def tolist(self) -> Any:
        return self.cpu().tolist()


class FakeDevice(TorchDispatchMode):
    """Runs each operation on the CPU, and counts what an accelerator would have done."""

    name = DEVICE

    def __init__(self) -> None:
        super().__init__()
        self.kernels: Counter[str] = Counter()
        """Kernels by the name of their operation."""
        self.syncs: Counter[str] = Counter()
        """Reads that the CPU waits for, by the line of Attest that asks for them."""
        self.uploads: Counter[str] = Counter()
        """Copies of CPU tensors to the device, likewise."""
        self.lines: Counter[str] = Counter()
        """Kernels outside recurrent layers by the line of Attest that asks for them."""
        self.layers: Counter[tuple[int, int]] = Counter()
        """Kernels by the pass through a recurrent layer: the number of the forward pass, and of the backward pass or -1."""
        self._nodes: list[list[int]] = []  # of each forward pass, the first node of its graph and the first one behind it
        self._layer: int | None = None  # the forward pass that runs now

    @property
    def launches(self) -> int:
        """Return the number of kernels."""
        return self.kernels.total()

    @property
    def fused(self) -> int:
        """Return the number of kernels where each pass through a recurrent layer, forward or backward, is one."""
        return self.launches - self.layers.total() + len(self.layers)

    def forget(self) -> None:
        """Begin to count anew."""
        for counts in (self.kernels, self.syncs, self.uploads, self.lines, self.layers):
            counts.clear()

    def enter(self, module: nn.Module, _inputs: Any) -> None:
        """Note that the forward pass of a module begins."""
        if isinstance(module, nn.RNNBase):
            self._layer = len(self._nodes)
            self._nodes.append([torch.autograd._get_sequence_nr()])

    def leave(self, module: nn.Module, _inputs: Any, _output: Any) -> None:
        """Note that the forward pass of a module has ended."""
        if isinstance(module, nn.RNNBase):
            self._layer = None
            self._nodes[-1].append(torch.autograd._get_sequence_nr())

    def _pass_of_layer(self) -> tuple[int, int] | None:
        """Return the pass through a recurrent layer that runs now; backwards, its nodes are those that it made forwards."""
        if self._layer is not None:
            return self._layer, -1
        node = torch._C._current_autograd_node()
        if node is None:
            return None
        at = bisect(self._nodes, [node._sequence_nr(), sys.maxsize]) - 1
        inside = at >= 0 and self._nodes[at][0] <= node._sequence_nr() < self._nodes[at][1]
        return (at, torch._C._current_graph_task_id()) if inside else None

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        tensors = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, Tensor)]
        fakes = [each for each in tensors if isinstance(each, FakeTensor)]
        asked = kwargs.get("device")
        there = bool(fakes) if asked is None else torch.device(asked).type == DEVICE.type
        if not fakes and not there:
            return operation(*args, **kwargs)
        if asked is not None:
            kwargs["device"] = torch.device("cpu")
        name = operation._schema.name.partition("::")[2]
        if name == "copy_":
            there = isinstance(args[0], FakeTensor)
        self._count(name, operation, args, there, tensors)
        known = {id(each.held): each for each in fakes}

        def wrapped(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            return known[id(value)] if id(value) in known else FakeTensor(value)

        found = operation(*tree_map(_held, args), **tree_map(_held, kwargs))
        return tree_map(wrapped, found) if there else found

    def _count(self, name: str, operation: Any, args: Any, there: bool, tensors: list[Tensor]) -> None:
        index = [each for each in args[1] if each is not None] if name in INDEXING else []
        of_cpu = [each for each in tensors if not isinstance(each, FakeTensor)]
        copied = name in COPYING and (of_cpu if there else len(of_cpu) < len(tensors))
        moved = [each for each in index if not isinstance(each, FakeTensor)]  # PyTorch copies indices to the device
        if (
            name in READS
            or (name == "repeat_interleave" and len(args) == 1)
            or any(each.dtype == torch.bool for each in index)
        ):
            self.syncs[f"{name} at {_line()}"] += 1
        elif copied and not there:
            self.syncs[f"copy to the CPU at {_line()}"] += 1
        if (copied and there) or moved:
            self.uploads[_line()] += 1
        apart = [each for each in of_cpu if each.ndim and all(each is not one for one in moved)]
        if apart and len(of_cpu) < len(tensors) and name not in COPYING:
            shape = tuple(apart[0].shape)
            raise RuntimeError(f"expected all tensors on one device; {name} got a CPU tensor {shape}: {_line()}")
        if not operation.is_view and name not in NO_KERNEL:
            self.kernels[name] += 1
            if (layer := self._pass_of_layer()) is None:
                self.lines[_line()] += 1
            else:
                self.layers[layer] += 1


def _held(value: Any) -> Any:
    return value.held if isinstance(value, FakeTensor) else value


def _line() -> str:
    """Return the innermost line of Attest that is running, or “a test”."""
    frame = sys._getframe()
    while frame is not None and not frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    return "a test" if frame is None else f"{Path(frame.f_code.co_filename).relative_to(ROOT)}:{frame.f_lineno}"


@contextmanager
def fake_device() -> Iterator[FakeDevice]:
    """Offer a fake accelerator inside the ``with`` block."""
    autocast, enabled, optimizer = torch.autocast, torch.is_autocast_enabled, import_module("torch.optim.optimizer")
    fused = optimizer._get_fused_kernels_supported_devices

    class Autocast(autocast):
        def __init__(self, device_type: str, *args: Any, **kwargs: Any) -> None:
            super().__init__("cpu" if device_type == DEVICE.type else device_type, *args, **kwargs)

    lifts = torch._C._only_lift_cpu_tensors()
    with pytest.MonkeyPatch.context() as patch, FakeDevice() as device, ExitStack() as hooks:
        hooks.enter_context(register_module_forward_pre_hook(device.enter))
        hooks.enter_context(register_module_forward_hook(device.leave, always_call=True))
        patch.setattr(torch, "autocast", Autocast)
        patch.setattr(torch, "is_autocast_enabled", lambda device_type: device_type != DEVICE.type and enabled(device_type))
        patch.setattr(optimizer, "_get_fused_kernels_supported_devices", lambda: [*fused(), DEVICE.type])
        torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor(…, device=) is a copy, too
        try:
            yield device
        finally:
            torch._C._set_only_lift_cpu_tensors(lifts)
