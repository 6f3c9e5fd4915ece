# A fresh machine needs Go, make and a shell. The checkers are built from tools/go.mod, a module of its own because their
# dependencies do not fit the product's.

GO   ?= go
TOOL := $(GO) tool -modfile=tools/go.mod

# Everything is built without cgo, like the program in the image.
export CGO_ENABLED = 0

# `make module PATH=…` names a module path in the variable by which shells find programs, and make exports it. So the recipes
# get the PATH that make was started with.
ifeq ($(origin PATH),command line)
MODULE_PATH := $(PATH)
override PATH := $(shell given=$$PATH; PATH=/usr/bin:/bin; \
	if [ -r /proc/$$PPID/environ ]; then tr '\0' '\n' < /proc/$$PPID/environ | sed -n 's/^PATH=//p'; else echo "$$given"; fi)
export PATH MODULE_PATH
endif

.PHONY: test test-all test-budget check format vet portable tidy staticcheck vulncheck bench openapi openapi-baseline clients console vectors build notices module release

# With these flags of internal/testing/suite, what one command compiles need not be compiled again for the next.
SHARED := -trimpath -gcflags=./...=-dwarf=false

# The quick tier: every promise on the embedded engine, and on PostgreSQL and Redis if they are installed. CI runs this, and
# vet.
test: format $(if $(CI),vet)
	@tools/engines.sh quick
	$(GO) run $(SHARED) ./internal/testing/suite quick

# Every test on every engine, and every static check. Run it before you offer a change.
test-all: check
	@tools/engines.sh all
	$(GO) run $(SHARED) ./internal/testing/suite all

# The quick tier with few tests at once; names the tests and packages that take longer than they should.
test-budget:
	@tools/engines.sh quick
	$(GO) run $(SHARED) ./internal/testing/suite budget

check: format vet tidy staticcheck

format:
	@wrong=$$($(TOOL) gofumpt -l .) || exit 1; \
	if [ -n "$$wrong" ]; then echo "not formatted; run '$(TOOL) gofumpt -w .':"; echo "$$wrong"; exit 1; fi

vet:
	GOGC=400 $(GO) vet $(SHARED) ./...

# Compiles and vets everything for the other systems. Run it after changes to files for single systems, and before a release.
portable:
	GOGC=400 GOOS=darwin $(GO) vet ./...
	GOGC=400 GOOS=windows $(GO) vet ./...

# go.mod and go.sum name what is used, no more and no less.
tidy:
	$(GO) mod tidy -diff
	$(GO) mod tidy -C tools/helm -diff
	$(GO) mod tidy -C tools/release -diff

staticcheck:
	$(TOOL) staticcheck ./...

# Names known vulnerabilities that the program can reach. Part of a release. Without a network, VULNDB is the address of a
# copy: file:///path/to/data/osv in a clone of github.com/golang/vulndb.
VULNDB ?= https://vuln.go.dev
vulncheck:
	$(TOOL) govulncheck -db $(VULNDB) ./...

# Ratios, CPU per request and allocations against handlers in bench/; see bench/RESULTS.md.
bench:
	$(GO) run ./bench

# Writes the descriptions of the versions that the code declares. Read the diff.
openapi:
	$(GO) run openapi/generate.go

# Makes the descriptions what clients are promised from now on; part of a release.
openapi-baseline: openapi
	mkdir -p openapi/baseline
	cp openapi/v*.json openapi/baseline/

# Writes the files of the clients in clients/ that are generated from openapi/v1.json. It needs npm and Python.
clients:
	cd clients/typescript && { [ node_modules/.package-lock.json -nt package-lock.json ] || \
		npm ci --ignore-scripts --no-audit --no-fund --silent; } && npm run --silent generate
	@clients/python/tools/venv.sh
	clients/python/.venv/bin/python clients/python/tools/generate.py

# Writes the Go code of the pages of the console and of the documentation from their *.templ.
console:
	@tools/templ.sh internal/web/console
	@tools/templ.sh internal/web/reference

# The word vectors must be those that were reviewed; anything else stops the build.
vectors:
	$(GO) run ./bench/recall/vectors -check

# The binary in bin/, without debugging symbols and with the version of this checkout.
VERSION ?= $(shell git describe --tags --always --dirty)
build: vectors
	$(GO) build -trimpath -ldflags='-s -w -X main.release=$(VERSION)' -o bin/keepsake ./cmd/keepsake

# bin/NOTICES: the licenses of all that the binary contains.
notices: build
	$(GO) run ./deploy/notices bin/keepsake bin/NOTICES

# Gives the project another module path, in every file that names its packages: make module PATH=example.com/you/keepsake
module:
	@$(GO) run ./deploy/module

# Everything that a release offers, in OUT; see docs/release.md. The version is the tag of this commit, or VERSION=0.1.0.
# SIGN_KEY=FILE signs the checksums. SECURITY_CONTACT=ADDRESS is where vulnerabilities are reported. PLATFORMS=linux/amd64 builds
# less.
OUT ?= dist
release: vectors
	$(GO) run -C tools/release . -out '$(abspath $(OUT))' -sign-key '$(if $(SIGN_KEY),$(abspath $(SIGN_KEY)))' \
		-security-contact '$(SECURITY_CONTACT)' -platforms '$(PLATFORMS)' -version '$(if $(filter command line environment,$(origin VERSION)),$(VERSION))'
