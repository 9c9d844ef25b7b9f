"""The signs that end a sentence by themselves, in scripts in which no blank and no capital need follow."""

ENDS = "。！？｡．।॥؟؝؞۔։።፧፨᙮။៕។᠃᠉‼⁇⁈⁉"
"""Of Chinese and Japanese, Devanagari, Arabic, Urdu, Armenian, Ethiopic, Canadian syllabics, Burmese, Khmer and Mongolian."""
CLOSING = "\"'”’)\\]」』）】》〉〕］｣"
"""What may follow the sign and belong to its sentence, for use between the brackets of a regular expression."""
