"""The version of Attest, where everything can read it without importing the package's Python functions."""

__version__ = "0.3.0"
