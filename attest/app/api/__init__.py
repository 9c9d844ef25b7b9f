"""The public Python functions ``attest.trial``, ``attest.train`` and ``attest.open_run``, and the objects that they return."""

import warnings

from tqdm import TqdmWarning

warnings.filterwarnings("ignore", category=TqdmWarning)  # by libraries that miss ipywidgets in a notebook
