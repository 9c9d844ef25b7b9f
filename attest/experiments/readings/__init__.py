"""E15: readings of a model, each one number a token, side by side.

``kinds.py`` names them all and what they need of a network; ``formulas.py`` computes them;
``truth.py`` holds them against the tokens that decide. Start at ``compared.py``. ``read_as`` puts a reading in the
attention's place, for any other experiment.
"""

from attest.experiments.readings.compared import readings_of, side_by_side
from attest.experiments.readings.kinds import READINGS, Reading, read_as, reading_of, suited_readings, where_explained

__all__ = [
    "READINGS",
    "Reading",
    "read_as",
    "reading_of",
    "readings_of",
    "side_by_side",
    "suited_readings",
    "where_explained",
]
