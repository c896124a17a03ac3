# Two commands do everything on a fresh machine with a Rust toolchain:
#   make run    builds both programs and measures the price list
#   make test   everything that CI runs
# The rest: build, test-live, bench and studies (minutes, on a quiet machine), docs, fuzz, clean.

HOST := $(shell rustc -vV | sed -n 's/^host: //p')
CELL := target/release/oscost-worker
export OSCOST_WORKER := $(CURDIR)/$(CELL)

.PHONY: run build worker needs ph hosts browser vm readers test lint unit test-live bench docs picture studies fuzz clean

run: build
	target/release/oscost run

# Nothing is timed in the tool: in several units, and not optimised once more when it is linked, it is
# built in half the time.
build: worker ph
	CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
	  cargo build --release --locked -p oscost --features "$(EBPF)"

# The worker is one static-pie program that runs everywhere. With --target the flag reaches it alone,
# and not the build scripts and macros of what it is made of.
STATIC := RUSTFLAGS="-C target-feature=+crt-static"
worker: needs
	$(STATIC) cargo build --release --locked -p oscost-worker --bin oscost-worker --target $(HOST)
	mkdir -p target/release
	cp target/$(HOST)/release/oscost-worker $(CELL).new
	mv $(CELL).new $(CELL)

# A C compiler for SQLite and for linking: the only thing beside Rust itself.
needs:
	@command -v rustc >/dev/null || { echo "needs a Rust toolchain (1.89 or later): https://rustup.rs"; exit 1; }
	@command -v cc >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -q && apt-get install -qy --no-install-recommends gcc libc6-dev; \
	  else echo "needs a C compiler: sudo apt-get install gcc libc6-dev"; exit 1; fi; }

# The monitor pH is compiled by clang, and loaded by libbpf, which links libelf and zlib. Without
# them it is left out, and everything else is built; which it was, `oscost ph status` says.
PH_NEEDS := command -v $${CLANG:-clang} >/dev/null && command -v pkg-config >/dev/null && \
  printf '\043include <libelf.h>\n\043include <zlib.h>\n' | cc -E -x c - >/dev/null 2>&1
PH_PACKAGES := clang libelf-dev zlib1g-dev pkg-config
# Asked when a recipe runs: `make ph` may have installed them by then.
EBPF = $(shell $(PH_NEEDS) && echo oscost/ebpf)
ph: needs
	@{ $(PH_NEEDS); } || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  apt-get update -q && apt-get install -qy --no-install-recommends $(PH_PACKAGES) && \
	  { $(PH_NEEDS); }; } || \
	  echo "the monitor pH is left out; it takes: sudo apt-get install $(PH_PACKAGES)"

# The tests between machines make theirs of network namespaces, with an sshd and a packet filter of
# their own. What is lacking there is installed if it can be; otherwise those tests skip, and say so.
HOST_TOOLS := ip:iproute2 nft:nftables sshd:openssh-server ssh:openssh-client
hosts:
	@PATH="$$PATH:/usr/sbin:/sbin"; lacking=; for tool in $(HOST_TOOLS); do \
	  command -v "$${tool%:*}" >/dev/null || lacking="$$lacking $${tool#*:}"; done; \
	[ -z "$$lacking" ] || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  apt-get update -q && apt-get install -qy --no-install-recommends $$lacking; } || \
	  echo "tests between machines will be skipped: sudo apt-get install$$lacking"

# The tests of the report look at it in Chromium, which is to draw text, too; the same goes for it.
browser:
	@for name in $${CHROMIUM:-chromium chromium-browser google-chrome}; do \
	  command -v "$$name" >/dev/null && exit; done; \
	{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && \
	  apt-get install -qy --no-install-recommends chromium fonts-dejavu-core; } || \
	  echo "tests in a browser will be skipped: sudo apt-get install chromium fonts-dejavu-core"

# The tests that boot machines take QEMU and a kernel: Debian's for virtual machines, which apt
# fetches once, or the one that OSCOST_TEST_KERNEL names. Without them those tests skip, and say so.
VM_KERNEL := target/vm-kernel/vmlinuz
vm:
	@command -v qemu-system-x86_64 >/dev/null || { [ "$$(id -u)" = 0 ] && \
	  command -v apt-get >/dev/null && apt-get update -q && \
	  apt-get install -qy --no-install-recommends qemu-system-x86; } || \
	  echo "tests of machines that are booted will be skipped: sudo apt-get install qemu-system-x86"
	@[ -n "$$OSCOST_TEST_KERNEL" ] || [ -s $(VM_KERNEL) ] || { \
	  folder=$(dir $(VM_KERNEL)); rm -rf $$folder; mkdir -p $$folder; \
	  named() { apt-cache depends linux-image-cloud-amd64 2>/dev/null | \
	    sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1; }; \
	  [ -n "$$(named)" ] || { [ "$$(id -u)" = 0 ] && apt-get update -q; }; package=$$(named); \
	  [ -n "$$package" ] && (cd $$folder && apt-get download -q -o APT::Sandbox::User=root $$package) && \
	  dpkg-deb --fsys-tarfile $$folder*.deb | \
	    tar -xO ./boot/vmlinuz-$${package#linux-image-} > $${folder}new && \
	  mv $${folder}new $(VM_KERNEL); rm -f $$folder*.deb; [ -s $(VM_KERNEL) ]; } || \
	  echo "tests that boot a kernel will be skipped: OSCOST_TEST_KERNEL may name a bzImage"

# The tests of tables read them back with DuckDB (or pandas, where that is there already). It is
# fetched once, to a folder of its own; where that fails those tests skip, and say so.
READERS := target/readers
readers:
	@command -v duckdb >/dev/null && exit 0; mkdir -p target; for python in $(READERS)/bin/python python3; do \
	  for module in duckdb pandas,pyarrow; do \
	    $$python -c "import $$module" 2>/dev/null && exit 0; done; done; \
	python3 -c "import ensurepip" 2>/dev/null || { [ "$$(id -u)" = 0 ] && \
	  command -v apt-get >/dev/null && apt-get update -q && \
	  apt-get install -qy --no-install-recommends python3-venv; }; \
	{ python3 -m venv $(READERS) && $(READERS)/bin/pip install -q --retries 1 duckdb; } || \
	  echo "tests that read tables back will be skipped: they take DuckDB or pandas for Python"

# The test that commits each deliberate fault needs the feature `fault-injection`; without a sinner it changes
# nothing, so everything is tested with it.
test: lint unit

# By the profile of the tests: what others wrote is then built once for both.
lint: ph
	cargo fmt --all --check
	cargo clippy --profile test --locked --workspace --all-targets --features "oscost/fault-injection,oscost/live,oscost-worker/live,$(EBPF)" -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --profile test --locked --workspace --no-deps --document-private-items \
	  --features "$(EBPF)"

unit: worker browser hosts ph readers vm
	cargo test --locked --workspace --features "oscost/fault-injection,$(EBPF)"

# Clocks and frequencies are in these: they want a machine that is left in peace, and minutes.
# One of them makes an op slower by a known share, which no worker that is shipped can do. With --target
# the worker that is shipped stays where it is.
test-live: build
	cargo test --release --locked --target $(HOST) -p oscost-worker --features live --test live -- --test-threads=1 --nocapture
	$(STATIC) cargo build --release --locked -p oscost-worker --bin oscost-worker --features live \
	  --target $(HOST) --target-dir target/live
	OSCOST_WORKER=$(CURDIR)/target/live/$(HOST)/release/oscost-worker \
	  cargo test --release --locked -p oscost --features live --test live -- --test-threads=1 --nocapture l7
	cargo test --release --locked -p oscost --features live --test live -- --test-threads=1 --nocapture --skip l7

bench: build
	cargo bench --locked --target $(HOST) -p oscost-worker --bench engine
	cargo bench --locked -p oscost --bench bars
	cargo bench --locked -p oscost --bench peers
	cargo bench --locked -p oscost --bench peers -- spread

# The pages of docs/catalog, from the definitions; in docs/EXPORTS.md what columns mean.
docs: worker
	UPDATE_GOLDEN=1 cargo test --locked -p oscost --test catalog_pages

# The README's picture: the beginning of the page of a quick run, as the browser tests see it.
picture: worker browser
	OSCOST_PICTURE=$(CURDIR)/docs/report.png cargo test --locked -p oscost --test browser -- \
	  a_run_is_a_page_that_stands_alone

# The five studies again, some with few trials: half an hour, on a quiet machine. PEER=ssh:HOST is for
# the half of cs736-2019 that is between two machines.
STUDIES := sunos-1999 cs161-syscalls cse221-2014 cs736-2019
studies: build
	for study in $(STUDIES); do \
	  target/release/oscost run --study $$study $(if $(PEER),--peer $(PEER)) || exit 1; done
	target/release/oscost ab --study ph-2000 --quick
	target/release/oscost study claims --markdown > docs/reference/STUDIES.md

fuzz:
	for target in order event record samples place firmware request seccomp compare ph_profile study workload report; do fuzz/run.sh $$target 30 || exit 1; done

clean:
	cargo clean
	rm -rf fuzz/target fuzz/corpus fuzz/artifacts
