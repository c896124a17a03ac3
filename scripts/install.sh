#!/usr/bin/env bash
# Installs what builds and tests need beyond Rust: scripts/install.sh WHAT...
#
#   cc        a C compiler, for SQLite and for linking. Required.
#   ph        clang, libelf and zlib, which build the monitor pH. It is left out without them.
#   hosts     network namespaces, a packet filter and sshd, for tests between machines
#   slurm     Slurm and munge, for tests on its nodes; none of their services is started
#   browser   Chromium and a font, for tests that look at reports, and axe-core (by npm), which checks
#             that everyone can read them
#   vm        QEMU and one of Debian's kernels (or OSCOST_TEST_KERNEL), for tests that boot machines
#   programs  the sources of a kernel, flex and bison, a game and a display without a screen, for the
#             programs of ph-2000
#   peers     programs whose figures are compared with ours in `make bench`
#   readers   DuckDB for Python (or pandas), for tests that read tables back
#   book      mdbook, for the documentation
#   aarch64   QEMU, a cross compiler and what makes a disk, for scripts/aarch64.sh
#
# As root on a system with apt, missing packages are installed. Otherwise the command is printed, and
# what needs them is left out or skipped: only `cc`, `book` and `aarch64` are errors.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:/usr/sbin:/sbin"
# No package asks a question: there is no terminal to answer it.
export DEBIAN_FRONTEND=noninteractive

has() { command -v "$1" >/dev/null; }

# install CONSEQUENCE PACKAGE...
install() {
    local consequence=$1
    shift
    if [ "$(id -u)" = 0 ] && has apt-get && apt-get update -q &&
        apt-get install -qy --no-install-recommends "$@"; then
        return
    fi
    echo "$consequence: sudo apt-get install $*"
    return 1
}

# The packages of TOOL:PACKAGE... whose tool is not installed, a line each.
missing_packages() {
    local pair
    for pair in "$@"; do
        has "${pair%:*}" || echo "${pair#*:}"
    done
}

need_cc() {
    has rustc || { echo "needs a Rust toolchain (1.89 or later): https://rustup.rs"; exit 1; }
    has cc || install "needs a C compiler" gcc libc6-dev || exit 1
}

need_ph() {
    [ -n "$(scripts/features.sh)" ] ||
        install "the monitor pH is left out, it needs" clang libelf-dev zlib1g-dev pkg-config || true
}

need_hosts() {
    local missing
    mapfile -t missing < <(
        missing_packages ip:iproute2 nft:nftables sshd:openssh-server ssh:openssh-client
    )
    [ ${#missing[@]} = 0 ] || install "tests between machines will be skipped" "${missing[@]}" || true
}

# Where there is a Slurm it is left as it is. Otherwise its packages would start their services, for
# which policy-rc.d (invoke-rc.d(8)) is asked while they are installed.
need_slurm() {
    local policy=/usr/sbin/policy-rc.d saved=
    has srun && has slurmctld && has slurmd && has munged && return
    if has srun || has munged || [ "$(id -u)" != 0 ]; then
        echo "tests of Slurm will be skipped: sudo apt-get install slurm-wlm munge"
        return
    fi
    if [ -e "$policy" ] || [ -L "$policy" ]; then
        saved=$policy.oscost
        mv "$policy" "$saved" || return 0
    fi
    # In a shell of its own, so that the policy is as it was before, however the shell ends.
    (
        trap 'rm -f "$policy"; [ -z "$saved" ] || mv "$saved" "$policy"' EXIT
        trap 'exit 1' HUP INT TERM
        { printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"; } || exit 0
        install "tests of Slurm will be skipped" slurm-wlm munge || exit 0
        # Nor at the next boot.
        ! has systemctl || systemctl disable --quiet slurmctld slurmd munge || true
    )
}

need_browser() {
    has_browser || install "tests in a browser will be skipped" chromium fonts-dejavu-core || true
    [ -s target/axe-core/axe.min.js ] || fetch_axe ||
        echo "pages are not checked by axe-core, which npm downloads: npm pack $axe_package"
}

has_browser() {
    local name
    for name in ${CHROMIUM:-chromium chromium-browser google-chrome}; do
        has "$name" && return
    done
    return 1
}

# From the registry that npm is set up with. No code of it runs but in the pages of tests.
axe_package=axe-core@4.14.1
axe_sha256=e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745
fetch_axe() {
    local folder=target/axe-core archive
    has npm || return
    rm -rf "$folder" && mkdir -p "$folder" || return
    archive=$folder/${axe_package/@/-}.tgz
    npm pack --silent --ignore-scripts --fetch-retries=1 --fetch-timeout=60000 \
        --pack-destination "$folder" "$axe_package" >/dev/null || return
    echo "$axe_sha256  $archive" | sha256sum --check --quiet || return
    tar -xzf "$archive" -C "$folder" --strip-components=1 package/axe.min.js package/LICENSE || return
    rm -f "$archive"
}

need_vm() {
    has qemu-system-x86_64 || install "tests of booted machines will be skipped" qemu-system-x86 || true
    [ -n "${OSCOST_TEST_KERNEL:-}" ] || [ -s target/vm-kernel/vmlinuz ] || fetch_kernel ||
        echo "tests that boot a kernel will be skipped: OSCOST_TEST_KERNEL may name a bzImage"
}

# The packages that `oscost workload prepare --all` names.
need_programs() {
    local sources=(/usr/src/linux-source-*.tar.xz)
    { [ -e "${sources[0]}" ] && has flex && has bison && has chocolate-doom && has Xvfb &&
        [ -e /usr/share/games/doom/freedoom1.wad ]; } ||
        install "rows of ph-2000 will be skipped" linux-source flex bison chocolate-doom freedoom xvfb ||
        true
}

need_peers() {
    local missing
    mapfile -t missing < <(
        missing_packages stress-ng:stress-ng hackbench:rt-tests sysbench:sysbench fio:fio \
            sockperf:sockperf qperf:qperf iperf3:iperf3 mbw:mbw hyperfine:hyperfine
    )
    # Distributions install a script as `perf` that fails if none fits the kernel.
    perf --version >/dev/null 2>&1 || missing+=(linux-perf)
    [ ${#missing[@]} = 0 ] || install "comparisons with programs will be skipped" "${missing[@]}" || true
}

# Debian's newest kernel for virtual machines, downloaded and unpacked but not installed.
fetch_kernel() {
    local folder=target/vm-kernel package
    newest() {
        apt-cache depends linux-image-cloud-amd64 2>/dev/null |
            sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1
    }
    has apt-cache || return
    package=$(newest)
    if [ -z "$package" ] && [ "$(id -u)" = 0 ]; then
        apt-get update -q || return
        package=$(newest)
    fi
    [ -n "$package" ] || return
    rm -rf "$folder" && mkdir -p "$folder" || return
    (cd "$folder" && apt-get download -q -o APT::Sandbox::User=root "$package") || return
    dpkg-deb --fsys-tarfile "$folder"/*.deb |
        tar -xO "./boot/vmlinuz-${package#linux-image-}" >"$folder/new" || return
    mv "$folder/new" "$folder/vmlinuz" && rm -f "$folder"/*.deb
}

need_readers() {
    local folder=target/readers python modules
    has duckdb && return
    mkdir -p target
    for python in "$folder/bin/python" python3; do
        for modules in duckdb pandas,pyarrow; do
            "$python" -c "import $modules" 2>/dev/null && return
        done
    done
    python3 -c "import ensurepip" 2>/dev/null ||
        install "tests that read tables back will be skipped" python3-venv || return 0
    { python3 -m venv "$folder" && "$folder/bin/pip" install -q --retries 1 duckdb; } ||
        echo "tests that read tables back will be skipped: they need DuckDB or pandas for Python"
}

need_book() {
    has mdbook || [ -x target/mdbook/bin/mdbook ] ||
        cargo install --quiet --locked mdbook --root target/mdbook ||
        { echo "the book is not built, it needs: cargo install --locked mdbook"; exit 1; }
}

need_aarch64() {
    local missing
    mapfile -t missing < <(
        missing_packages qemu-system-aarch64:qemu-system-arm mmdebstrap:mmdebstrap \
            aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu cpio:cpio mke2fs:e2fsprogs
    )
    [ -e /usr/aarch64-linux-gnu/lib/libc.a ] || missing+=(libc6-dev-arm64-cross)
    [ ${#missing[@]} = 0 ] || install "an aarch64 machine needs" "${missing[@]}" || exit 1
}

for what in "$@"; do
    case $what in
    cc | ph | hosts | slurm | browser | vm | programs | peers | readers | book | aarch64) "need_$what" ;;
    *)
        echo "scripts/install.sh: unknown: $what" >&2
        exit 2
        ;;
    esac
done
