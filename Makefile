# `make run` in a fresh checkout: creates .venv, installs ahasd into it, runs the RTL in the loop.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
JOBS ?= 2

.PHONY: bench clean cocotb dse formal format help install lint mutation run test test-hdl test-slow verilog

help:            ## What there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 12

run: install     ## One co-simulation: the RTL control unit, a recorded trace, PIM and NPU around it
	$(BIN)/ahasd run --engine rtl

test: install    ## Tests that need no Verilator, in a few minutes
	$(BIN)/pytest -n $(JOBS) -m "not hdl and not slow"

test-hdl: install  ## Tests on Verilator, Icarus and Yosys; first start of the tools included, some ten minutes
	$(BIN)/pytest -n $(JOBS) -m "hdl and not slow"

test-slow: install  ## What takes minutes each: a million events, every proof, every size compiled
	$(BIN)/pytest -n $(JOBS) -m slow

lint: install    ## Style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install  ## Format all sources
	$(BIN)/ruff format .

verilog: install  ## SystemVerilog of the control unit, into build/rtl
	$(BIN)/ahasd verilog control_unit -o build/rtl

SIMULATORS := verilator $(if $(shell command -v iverilog),icarus)

cocotb: install  ## All benches with all vectors on the generated Verilog, on Verilator and, if installed, Icarus
	for simulator in $(SIMULATORS); do $(BIN)/ahasd cocotb --simulator $$simulator || exit 1; done

formal: install  ## Proofs with their negative controls, into docs/reports/formal.md
	mkdir -p docs/reports
	$(BIN)/ahasd formal --controls --report docs/reports/formal.md

dse: install     ## Area, clock, latency and throughput against the unit's sizes, into docs/reports/dse.md; goes on if broken off
	$(BIN)/ahasd sweep --report docs/reports/dse.md

mutation: install  ## Mutants of the control unit's netlist, into docs/reports/mutation.md
	mkdir -p docs/reports
	$(BIN)/python -m ahasd.synth.mutation --jobs $(JOBS) --report docs/reports/mutation.md

install: $(INSTALLED)  ## The virtual environment, if it is not up to date

$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

clean:           ## All that was made but the environment
	rm -rf build dist runs .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

bench: install   ## Benchmarks, all of them (some minutes); results in docs/reports/benchmarks.json
	$(BIN)/python -m benchmarks -o docs/reports/benchmarks.json
	$(BIN)/python -m benchmarks.plots docs/reports/benchmarks.json docs/reports
