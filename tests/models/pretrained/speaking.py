"""A tokenizer of a few words as decoders have it, blanks belonging to the word behind them, and a prompt."""

from collections.abc import Sequence

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import ByteLevel
from transformers import PreTrainedTokenizerFast

TEMPLATE = "Review: {text}\nSentiment:"
ANSWERS = {"bad": " bad", "good": " good"}
FILLERS = ("the", "plot", "and", "its", "songs", "are", "as", "long", "there", "is", "some", "talk")
WORDS = ("a", "fine", "dull", "film", "very", "not", "good", "bad", ".", *FILLERS)
FRAME = ("<pad>", "<unk>", "<s>", "</s>", "Review", ":", "Ċ", "Sentiment", "iment")


def speaking_tokenizer(words: Sequence[str] = WORDS) -> PreTrainedTokenizerFast:
    """Every word is one token with the blank before it; whatever is not known is ``<unk>``."""
    vocabulary = {word: number for number, word in enumerate([*FRAME, *(f"Ġ{word}" for word in words)])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    known = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **known)
