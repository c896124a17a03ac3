/* The study's acts, as its text describes them: compiled without optimisation,
 * linked with the C library dynamically, on one CPU, timed by getticks() and
 * elapsed() of FFTW's cycle.h.
 *
 * cse221 getticks|elapsed|loop|getppid|fork|fork-run|thread|thread-run|
 *        process-switch|thread-switch
 * cse221 call ARGUMENTS */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __OPTIMIZE__
#error "the study's compiler did not optimise"
#endif

/* "Modified to be of inline attribute": without optimisation, gcc obeys only
 * this attribute. */
#define INLINE static inline __attribute__((always_inline))

typedef unsigned long long ticks;

INLINE ticks getticks(void) {
#ifdef __aarch64__
    ticks now;
    asm volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    unsigned low, high;
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
    return (ticks)low | (ticks)high << 32;
#endif
}

INLINE double elapsed(ticks t1, ticks t0) {
    return (double)t1 - (double)t0;
}

static void fail(const char *why) {
    perror(why);
    exit(1);
}

static void check(int right, const char *what) {
    if (!right) {
        fprintf(stderr, "wrong: %s\n", what);
        exit(1);
    }
}

/* The mean ticks of an op in one experiment. */
typedef double experiment(int ops);

static double e_getticks(int ops) {
    double sum = 0;
    for (int op = 0; op < ops; op++) {
        ticks t0 = getticks();
        ticks t1 = getticks();
        sum += elapsed(t1, t0);
    }
    return sum / ops;
}

/* What getticks() takes, measured before the act. */
static double reading;

static volatile double difference;

static double e_elapsed(int ops) {
    double sum = 0;
    ticks before = getticks();
    for (int op = 0; op < ops; op++) {
        ticks t0 = getticks();
        difference = elapsed(t0, before);
        ticks t1 = getticks();
        sum += elapsed(t1, t0) - reading;
    }
    return sum / ops;
}

static double e_loop(int ops) {
    int i;
    ticks t0 = getticks();
    for (i = 0; i < ops; i++)
        ;
    ticks t1 = getticks();
    check(i == ops, "the number of iterations");
    return (elapsed(t1, t0) - reading) / ops;
}

/* No processing, and no return statement. All begin at a line of the cache. */
#define AT_LINE static __attribute__((aligned(64)))
AT_LINE void f0(void) {}
AT_LINE void f1(int a) {}
AT_LINE void f2(int a, int b) {}
AT_LINE void f3(int a, int b, int c) {}
AT_LINE void f4(int a, int b, int c, int d) {}
AT_LINE void f5(int a, int b, int c, int d, int e) {}
AT_LINE void f6(int a, int b, int c, int d, int e, int f) {}
AT_LINE void f7(int a, int b, int c, int d, int e, int f, int g) {}

/* A loop of calls, so many instructions behind the beginning of a line. The
 * reading is included, as in figure 1. */
#define TIMED_CALL(NAME, BEHIND, CALL)                                  \
    static double NAME##_##BEHIND(int ops) {                            \
        double sum = 0;                                                 \
        asm volatile(".balign 64\n.rept " #BEHIND "\nnop\n.endr");      \
        for (int op = 0; op < ops; op++) {                              \
            ticks t0 = getticks();                                      \
            CALL;                                                       \
            ticks t1 = getticks();                                      \
            sum += elapsed(t1, t0);                                     \
        }                                                               \
        return sum / ops;                                               \
    }

/* Where the loop happens to lie moves its figure by as much as four arguments
 * do. The study's program had one place for each; here each is at the same
 * twenty, and the experiments go through them. (An instruction that does
 * nothing has one byte on x86-64, and four on aarch64.) */
enum { PLACES = 20 };
#define AT_ALL_PLACES(X, NAME, CALL)                                        \
    X(NAME, 0, CALL) X(NAME, 3, CALL) X(NAME, 6, CALL) X(NAME, 9, CALL)     \
    X(NAME, 12, CALL) X(NAME, 15, CALL) X(NAME, 18, CALL) X(NAME, 21, CALL) \
    X(NAME, 24, CALL) X(NAME, 27, CALL) X(NAME, 30, CALL) X(NAME, 33, CALL) \
    X(NAME, 36, CALL) X(NAME, 39, CALL) X(NAME, 42, CALL) X(NAME, 45, CALL) \
    X(NAME, 48, CALL) X(NAME, 51, CALL) X(NAME, 54, CALL) X(NAME, 57, CALL)
#define IN_TABLE(NAME, BEHIND, CALL) NAME##_##BEHIND,
#define TIMED_CALLS(NAME, CALL)              \
    AT_ALL_PLACES(TIMED_CALL, NAME, CALL)    \
    static experiment *const NAME[PLACES] = {\
        AT_ALL_PLACES(IN_TABLE, NAME, CALL)  \
    };

TIMED_CALLS(call0, f0())
TIMED_CALLS(call1, f1(1))
TIMED_CALLS(call2, f2(1, 2))
TIMED_CALLS(call3, f3(1, 2, 3))
TIMED_CALLS(call4, f4(1, 2, 3, 4))
TIMED_CALLS(call5, f5(1, 2, 3, 4, 5))
TIMED_CALLS(call6, f6(1, 2, 3, 4, 5, 6))
TIMED_CALLS(call7, f7(1, 2, 3, 4, 5, 6, 7))

static experiment *const *const calls[] = {
    call0, call1, call2, call3, call4, call5, call6, call7,
};

static double e_getppid(int ops) {
    double sum = 0;
    long results = 0;
    for (int op = 0; op < ops; op++) {
        ticks t0 = getticks();
        pid_t parent = getppid();
        ticks t1 = getticks();
        sum += elapsed(t1, t0) - reading;
        results += parent;
    }
    check(results == ops * syscall(SYS_getppid), "the results of getppid()");
    return sum / ops;
}

static void end_of(pid_t child) {
    int status;
    pid_t ended = waitpid(child, &status, 0);
    check(ended == child && status == 0, "a child's exit");
}

static double e_fork(int ops) {
    double sum = 0;
    for (int op = 0; op < ops; op++) {
        ticks t0 = getticks();
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        ticks t1 = getticks();
        if (child < 0)
            fail("fork");
        sum += elapsed(t1, t0);
        end_of(child);
    }
    return sum / ops;
}

/* When the child or the thread ran first. */
static volatile ticks *ran;

static double e_fork_run(int ops) {
    double sum = 0;
    for (int op = 0; op < ops; op++) {
        *ran = 0;
        ticks t0 = getticks();
        pid_t child = fork();
        if (child == 0) {
            *ran = getticks();
            _exit(0);
        }
        if (child < 0)
            fail("fork");
        end_of(child);
        check(*ran != 0, "the child's time");
        sum += elapsed(*ran, t0);
    }
    return sum / ops;
}

static void *thread(void *argument) {
    *ran = getticks();
    return argument;
}

static double of_threads(int ops, int until_runs) {
    double sum = 0;
    for (int op = 0; op < ops; op++) {
        pthread_t id;
        *ran = 0;
        ticks t0 = getticks();
        int error = pthread_create(&id, NULL, thread, NULL);
        ticks t1 = getticks();
        check(error == 0 && pthread_join(id, NULL) == 0, "a thread");
        check(*ran != 0, "the thread's time");
        sum += elapsed(until_runs ? *ran : t1, t0);
    }
    return sum / ops;
}

static double e_thread(int ops) {
    return of_threads(ops, 0);
}

static double e_thread_run(int ops) {
    return of_threads(ops, 1);
}

static void put(int fd, const void *bytes, size_t size) {
    check(write(fd, bytes, size) == (ssize_t)size, "a write to a pipe");
}

static void get(int fd, void *bytes, size_t size) {
    check(read(fd, bytes, size) == (ssize_t)size, "a read from a pipe");
}

/* From a child that takes the time, writes it and exits, to the parent that
 * waited for it. The cost of write() and read(), measured without a switch, is
 * subtracted. */
static double e_process_switch(int ops) {
    int fds[2];
    if (pipe(fds) != 0)
        fail("pipe");
    double both = 0, sum = 0;
    ticks t0;
    for (int op = 0; op < ops; op++) {
        ticks from = getticks();
        put(fds[1], &from, sizeof from);
        get(fds[0], &t0, sizeof t0);
        both += elapsed(getticks(), t0);
    }
    for (int op = 0; op < ops; op++) {
        pid_t child = fork();
        if (child == 0) {
            t0 = getticks();
            put(fds[1], &t0, sizeof t0);
            exit(0);
        }
        if (child < 0)
            fail("fork");
        end_of(child);
        get(fds[0], &t0, sizeof t0);
        sum += elapsed(getticks(), t0);
    }
    close(fds[0]), close(fds[1]);
    return (sum - both) / ops;
}

struct ends {
    int from, to, trips;
    double took;
};

static void *first(void *argument) {
    struct ends *ends = argument;
    char byte = 1;
    ticks t0 = getticks();
    for (int trip = 0; trip < ends->trips; trip++) {
        put(ends->to, &byte, 1);
        get(ends->from, &byte, 1);
    }
    ends->took = elapsed(getticks(), t0);
    return argument;
}

static void *second(void *argument) {
    struct ends *ends = argument;
    char byte = 1;
    for (int trip = 0; trip < ends->trips; trip++) {
        get(ends->from, &byte, 1);
        put(ends->to, &byte, 1);
    }
    return argument;
}

/* Two threads, a byte back and forth: two switches a trip. */
static double e_thread_switch(int ops) {
    int p1[2], p2[2];
    if (pipe(p1) != 0 || pipe(p2) != 0)
        fail("pipe");
    struct ends a = {p2[0], p1[1], ops / 2, 0}, b = {p1[0], p2[1], ops / 2, 0};
    pthread_attr_t system;
    pthread_attr_init(&system);
    pthread_attr_setscope(&system, PTHREAD_SCOPE_SYSTEM);
    pthread_t ta, tb;
    check(pthread_create(&ta, &system, first, &a) == 0, "a thread");
    check(pthread_create(&tb, &system, second, &b) == 0, "a thread");
    check(pthread_join(ta, NULL) == 0, "the end of a thread");
    check(pthread_join(tb, NULL) == 0, "the end of a thread");
    close(p1[0]), close(p1[1]), close(p2[0]), close(p2[1]);
    return a.took / ops;
}

static const struct act {
    const char *name;
    experiment *run;
    int ops, experiments;
} acts[] = {
    {"getticks", e_getticks, 10000, 100},
    {"elapsed", e_elapsed, 10000, 100},
    {"loop", e_loop, 10000, 100},
    {"getppid", e_getppid, 10000, 1},
    {"fork", e_fork, 10000, 1},
    {"fork-run", e_fork_run, 10000, 1},
    {"thread", e_thread, 10000, 1},
    {"thread-run", e_thread_run, 10000, 1},
    {"process-switch", e_process_switch, 10000, 1},
    {"thread-switch", e_thread_switch, 2000, 100},
};

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

/* taskset -c 0, on a CPU that this process may use. */
static void stay_here(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        fail("sched_setaffinity");
}

int main(int argc, char **argv) {
    struct act act = {NULL, NULL, 1000, 100};
    experiment *const *places = &act.run;
    size_t number_of_places = 1;
    if (argc == 3 && strcmp(argv[1], "call") == 0 && strlen(argv[2]) == 1 &&
        argv[2][0] >= '0' && argv[2][0] <= '7')
        places = calls[argv[2][0] - '0'], number_of_places = PLACES;
    for (size_t i = 0; argc == 2 && i < sizeof acts / sizeof *acts; i++)
        if (strcmp(argv[1], acts[i].name) == 0)
            act = acts[i];
    if (places[0] == NULL) {
        fprintf(stderr, "Usage: cse221 ACT, or cse221 call 0..7\n");
        return 2;
    }
    stay_here();
    int cpu = sched_getcpu();
    ran = mmap(NULL, sizeof *ran, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ran == MAP_FAILED)
        fail("mmap");
    double start_ns = now_ns();
    ticks start = getticks();
    reading = e_getticks(10000 * 10);
    double sum = 0, squares = 0;
    for (int i = 0; i < act.experiments; i++) {
        double mean = places[i % number_of_places](act.ops);
        sum += mean;
        squares += mean * mean;
    }
    check(sched_getcpu() == cpu, "the CPU");
    /* The ticks of the counter in nanoseconds, over the whole run. */
    double tick_ns = (now_ns() - start_ns) / elapsed(getticks(), start);
    double mean = sum / act.experiments;
    double variance = squares / act.experiments - mean * mean;
    printf("%d times %d ops, %.3f ticks a ns\n", act.experiments, act.ops,
           1 / tick_ns);
    printf("mean %.4f ns\n", mean * tick_ns);
    printf("deviation %.4f ns\n", sqrt(variance > 0 ? variance : 0) * tick_ns);
    printf("reading %.4f ns\n", reading * tick_ns);
    return 0;
}
