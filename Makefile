# A thin front to CMake's presets. `make help` says what there is.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
.DEFAULT_GOAL := help
.PHONY: help setup setup-test build debug clang asan tsan demo test check soak mutants install clean

help:
	@echo 'make demo     install what building needs, build, and run a program on this machine: speed-up, two hosts, where the time went'
	@echo 'make build    the release build: build/bin/weft'
	@echo 'make test     install what testing needs, then all tests'
	@echo 'make check    what .ci/run does: make test, the build with Clang that compiles each file by itself, and the lint'
	@echo 'make debug    build/debug;  make clang: build/clang;  make asan: build/asan;  make tsan: build/tsan'
	@echo 'make soak     the deterministic tests for SOAK_MINUTES (60) minutes on all cores'
	@echo 'make mutants  plant every mistake of tests/mutants/bank, and see that the deterministic tests find it'
	@echo 'make install  into PREFIX (/usr/local)'

setup:
	@scripts/setup build
setup-test:
	@scripts/setup test

# What is built is all of it, or TARGETS.
build: setup
	@scripts/build release build $(JOBS) $(TARGETS)
debug clang asan tsan: setup-test
	@scripts/build $@ build/$@ $(JOBS) $(TARGETS)

demo:
	@$(MAKE) --no-print-directory build TARGETS='weft app_sor'
	@scripts/demo build

# All tests in the release build, and the part of them that is about memory and threads under the sanitizers as well (tests/CMakeLists.txt
# says which).
test: setup-test build asan tsan
	@scripts/run-tests build build/asan build/tsan

check: test clang

soak: setup-test build
	@scripts/soak $${SOAK_MINUTES:-60}

mutants: setup-test build
	@tests/mutants/run . build

install: build
	cmake --install build --prefix $${PREFIX:-/usr/local}

clean:
	rm -rf build
