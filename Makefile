# Two commands on a fresh machine with Go: "make up" runs a control plane,
# "make test" passes the tests. "make help" lists the rest.

export CGO_ENABLED := 0
BIN := bin/ctrlplane

# "make lint" runs go vet. Here it would vet all of Kubernetes first, to know its printf wrappers:
# minutes on two cores.
TEST  := go test -vet=off
PACKAGES = $(or $(shell .ci/packages $(1)),$(error .ci/packages $(1): no packages))
# The tools are a module of their own: they are built there and run from here.
TOOL   = cd tools && go build -o ../bin/$(notdir $(1)) ./$(1) && cd .. && bin/$(notdir $(1)) -ctrlplane $(BIN)

GOLANGCI_LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GORELEASER    := go run github.com/goreleaser/goreleaser/v2@v2.15.1
ACTIONLINT    := go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

.PHONY: up build test unit e2e race race-light instrument-oldest lint bench pod-cost growing profile-start torture fuzz capture recording traffic conformance cross golden seed site snapshot-release help

up: build ## build, and start a control plane
	$(BIN) up

build: ## build bin/ctrlplane
	@echo "building $(BIN); the first time this compiles Kubernetes, which takes minutes"
	go build -ldflags '-s -w' -o $(BIN) ./cmd/ctrlplane

# What "make test" runs after the build, two parts at a time, the longest first. Parts that run at the
# same time compile what both need twice, unless the build has compiled it: no two should share much
# else. Each package prints its result at its end, in one piece.
UNIT := unit-packages unit-tools unit-instrument
E2E  := e2e-command e2e-library e2e-others e2e-tools e2e-operator
PARALLEL := --no-print-directory -k -j 2

test: build ## run all tests
	$(MAKE) $(PARALLEL) $(firstword $(E2E)) $(UNIT) $(wordlist 2,9,$(E2E))

unit: $(UNIT) ## run the tests of single packages

e2e: build ## run the behaviour tests against a real control plane and those of the command line
	$(MAKE) $(PARALLEL) $(E2E)

.PHONY: $(UNIT) $(E2E)

# The packages that take longest come first: their tests mostly wait.
unit-packages:
	$(TEST) ./sim/shell ./etcd $(call PACKAGES,heavy light)

# "go list -export" compiles the tools, and links none of them.
unit-tools:
	cd tools && go list -export ./... >/dev/null && $(TEST) ./screen/... ./bench ./browser ./traceformat ./image ./site

# The module's go.mod requires the oldest controller-runtime that works, that of the example operator the newest, with the
# libraries that the program has, too. "make instrument-oldest" compiles the others.
unit-instrument:
	cd examples/operator && $(TEST) github.com/ctrlplane/ctrlplane/instrument

instrument-oldest: ## run the tests of the module instrument with the oldest libraries that it supports
	cd instrument && $(TEST) ./...

# The time limit ends what hangs: test/command takes 13 minutes beside another part on two slow cores.
E2E_TEST := CTRLPLANE=$(CURDIR)/$(BIN) $(TEST) -count=1

e2e-command:
	$(E2E_TEST) -timeout 40m ./test/command

e2e-library:
	$(E2E_TEST) -timeout 30m ./test/e2e

e2e-others:
	list=$$(go list ./test/...) && $(E2E_TEST) -p 1 -timeout 30m ./ctrlplanetest $$(echo "$$list" | grep -vE '/test/(command|e2e)$$')

e2e-tools:
	cd tools && $(E2E_TEST) -p 1 -timeout 10m ./terminal ./torture/...

e2e-operator:
	cd examples/operator && $(E2E_TEST) -parallel 8 ./...
	cd examples/operator && $(TEST) -exec '$(CURDIR)/$(BIN) run --' -count=1 -run Envtest ./...

# "make test" does not use the race detector, which compiles all that a test links a second time: CI runs both for each
# push. It needs a C compiler. The file names what is upstream's, and nothing else.
race race-light: export GORACE = suppressions=$(CURDIR)/.ci/race.supp
race-light: ## run the tests of packages without a Kubernetes server under the race detector
	CGO_ENABLED=1 $(TEST) -race -timeout 30m $(call PACKAGES,light)
	cd tools && CGO_ENABLED=1 $(TEST) -race ./screen/...

# What it slows down ten times must not exceed upstream's limit of a minute a request:
# the behaviour tests run one package at a time, and fewer tests at a time.
race: build ## run all tests under the race detector
	CGO_ENABLED=1 $(TEST) -race -timeout 30m $(call PACKAGES,light heavy)
	CTRLPLANE=$(CURDIR)/$(BIN) CGO_ENABLED=1 $(TEST) -race -p 1 -parallel 4 -timeout 60m ./ctrlplanetest ./test/...
	cd tools && CTRLPLANE=$(CURDIR)/$(BIN) CGO_ENABLED=1 $(TEST) -race -p 1 -timeout 30m ./...
	cd instrument && CGO_ENABLED=1 $(TEST) -race ./...

lint: ## run the static checks
	$(GOLANGCI_LINT) run ./...
	cd tools && $(GOLANGCI_LINT) run --config ../.golangci.yml ./...
	cd instrument && $(GOLANGCI_LINT) run --config ../.golangci.yml ./...
	cd examples/operator && go vet ./... && test -z "$$(gofmt -l .)"
	cd examples/kubebuilder && go vet ./... && test -z "$$(gofmt -l .)"
	$(ACTIONLINT) .github/workflows/*.yml examples/ci/github.yml

bench: build ## compare with the three upstream binaries and with kwokctl, and measure what observation costs
	$(call TOOL,bench) -doc docs/performance.md
	bin/bench -ctrlplane $(BIN) -only workloads -quick -idle 1m -doc docs/performance.md

pod-cost: build ## measure what a Pod costs with up to 50,000 of them, and draw docs/growth.svg
	$(call TOOL,bench) -growth -doc docs/performance.md

growing: build ## run the commands of docs/growing.md, with upstream's own programs; building them takes minutes
	$(call TOOL,bench) -build
	cd tools && CTRLPLANE=$(CURDIR)/$(BIN) UPSTREAM=$(CURDIR)/bin/upstream go test -count=1 ./growing

profile-start: build ## measure the stages of one start, and draw docs/start.svg
	$(call TOOL,bench) -profile-start -doc docs/performance.md

DURATION ?= 1h
SEED     ?=
torture: build ## kill, starve and provoke it for DURATION (1h), with SEED, and count what it survived
	go build -o bin/upstream/etcd go.etcd.io/etcd/server/v3
	tools/torture/clock/build bin/ctrlplane-clock
	$(call TOOL,torture) -duration $(DURATION) $(addprefix -seed ,$(SEED))

FUZZTIME ?= 10m
fuzz: ## run each fuzz target for FUZZTIME (10m)
	.ci/fuzz $(FUZZTIME)

cross: ## compile for every platform of a release, with its flags
	@for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do \
		echo $$target; GOOS=$${target%/*} GOARCH=$${target#*/} go build -trimpath -o /dev/null ./cmd/ctrlplane || exit 1; done

conformance: build ## run upstream's conformance tests that pass without containers; building them takes minutes
	cd test/conformance && go build -o ../../bin/ginkgo github.com/onsi/ginkgo/v2/ginkgo && go test -c -o ../../bin/e2e.test k8s.io/kubernetes/test/e2e
	$(BIN) run --nodes 2 --timeout 60m -- test/conformance/run.sh

VERSION ?= main
site: ## write the docs as a web site into dist/site, for VERSION
	cd tools && go run ./site -repository .. -o ../dist/site -version $(VERSION)

snapshot-release: ## build what a release has, into dist/, without publishing anything
	$(GORELEASER) check
	$(GORELEASER) release --snapshot --clean
	.ci/image dist/image
	RELEASE=$(CURDIR)/dist go test -count=1 -v -run TestRelease ./test/action
	cd test/containers && go test -count=1 ./...

capture: build ## draw docs/live.svg from a real run
	$(call TOOL,screen/capture) -o docs/live.svg

recording: build ## record docs/hands.svg, an animation, from a real run
	$(call TOOL,screen/record) -o docs/hands.svg

traffic: build ## record in bin/traffic.jsonl what an operator with bin/operator.kubeconfig asks and receives
	cd tools && go build -o ../bin/clienttraffic ./clienttraffic
	$(BIN) run --nodes 2 -- sh -c 'exec bin/clienttraffic -kubeconfig "$$KUBECONFIG" -out bin/traffic.jsonl -write-kubeconfig bin/operator.kubeconfig'

seed: ## record the objects that upstream creates in an empty store
	go run ./apiserver/seed/generate -o apiserver/seed

# The tests of ui/explain read what those of controllers write.
golden: ## rewrite golden files
	go test ./controllers ./controllers/recording -run "UpToDate|Catalogue|LogTexts" -update
	go test ./ui ./ui/explain ./ui/live ./ui/report ./observe/scrape ./observe/trace -update
	cd tools && go test ./bench ./screen -update

help: ## print this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'
