"""The reproduction of published tables: each table becomes a plan of runs, which Snakemake carries out."""
