# `make run` and `make test` install what they need (scripts/bootstrap) and work on a fresh Debian 12.

SWIFT_RELEASE = swift build -c release --static-swift-stdlib
FORMATTED = services shared clients tools Tests Package.swift
export PORT ?= 8080

.PHONY: help run build test soak lint format bench generate clean

help:            ## these lines
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

run: build       ## everything up on http://localhost:8080 with a demo schedule and simulated riders
	.build/release/alongside up --demo

build:           ## release build of every executable
	scripts/bootstrap
	$(SWIFT_RELEASE)

test:            ## every test; long drills in a short form
	scripts/bootstrap --tests
	scripts/test

soak:            ## the tests whose full form takes long: every wrong trip that a recorded bus could be taken for
	scripts/bootstrap --tests
	ALONGSIDE_SOAK=1 ALONGSIDE_SANITIZE=no scripts/test ReplayTests

lint:            ## formatting, generated files, words that do not belong
	scripts/lint

format:          ## rewrite the sources in the project's format
	swift format --in-place --recursive --parallel $(FORMATTED)

bench: build     ## the benchmarks against their named peers
	scripts/bootstrap --tests
	scripts/bench

generate:        ## protobuf code from the .proto files
	scripts/generate-protobuf

clean:           ## forget builds, the Python tools and the data of `make run`
	rm -rf .build .venv .alongside
