"""The version of Attest."""

__version__ = "0.4.0"
