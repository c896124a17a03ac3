/* The study's program in C: one of ten functions, called a million times
 * through a pointer that the compiler must read again for each call, between
 * two reads of CLOCK_REALTIME. It is compiled as the study says (-O2) and
 * linked dynamically with the C library. Added are the sum that n must have,
 * and a line with the time of one call.
 *
 * cs161 -0|t|s|C|c|P|p|b|x|o */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 1000000 };

static void *initial_brk;

static unsigned f_return0(void) {
    return 0;
}
static unsigned f_getpid(void) {
    return getpid();
}
static unsigned f_getppid(void) {
    return getppid();
}
static unsigned f_time(void) {
    return time(NULL);
}
static unsigned f_clock_gettime(void) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return ts.tv_nsec;
}
static unsigned f_clock_gettime_coarse(void) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME_COARSE, &ts);
    return ts.tv_nsec;
}
static unsigned f_sbrk(void) {
    return (uintptr_t)sbrk(0);
}
static unsigned f_brk(void) {
    return brk(initial_brk);
}
static unsigned f_open_close(void) {
    int fd = open("/dev/null", O_RDONLY);
    close(fd);
    return fd;
}
static unsigned f_close(void) {
    return close(0);
}

/* The sums that CALLS results of one function can have. */
struct range {
    unsigned long low, high;
};

static struct range sum_of(unsigned long each) {
    return (struct range){each * CALLS, each * CALLS};
}

static struct range sum(int function, unsigned long start_s) {
    /* Straight from the kernel, whatever the C library has kept. */
    switch (function) {
    case 'p':
        return sum_of(syscall(SYS_getpid));
    case 'P':
        return sum_of(syscall(SYS_getppid));
    case 's':
        return sum_of((unsigned)syscall(SYS_brk, 0));
    case 't':
        return (struct range){start_s * CALLS, time(NULL) * CALLS};
    case 'c':
    case 'C':
        return (struct range){1, 999999999ul * CALLS};
    case 'o':
        /* Always the same descriptor: the lowest that is free, which is 3
         * unless the program was started with more of them open. */
        return (struct range){3ul * CALLS, 1023ul * CALLS};
    case 'x':
        /* The first close succeeds, and -1 is the result of all others. */
        return (struct range){0xfffffffful * (CALLS - 1),
                              0xfffffffful * (CALLS - 1)};
    default:
        return sum_of(0);
    }
}

static void usage(void) {
    fprintf(stderr, "Usage: cs161 -[0tsCcPpbxo]\n");
    exit(2);
}

int main(int argc, char **argv) {
    unsigned (*volatile f)(void) = f_getpid;
    int function = 'p';
    initial_brk = sbrk(0);
    int opt;
    while ((opt = getopt(argc, argv, "0pPtcCsbox")) != -1) {
        function = opt;
        switch (opt) {
        case '0':
            f = f_return0;
            break;
        case 'p':
            f = f_getpid;
            break;
        case 'P':
            f = f_getppid;
            break;
        case 't':
            f = f_time;
            break;
        case 'c':
            f = f_clock_gettime;
            break;
        case 'C':
            f = f_clock_gettime_coarse;
            break;
        case 's':
            f = f_sbrk;
            break;
        case 'b':
            f = f_brk;
            break;
        case 'o':
            f = f_open_close;
            break;
        case 'x':
            f = f_close;
            break;
        default:
            usage();
        }
    }
    if (optind != argc)
        usage();

    unsigned long start_s = time(NULL);

    struct timespec ts0;
    clock_gettime(CLOCK_REALTIME, &ts0);
    unsigned long n = 0;
    for (unsigned i = 0; i != CALLS; ++i) {
        n += f();
    }
    struct timespec ts1;
    clock_gettime(CLOCK_REALTIME, &ts1);

    double t0 = ts0.tv_sec + ts0.tv_nsec / 1e9;
    double t1 = ts1.tv_sec + ts1.tv_nsec / 1e9;
    struct range right = sum(function, start_s);
    printf("result: %lu in %.06fs\n", n, t1 - t0);
    int same = function != 'o' || n % CALLS == 0;
    if (n < right.low || n > right.high || !same) {
        fprintf(stderr, "n must be from %lu to %lu\n", right.low, right.high);
        return 1;
    }
    printf("%.4f ns a call\n", (t1 - t0) / CALLS * 1e9);
    return 0;
}
