# Cadre: build, try, test. `make` alone lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export GOFLAGS := -buildvcs=auto
BIN := bin/cadre
GO_FILES := $(shell git ls-files -co --exclude-standard '*.go' 2>/dev/null)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: $(BIN) ## build bin/cadre, one static binary

$(BIN): $(GO_FILES) go.mod go.sum
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $@ ./cmd/cadre

.PHONY: demo
demo: $(BIN) ## a team of real processes surveys this folder; the report is kept as bin/survey.md
	@$(BIN) demo --report bin/survey.md

.PHONY: recording
recording: $(BIN) ## run the demo on a copy of this repository and keep its log: docs/recording.jsonl
	@scripts/recording $(BIN) docs/recording.jsonl

.PHONY: test
test: needs lint unit ## everything CI runs: lint, race detector, shuffle, small counts of the long tests

.PHONY: needs
needs:
	@scripts/need gcc strace nodejs npm tmux
	@scripts/proper-lockfile

.PHONY: lint
lint: ## formatting, vet, staticcheck, tidy, builds for linux, darwin and windows
	@scripts/lint

.PHONY: unit
unit: $(BIN)
	go test -race -shuffle=on -count=1 -timeout 20m ./...

.PHONY: soak
soak: needs $(BIN) ## the long tests with their full counts, and 60 s of fuzzing each decoder
	CADRE_SOAK=1 go test -count=1 -timeout 120m -v -run 'Soak' ./soak/...
	@scripts/fuzz 60s

.PHONY: test-realclient
test-realclient: $(BIN) ## the tests beside the real Claude Code, Codex and Gemini CLI; installs them from npm
	@scripts/need nodejs tmux iproute2
	@scripts/claude-code 2.1.50 2.1.325
	@scripts/codex 0.166.0
	@scripts/gemini 0.61.0
	go vet -tags realclient ./realclient
	@scripts/offline go test -tags realclient -count=1 -timeout 20m -v ./realclient

.PHONY: test-mcp
test-mcp: $(BIN) ## the official MCP conformance suite and the MCP Inspector; installs both from npm
	@scripts/need nodejs npm
	@scripts/mcp-suite
	go vet -tags mcpsuite ./mcpserver
	go test -tags mcpsuite -count=1 -timeout 30m -v -run 'OfficialSuite|Inspector' ./mcpserver

.PHONY: bench
bench: $(BIN) ## measure, side by side with what each number is compared to
	@scripts/need taskwarrior nodejs
	go test -run '^$$' -bench . -benchtime 1x -timeout 60m ./bench/...

.PHONY: docs
docs: ## write again what is generated: the command reference, golden files, the schema of team files
	go test ./cli -run 'Golden|Reference' -update
	go test ./teamfile -update

.PHONY: install
install: ## put cadre into Go's bin folder
	CGO_ENABLED=0 go install -trimpath -ldflags '-s -w' ./cmd/cadre

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
