"""What decides in a text, measured by filling: words that are not kept are replaced by random neutral words of the corpus.

A set of words *decides* if the model says nearly the same with these words alone; attention is *right* in a text if the words
that it puts first decide, and each of them matters.

In: texts and a model that reads them (``filling.Texts``; of an observed batch by ``observed.texts_of``). ``neutral.py`` finds
the words that move the model least, ``search.py`` a small set that decides, ``pointing.py`` asks of an explanation whether its
own first words do. Out: a number for each text. “What decides in a text” in the documentation defines the terms and says what
they do not mean.
"""

from attest.experiments.deciding.filling import Game, Texts
from attest.experiments.deciding.neutral import Neutral, neutral_words
from attest.experiments.deciding.observed import texts_of
from attest.experiments.deciding.pointing import Pointing, pointing
from attest.experiments.deciding.search import deciding_words

__all__ = ["Game", "Neutral", "Pointing", "Texts", "deciding_words", "neutral_words", "pointing", "texts_of"]
