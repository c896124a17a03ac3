/* The peers of `make bench`: the loops that anybody would write around these calls.
 *
 *   loops CPU ACT TURNS GROUPS COPIES...   times the act on that CPU, as the engine would:
 *       warm for 3 ms, then GROUPS groups of batches, one for each number of copies in a turn;
 *       one line a batch: group, copies, nanoseconds, involuntary switches around it
 *   loops CPU -- COMMAND...                runs a command on that CPU
 *
 * What stands between two clock reads is the loop. What is written is written at the end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int null_fd;
static struct stat status;
static struct timespec now;

/* What a call hands back is used, as a program would use it. */
#define USED(value) __asm__ volatile("" : : "r"((long)(value)))

#define GETPID USED(getpid());
#define GETPPID USED(getppid());
#define WRITE wrong |= write(null_fd, "x", 1) != 1;
#define STAT wrong |= stat("/dev/null", &status) != 0;
#define OPEN_CLOSE wrong |= close(open("/dev/null", O_RDONLY)) != 0;
#define CLOCK_GETTIME \
    wrong |= clock_gettime(CLOCK_MONOTONIC, &now) != 0; \
    USED(now.tv_sec * 1000000000L + now.tv_nsec);

#define LOOP(name, copies) \
    static int name(unsigned long turns) \
    { \
        int wrong = 0; \
        for (; turns != 0; turns--) { \
            copies \
        } \
        return wrong; \
    }
#define LOOPS(name, act) \
    LOOP(name##_1, act) \
    LOOP(name##_2, act act) \
    LOOP(name##_4, act act act act) \
    LOOP(name##_8, act act act act act act act act)

LOOPS(getpid_loop, GETPID)
LOOPS(getppid_loop, GETPPID)
LOOPS(write_loop, WRITE)
LOOPS(stat_loop, STAT)
LOOPS(open_close_loop, OPEN_CLOSE)
LOOPS(clock_gettime_loop, CLOCK_GETTIME)

typedef int (*loop)(unsigned long turns);

static const struct {
    const char *name;
    loop one, two, four, eight;
} acts[] = {
#define ACT(name, loops) { name, loops##_1, loops##_2, loops##_4, loops##_8 }
    ACT("getpid", getpid_loop),
    ACT("getppid", getppid_loop),
    ACT("write", write_loop),
    ACT("stat", stat_loop),
    ACT("open-close", open_close_loop),
    ACT("clock-gettime", clock_gettime_loop),
};

static long nanoseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

static loop loop_of(const char *act, unsigned long copies)
{
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (strcmp(acts[i].name, act) != 0)
            continue;
        switch (copies) {
        case 1: return acts[i].one;
        case 2: return acts[i].two;
        case 4: return acts[i].four;
        case 8: return acts[i].eight;
        }
    }
    return NULL;
}

static int pinned(const char *cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(strtoul(cpu, NULL, 10), &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

static int fails(const char *act)
{
    perror(act);
    return 1;
}

int main(int argc, char **argv)
{
    enum { MOST_GROUPS = 1001, MOST_COPIES = 4 };
    static struct { long ns, switches; } batches[MOST_GROUPS][MOST_COPIES];
    loop loops[MOST_COPIES];

    if (argc >= 4 && strcmp(argv[2], "--") == 0) {
        if (!pinned(argv[1]))
            return fails("sched_setaffinity");
        execvp(argv[3], argv + 3);
        return fails(argv[3]) + 126;
    }
    if (argc < 6 || argc > 5 + MOST_COPIES)
        return fputs("usage: loops CPU ACT TURNS GROUPS COPIES...\n", stderr), 2;
    unsigned long turns = strtoul(argv[3], NULL, 10);
    unsigned long groups = strtoul(argv[4], NULL, 10);
    size_t sizes = argc - 5;
    for (size_t at = 0; at < sizes; at++) {
        loops[at] = loop_of(argv[2], strtoul(argv[5 + at], NULL, 10));
        if (loops[at] == NULL || turns == 0 || groups > MOST_GROUPS)
            return fputs("loops: that is no act, or no number that it can do\n", stderr), 2;
    }
    if (!pinned(argv[1]))
        return fails("sched_setaffinity");
    null_fd = open("/dev/null", O_WRONLY);
    if (null_fd < 0)
        return fails("/dev/null");
    memset(batches, 0, sizeof batches);

    int wrong = 0;
    for (long begun = nanoseconds(); nanoseconds() - begun < 3000000;)
        for (size_t at = 0; at < sizes; at++)
            wrong |= loops[at](turns);
    /* With several sizes the figure is a slope, of ops that may stay outside the kernel: asking for
     * the switches would not. */
    int asks = sizes == 1;
    unsigned long again = turns / 8 < 64 ? turns / 8 : 64;
    for (unsigned long group = 0; group < groups; group++) {
        for (size_t i = 0; i < sizes; i++) {
            size_t at = (group + i) % sizes;
            long before = asks ? switches() : 0;
            wrong |= loops[at](again);
            long start = nanoseconds();
            wrong |= loops[at](turns);
            long stop = nanoseconds();
            batches[group][at].ns = stop - start;
            batches[group][at].switches = asks ? switches() - before : 0;
        }
    }
    if (wrong)
        return fputs("loops: a call failed\n", stderr), 1;
    for (unsigned long group = 0; group < groups; group++)
        for (size_t at = 0; at < sizes; at++)
            printf("%lu %s %ld %ld\n", group, argv[5 + at], batches[group][at].ns,
                   batches[group][at].switches);
    return fflush(stdout) == 0 ? 0 : fails("stdout");
}
