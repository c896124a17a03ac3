#!/usr/bin/env python3
"""Traces ordinary programs: which system calls they make, in which form, and what the kernel spends in them.

    scripts/program-calls.py FOLDER

Each program runs twice: under strace(1), which tells names, outcomes and kinds of descriptors, and
under bpftrace(8), which tells the time on a CPU inside each call: waiting is no work of the kernel's.
strace does not tell whether others refer to the file of a close, or whether a program has a loader: no
form here is `close shared` or `execve dynamic`, as forms of `oscost bill` are. What the script needs
and does not find it names and leaves out. FOLDER (docs/reference/calls) gets programs.tsv (name),
calls.tsv (form, calls, programs) and times.tsv (call, calls, nanoseconds on a CPU). Run it as root,
with tracefs mounted, on an idle machine; minutes.
"""

import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

# What is run, by /bin/sh in a folder that has the tree `src` of C files. `&&` and pipes are the shell's.
PROGRAMS = {
    "sh": "sh -c 'for i in 1 2 3; do echo $i; done; test -e src && cd src && pwd'",
    "bash": "bash -c 'x=$(ls src | wc -l); for f in src/*; do [ -f $f ] && x=$((x+1)); done; echo $x'",
    "ls": "ls -lR src",
    "cp": "cp -r src copied",
    "mv": "cp -r src moved && mv moved elsewhere",
    "rm": "cp -r src doomed && rm -r doomed",
    "cat": "cat src/*.c",
    "grep": "grep -rn define src",
    "find": "find /usr/share -xdev -name '*.zzz'",
    "sort": "sort src/big.txt -o sorted",
    "wc": "wc src/*",
    "sed": "sed -i s/int/long/ src/f1.c",
    "awk": "awk '{n+=NF} END {print n}' src/big.txt",
    "tar": "tar cf it.tar src && mkdir out && tar xf it.tar -C out",
    "gzip": "gzip -k src/big.txt && gzip -dc src/big.txt.gz",
    "xz": "xz -k src/big.txt",
    "diff": "diff -r src src",
    "du": "du -s /usr/share/doc",
    "git commit": "git init -q g && cp -r src g && cd g && git add -A && git -c user.name=n -c user.email=e commit -qm m",
    "git status": "cd repository && git status && git log --stat",
    "git clone": "git clone -q repository cloned",
    "python": "python3 -c 'import json, re, subprocess, http.client; print(json.dumps([1]))'",
    "python files": "python3 -c 'import os,glob\nfor f in glob.glob(\"src/*\"): open(f).read(); os.stat(f)\nopen(\"o\",\"w\").write(\"x\"*100000)'",
    "perl": "perl -ne '$n++ while /int/g; END { print $n }' src/*.c",
    "node": "node -e 'require(\"fs\").readdirSync(\"src\").forEach(f => require(\"fs\").readFileSync(\"src/\" + f))'",
    "gcc": "gcc -O1 -c src/f1.c -o f1.o",
    "ld": "gcc src/main.c -o linked && ./linked",
    "make": "make -s -C src",
    "sqlite": "sqlite3 it.db 'create table t(a,b); begin; with recursive n(i) as (select 1 union all select i+1 from n where i<2000) insert into t select i,i from n; commit; select sum(a) from t; insert into t values(1,2);'",
    "curl": "python3 -m http.server 18473 --bind 127.0.0.1 >/dev/null 2>&1 & s=$!; sleep 0.5; for i in 1 2 3; do curl -s http://127.0.0.1:18473/src/big.txt -o got; done; kill $s",
    "ssh": "ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f user && cp user.pub allowed && /usr/sbin/sshd -f /dev/null -p 18475 -h $PWD/host -o ListenAddress=127.0.0.1 -o AuthorizedKeysFile=$PWD/allowed -o StrictModes=no -o PidFile=$PWD/pid && ssh -F /dev/null -p 18475 -i user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null 127.0.0.1 'ls /'; kill $(cat pid)",
    "ssh-keygen": "ssh-keygen -q -t ed25519 -N '' -f key",
    "dpkg": "dpkg -l >/dev/null && dpkg -S /bin/ls",
    "apt-cache": "apt-cache policy gcc",
    "vim": "vim -es -u NONE -c '%s/int/long/ge' -c wq src/f2.c </dev/null",
    "man": "man -P cat ls",
    "jq": "echo '{\"a\":[1,2,3]}' | jq .a",
    "openssl": "openssl sha256 src/big.txt",
    "java": "java -version",
    "go": "go version && go env",
    "rustc": "rustc --version",
    "tmux": "tmux -L t new-session -d 'sleep 0.2' && tmux -L t ls; sleep 0.5",
    "ps": "ps aux",
    "bc": "echo '2^200' | bc",
    "m4": "echo 'define(a,b)a' | m4",
    "psql": "psql --version",
    "date": "date && env && id && uname -a && hostname",
    "xargs": "ls src | xargs -n 1 echo",
    "server": "node -e 'const h=require(\"http\");const s=h.createServer((q,r)=>r.end(\"hello\")).listen(18474,\"127.0.0.1\",()=>{let n=200;const g=()=>h.get(\"http://127.0.0.1:18474/\",r=>{r.resume();r.on(\"end\",()=>--n?g():s.close())});g()})'",
}


def tree(folder):
    """A small tree of sources, a repository of it."""
    src = os.path.join(folder, "src")
    os.mkdir(src)
    for i in range(40):
        with open(os.path.join(src, f"f{i}.c"), "w") as file:
            file.write("#include <stdio.h>\n" + "".join(f"int f{i}_{k}(int a) {{ return a + {k}; }}\n" for k in range(50)))
    with open(os.path.join(src, "main.c"), "w") as file:
        file.write("#include <stdio.h>\nint main(void) { printf(\"%d\\n\", 1); return 0; }\n")
    with open(os.path.join(src, "big.txt"), "w") as file:
        file.writelines(f"{(i * 7919) % 100003} some words of a line that is to be sorted\n" for i in range(20000))
    with open(os.path.join(src, "Makefile"), "w") as file:
        file.write("all: $(patsubst %.c,%.o,$(wildcard f[1-5].c))\n%.o: %.c\n\t$(CC) -c $< -o $@\n")
    run = lambda text: subprocess.run(["/bin/sh", "-c", text], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    run("git init -q repository && cp -r src repository && cd repository && git add -A && git -c user.name=n -c user.email=e commit -qm m")


FD = re.compile(r"^(\d+|AT_FDCWD)<(.*)")


def kind(argument):
    """The kind of a descriptor, from strace's annotation."""
    found = FD.match(argument)
    if not found:
        return "none"
    to = found[2]
    if to.startswith("pipe:"):
        return "pipe"
    if to.startswith(("TCP", "UDP", "UNIX", "NETLINK", "socket")):
        return to.split(":")[0].split("-")[0].lower()
    if to.startswith("anon_inode:"):
        return to.split("[")[-1].split("]")[0] if "[" in to else to.split(":")[1].rstrip(">")
    if "<char" in to:
        return "tty" if "/pts/" in to or "tty" in to else "device"
    if to.startswith(("/proc/", "/sys/")):
        return "proc"
    return "file"


def error(result):
    found = re.match(r"-1 (E[A-Z0-9]+)", result)
    return found[1] if found else ""


WITH_FD = set("read write pread64 pwrite64 readv writev preadv pwritev close fstat lseek getdents64 fsync fdatasync ftruncate sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg fadvise64 fallocate connect accept accept4 bind listen getsockname getpeername setsockopt getsockopt shutdown epoll_wait epoll_pwait epoll_ctl fchmod fchown flock dup dup2 dup3 fchdir fstatfs copy_file_range sendfile splice".split())
PATHS = set("open openat stat lstat newfstatat access faccessat faccessat2 readlink readlinkat statx unlink unlinkat mkdir mkdirat rename renameat renameat2 chdir execve getxattr lgetxattr statfs".split())


def form(name, arguments, result):
    """The form of a call: what makes it cheap or expensive."""
    failed = error(result)
    if name in ("fork", "vfork", "clone", "clone3") and result.startswith("? ERESTART"):
        failed = "RESTART"
    first = arguments.split(", ")[0] if arguments else ""
    if name in ("fcntl", "ioctl"):
        parts = arguments.split(", ")
        return f"{name} {parts[1] if len(parts) > 1 else '?'} {failed}".strip()
    if name == "mmap":
        what = "anonymous" if "MAP_ANONYMOUS" in arguments else "file"
        return f"mmap {what}{' fixed' if 'MAP_FIXED' in arguments else ''}{' ' + failed if failed else ''}"
    if name == "futex":
        op = re.search(r"FUTEX_[A-Z_]*?(WAIT|WAKE|REQUEUE|LOCK_PI|UNLOCK_PI)", arguments)
        return f"futex {op[1].lower() if op else '?'}"
    if name in ("clone", "clone3"):
        made = "thread" if "CLONE_THREAD" in arguments else "vfork" if "CLONE_VFORK" in arguments else "process"
        return f"{name} {made} {failed}".strip()
    if name in ("openat", "open"):
        if failed:
            return f"{name} {failed}"
        if "O_CREAT" in arguments:
            return f"{name} create"
        to = result.split("<", 1)[1] if "<" in result else ""
        return f"{name} {'directory' if 'O_DIRECTORY' in arguments else kind('0<' + to)}"
    if name in PATHS or name in ("mprotect", "munmap", "brk", "madvise", "mremap"):
        if name in ("newfstatat", "statx") and '""' in arguments and "AT_EMPTY_PATH" in arguments:
            return f"{name} empty {kind(first)}"
        return f"{name} {failed}".strip()
    if name in WITH_FD:
        return f"{name} {kind(first)} {failed}".strip()
    if name == "socket" or name == "socketpair":
        return f"{name} {first} {failed}".strip()
    if name in ("poll", "ppoll", "select", "pselect6", "wait4", "waitid"):
        return f"{name} {failed}".strip()
    return f"{name} {failed}".strip()


LINE = re.compile(r"^(\d+) +(.*)$")
CALL = re.compile(r"^([a-z_0-9]+)\((.*)\) += (.*)$")
BEGUN = re.compile(r"^([a-z_0-9]+)\((.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"^<\.\.\. ([a-z_0-9]+) resumed>(.*)\) += (.*)$")


def forms(path, counts):
    begun = {}
    with open(path, errors="replace") as file:
        for line in file:
            found = LINE.match(line.rstrip("\n"))
            if not found:
                continue
            pid, text = found[1], found[2]
            if whole := CALL.match(text):
                counts[form(*whole.groups())] += 1
            elif part := BEGUN.match(text):
                begun[pid] = part.groups()
            elif (rest := RESUMED.match(text)) and pid in begun:
                name, arguments = begun.pop(pid)
                counts[form(name, arguments + rest[2], rest[3])] += 1
            elif text.startswith(("exit_group(", "exit(")):
                counts[text.split("(")[0]] += 1


PROBES = """
tracepoint:raw_syscalls:sys_enter /@mine[pid]/ { @in[tid] = nsecs; @off[tid] = 0; }
tracepoint:sched:sched_switch /@in[args->prev_pid]/ { @gone[args->prev_pid] = nsecs; }
tracepoint:sched:sched_switch /@gone[args->next_pid]/ {
  @off[args->next_pid] = @off[args->next_pid] + (nsecs - @gone[args->next_pid]); delete(@gone[args->next_pid]);
}
tracepoint:raw_syscalls:sys_exit /@in[tid]/ {
  @calls[args->id] = count(); @time[args->id] = sum(nsecs - @in[tid] - @off[tid]);
  delete(@in[tid]); delete(@off[tid]);
}
tracepoint:sched:sched_process_fork /@mine[pid]/ { @mine[args->child_pid] = 1; }
END { clear(@in); clear(@off); clear(@gone); clear(@mine); }
"""


def names():
    listed = subprocess.run(["ausyscall", "--dump"], capture_output=True, text=True) if shutil.which("ausyscall") else None
    if listed and listed.returncode == 0:
        return dict(line.split("\t")[:2] for line in listed.stdout.splitlines()[1:] if "\t" in line)
    table = {}
    with open("/usr/include/x86_64-linux-gnu/asm/unistd_64.h") as file:
        for line in file:
            if found := re.match(r"#define __NR_(\w+) (\d+)", line):
                table[found[2]] = found[1]
    return table


def traced_times(command, folder, calls, times, table):
    gate = os.path.join(folder, "gate")
    os.mkfifo(gate)
    child = subprocess.Popen(["/bin/sh", "-c", f"read x < {gate}; {command}"], cwd=folder, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    probe = subprocess.Popen(["bpftrace", "-e", f"BEGIN {{ @mine[{child.pid}] = 1; printf(\"ready\\n\"); }}" + PROBES], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in probe.stdout:
        if line.startswith("ready"):
            break
    with open(gate, "w") as file:
        file.write("go\n")
    try:
        child.wait(60)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    probe.send_signal(signal.SIGINT)
    out, _ = probe.communicate()
    for line in out.splitlines():
        if found := re.match(r"@(calls|time)\[(\d+)\]: (\d+)", line):
            (calls if found[1] == "calls" else times)[table.get(found[2], found[2])] += int(found[3])


def main():
    out = sys.argv[1]
    counts, programs = collections.Counter(), collections.defaultdict(set)
    calls, times, table = collections.Counter(), collections.Counter(), names()
    ran = []
    for name, command in PROGRAMS.items():
        needed = command.split()[0].split("/")[-1]
        if needed not in ("for", "cd", "echo") and not shutil.which(needed):
            print(f"{name}: left out: {needed} is not installed", file=sys.stderr)
            continue
        for tracer in ("strace", "bpftrace"):
            with tempfile.TemporaryDirectory(prefix="oscost-calls-") as folder:
                tree(folder)
                if tracer == "strace":
                    log = os.path.join(folder, "log")
                    subprocess.run(["strace", "-f", "-yy", "-qq", "-e", "signal=none", "-s", "4", "-o", log, "/bin/sh", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
                    own = collections.Counter()
                    forms(log, own)
                    for key, times_made in own.items():
                        programs[key].add(name)
                    counts.update(own)
                    print(f"{name}: {sum(own.values())} calls", file=sys.stderr)
                elif shutil.which("bpftrace"):
                    traced_times(command, folder, calls, times, table)
        ran.append(name)
    with open(os.path.join(out, "programs.tsv"), "w") as file:
        file.writelines(f"{name}\n" for name in ran)
    with open(os.path.join(out, "calls.tsv"), "w") as file:
        for key, made in counts.most_common():
            file.write(f"{key}\t{made}\t{len(programs[key])}\n")
    with open(os.path.join(out, "times.tsv"), "w") as file:
        for key, spent in times.most_common():
            file.write(f"{key}\t{calls[key]}\t{spent}\n")
    print(f"{len(ran)} programs", file=sys.stderr)


main()
