"""E15: explanations with one number per token, which are compared with one another and with attention.

``kinds.py`` names all readings and what they need of a network; ``formulas.py`` computes them; ``truth.py`` compares them with
the tokens that decide. Start at ``compared.py``. ``read_as`` replaces attention by a reading, for other experiments.
"""

from attest.experiments.readings.compared import Clock, readings_of, side_by_side
from attest.experiments.readings.kinds import READINGS, Reading, read_as, reading_of, suited_readings, where_explained

__all__ = [
    "READINGS",
    "Clock",
    "Reading",
    "read_as",
    "reading_of",
    "readings_of",
    "side_by_side",
    "suited_readings",
    "where_explained",
]
