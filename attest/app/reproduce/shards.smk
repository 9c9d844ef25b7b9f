"""The evidence of one run in shards, as a workflow: a job a shard, in any order, on one machine or many.

A shard is done when the file that names its tables is there. The tables themselves are no outputs of the workflow, which would
delete those of a job that was stopped; the job takes up what is there. `attest evidence --shards` writes the configuration file.
"""

import shlex

FOLDER, DONE = config["folder"], config["done"]


localrules:
    all,


rule all:
    input:
        [f"{FOLDER}/{part}/{DONE}" for part in config["jobs"]],


rule shard:
    output:
        touch(f"{FOLDER}/{{part}}/{DONE}"),
    log:
        f"{FOLDER}/{{part}}/evidence.log",
    params:
        command=lambda wildcards: shlex.join(config["jobs"][wildcards.part]),
    threads: 1
    retries: 2
    resources:
        gpu=config["gpus_a_job"],
    shell:
        "{params.command} > {log:q} 2>&1"
