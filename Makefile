# `make run` and `make test` install what they need (scripts/bootstrap) and work on a fresh Debian 12.

SWIFT_RELEASE = swift build -c release --static-swift-stdlib
FORMATTED = services shared clients tools fuzz Tests Package.swift
export PORT ?= 8080

.PHONY: help run build test lint format bench fuzz soak fleet images generate clean

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

soak: build      ## the long tests: wrong trips of recorded buses, fifty polls of a real day, two minutes of 200 riders at the relay, a fuzz of the whole API
	scripts/bootstrap --tests
	ALONGSIDE_SOAK=1 ALONGSIDE_SOAK_SECONDS=$${ALONGSIDE_SOAK_SECONDS:-120} ALONGSIDE_SANITIZE=no scripts/test ReplayTests FeedTests.ReplayedDayTests RelayTests.SoakTests RelayTests.HostileClientTests
	scripts/fuzz-api

lint:            ## formatting, generated files, imports, words that do not belong
	scripts/lint

format:          ## rewrite the sources in the project's format
	swift format --in-place --recursive --parallel $(FORMATTED)

bench: build     ## the benchmarks against their named peers
	scripts/bootstrap --tests
	scripts/bench

fuzz:            ## libFuzzer over what strangers send, FUZZ_SECONDS (60) for each target
	scripts/bootstrap
	scripts/fuzz

fleet:           ## the drills over a fleet under load in their long form, half an hour; as root also over hosts with a network between them
	scripts/bootstrap --tests
	ALONGSIDE_DRILL=long ALONGSIDE_SANITIZE=no scripts/test FleetDrills

images: build    ## the images of deploy/Dockerfile without Docker, as root: what they weigh, and the riders' journey through them
	scripts/bootstrap --tests
	swift build --build-tests
	scripts/check-images --programs .build/release

generate:        ## protobuf code from the .proto files
	scripts/generate-protobuf

# A clone in a folder that only root may enter has its database elsewhere; the file says where.
clean:           ## forget builds, the Python tools and the data of `make run`
	@case "$$(cat .alongside/database-folder 2>/dev/null)" in /var/lib/alongside-*) rm -rf "$$(cat .alongside/database-folder)";; esac
	@for folder in $$(cat .alongside/temporary-folders 2>/dev/null); do case "$$folder" in /tmp/alongside-*) rm -rf "$$folder";; esac; done
	rm -rf .build .venv .alongside
