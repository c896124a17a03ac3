# On a fresh machine with a Rust toolchain, two commands do everything:
#   make run    builds both programs and measures the price list
#   make test   everything that CI runs

export OSCOST_WORKER := $(CURDIR)/target/release/oscost-worker
# Evaluated when a recipe runs: scripts/install.sh may have installed clang by then.
EBPF = $(shell scripts/features.sh)
FEATURES = oscost/fault-injection,oscost-worker/fault-injection,$(EBPF)
# Ends what hangs: a download, a build.
BOUNDED = scripts/bounded.sh 1800

.PHONY: run build worker check test lint unit golden test-live bench asm-check docs book picture studies fuzz attacks clean browser hosts ph readers slurm vm

run: build
	target/release/oscost run

# Nothing is timed in the tool, so it is built for size, in several units, without link-time optimisation.
build: worker
	scripts/install.sh ph
	CARGO_PROFILE_RELEASE_OPT_LEVEL=s CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
	  cargo build --release --locked -p oscost --features "$(EBPF)"

worker:
	scripts/install.sh cc
	scripts/worker.sh

# Before a commit: format, lints, unit tests, import tables, documents. It needs no release build.
check:
	scripts/install.sh ph
	scripts/check.sh

test:
	$(BOUNDED) scripts/install.sh cc ph
	scripts/prepare-beside.sh $(MAKE) lint
	$(MAKE) unit

# With the profile of the tests, so that dependencies are built once for both. The tool is also
# checked, and documented, as it is built without a BPF compiler. There are no examples, but with them
# dependencies have the features that they have for tests, and are not checked anew to be documented.
lint:
	$(BOUNDED) scripts/install.sh cc ph
	cargo fmt --all --check
	$(BOUNDED) cargo clippy --profile test --locked --workspace --all-targets --features "$(FEATURES),oscost/live,oscost-worker/live" -- -D warnings
	$(BOUNDED) cargo check --profile test --locked --workspace
	RUSTDOCFLAGS="-D warnings" $(BOUNDED) cargo doc --profile test --locked --workspace --lib --examples --no-deps --document-private-items

unit:
	$(BOUNDED) scripts/install.sh browser cc hosts ph readers slurm vm
	scripts/test.sh "$(FEATURES)"

# What some tests need, and skip without.
browser hosts ph readers slurm vm:
	scripts/install.sh $@

# On an idle machine, minutes; the bars of bills hours.
test-live: build vm
	scripts/test-live.sh
bench: build
	scripts/install.sh peers
	scripts/bench.sh
# The machine code of the timed loops: fails on calls and spilled registers.
asm-check:
	scripts/asm-check.sh
studies: build
	scripts/studies.sh

# Rewrites the golden files and the generated pages, for review.
golden: worker docs
	UPDATE_GOLDEN=1 cargo test --locked -p oscost --test cli
	git diff --stat
# docs/catalog from the definitions, the columns in EXPORTS.md, the help in CLI.md, the glossary, and
# PEERS.md from docs/reference/peers.
docs:
	UPDATE_GOLDEN=1 cargo test --locked -p oscost --test catalog_pages --test documents

# The documentation as a site, in target/book.
book:
	scripts/install.sh book
	PATH="$(CURDIR)/target/mdbook/bin:$$PATH" mdbook build

# The README's picture: the beginning of the page of a quick run.
picture: worker
	scripts/install.sh browser
	OSCOST_PICTURE=$(CURDIR)/docs/report.png cargo test --locked -p oscost --test browser -- the_page_of_a_run_is_self_contained_and_shows_every_figure

fuzz:
	scripts/fuzz.sh
# All attacks, with a line for each. Most of them take root; the machine must be free of other runs.
attacks: worker
	scripts/install.sh cc hosts ph slurm vm
	scripts/attacks.sh "$(FEATURES)"

clean:
	cargo clean
	rm -rf fuzz/target fuzz/corpus fuzz/artifacts
