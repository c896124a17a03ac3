/* ph-2000, as its text says, by the base column: what HBench-OS times, ten times: a loop of calls,
 * fork() with an exit, with an exec() of a program that greets the world, and that program by
 * system(). The mean of ten runs, and their deviation, in microseconds. */
#include "study.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { RUNS = 10 };
/* Of one run: long against the microsecond of gettimeofday(). */
enum { CALLS = 1000000, PROCESSES = 500 };

static const struct study_options *options;

/* What HBench-OS measures with. */
static double time_of_day_us(void)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    return (double)now.tv_sec * 1e6 + (double)now.tv_usec;
}

/* Ten runs of so many, the mean of each run, and one run before them that does not count. */
#define TEN_RUNS(ops, statement) \
    { \
        struct experiments all = {0}; \
        uint64_t began = now_ns(); \
        for (int run = 0; run <= RUNS && !(run > 2 && time_is_up(options, began)); run++) { \
            double start = time_of_day_us(), us; \
            for (unsigned long op = 0; op < (ops); op++) { \
                statement; \
            } \
            us = (time_of_day_us() - start) / (ops); \
            if (run > 0) \
                add_experiment(&all, us); \
        } \
        return print_figure(mean_of(&all), "us", deviation_of(&all), mean_of(&all) * 1e3, (ops), \
                            all.count); \
    }

static void handle(int number)
{
    (void)number;
}

static void wait_for(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        fail("a child");
}

/* fork(), and in the child the program, or an exit. */
static void make_process(const char *program)
{
    pid_t child = fork();
    if (child == 0) {
        if (options->peer_cpu != options->cpu)
            pin(options->peer_cpu);
        if (program != NULL)
            execl(program, program, (char *)NULL);
        _exit(program != NULL);
    }
    wait_for(child);
}

int main(int count, char **words)
{
    struct study_options given = parse_options(count, words);
    char program[4096];
    struct rusage usage;
    struct timeval now;
    struct sigaction action = {0};
    int nothing = open("/dev/null", O_WRONLY), output;
    options = &given;
    snprintf(program, sizeof program, "%s/hello", options->folder);
    action.sa_handler = handle;
    if (is_act(options, "getpid"))
        TEN_RUNS(CALLS, USED(getpid()))
    if (is_act(options, "getrusage"))
        TEN_RUNS(CALLS, USED(getrusage(RUSAGE_SELF, &usage)))
    /* Linux 2.2 had no vDSO: the call itself. */
    if (is_act(options, "gettimeofday"))
        TEN_RUNS(CALLS, USED(syscall(SYS_gettimeofday, &now, NULL)))
    if (is_act(options, "gettimeofday-libc"))
        TEN_RUNS(CALLS, USED(gettimeofday(&now, NULL)))
    if (is_act(options, "sigaction"))
        TEN_RUNS(CALLS, USED(sigaction(SIGUSR1, &action, NULL)))
    if (is_act(options, "write"))
        TEN_RUNS(CALLS, USED(write(nothing, "x", 1)))
    if (is_act(options, "null"))
        TEN_RUNS(PROCESSES, make_process(NULL))
    /* What the programs print goes nowhere; the line below is ours. */
    output = dup(STDOUT_FILENO);
    dup2(nothing, STDOUT_FILENO);
    stdout = fdopen(output, "w");
    fcntl(output, F_SETFD, FD_CLOEXEC);
    if (is_act(options, "simple"))
        TEN_RUNS(PROCESSES, make_process(program))
    if (is_act(options, "sh"))
        TEN_RUNS(PROCESSES, if (system(program) != 0) fail("system"))
    return unknown_act(options);
}
