# A thin front to CMake's presets. `make help` says what there is.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
.DEFAULT_GOAL := help
.PHONY: help setup build debug asan tsan demo test soak mutants install clean

help:
	@echo 'make demo     install what is missing, build, and run sor on 1, 2 and 4 nodes of this machine: speed-up, where the time went, and a report'
	@echo 'make test     the same set-up, then all tests'
	@echo 'make build    the release build: build/bin/weft'
	@echo 'make debug    build/debug;  make asan: build/asan;  make tsan: build/tsan'
	@echo 'make soak     the deterministic tests for SOAK_MINUTES (60) minutes on all cores'
	@echo 'make mutants  plant every mistake of tests/mutants/bank, and see that the deterministic tests find it'
	@echo 'make install  into PREFIX (/usr/local)'

setup:
	@scripts/setup

build: setup
	@cmake --preset release > build-release.log 2>&1 || { cat build-release.log; exit 1; }; rm -f build-release.log
	@cmake --build --preset release -j $(JOBS)

debug asan tsan: setup
	@cmake --preset $@ > build-$@.log 2>&1 || { cat build-$@.log; exit 1; }; rm -f build-$@.log
	@cmake --build --preset $@ -j $(JOBS)

demo: build
	@scripts/demo build

# All tests in the release build, and the part of them that is about memory and threads under the sanitizers as well (tests/CMakeLists.txt
# says which).
test: build asan tsan
	@scripts/run-tests build build/asan build/tsan

soak: build
	@scripts/soak $${SOAK_MINUTES:-60}

mutants: build
	@tests/mutants/run . build

install: build
	cmake --install build --prefix $${PREFIX:-/usr/local}

clean:
	rm -rf build
