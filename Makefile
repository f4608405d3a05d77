# Two commands do everything: `make demo` and `make test`. Each sets up the virtual environment first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The demo needs the core alone; everything else the extras and the tools of development.
CORE := $(VENV)/.installed-core
STAMP := $(VENV)/.installed
# Everything is installed from locked versions, each file by its hash.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PACKAGE := --no-deps --no-build-isolation --editable .
# Tools that look after the locked versions, in an environment of their own.
SUPPLY := .venv-supply
# One worker more than cores, for some wait for processes; four at most. A file's tests stay together, for they share
# their fixtures.
WORKERS := $(shell cores=$$(nproc 2>/dev/null || echo 3); echo $$((cores < 4 ? cores + 1 : 4)))
PYTEST := $(BIN)/pytest -n $(WORKERS) --dist loadfile

# The tests are translated once, not at every run, whatever the shell says: a third of what `make quick` takes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test quick services lint campaign foretold bench benchmarks bench-peers bench-private bench-publish \
	bench-release bench-blurring bench-local counting streaming cost pictures proto clean bench-clusters bench-regress bench-linkage \
	bench-synthesis bench-marginals bench-answers errors bench-sensitivity bench-derived bench-forests bench-trees bench-auto bench-defaults bench-boosting bench-pruning \
	bench-recoding docs lock check-supply sbom wheel core faults fuzz soak kills mutants traces lines cheaters

demo: $(CORE)
	$(BIN)/smc demo

# What fails beside others runs once more by itself, for a busy machine fails what waits; twice is a failure.
test: lint
	$(PYTEST) || $(BIN)/pytest --last-failed --last-failed-no-failures none

# Neither nodes, databases, browsers, exports nor many processes: less than two minutes on two idle cores.
quick: lint
	$(PYTEST) -m "not slow"

services:
	bash scripts/services.sh

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

campaign: $(STAMP)
	SMC_CAMPAIGN=1 $(BIN)/pytest -m campaign
	SMC_CAMPAIGN=1 $(PYTEST) -m "hypothesis and not campaign"

# Every kernel followed instruction by instruction with two sets of secrets, into docs/traces.md: two minutes.
traces: $(STAMP)
	$(BIN)/python -m scripts.traces --out docs/traces.md

# Every kind of job with every fault of some frames, into docs/faults.md: ten minutes; MOST=3 takes more of them.
faults: $(STAMP)
	$(BIN)/python -m tests.support.fault_table $(if $(MOST),--most $(MOST))

# What a party that leaves the protocol reaches, message by message, into docs/security.md: ten seconds.
cheaters: $(STAMP)
	$(BIN)/python -m tests.support.cheater_table

# Two nodes over slow, lossy, forgetful and dead lines, into docs/lines.md: three minutes.
lines: $(STAMP)
	$(BIN)/python -m tests.support.line_table

# Ten million inputs to what parses what a peer, a file or a browser says, guided by coverage: half an hour.
fuzz: $(STAMP)
	$(INSTALL) --require-hashes --requirement requirements/fuzz.txt
	$(BIN)/python -m scripts.fuzz --runs $(or $(RUNS),700000) --seconds 600

# Two nodes and jobs of every kind for so long: what they hold, and whether it grows with the jobs.
soak: $(STAMP)
	$(BIN)/python -m tests.support.soak --minutes $(or $(MINUTES),120) --share $(or $(SHARE),9) \
		--out benchmarks/results/soak.json --picture docs/pictures/soak.svg

# Two nodes killed 60 times while sharded and noisy jobs run side by side: none is lost, each is charged once. Ten minutes.
kills: $(STAMP)
	$(BIN)/python -m tests.support.kills --kills $(or $(KILLS),60)

# Mutants of what secrecy and privacy rest on, some of each file, that the tests live with. It goes on where it was.
mutants: $(STAMP)
	$(BIN)/python -m scripts.mutants --sample $(or $(SAMPLE),10) --minutes $(or $(MINUTES),600) $(MODULES)

# What jobs take of a processor beside what `smc estimate` foretells, into docs/measured.md.
foretold: $(STAMP)
	$(BIN)/python -m scripts.foretold $(or $(DATA),../shared/data)/adult/adult.csv

bench: $(STAMP)
	$(BIN)/smc bench --out benchmarks/results

benchmarks: $(STAMP)
	$(BIN)/python -m benchmarks.gates

streaming: $(STAMP)
	$(BIN)/python -m benchmarks.streaming --rows 20000000 --markdown --out benchmarks/results/streaming.json

counting: $(STAMP)
	$(BIN)/python -m benchmarks.counting --rows 100000000 --out benchmarks/results/counting.json

pictures: $(STAMP)
	SMC_PICTURES=docs/pictures $(BIN)/pytest tests/conformance/test_tutorial.py -k runs

# The pages and the reference of the packages, to be read from the disk: build/site/index.html.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo 'build/site/index.html; with search: $(BIN)/python -m http.server --directory build/site'

cost: $(STAMP)
	$(BIN)/python -m benchmarks.cost_document

errors: $(STAMP)
	$(BIN)/python -m benchmarks.errors

bench-private: $(STAMP)
	$(BIN)/python -m benchmarks.private_trees --out benchmarks/results $(if $(MORE),--more $(MORE))
	$(BIN)/python -m benchmarks.private_trees.ways --out benchmarks/results
	$(BIN)/python -m benchmarks.private_trees.ways --out benchmarks/results --peer

bench-publish: $(STAMP)
	$(BIN)/python -m benchmarks.publishing --adult $(MORE) --rows 10000000 --out benchmarks/results/publishing.json

bench-local: $(STAMP)
	$(BIN)/python -m benchmarks.local --out benchmarks/results/local.json

bench-peers: $(STAMP)
	$(BIN)/python -m benchmarks.peers.id3 --out benchmarks/results/peers.json
	$(BIN)/python -m benchmarks.peers.table --out benchmarks/results/peers_table.json

bench-regress: $(STAMP)
	$(BIN)/python -m benchmarks.regression --out benchmarks/results

bench-forests: $(STAMP)
	$(BIN)/python -m benchmarks.forests --out benchmarks/results/forests.json

bench-auto: $(STAMP)
	$(BIN)/python -m benchmarks.auto_cost ../shared/data

bench-defaults: $(STAMP)
	$(BIN)/python -m benchmarks.default_trees --out benchmarks/results/default_trees.json

bench-trees: $(STAMP)
	$(BIN)/python -m benchmarks.tree_costs ../shared/data

bench-boosting: $(STAMP)
	$(BIN)/python -m benchmarks.boosting --data ../shared/data --out benchmarks/results/boosting.json

bench-pruning: $(STAMP)
	$(BIN)/python -m benchmarks.pruning --out benchmarks/results/pruning.json

bench-recoding: $(STAMP)
	$(BIN)/python -m benchmarks.recoding_loss --out benchmarks/results/recoding_loss.json

bench-linkage: $(STAMP)
	$(BIN)/python -m benchmarks.linkage --out benchmarks/results

bench-release: $(STAMP)
	$(BIN)/python -m benchmarks.release --out benchmarks/results/release.json

bench-blurring: $(STAMP)
	$(BIN)/python -m benchmarks.blurring --out benchmarks/results

bench-clusters: $(STAMP)
	$(BIN)/python -m benchmarks.clusters --out benchmarks/results

bench-sensitivity: $(STAMP)
	$(BIN)/python -m benchmarks.sensitivity --out benchmarks/results

bench-derived: $(STAMP)
	$(BIN)/python -m benchmarks.derived --out benchmarks/results/derived.json

bench-synthesis: $(STAMP)
	$(BIN)/python -m benchmarks.synthesis --out benchmarks/results $(if $(PEER),--peer)

bench-marginals: $(STAMP)
	$(BIN)/python -m benchmarks.synthesis.marginals --out benchmarks/results $(if $(PEER),--peer $(PEER))

bench-answers: $(STAMP)
	$(BIN)/python -m benchmarks.answers --out benchmarks/results

proto: $(STAMP)
	$(BIN)/python -m grpc_tools.protoc -I parties/link=proto --python_out=. --pyi_out=. parties/link/exchange.proto

# A fresh Debian has python3 without the venv module; root can install it, others are told what to do.
$(CORE): pyproject.toml requirements/core.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; say which: make PYTHON=python3.11"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "the Python module venv is missing, installing the package python3-venv"; \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; \
		then apt-get -qq update && apt-get -qq install -y python3-venv; \
		else echo "run first: sudo apt-get install python3-venv"; exit 2; fi; }
	$(PYTHON) -m venv $(VENV)
	@echo "installing the core into $(VENV), once; a minute or so, most of it for the download"
	$(INSTALL) --require-hashes --requirement requirements/core.txt
	$(INSTALL) $(PACKAGE)
	@touch $@

$(STAMP): $(CORE) requirements/dev.txt requirements/mysql.txt
	$(INSTALL) --require-hashes --requirement requirements/dev.txt
	@$(INSTALL) --require-hashes --requirement requirements/mysql.txt 2>/dev/null || \
		echo "tests of MySQL will be skipped: its client is compiled, and make services brings what that needs"
	$(BIN)/python -m smc.kernels.warm
	@touch $@

$(SUPPLY)/.installed: requirements/supply.txt
	$(PYTHON) -m venv $(SUPPLY)
	$(SUPPLY)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

# The newest versions that pyproject.toml allows (UPGRADE=1), or what is there with what pyproject.toml now asks for.
LOCK = $(SUPPLY)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)
lock: $(SUPPLY)/.installed
	$(LOCK) pyproject.toml --extra dev --group build --output-file requirements/dev.txt
	$(LOCK) pyproject.toml --extra compile --group build --constraint requirements/dev.txt --output-file requirements/core.txt
	$(LOCK) pyproject.toml --extra compile --extra node --group build --constraint requirements/dev.txt --output-file requirements/node.txt
	$(LOCK) pyproject.toml --extra compile --extra mysql --group build --constraint requirements/dev.txt --output-file requirements/mysql.txt
	$(LOCK) --group supply --output-file requirements/supply.txt
	$(LOCK) --group fuzz --output-file requirements/fuzz.txt

LICENCES := MIT;BSD;Apache;Python Software Foundation;PSF-2.0;Mozilla Public License 2.0;MPL-2.0;LGPL-3.0;Public Domain
# Known flaws of the locked versions (asks an index of flaws; fails if it cannot), and licences nobody has looked at.
# Two say theirs in a file only: atheris (Apache), sqlcipher3 (zlib).
check-supply: $(STAMP) $(SUPPLY)/.installed
	$(SUPPLY)/bin/pip-licenses --python $(BIN)/python --from=mixed --partial-match --ignore-packages smc-two-party atheris sqlcipher3 \
		--summary --allow-only "$(LICENCES)"
	$(SUPPLY)/bin/pip-audit --strict --disable-pip --requirement requirements/dev.txt

# What a node consists of, as CycloneDX: build/sbom.json.
sbom: $(SUPPLY)/.installed
	mkdir -p build
	$(SUPPLY)/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
		--output-file build/sbom.json requirements/node.txt

# The core alone, from the wheel in an empty environment: a demo, a check, one tree of two CSV files. Four minutes.
core: $(STAMP)
	SMC_CAMPAIGN=1 $(BIN)/pytest tests/test_install.py

# The wheel of this commit, built twice to the same bytes, with its digest and where it is from: build/wheel/.
wheel: $(STAMP)
	$(BIN)/python -m scripts.wheel

clean:
	rm -rf $(VENV) $(SUPPLY) .bench build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
