#!/usr/bin/env bash
# Makes the reference records of the folder `records` again, on this machine: as root, idle, with
# the kernels of KERNELS fetched (`oscost kernels fetch`). It takes a quarter of an hour.
#
#   scripts/records.sh [NAME]...
set -euo pipefail
cd "$(dirname "$0")/.."
oscost=${OSCOST:-target/release/oscost}
declare -A KERNELS=(
    [6.1]=6.1.0-56-cloud-amd64
    [6.12]=6.12.117+deb12-cloud-amd64
    [6.12-rt]=6.12.117+deb12-rt-amd64
)

# Cases that most comparisons of machines begin with, and that a virtual machine has.
cases=(
    timer/clock-gettime:clock=monotonic,via=libc
    procedure/call:args=0,chain=independent
    syscall/invalid syscall/getppid:via=raw syscall/read:via=raw syscall/write:via=raw
    syscall/fstat:via=raw syscall/open-close:via=raw syscall/signal
    process/fork-exit:touched_mib=0,peer_cpu=same process/fork-exec:link=static
    thread/create-join:via=raw,peer_cpu=same
    switch/pipe:between=processes,peer_cpu=same switch/futex:between=processes,peer_cpu=same
    event/wait:method=poll,fds=100,ready=one event/wait:method=epoll,fds=100,ready=one
    pipe/round-trip:by=pipe,size=64,peer_cpu=same
    socket/round-trip:by=tcp,size=64,peer_cpu=same
    socket/round-trip:by=unix-stream,size=64,peer_cpu=same
    fault/zero-fill:access=write,pages=4k,map=outside,order=ascending
    fault/copy-on-write:child=lives,order=ascending
    memory/mmap-munmap:size=65536 memory/mprotect:size=65536
    file/read:via=read,size=4096,cache=warm,file_mib=8
    file/stat:files=100 directory/open-close
)

# record NAME OPTION...: measures, and writes the record without raw batches.
record() {
    local name=$1
    shift
    "$oscost" run "${cases[@]}" --label "$name" --no-store --json - "$@" |
        gzip -9n >"records/$name.new"
    mv "records/$name.new" "records/$name.json.gz"
}

# huge_pages SETTING NAME OPTION...: the same under another setting, which is undone.
huge_pages() {
    local file=/sys/kernel/mm/transparent_hugepage/enabled before
    before=$(sed 's/.*\[\(.*\)\].*/\1/' "$file")
    echo "$1" >"$file"
    shift
    record "$@" || { echo "$before" >"$file"; exit 1; }
    echo "$before" >"$file"
}

make_record() {
    local name=$1 kernel
    case $name in
    guest) record "$name" ;;
    guest-thp-never) huge_pages never "$name" ;;
    guest-thp-always) huge_pages always "$name" ;;
    guest-seccomp) record "$name" --treat seccomp=docker ;;
    guest-ebpf) record "$name" --treat ebpf=empty ;;
    guest-ptrace) record "$name" --treat ptrace ;;
    guest-sud) record "$name" --treat sud ;;
    guest-nice) record "$name" --treat nice=10 ;;
    guest-antagonist) record "$name" --treat antagonist=cpu ;;
    vm-*)
        kernel=${name#vm-}
        kernel=${kernel%-mitigations-off}
        kernel=${KERNELS[$kernel]:?no kernel is known as $kernel}
        case $name in
        *-mitigations-off) record "$name" --at "vm:$kernel,append=mitigations=off" ;;
        *) record "$name" --at "vm:$kernel" ;;
        esac
        ;;
    *) echo "no record is named $name" >&2; exit 2 ;;
    esac
}

[ $# != 0 ] || set -- guest guest-thp-{never,always} guest-{seccomp,ebpf,ptrace,sud,nice,antagonist} \
    vm-6.1 vm-6.1-mitigations-off vm-6.12 vm-6.12-rt
for name; do
    make_record "$name"
done
