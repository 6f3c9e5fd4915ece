# What a fresh machine needs is Go and a shell; the checkers are built from tools/go.mod, a module of its own
# because their dependencies do not fit the product's.

GO   ?= go
TOOL := $(GO) tool -modfile=tools/go.mod

# One way of building for all that tests start: programs in the image are built like this, too.
export CGO_ENABLED = 0

.PHONY: test engines check format vet staticcheck bench openapi openapi-baseline build

# Everything that must hold before a change is offered. CI runs the same. What starts whole programs runs twice: on the
# embedded engine, and on PostgreSQL. Tests that lose a PostgreSQL have one of their own either way.
test: check engines
	$(GO) test -timeout $(PATIENCE) ./...
	KEEPSAKE_TEST_ENGINE=postgres $(GO) test -timeout $(PATIENCE) -skip IsLostUnderLoad $(WHOLE)

# For all tests of a package together: those of internal/faulttest take nine minutes where others use the cores, and ten
# is what Go gives them.
PATIENCE := 30m

WHOLE := ./client ./cmd/keepsake ./conformance ./internal/app/... ./internal/faulttest ./openapi

# The servers and programs that tests start: PostgreSQL, Redis, proxies, strace. Root gets what is missing installed.
engines:
	@tools/engines.sh

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
