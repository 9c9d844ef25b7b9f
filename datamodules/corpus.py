"""A corpus as text: what every source is turned into before it is encoded."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from attest.errors import AttestError
from datamodules.vocabulary import Vocabulary


@dataclass(frozen=True)
class Documents:
    """Tokenised, labelled texts of one split; equal positions belong together."""

    ids: list[int]
    """Row of each text in its source, so that a result can be joined back to it after filtering."""
    tokens: list[list[str]]
    labels: list[int]
    """Class, from 0."""
    rationales: list[list[bool]] | None = None
    """True at the tokens that decide the label, where the corpus knows them."""

    def __len__(self) -> int:
        return len(self.ids)

    def where(self, keep: Callable[[list[str]], bool]) -> "Documents":
        """The texts whose tokens satisfy ``keep``, ids unchanged."""
        rows = [row for row, tokens in enumerate(self.tokens) if keep(tokens)]
        return replace(
            self,
            ids=[self.ids[row] for row in rows],
            tokens=[self.tokens[row] for row in rows],
            labels=[self.labels[row] for row in rows],
            rationales=None if self.rationales is None else [self.rationales[row] for row in rows],
        )


@dataclass(frozen=True)
class Corpus:
    """Three splits and the vocabulary that training may know of."""

    train: Documents
    validation: Documents
    test: Documents
    vocabulary: Vocabulary
    label_names: tuple[str, ...]

    def require_texts(self, name: str) -> "Corpus":
        """Refuse texts without tokens: there is nothing to attend to."""
        for split in ("train", "validation", "test"):
            documents: Documents = getattr(self, split)
            empty = [identity for identity, tokens in zip(documents.ids, documents.tokens, strict=True) if not tokens]
            if empty or not len(documents):
                found = f"{len(empty)} texts empty after tokenising (rows {empty[:5]})" if empty else "no texts"
                raise AttestError(
                    f"{name}: the {split} split has {found}, expected at least one token in each text; "
                    "remove these rows from the source or filter by length."
                )
        return self

