import pytest
import torch


@pytest.fixture(autouse=True)
def seeded():
    """Every test draws the same numbers, whichever others run."""
    torch.manual_seed(0)
