"""A tagging corpus that needs no file: the tag of a word is a function of the word and of the one before."""

import torch
from pytorch_lightning import LightningDataModule
from torch.utils.data import DataLoader

TAGS = ("O", "B-NP", "I-NP", "B-VP")


class ToyTags(LightningDataModule):
    """Batches as the tagger reads them: ``id``, ``token_ids`` (B, T), ``mask`` (B, T), ``tags`` (B, T), -100 at padding."""

    vocab_size = 12
    num_classes = len(TAGS)
    label_names = TAGS
    positive_weight = 1.0

    def __init__(self, batch_size: int = 8, seed: int = 0) -> None:
        super().__init__()
        self.batch_size = batch_size
        generator = torch.Generator().manual_seed(seed)
        tokens = torch.randint(2, self.vocab_size, (32, 9), generator=generator)
        mask = torch.arange(9) < torch.randint(1, 10, (32, 1), generator=generator)
        tags = (tokens + tokens.roll(1, dims=1) // 6) % self.num_classes
        self.rows = [
            {"id": torch.tensor(i), "token_ids": tokens[i] * mask[i], "mask": mask[i], "tags": tags[i].where(mask[i], -100)}
            for i in range(32)
        ]

    def train_dataloader(self) -> DataLoader:
        return DataLoader(self.rows, batch_size=self.batch_size)

    val_dataloader = test_dataloader = train_dataloader
