/* What the programs of the studies share: their command line, two clocks, and their one line.
 *
 *   PROGRAM CPU PEER_CPU SECONDS FOLDER ACT
 *
 * CPU and PEER_CPU are numbers, or `any` for wherever the scheduler places a process. An act ends
 * early once SECONDS have passed; its line says how many ops and experiments were made. FOLDER
 * holds files and helper programs.
 *
 * The line has the figure as the study prints it, and the cost of one op in nanoseconds:
 *
 *   figure 0.131 s deviation - op 131.2 ns ops 1000000 experiments 1
 */
#ifndef STUDY_H
#define STUDY_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define INLINE static inline __attribute__((always_inline, unused))

/* The value of an expression counts as used, and memory as changed. */
#define USED(value) __asm__ volatile("" : : "r"((long)(value)) : "memory")

/* What the command line says. */
struct study_options {
    int cpu, peer_cpu; /* -1: any */
    double seconds;
    const char *folder;
    const char *act;
};

static inline void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Nanoseconds of CLOCK_MONOTONIC. */
INLINE uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether an act that began then has used its time. */
static inline int time_is_up(const struct study_options *options, uint64_t began)
{
    return (double)(now_ns() - began) > options->seconds * 1e9;
}

static inline void pin(int cpu)
{
    cpu_set_t set;
    if (cpu < 0)
        return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        fail("sched_setaffinity");
}

/* A child that ends with its parent, on the peer's CPU. */
static inline pid_t fork_peer(const struct study_options *options)
{
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pin(options->peer_cpu);
    }
    return child;
}

static inline struct study_options parse_options(int count, char **words)
{
    struct study_options options;
    if (count != 6) {
        fprintf(stderr, "usage: %s CPU PEER_CPU SECONDS FOLDER ACT\n", words[0]);
        exit(2);
    }
    options.cpu = strcmp(words[1], "any") == 0 ? -1 : atoi(words[1]);
    options.peer_cpu = strcmp(words[2], "any") == 0 ? -1 : atoi(words[2]);
    options.seconds = atof(words[3]);
    options.folder = words[4];
    options.act = words[5];
    pin(options.cpu);
    return options;
}

/* The number behind `NAME=` if the act has that name, else -1. */
static inline long act_number(const struct study_options *options, const char *name)
{
    size_t length = strlen(name);
    if (strncmp(options->act, name, length) != 0 || options->act[length] != '=')
        return -1;
    return atol(options->act + length + 1);
}

static inline int is_act(const struct study_options *options, const char *name)
{
    return strcmp(options->act, name) == 0;
}

static inline int unknown_act(const struct study_options *options)
{
    fprintf(stderr, "no act %s\n", options->act);
    return 2;
}

/* Prints the line; a deviation below 0 means none. */
static inline int print_figure(double figure, const char *unit, double deviation, double op_ns,
                               unsigned long ops, unsigned long experiments)
{
    char text[40] = "-";
    if (deviation >= 0)
        snprintf(text, sizeof text, "%.6g", deviation);
    printf("figure %.6g %s deviation %s op %.6g ns ops %lu experiments %lu\n", figure, unit, text,
           op_ns, ops, experiments);
    return 0;
}

/* Sums over experiments. */
struct experiments {
    double sum, squares;
    unsigned long count;
};

static inline void add_experiment(struct experiments *all, double figure)
{
    all->sum += figure;
    all->squares += figure * figure;
    all->count++;
}

static inline double mean_of(const struct experiments *all)
{
    return all->sum / (double)all->count;
}

/* The deviation of experiments, -1 of fewer than two. */
static inline double deviation_of(const struct experiments *all)
{
    double n = (double)all->count, mean = mean_of(all);
    double variance = (all->squares - n * mean * mean) / (n - 1);
    if (all->count < 2)
        return -1;
    return variance > 0 ? sqrt(variance) : 0;
}

#if defined(__x86_64__)
/* The processor's counter, as read by the studies that name RDTSC. */
INLINE uint64_t rdtsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}
#else
/* The counter of other processors. */
INLINE uint64_t rdtsc(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
    return ticks;
}
#endif

/* Ticks of the counter in a nanosecond, over a twentieth of a second. */
static inline double ticks_per_ns(void)
{
    uint64_t began = now_ns(), ticks = rdtsc(), ended;
    do
        ended = now_ns();
    while (ended - began < 50000000);
    return (double)(rdtsc() - ticks) / (double)(ended - began);
}

#endif
