"""The version of Attest."""

__version__ = "0.3.0"
