"""Text files whose bytes are not in the expected encoding: where the first such byte stands, and what to type."""

import codecs
from pathlib import Path

from attest.datamodules.notice import option
from attest.errors import AttestError

UTF_8 = "utf-8"
NULLS_LOOKED_FOR = 200
"""Bytes at the beginning of a file in which UTF-16 shows by its null bytes."""
PACKED = {
    b"\x1f\x8b": "compressed by gzip",
    b"PK\x03\x04": "a zip archive, as Excel's .xlsx files are",
    b"PAR1": "a parquet file",
}
"""How files begin that are no text, whatever their name says."""


def python_name(encoding: str) -> str:
    """What Python calls an encoding that reads a text file; UTF-8 is read with or without a byte order mark.

    Raises:
        AttestError: there is no such encoding.
    """
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        raise AttestError(
            f"encoding is {encoding}, which is not known; expected one such as utf-8, latin-1, cp1252 or utf-16. "
            f"Type {option('encoding', 'latin-1')}"
        ) from None
    return "utf-8-sig" if name == UTF_8 else name


def require_text(path: Path) -> None:
    """Refuse a file that is packed, or of another kind, inside.

    Raises:
        AttestError: it begins like one.
    """
    with path.open("rb") as file:
        start = file.read(4)
    kind = next((kind for magic, kind in PACKED.items() if start.startswith(magic)), None)
    if kind is not None:
        raise AttestError(f"{path} is {kind}, not {path.suffix} text; expected plain text. Unpack, rename or export the file.")


def doubt(path: Path, encoding: str) -> str | None:
    """The sentence that a file is UTF-8 with letters beyond ASCII, where another encoding is named; None where it is not."""
    if python_name(encoding) == python_name(UTF_8):
        return None
    try:
        plain = path.read_bytes().decode(UTF_8).isascii()
    except UnicodeDecodeError:
        return None
    return None if plain else f"{path} is good UTF-8, which text in {encoding} hardly ever is; leave the encoding out if so."


def encoding_advice(path: Path, encoding: str) -> str:
    """Which byte of a file is not in its encoding, in which line, and how to read or convert the file."""
    content = path.read_bytes()
    guess = _guess(content)
    return (
        f"{_first_undecodable(content, encoding)} If the file is in {guess}, add {option('encoding', guess)}, or "
        f"convert it: `iconv -f {guess} -t utf-8 {path} > converted{path.suffix}`."
    )


def _first_undecodable(content: bytes, encoding: str) -> str:
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return f"Line {line} holds the byte 0x{content[error.start]:02X}, which is not {encoding.upper()} there."
    return f"The file reads as {encoding.upper()}, but holds null characters."


def _guess(content: bytes) -> str:
    """UTF-16 has null bytes between letters; Latin-1 has no signs at 0x80 to 0x9F, where Windows-1252 has quotation marks."""
    if content.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in content[:NULLS_LOOKED_FOR]:
        return "utf-16-be" if content.startswith(b"\0") else "utf-16-le"
    return "cp1252" if any(0x80 <= byte <= 0x9F for byte in content) else "latin-1"
