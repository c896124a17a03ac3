#!/usr/bin/env bash
# Runs oscost on an emulated aarch64 machine, whose kernel is Debian's and whose processor has a PMU:
#
#   scripts/aarch64.sh build             builds the tool, the worker and loops in C, all static
#   scripts/aarch64.sh run COMMAND...    boots the machine, runs a command there as root, and powers off
#   scripts/aarch64.sh counters [RUNS]   counted events of so many runs (3) against those of perf stat:
#                                        ends with 1 if a bar fails (scripts/bench/aarch64.py)
#
#   scripts/aarch64.sh run oscost run --quick --no-store --counters getppid
#
# The status is that of the command, or 124 after LIMIT seconds (3600 without it); BOOT has further arguments
# of its kernel, such as rcu_nocbs=all. The output comes at the
# end. The first run downloads packages and unpacks them into the machine's disk. None of their programs
# runs here, so that neither root nor binfmt_misc is needed. Files in target/aarch64/share are in /share
# there; what is written elsewhere is gone with the machine. Nothing is left behind but target/aarch64.
#
# The emulator counts instructions (-icount): the PMU's counts are exact, and each instruction takes 2 ns,
# whatever it is. No time that is measured there says anything of a processor.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:/usr/sbin:/sbin"
target=aarch64-unknown-linux-gnu
compiler=aarch64-linux-gnu-gcc
folder=target/aarch64
root=$folder/root
share=$folder/share
# What the kernel needs to mount the disk and the share, each after what it needs itself.
modules=(
    virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk
    crc16 crc32c_generic libcrc32c mbcache jbd2 ext4
    9pnet 9pnet_virtio netfs fscache 9p
)

usage() {
    echo "usage: scripts/aarch64.sh build | run COMMAND... | counters [RUNS]" >&2
    exit 2
}

build() {
    scripts/install.sh aarch64
    if ! [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
        command -v rustup >/dev/null ||
            { echo "needs Rust's standard library for $target: rustup is not installed" >&2; exit 1; }
        rustup target add "$target"
    fi
    export CC_aarch64_unknown_linux_gnu=$compiler
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$compiler
    export RUSTFLAGS="-C target-feature=+crt-static"
    set -- cargo build --release --locked --target "$target" --target-dir "$folder"
    "$@" -p oscost-worker --bin oscost-worker
    # Nothing is timed in the tool: it is built as `make build` does.
    CARGO_PROFILE_RELEASE_OPT_LEVEL=s CARGO_PROFILE_RELEASE_LTO=off \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 "$@" -p oscost --bin oscost
    mkdir -p "$share/bin"
    cp "$folder/$target/release/oscost" "$folder/$target/release/oscost-worker" "$share/bin"
    # Linked as the worker is.
    "$compiler" -O2 -Wall -Wextra -static-pie -o "$share/bin/loops" crates/oscost/benches/peers/loops.c
}

# The disk, from packages that are unpacked and not installed: none of their scripts runs.
make_disk() {
    [ ! -s "$folder/disk.img" ] || return 0
    rm -rf "$root"
    mmdebstrap --mode=chrootless --architectures=arm64 --variant=extract \
        --include=linux-image-arm64,linux-perf,busybox-static,dash,coreutils bookworm "$root"
    mkdir -p "$root"/{dev,etc,new,proc,root,run,share,sys,tmp,usr/local/bin}
    echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
    echo 'root:x:0:' >"$root/etc/group"
    cp "$root"/boot/vmlinuz-* "$folder/vmlinuz"
    mke2fs -q -F -t ext4 -E root_owner=0:0 -d "$root" "$folder/disk.new" 2500M
    mv "$folder/disk.new" "$folder/disk.img"
}

# What runs first in the machine: it mounts the disk and the share, and goes on in these.
make_initrd() {
    local initrd=$folder/initrd module
    rm -rf "$initrd" && mkdir -p "$initrd"/{bin,dev,modules,new}
    cp "$root/bin/busybox" "$initrd/bin"
    for module in "${modules[@]}"; do
        find "$root/lib/modules/" -name "$module.ko" -exec cp {} "$initrd/modules" \;
    done
    cat >"$initrd/init" <<END
#!/bin/busybox sh
export PATH=/bin
busybox mount -t devtmpfs dev /dev
for module in ${modules[*]}; do busybox insmod /modules/\$module.ko; done
busybox mount -t ext4 /dev/vda /new
busybox mount -t devtmpfs dev /new/dev
busybox mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 share /new/share
exec busybox switch_root /new /share/init </dev/console >/dev/console 2>&1
END
    chmod 755 "$initrd/init"
    (cd "$initrd" && find . | cpio --quiet -o -H newc -R 0:0) >"$folder/initrd.img"
}

# The first process of the machine. If it ends without a poweroff, the kernel panics and QEMU ends too.
write_init() {
    cat >"$share/init" <<'END'
#!/bin/busybox sh
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb
export OSCOST_WORKER=/usr/local/bin/oscost-worker
/bin/busybox --install -s
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t cgroup2 cgroup /sys/fs/cgroup
hostname aarch64
cp /share/bin/* /usr/local/bin
cd /root
sh /share/command </dev/null >/share/stdout 2>/share/stderr
echo $? >/share/status
poweroff -f
END
    chmod 755 "$share/init"
}

run() {
    local status=0
    [ $# -gt 0 ] || usage
    [ -x "$share/bin/oscost" ] || { echo "build it first: scripts/aarch64.sh build" >&2; exit 2; }
    make_disk
    make_initrd
    write_init
    rm -f "$share"/{stdout,stderr,status}
    printf '%s\n' "${*@Q}" >"$share/command"
    # The disk is not written: each run begins with the same one.
    scripts/bounded.sh "${LIMIT:-3600}" qemu-system-aarch64 -M virt -cpu max,pmu=on -smp 1 -m 3072 \
        -icount shift=1 -kernel "$folder/vmlinuz" -initrd "$folder/initrd.img" \
        -append "console=ttyAMA0 quiet panic=-1 ${BOOT:-}" \
        -drive "file=$folder/disk.img,if=virtio,format=raw,snapshot=on" \
        -virtfs "local,path=$share,mount_tag=share,security_model=none" \
        -nographic -nic none -no-reboot >"$folder/console.log" || status=$?
    [ ! -e "$share/stdout" ] || cat "$share/stdout"
    [ ! -e "$share/stderr" ] || cat "$share/stderr" >&2
    [ "$status" = 0 ] || exit "$status"
    if ! [ -s "$share/status" ]; then
        echo "scripts/aarch64.sh: the machine ended before the command did:" >&2
        tail -n 20 "$folder/console.log" >&2
        exit 1
    fi
    exit "$(cat "$share/status")"
}

[ $# -gt 0 ] || usage
what=$1
shift
case $what in
build) build ;;
run) run "$@" ;;
counters) exec scripts/bench/aarch64.py "$@" ;;
*) usage ;;
esac
