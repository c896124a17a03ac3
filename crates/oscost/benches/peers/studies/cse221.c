/* cse221-2014, as its text says: means of 10,000 ops (procedure calls: 1,000), each between two
 * reads of the processor's counter, and the mean and deviation over 100 such experiments (threads:
 * 1,000). Compiled without optimisation, as the text has it; getticks() and elapsed() are inlined
 * even so, as there. */
#include "study.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

typedef uint64_t ticks;

INLINE ticks getticks(void)
{
    return rdtsc();
}

INLINE double elapsed(ticks ended, ticks started)
{
    return (double)ended - (double)started;
}

static const struct study_options *options;
/* The mean of two reads in a row. */
static double read_overhead;

static int print_ticks(const struct experiments *all, unsigned long ops)
{
    double mean = mean_of(all);
    return print_figure(mean, "tick", deviation_of(all), mean / ticks_per_ns(), ops, all->count);
}

/* Experiments of so many ops, each between two reads; what is `less` is subtracted from their
 * means. `before` and `after` an op are not timed. */
#define EXPERIMENTS_OF(experiments_wanted, ops, less, before, op_text, after) \
    ({ \
        struct experiments all = {0}; \
        uint64_t began = now_ns(); \
        while (all.count < (experiments_wanted) && !time_is_up(options, began)) { \
            double sum = 0; \
            int op; \
            for (op = 0; op < (ops); op++) { \
                ticks start, end; \
                before; \
                start = getticks(); \
                op_text; \
                end = getticks(); \
                after; \
                sum += elapsed(end, start); \
            } \
            add_experiment(&all, sum / (ops) - (less)); \
        } \
        all; \
    })

static int loop(void)
{
    struct experiments all = {0};
    int experiment, i;
    for (experiment = 0; experiment < 100; experiment++) {
        ticks start = getticks();
        for (i = 0; i < 10000; i++)
            ;
        ticks end = getticks();
        add_experiment(&all, (elapsed(end, start) - read_overhead) / 10000);
    }
    return print_ticks(&all, 10000);
}

static int elapsed_function(void)
{
    double difference;
    ticks first = getticks(), second = getticks();
    struct experiments all =
        EXPERIMENTS_OF(100, 10000, read_overhead, , difference = elapsed(second, first), );
    USED(difference);
    return print_ticks(&all, 10000);
}

/* They do nothing with their arguments, and return nothing. */
#define UNUSED __attribute__((unused))
static void take_0(void)
{
}
static void take_1(UNUSED int a)
{
}
static void take_2(UNUSED int a, UNUSED int b)
{
}
static void take_3(UNUSED int a, UNUSED int b, UNUSED int c)
{
}
static void take_4(UNUSED int a, UNUSED int b, UNUSED int c, UNUSED int d)
{
}
static void take_5(UNUSED int a, UNUSED int b, UNUSED int c, UNUSED int d, UNUSED int e)
{
}
static void take_6(UNUSED int a, UNUSED int b, UNUSED int c, UNUSED int d, UNUSED int e,
                   UNUSED int f)
{
}
static void take_7(UNUSED int a, UNUSED int b, UNUSED int c, UNUSED int d, UNUSED int e,
                   UNUSED int f, UNUSED int g)
{
}

/* The reading is in the figure. */
#define CALL_EXPERIMENTS(call) \
    { \
        struct experiments all = EXPERIMENTS_OF(100, 1000, 0, , call, ); \
        return print_ticks(&all, 1000); \
    }

static int procedure_call(long arguments)
{
    switch (arguments) {
    case 0:
        CALL_EXPERIMENTS(take_0())
    case 1:
        CALL_EXPERIMENTS(take_1(1))
    case 2:
        CALL_EXPERIMENTS(take_2(1, 2))
    case 3:
        CALL_EXPERIMENTS(take_3(1, 2, 3))
    case 4:
        CALL_EXPERIMENTS(take_4(1, 2, 3, 4))
    case 5:
        CALL_EXPERIMENTS(take_5(1, 2, 3, 4, 5))
    case 6:
        CALL_EXPERIMENTS(take_6(1, 2, 3, 4, 5, 6))
    case 7:
        CALL_EXPERIMENTS(take_7(1, 2, 3, 4, 5, 6, 7))
    default:
        return unknown_act(options);
    }
}

/* The child's, or the thread's, own reading. */
static volatile ticks *shared;

/* Until fork() returns in the parent, or until the child runs. */
static int create_process(int until_it_runs)
{
    struct experiments all = {0};
    uint64_t began = now_ns();
    unsigned long ops = 0;
    while (all.count < 100 && !time_is_up(options, began)) {
        double sum = 0;
        /* An experiment is not cut short, unless it is the only one. */
        for (ops = 0; ops < 10000 && !(all.count == 0 && time_is_up(options, began)); ops++) {
            ticks start = getticks(), end;
            pid_t child = fork();
            if (child == 0) {
                *shared = getticks();
                _exit(0);
            }
            end = getticks();
            if (child < 0 || waitpid(child, NULL, 0) != child)
                fail("fork");
            sum += elapsed(until_it_runs ? *shared : end, start);
        }
        add_experiment(&all, sum / (double)ops);
    }
    return print_ticks(&all, ops);
}

static void *run_thread(void *argument)
{
    *shared = getticks();
    return argument;
}

/* Joined after each: the address space of today's machine would hold 10,000 stacks, that of the
 * study's would not. */
static int create_thread(int until_it_runs)
{
    pthread_t thread;
    struct experiments all = {0};
    uint64_t began = now_ns();
    while (all.count < 1000 && !time_is_up(options, began)) {
        double sum = 0;
        for (int op = 0; op < 10000; op++) {
            ticks start = getticks(), end;
            if (pthread_create(&thread, NULL, run_thread, NULL) != 0)
                fail("pthread_create");
            end = getticks();
            pthread_join(thread, NULL);
            sum += elapsed(until_it_runs ? *shared : end, start);
        }
        add_experiment(&all, sum / 10000);
    }
    return print_ticks(&all, 10000);
}

/* A child reads the counter, writes it into a pipe and exits; the parent waits for it, reads, and
 * reads the counter. What a write() and a read() cost without a switch is subtracted. */
static int process_switch(void)
{
    int ends[2];
    ticks sent;
    struct experiments calls, all = {0};
    uint64_t began = now_ns();
    if (pipe(ends) != 0)
        fail("pipe");
    sent = getticks();
    calls = EXPERIMENTS_OF(1, 10000, read_overhead, ,
                           if (write(ends[1], &sent, sizeof sent) != sizeof sent ||
                               read(ends[0], &sent, sizeof sent) != sizeof sent) fail("pipe"), );
    while (all.count < 10000 && !time_is_up(options, began)) {
        double sum = 0;
        for (int op = 0; op < 10000; op++) {
            pid_t child = fork();
            if (child == 0) {
                sent = getticks();
                /* "Immediately calls exit": not _exit(), as where it creates processes. */
                exit(write(ends[1], &sent, sizeof sent) != sizeof sent);
            }
            if (waitpid(child, NULL, 0) != child ||
                read(ends[0], &sent, sizeof sent) != sizeof sent)
                fail("the child");
            sum += elapsed(getticks(), sent);
        }
        add_experiment(&all, sum / 10000 - read_overhead - mean_of(&calls));
    }
    return print_ticks(&all, 10000);
}

static int there[2], back[2];

static void *answer(void *argument)
{
    char byte;
    pin(options->peer_cpu);
    for (int trip = 0; trip < 1000; trip++)
        if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
            fail("pipe");
    return argument;
}

static void *ask(void *duration)
{
    char byte = 'x';
    ticks start = getticks();
    for (int trip = 0; trip < 1000; trip++)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            fail("pipe");
    *(double *)duration = elapsed(getticks(), start);
    return NULL;
}

/* Two threads and two pipes: 1,000 trips are 2,000 switches; 100 times. */
static int thread_switch(void)
{
    struct experiments all = {0};
    if (pipe(there) != 0 || pipe(back) != 0)
        fail("pipe");
    while (all.count < 100) {
        pthread_attr_t system;
        pthread_t one, other;
        double duration;
        pthread_attr_init(&system);
        pthread_attr_setscope(&system, PTHREAD_SCOPE_SYSTEM);
        if (pthread_create(&one, &system, ask, &duration) != 0 ||
            pthread_create(&other, &system, answer, NULL) != 0)
            fail("pthread_create");
        pthread_join(one, NULL);
        pthread_join(other, NULL);
        pthread_attr_destroy(&system);
        add_experiment(&all, duration / 2000);
    }
    return print_ticks(&all, 2000);
}

int main(int count, char **words)
{
    struct study_options given = parse_options(count, words);
    struct experiments reading;
    long arguments;
    options = &given;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        fail("mmap");
    *shared = 0;
    reading = EXPERIMENTS_OF(100, 10000, 0, , , );
    read_overhead = mean_of(&reading);
    if (is_act(options, "getticks"))
        return print_ticks(&reading, 10000);
    if (is_act(options, "elapsed"))
        return elapsed_function();
    if (is_act(options, "loop"))
        return loop();
    if ((arguments = act_number(options, "call")) >= 0)
        return procedure_call(arguments);
    if (is_act(options, "getppid")) {
        struct experiments all = EXPERIMENTS_OF(1, 10000, read_overhead, , getppid(), );
        return print_ticks(&all, 10000);
    }
    if (is_act(options, "create-process"))
        return create_process(0);
    if (is_act(options, "create-and-run-process"))
        return create_process(1);
    if (is_act(options, "create-thread"))
        return create_thread(0);
    if (is_act(options, "create-and-run-thread"))
        return create_thread(1);
    if (is_act(options, "process-switch"))
        return process_switch();
    if (is_act(options, "thread-switch"))
        return thread_switch();
    return unknown_act(options);
}
