# Attest. `make help` lists what can be typed.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# Every word typed after a target (DATA=sst, MODEL=bilstm, …) goes to attest, which refuses those that it does not know.
OURS    := PYTHON VENV ARGS
chosen   = $(strip $(foreach name,$(sort $(filter-out $(OURS),$(.VARIABLES))),$(if $(filter command,$(firstword $(origin $(name)))),$(name)='$(subst ','\'',$($(name)))')))

export OMP_WAIT_POLICY := PASSIVE

.DEFAULT_GOAL := help
.PHONY: help setup demo train adversarial controls keys roar judges dashboard docs test test-whole test-all lowest mutants moved reproduce bench crash check format lock clean

help:  ## list the targets, one on each line
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-11s %s\n", $$1, $$2}'

setup: $(READY)  ## make the virtual environment, if missing or older than pyproject.toml: 3 to 10 minutes, 2.5 GB

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "python " + sys.version.split()[0] + " was found, expected 3.11 or newer; type for example: make $(MAKECMDGOALS) PYTHON=python3.11")'
	@echo "Making $(VENV): 3 to 10 minutes, about 2.5 GB with the CPU build of torch, more with CUDA."
	@$(PYTHON) -m venv $(VENV)
	@echo "Installing the packages of pyproject.toml in the versions of constraints.txt; pip prints only what goes wrong …"
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@echo "Installed in $(VENV). To see what stops a run, type: $(BIN)/attest doctor"
	@touch $@

demo: $(READY)  ## put a small model on trial that comes with Attest: half a minute, no network, no data
	@ATTEST_BY_MAKE=1 $(BIN)/attest demo $(ARGS)

train: $(READY)  ## train a model and put it on trial: DATA=planted|sst|… MODEL= SCORING= PROJECTION= RECIPE= SEED= FORCE=1 ARGS="--trainer.max_epochs=3"
	@ATTEST_BY_MAKE=1 $(BIN)/attest fit $(chosen) $(ARGS)

adversarial: $(READY)  ## train adversaries of a run (E7): the choices of train, LAMBDA=1e-4,1e-3 VARIANT=unfrozen|frozen DIVERGENCE=kl|jsd|smoothed-kl CONVENTION=instances|yang|wiegreffe-pinter
	@ATTEST_BY_MAKE=1 $(BIN)/attest adversarial $(chosen) $(ARGS)

controls: $(READY)  ## compare a run with uniform attention, other seeds and guides (E4, E5, E6): the choices of train, SEEDS=3 LAMBDA=1e-3
	@ATTEST_BY_MAKE=1 $(BIN)/attest controls $(chosen) $(ARGS)

keys: $(READY)  ## attack the keys of a Transformer (E9): DATA= MODEL=transformer-dr PROJECTION= ATTACK=adversarial|adversarial-norm|random|opposite|shuffle
	@ATTEST_BY_MAKE=1 $(BIN)/attest keys $(chosen) $(ARGS)

roar: $(READY)  ## erase what an explanation ranks first and train again, step by step: the choices of train, READING=attention,norm STEPS=10
	@ATTEST_BY_MAKE=1 $(BIN)/attest roar $(chosen) $(ARGS)

judges: $(READY)  ## test the experiments on attention that is right or wrong by construction: SMOKE=1
	@$(BIN)/python -m benchmarks.judges constructed $(if $(SMOKE),--smoke) $(ARGS)

dashboard: $(READY)  ## make a W&B workspace for a run, after wandb login: RUN=<run folder> PURPOSE=run|lambda|runs SHOW=1 only prints it
	@PYTHONPATH=. $(BIN)/python examples/wandb_workspace.py $(if $(RUN),'$(RUN)') --purpose $(or $(PURPOSE),run) $(if $(SHOW),--show) $(ARGS)

docs: $(READY)  ## write the generated parts of the documentation, and build its site into site/
	@$(BIN)/python -m docs.generate
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "Site: site/index.html"

TEST := OMP_NUM_THREADS=$(or $(OMP_NUM_THREADS),1) $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

test: $(READY)  ## run the quick tests, all but whole runs: 6 minutes on two cores
	@$(TEST) -m "not whole" $(ARGS)

test-whole: $(READY)  ## run the tests that make test leaves out; those on real corpora need ATTEST_DATA=<folder with sst/train.parquet …>
	@$(TEST) -m whole $(ARGS)

test-all: $(READY)  ## run all tests, those of make test and of make test-whole
	@$(TEST) $(ARGS)

lowest: $(READY)  ## install the oldest accepted packages together in a folder of its own, gigabytes, and try Attest with them; needs Python 3.11
	@ATTEST_LOWEST=1 $(BIN)/python -m pytest tests/test_lower_bounds.py $(ARGS)

mutants: $(READY)  ## break a copy of the code on purpose, and see whether tests notice: ONLY=<word> chooses errors, SEARCH=1 looks for others
	@$(BIN)/python -m benchmarks.mutants $(if $(ONLY),--only '$(ONLY)')
	@$(if $(SEARCH),OMP_NUM_THREADS=1 $(BIN)/mutmut run && $(BIN)/mutmut results)

moved: $(READY)  ## print each number that moved since a commit: BASE=<commit> KEEP=<new folder for the files of both>
	@$(BIN)/python -m benchmarks.moved --base '$(BASE)' $(if $(KEEP),--keep '$(KEEP)')

reproduce: $(READY)  ## reproduce a published table, our numbers beside theirs: TABLE=jw-2|me-6|…|all DATA= MODEL= SEEDS=3 JOBS=1 SMOKE=1 DRY=1 LOGGER=csv
	@ATTEST_BY_MAKE=1 $(BIN)/attest reproduce $(chosen) $(ARGS)

bench: $(READY)  ## compare the speed of evidence with the way of the literature: DATA=sst|imdb TEXTS=200
	@$(BIN)/python -m benchmarks.evidence --data $(or $(DATA),sst) $(if $(TEXTS),--texts $(TEXTS))

crash: $(READY)  ## stop a small run at 50 moments, resume it and compare it bit for bit: MOMENTS=50 SEED=0
	@$(BIN)/python -m benchmarks.crashes --moments $(or $(MOMENTS),50) --seed $(or $(SEED),0)

check: $(READY)  ## check lint, format, types, and which package may import which
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@PYTHONPATH=. $(BIN)/lint-imports

format: $(READY)  ## format every file as `make check` requires
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

lock: $(READY)  ## write the installed versions into constraints.txt
	@{ echo "# Versions that the tests have passed with: pip install -c constraints.txt -e '.[dev]'. Renew with: make lock"; \
	   $(BIN)/pip freeze --exclude-editable | sed 's/+cpu$$//'; } > constraints.txt.new && mv constraints.txt.new constraints.txt

clean:  ## remove generated files here, except runs/ and results/, and say what lies elsewhere
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .grimp_cache .import_linter_cache .snakemake mutants site \
	  build dist wandb lightning_logs *.egg-info .coverage
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
	@echo "Left: runs/ and results/ here; vectors that were downloaded, in $${ATTEST_CACHE:-~/.cache/attest}"
