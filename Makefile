# Two commands on a fresh machine with Go: "make up" runs a control plane,
# "make test" passes the tests. "make help" lists the rest.

export CGO_ENABLED := 0
KUBERNETES := v1.37.1
VERSION    := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
BIN        := bin/ctrlplane

# What upstream's own release builds stamp: clients and "kubectl version" read it.
stamp    = -X k8s.io/$(1).gitVersion=$(KUBERNETES) -X k8s.io/$(1).gitMajor=1 -X k8s.io/$(1).gitMinor=37 -X k8s.io/$(1).gitTreeState=clean
STAMPS  := $(call stamp,component-base/version) $(call stamp,client-go/pkg/version)
LDFLAGS := -s -w $(STAMPS) -X github.com/ctrlplane/ctrlplane.release=$(VERSION)

# The race detector needs a C compiler; without one the tests run without it.
RACE  := $(if $(shell command -v gcc || command -v clang),CGO_ENABLED=1 go test -race,go test)
# Packages that link much of Kubernetes are tested without the race detector,
# which would compile all of it a second time. "make race" does that.
HEAVY := apiserver controllers controllers/scheduler sim/cloud sim/nodes sim/volumes sim/metricsapi sim/kubelet ctrlplanetest/inprocess
empty :=
LIGHT  = $(shell go list ./... | grep -vE 'ctrlplane(/test/e2e|/test/command|/cmd/ctrlplane|/apiserver/seed/generate|/ctrlplanetest|/$(subst $(empty) $(empty),|/,$(HEAVY)))?$$')

.PHONY: up build test unit e2e race lint bench capture recording conformance cross golden seed help

up: build ## build, and start a control plane
	$(BIN) up

build: ## build bin/ctrlplane
	@echo "building $(BIN); the first time this compiles Kubernetes, which takes minutes"
	go build -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/ctrlplane

test: unit e2e ## all tests

unit: ## tests of the parts
	go vet ./...
	$(RACE) $(LIGHT)
	go test -ldflags '$(STAMPS)' $(HEAVY:%=./%)

e2e: build ## behaviour tests against a real control plane, and of the command
	CTRLPLANE=$(CURDIR)/$(BIN) go test -p 1 -ldflags "$(STAMPS)" -timeout 15m ./test/...
	CTRLPLANE=$(CURDIR)/$(BIN) go test -timeout 10m ./ctrlplanetest
	cd examples/operator && CTRLPLANE=$(CURDIR)/$(BIN) go test -parallel 8 ./...
	cd examples/operator && $(CURDIR)/$(BIN) run -- go test -count=1 -run Envtest ./...

race: ## everything under the race detector
	CTRLPLANE=$(CURDIR)/$(BIN) CGO_ENABLED=1 go test -race -ldflags '$(STAMPS)' -timeout 30m ./...

lint: ## static checks
	test -z "$$(gofmt -l .)"
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

bench: build ## compare with the three upstream binaries, and say what looking costs
	go run ./tools/bench -ctrlplane $(BIN) -doc docs/performance.md

.PHONY: growth profile-start
growth: build ## draw docs/growth.svg: what a Pod costs when there are up to 50,000
	go run ./tools/bench -ctrlplane $(BIN) -growth -doc docs/performance.md

profile-start: build ## draw docs/start.svg: where the time of one start goes
	go run ./tools/bench -ctrlplane $(BIN) -profile-start -doc docs/performance.md

cross: ## compile for every platform of a release
	@for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do \
		echo $$target; GOOS=$${target%/*} GOARCH=$${target#*/} go build -o /dev/null ./cmd/ctrlplane || exit 1; done

conformance: build ## those of upstream's conformance tests that need no container; building them takes minutes
	cd test/conformance && go build -o ../../bin/ginkgo github.com/onsi/ginkgo/v2/ginkgo && go test -c -o ../../bin/e2e.test k8s.io/kubernetes/test/e2e
	$(BIN) run --nodes 2 --timeout 60m -- test/conformance/run.sh

capture: build ## draw docs/live.svg from a real run
	go run ./tools/screen/capture -ctrlplane $(BIN) -o docs/live.svg

recording: build ## draw docs/hands.svg, a film, from a real run
	go run ./tools/screen/record -ctrlplane $(BIN) -o docs/hands.svg

seed: ## take down anew what upstream makes of an empty store
	go run -ldflags '$(STAMPS)' ./apiserver/seed/generate -o apiserver/seed/seed.gz

golden: ## rewrite golden files
	go test ./ui/... ./observe/... ./tools/screen -update
	go test ./controllers -run TestControllersDocumentIsUpToDate -update

help:
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'
