"""Training again on texts that are erased in part."""

from torch import Tensor

from attest.lightning_modules.classifier import Classifier


class Retrained(Classifier):
    """A classifier that begins where its base began, on texts without the tokens that the base leans on (Hooker et al. 2019).

    The DataModule erases them (``data.init_args.erased``); what is learned from the base is over with that.
    """

    def take_base(self, state: dict[str, Tensor]) -> None:
        """Leave the parameters as they were initialised."""
