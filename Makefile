# What a fresh machine needs is Go and a shell; the checkers are built from tools/go.mod, a module of its own
# because their dependencies do not fit the product's.

GO   ?= go
TOOL := $(GO) tool -modfile=tools/go.mod

.PHONY: test strace check format vet staticcheck bench openapi openapi-baseline build

# Everything that must hold before a change is offered. CI runs the same.
test: check strace
	$(GO) test ./...

# Some tests look at system calls, to see what is on disk before an answer goes out. Without strace they are skipped by
# name; where it can be installed, it is.
strace:
	@command -v strace >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		apt-get update -qq && apt-get install -y -qq strace >/dev/null; } || \
		echo "strace is missing: tests of what is on disk before an answer are skipped"

check: format vet staticcheck

format:
	@wrong=$$($(TOOL) gofumpt -l .) || exit 1; \
	if [ -n "$$wrong" ]; then echo "not formatted; run '$(TOOL) gofumpt -w .':"; echo "$$wrong"; exit 1; fi

vet:
	$(GO) vet ./...

staticcheck:
	$(TOOL) staticcheck ./...

# Ratios, CPU per request and allocations against handlers kept beside them; see docs/testing.md.
bench:
	$(GO) run ./bench

# Writes the description of the API that the code declares. Read the diff; a change wants another info.version.
openapi:
	$(GO) run openapi/generate.go

# Makes the description what clients are promised from now on; part of a release.
openapi-baseline: openapi
	cp openapi/v1.json openapi/baseline/v1.json

build:
	$(GO) build -trimpath -o bin/keepsake ./cmd/keepsake
