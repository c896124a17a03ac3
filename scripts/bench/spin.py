"""Programs of a known time, for scripts that measure how well `oscost` times commands."""

import pathlib
import subprocess
import sys
import time

# Its time is proportional to its argument, so that the true ratio of two is known.
SPIN = """
#include <stdlib.h>
int main(int argc, char **argv)
{
    volatile unsigned long sum = 0;
    for (unsigned long turns = argc > 1 ? strtoul(argv[1], NULL, 10) : 0; turns != 0; turns--)
        sum += turns;
    return 0;
}
"""
# Prints what a process takes from fork(2) to wait(2), in nanoseconds, in a bare loop: the median, and
# the tenth percentile.
BARE_LOOP = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { RUNS = 1001 };
static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}
static int compare(const void *one, const void *other)
{
    long a = *(const long *)one, b = *(const long *)other;
    return (a > b) - (a < b);
}
int main(int argc, char **argv)
{
    static long took[RUNS];
    for (int run = 0; run < RUNS && argc > 1; run++) {
        long start = now();
        pid_t child = fork();
        if (child == 0) {
            execv(argv[1], argv + 1);
            _exit(127);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return 1;
        took[run] = now() - start;
    }
    qsort(took, RUNS, sizeof *took, compare);
    printf("%ld %ld\\n", took[RUNS / 2], took[RUNS / 10]);
    return 0;
}
"""


def run(words, statuses=(0,)):
    """The output of a command; what it says on standard error is shown if it fails."""
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode not in statuses:
        sys.exit(f"{' '.join(words)}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def timed(function):
    """The result of a function, and the seconds that it took."""
    started_s = time.monotonic()
    result = function()
    return result, time.monotonic() - started_s


def compiled(folder, name, source):
    """The path of a program in C."""
    path = pathlib.Path(folder) / name
    path.with_suffix(".c").write_text(source)
    subprocess.run(["cc", "-O1", "-o", str(path), str(path.with_suffix(".c"))], check=True)
    return str(path)


class Spin:
    """Commands that compute for so many milliseconds on this machine."""

    def __init__(self, folder):
        self.program = compiled(folder, "spin", SPIN)
        turns = 20_000_000
        times_s = [timed(lambda: run([self.program, str(turns)]))[1] for _ in range(5)]
        self.turns_per_ms = turns / (1e3 * min(times_s))

    def command(self, milliseconds, more=1.0):
        return [self.program, str(int(self.turns_per_ms * milliseconds * more))]


def verdict(holds):
    return "holds" if holds else "FAILS"
