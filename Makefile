# The commands of a developer. Each is a script in config/local, where what it does and what it needs is written down.
# RAGENGINE_CACHE is the folder for all that is fetched: ~/.cache/ragengine by default.

local := config/local

.PHONY: help run cluster test test-fast test-cluster test-llm check generate fmt bench bench-large bench-operator fuzz soak images setup cluster-up cluster-down
.NOTPARALLEL:

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

run: ## Install what is missing, build, serve on LISTEN=127.0.0.1:5000 with DATA_DIR=data; LLM_URL, LLM_MODEL, LLM_API_KEY name a language model
	@$(local)/port.sh
	@$(local)/setup.sh run
	@$(local)/build.sh --package ragengine --bin ragengine
	@$(local)/run.sh

cluster: ## Make a Kubernetes cluster, or use the one that KUBECONFIG names, install the operator, put this documentation in and ask it a question
	@$(local)/setup.sh demo
	@$(local)/cluster.sh

test: ## Run every test: those of test-fast and those of test-cluster
	@$(local)/setup.sh test cluster
	@$(local)/test.sh all $(ARGS)

test-fast: ## Run the tests that need no cluster; ARGS='-p ragengine-settings' goes to cargo test
	@$(local)/setup.sh test
	@$(local)/test.sh fast $(ARGS)

test-cluster: ## Run those on Kubernetes, in a cluster that it makes, or in the one that KUBECONFIG names; ARGS=kill runs those with it in their name
	@$(local)/setup.sh cluster
	@$(local)/test.sh cluster $(ARGS)

test-llm: ## Run the tests with a real language model, which it fetches and llama.cpp runs; ARGS go to pytest
	@$(local)/setup.sh test-llm
	@$(local)/test-llm.sh $(ARGS)

check: ## Format, lints, documentation, shell scripts, dependencies, generated files; RAGENGINE_WITHOUT_ADVISORIES=1 where the database of advisories is out of reach
	@$(local)/setup.sh check
	@$(local)/check.sh

generate: ## Write the references in docs/ and the definitions in crds/ from the code, and what the chart becomes in config/base
	@$(local)/generate.sh

fmt: ## Format the code
	@cargo fmt --all
	@cargo fmt --manifest-path ragengine/fuzz/Cargo.toml

bench: ## Print the tables of the benchmarks: the server's, then the operator's; with ARGS, which go to ragengine-bench, only the server's
	@$(local)/setup.sh bench
	@$(local)/bench.sh $(ARGS)
	@$(if $(ARGS),true,$(MAKE) --no-print-directory bench-operator)

bench-large: ## Print the table of an index of CHUNKS=1000000 chunks, which is in the cache meanwhile: 8 GB there, 4 GB of memory, an hour or more
	@$(local)/setup.sh bench
	@$(local)/bench.sh --only vectors --chunks $(or $(CHUNKS),1000000) $(ARGS)

bench-operator: ## Print the table of the operator's benchmark, on a cluster as test-cluster has it; ARGS go to ragengine-operator-bench
	@$(local)/setup.sh cluster
	@$(local)/bench-operator.sh $(ARGS)

fuzz: ## Feed the code that reads requests, streams, settings, archives and snapshots with any bytes, FUZZ_SECONDS=60 for each target
	@$(local)/setup.sh fuzz
	@$(local)/fuzz.sh

soak: ## Kill the server CRASH_ROUNDS=200 times while clients write to it, then keep it under load for SOAK_MINUTES=10
	@$(local)/setup.sh test
	@$(local)/soak.sh

images: ## Build the images of the server and the operator, and their bills of materials, with docker, buildah or podman; ARGS='--profile dev' makes those of the tests
	@$(local)/setup.sh images
	@images/build.sh --image ragengine $(ARGS)
	@images/build.sh --image ragengine-operator $(ARGS)

setup: ## Only install what all of these need, but for images, clusters and test-llm
	@$(local)/setup.sh run test check bench fuzz

cluster-up: ## Make a Kubernetes cluster with kind, or bring it back; KUBECONFIG names one of your own, which is then used as it is
	@e2e/cluster/up.sh

cluster-down: ## Delete the cluster that cluster-up made
	@e2e/cluster/down.sh
