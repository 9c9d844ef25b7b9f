"""The commands, the Python functions, and all steps that they share, from the configuration of a run to its evidence."""
