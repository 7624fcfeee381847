# Commands for developers. The scripts in config/local describe what each one does and needs.
# RAGENGINE_CACHE is the folder for downloads. Default: ~/.cache/ragengine.

local := config/local

.PHONY: help run cluster test test-fast test-cluster test-llm check mutants generate fmt bench bench-large eval
.PHONY: bench-operator flame-graphs fuzz soak images setup cluster-up cluster-down
.NOTPARALLEL:

help: ## List the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

run: ## Build and start the server on LISTEN=127.0.0.1:5000; LLM_URL, LLM_MODEL, LLM_API_KEY set the model
	@$(local)/port.sh
	@$(local)/setup.sh run
	@$(local)/build.sh --package ragengine --bin ragengine
	@$(local)/run.sh

cluster: ## Install the operator on a new cluster or that of KUBECONFIG, index docs/, ask a question
	@$(local)/setup.sh demo
	@$(local)/cluster.sh

test: ## Run all tests: test-fast and test-cluster
	@$(local)/setup.sh test cluster
	@cargo xtask test all $(ARGS)

test-fast: ## Run the tests that need no cluster; ARGS='-p ragengine-settings' is passed to cargo-nextest
	@$(local)/setup.sh test
	@cargo xtask test fast $(ARGS)

test-cluster: ## Run the tests on a new cluster or that of KUBECONFIG; ARGS=kill runs tests with `kill` in the name
	@$(local)/setup.sh cluster
	@cargo xtask test cluster $(ARGS)

test-llm: ## Run the tests with a real language model, on llama.cpp; ARGS are passed to pytest
	@$(local)/setup.sh test-llm
	@$(local)/test-llm.sh $(ARGS)

check: ## Check code, docs, scripts, dependencies, generated files; offline: RAGENGINE_WITHOUT_ADVISORIES=1
	@$(local)/setup.sh check
	@cargo xtask check

mutants: ## Run mutation tests; config/mutants lists accepted survivors; ARGS='--package ragengine-pipeline'
	@$(local)/setup.sh mutants
	@cargo xtask mutants $(ARGS)

generate: ## Generate the references in docs/, the definitions in crds/, and config/base from the chart
	@cargo xtask generate

fmt: ## Format the code
	@cargo fmt --all
	@cargo fmt --manifest-path ragengine/fuzz/Cargo.toml

bench: ## Run the benchmarks of server and operator; with ARGS for ragengine-bench, only the server's
	@$(local)/setup.sh bench
	@$(local)/bench.sh $(ARGS)
	@$(if $(ARGS),true,$(MAKE) --no-print-directory bench-operator)

bench-large: ## Benchmark an index of CHUNKS=1000000 chunks: 8 GB of disk, 4 GB of memory, over 20 minutes. ENGINE=weaviate NODES=3: in Weaviate
	@$(local)/setup.sh bench
	@$(if $(filter weaviate,$(ENGINE)),$(local)/weaviate.sh)
	@$(local)/bench.sh --only $(if $(filter weaviate,$(ENGINE)),weaviate --nodes $(or $(NODES),1),vectors) --chunks $(or $(CHUNKS),1000000) $(ARGS)

flame-graphs: ## Profile the server's requests, and write docs/flame-graphs
	@$(local)/setup.sh bench
	@$(local)/flame-graphs.sh

bench-operator: ## Run the operator's benchmark on a new cluster or that of KUBECONFIG, with ARGS
	@$(local)/setup.sh cluster
	@$(local)/bench-operator.sh $(ARGS)

eval: ## Measure retrieval, write docs/quality.md; with ARGS for ragengine eval, only print and report
	@LISTEN=$${LISTEN:-127.0.0.1:5057} $(local)/port.sh
	@$(local)/setup.sh run
	@$(local)/eval.sh $(ARGS)

fuzz: ## Fuzz the parsers of requests, streams, settings, archives, snapshots, FUZZ_SECONDS=60 each
	@$(local)/setup.sh fuzz
	@$(local)/fuzz.sh

soak: ## Kill the server CRASH_ROUNDS=200 times during writes, then run it under load for SOAK_MINUTES=10
	@$(local)/setup.sh test
	@$(local)/soak.sh

images: ## Build the images and their SBOMs with docker, buildah or podman; ARGS='--profile dev' for tests
	@$(local)/setup.sh images
	@images/build.sh --image ragengine $(ARGS)
	@images/build.sh --image ragengine-operator $(ARGS)

setup: ## Install the requirements of all commands except images, clusters and test-llm
	@$(local)/setup.sh run test check bench fuzz

cluster-up: ## Create or restart a Kubernetes cluster with kind; with KUBECONFIG, check that that cluster answers
	@e2e/cluster/up.sh

cluster-down: ## Delete the cluster of cluster-up
	@e2e/cluster/down.sh
