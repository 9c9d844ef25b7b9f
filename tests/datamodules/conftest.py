"""What the tests of the corpora share."""

from hypothesis import settings

settings.register_profile("attest", deadline=None)  # a busy machine is no failure
settings.load_profile("attest")
