/* Batches of an op, timed as the engine does, for the programs in C of this folder: each has a
 * table of ops, with a loop around each op. */
#ifndef TIMING_H
#define TIMING_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* The result of a call is used, as a program would use it. */
#define USED(value) __asm__ volatile("" : : "r"((long)(value)))

/* A loop around copies of an op, which sets `wrong` where a result is not as it should be. */
#define LOOP(name, copies) \
    static int name(unsigned long iterations) \
    { \
        int wrong = 0; \
        for (; iterations != 0; iterations--) { \
            copies \
        } \
        return wrong; \
    }
#define LOOPS(name, op) \
    LOOP(name##_1, op) \
    LOOP(name##_2, op op) \
    LOOP(name##_4, op op op op) \
    LOOP(name##_8, op op op op op op op op)

typedef int (*loop)(unsigned long iterations);

struct op {
    const char *name;
    loop one, two, four, eight;
    /* Set-up: once with the argument, "" if there is none, and before each batch. */
    int (*ready)(const char *with);
    loop before;
};

static int pin_to(const char *cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(strtoul(cpu, NULL, 10), &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

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

static loop find_loop(const struct op *op, unsigned long factor)
{
    switch (factor) {
    case 1: return op->one;
    case 2: return op->two;
    case 4: return op->four;
    case 8: return op->eight;
    }
    return NULL;
}

static int failed(const char *op)
{
    perror(op);
    return 1;
}

/* Times an op of a table: PROGRAM CPU OP[=ARGUMENT] ITERATIONS GROUPS UNROLL... */
static int time_op(const struct op *ops, size_t count, int argc, char **argv)
{
    enum { MAX_GROUPS = 1001, MAX_UNROLL_FACTORS = 4 };
    static struct { long ns, switches; } batches[MAX_GROUPS][MAX_UNROLL_FACTORS];
    loop loops[MAX_UNROLL_FACTORS];

    if (argc < 6 || argc > 5 + MAX_UNROLL_FACTORS)
        return fprintf(stderr, "usage: %s CPU OP[=ARGUMENT] ITERATIONS GROUPS UNROLL...\n",
                       argv[0]), 2;
    unsigned long iterations = strtoul(argv[3], NULL, 10);
    unsigned long groups = strtoul(argv[4], NULL, 10);
    size_t sizes = argc - 5;
    char *with = strchr(argv[2], '=');
    if (with != NULL)
        *with++ = '\0';
    const struct op *op = NULL;
    for (size_t at = 0; at < count; at++)
        if (strcmp(ops[at].name, argv[2]) == 0)
            op = &ops[at];
    for (size_t at = 0; at < sizes; at++) {
        loops[at] = op == NULL ? NULL : find_loop(op, strtoul(argv[5 + at], NULL, 10));
        if (loops[at] == NULL || iterations == 0 || groups > MAX_GROUPS)
            return fprintf(stderr, "%s: unknown op, or a number out of range\n", argv[0]), 2;
    }
    if (!pin_to(argv[1]))
        return failed("sched_setaffinity");
    memset(batches, 0, sizeof batches);
    if (op->ready != NULL && op->ready(with == NULL ? "" : with) != 0)
        return failed(argv[2]);

    int wrong = 0;
    for (long begun = nanoseconds(); nanoseconds() - begun < 3000000;)
        for (size_t at = 0; at < sizes; at++) {
            wrong |= op->before != NULL && op->before(iterations);
            wrong |= loops[at](iterations);
        }
    /* With several unroll factors the figure is a slope, of ops that may stay outside the kernel:
     * getrusage(2) would enter it. */
    int count_switches = sizes == 1;
    unsigned long rewarm_iterations = iterations / 8 < 64 ? iterations / 8 : 64;
    for (unsigned long group = 0; group < groups; group++) {
        for (size_t i = 0; i < sizes; i++) {
            size_t at = (group + i) % sizes;
            wrong |= op->before != NULL && op->before(iterations + rewarm_iterations);
            long before = count_switches ? switches() : 0;
            wrong |= loops[at](rewarm_iterations);
            long start = nanoseconds();
            wrong |= loops[at](iterations);
            long stop = nanoseconds();
            batches[group][at].ns = stop - start;
            batches[group][at].switches = count_switches ? switches() - before : 0;
        }
    }
    if (wrong)
        return fprintf(stderr, "%s: a call failed\n", argv[0]), 1;
    for (unsigned long group = 0; group < groups; group++)
        for (size_t at = 0; at < sizes; at++)
            printf("%lu %s %ld %ld\n", group, argv[5 + at], batches[group][at].ns,
                   batches[group][at].switches);
    return fflush(stdout) == 0 ? 0 : failed("stdout");
}

#endif
