"""Reproduce published tables: each table becomes a plan of runs, which Snakemake executes."""
