"""The small table of invented numbers that the tests of tables have."""

from tests.report.tables.conftest import invented

__all__ = ["invented"]
