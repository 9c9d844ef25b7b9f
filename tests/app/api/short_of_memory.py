"""A trial in a process that may have 200 MB more: ``python -m tests.app.api.short_of_memory <tokenizer> <folder>``."""

import resource
import shutil
import sys
from pathlib import Path

import torch
from transformers import AutoTokenizer

import attest
from tests.models.pretrained.tiny import WORDS, tiny

QUICK = {"E2": {"permutations": 1}}
LONG = [" ".join(["fine film"] * (127 - row)) for row in range(32)]


def main() -> None:
    """Try the texts and keep the folder of the trial."""
    torch.manual_seed(0)
    options = {"tokenizer": AutoTokenizer.from_pretrained(sys.argv[1]), "progress": False, "memory_gib": 64}
    model = tiny("bert", vocab_size=len(WORDS), max_position_embeddings=256).double()
    attest.trial(model, ["fine film", "dull"], QUICK, **options)  # imports all it needs
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + 200 * 2**20,) * 2)
    found = attest.trial(model, LONG, QUICK, **options)
    shutil.copytree(found.folder.path, sys.argv[2])


if __name__ == "__main__":
    main()
