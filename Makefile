# The front door. Every target installs what it needs and is missing, and may be run again cheaply.
.DEFAULT_GOAL := help
.PHONY: help demo build model test soak format tidy bench clean

PROMPT ?= What is the capital of France?
FUZZ_SECONDS ?= 120

help:
	@echo 'make demo    install, build, fetch the default model, answer a prompt (PROMPT="...")'
	@echo 'make build   install what is missing, leave build/release/lockstep'
	@echo 'make model   fetch the default model into ~/.cache/lockstep/models (LOCKSTEP_MODELS)'
	@echo 'make test    every test, sanitizers, fuzz replay, format and lint: 25 minutes at most on 2 cores'
	@echo 'make soak    the long version: a second model, lint in full, ThreadSanitizer, fuzzing (FUZZ_SECONDS=$(FUZZ_SECONDS) a target)'
	@echo 'make format  clang-format in place'
	@echo 'make tidy    clang-tidy over every file'
	@echo 'make bench   speed of the default model here'
	@echo 'make clean   remove build/'

build:
	@scripts/install_deps.sh build
	@scripts/build.sh release lockstep

model:
	@scripts/fetch_model.sh

demo: build model
	build/release/lockstep run -p '$(PROMPT)'

test:
	@scripts/test.sh

soak:
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/soak.sh

format:
	@scripts/install_deps.sh test
	@scripts/check_format.sh --fix

tidy:
	@scripts/install_deps.sh test
	@scripts/build.sh release all
	@scripts/tidy.py build/release

bench: build model
	build/release/lockstep bench

clean:
	rm -rf build
