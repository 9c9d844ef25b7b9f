"""The adversary of keys: a network of one hidden layer, the same for every token of every layer (Drozdyuk et al.)."""

from torch import Tensor, nn


class KeyPerturbation(nn.Module):
    """Other keys from keys, or from noise of their shape.

    Args:
        size: H, of the keys of all heads side by side.
        hidden_size: of the one hidden layer, relu.
    """

    def __init__(self, size: int, hidden_size: int = 256) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(size, hidden_size), nn.Linear(hidden_size, size)

    def forward(self, keys: Tensor) -> Tensor:
        """Keys ``(..., H)`` -> keys ``(..., H)``."""
        return self.output(self.hidden(keys).relu())
