"""The public Python functions ``attest.trial``, ``attest.train`` and ``attest.open_run``, and the objects that they return."""
