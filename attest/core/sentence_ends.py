"""The signs that end a sentence by themselves, in scripts in which no blank and no capital need follow."""

ENDS = "。！？｡．।॥؟؝؞۔։።፧፨᙮။៕។᠃᠉‼⁇⁈⁉"
"""The characters that end a sentence even without a space after them: of Chinese and Japanese, Devanagari, Arabic, Urdu,
Armenian, Ethiopic, Canadian syllabics, Burmese, Khmer and Mongolian."""
CLOSING = "\"'”’)\\]」』）】》〉〕］｣"
"""Closing quotation marks and brackets, which may follow the character that ends a sentence and still belong to the sentence;
for use inside ``[...]`` of a regular expression."""
