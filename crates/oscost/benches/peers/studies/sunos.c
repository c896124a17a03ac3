/* sunos-1999, as its text says: the mean of 1,000,000 calls (100,000 round trips), each between two
 * reads of the clock, less the mean of two reads in a row; 1,024,000 first touches of pages, by the
 * time of all; and one pass over a file of 128 MiB that is not cached, by the time of all. */
#include "study.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>

enum { CALLS = 1000000, TRIPS = 100000 };
enum { CHUNK = 8 << 20, TOUCHES = 1024000 };
static const size_t FILE_BYTES = 128 << 20;

/* The mean of so many, each between two reads of the clock. */
#define MEAN_OF_EACH(ops, statement) \
    ({ \
        uint64_t total = 0; \
        for (unsigned long op = 0; op < (ops); op++) { \
            uint64_t start = now_ns(); \
            statement; \
            total += now_ns() - start; \
        } \
        (double)total / (double)(ops); \
    })

static double clock_overhead(void)
{
    return MEAN_OF_EACH(CALLS, ;);
}

static int print_each(double mean, unsigned long ops)
{
    double ns = mean - clock_overhead();
    return print_figure(ns, "ns", -1, ns, ops, 1);
}

static void handle(int number)
{
    (void)number;
}

/* kill() there, and kill() back; each side waits in sigsuspend(), so that no signal is missed. */
static int signals(const struct study_options *options)
{
    sigset_t blocked, none;
    pid_t child, parent = getpid();
    double mean;
    sigemptyset(&none);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGUSR1, handle);
    child = fork_peer(options);
    for (; child == 0;) {
        sigsuspend(&none);
        kill(parent, SIGUSR1);
    }
    for (int warm_up = 0; warm_up < 1000; warm_up++) {
        kill(child, SIGUSR1);
        sigsuspend(&none);
    }
    mean = MEAN_OF_EACH(TRIPS, {
        kill(child, SIGUSR1);
        sigsuspend(&none);
    });
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return print_each(mean, TRIPS);
}

/* One byte there, and one back. */
static int pipes(const struct study_options *options)
{
    int there[2], back[2];
    char byte = 'x';
    double mean;
    pid_t child;
    if (pipe(there) != 0 || pipe(back) != 0)
        fail("pipe");
    child = fork_peer(options);
    while (child == 0)
        if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
            _exit(1);
    mean = MEAN_OF_EACH(TRIPS, {
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            fail("pipe");
    });
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return print_each(mean, TRIPS);
}

/* First touches of 8 MiB, again and again. mmap() and not malloc(): glibc keeps what it gets back,
 * so that the second time there would be no faults. No huge pages: the study counts small ones. */
static int zero_fill(const struct study_options *options)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned long touches = 0;
    uint64_t total = 0, began = now_ns();
    double ns;
    while (touches < TOUCHES && !time_is_up(options, began)) {
        char *chunk =
            mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uint64_t start;
        if (chunk == MAP_FAILED)
            fail("mmap");
        madvise(chunk, CHUNK, MADV_NOHUGEPAGE);
        start = now_ns();
        for (size_t at = 0; at < CHUNK; at += page)
            *(volatile char *)(chunk + at) = 1;
        total += now_ns() - start;
        touches += CHUNK / page;
        munmap(chunk, CHUNK);
    }
    ns = (double)total / (double)touches;
    return print_figure(ns, "ns", -1, ns, touches, touches / (CHUNK / page));
}

/* The path of the file, which is written once. */
static const char *file_of(const struct study_options *options)
{
    static char path[4096], block[1 << 20];
    struct stat status;
    int file;
    snprintf(path, sizeof path, "%s/study-128MiB", options->folder);
    if (stat(path, &status) == 0 && (size_t)status.st_size == FILE_BYTES)
        return path;
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    memset(block, 'x', sizeof block);
    for (size_t written = 0; written < FILE_BYTES; written += sizeof block)
        if (write(file, block, sizeof block) != sizeof block)
            fail(path);
    if (fsync(file) != 0)
        fail("fsync");
    close(file);
    return path;
}

/* Drops the file from the page cache; fails if a hundredth of it stays. */
static void drop(const char *path)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = FILE_BYTES / page, cached = 0;
    unsigned char *resident = malloc(pages);
    int file = open(path, O_RDONLY);
    void *map = MAP_FAILED;
    if (file >= 0 && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0)
        map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, file, 0);
    if (map == MAP_FAILED || mincore(map, FILE_BYTES, resident) != 0)
        fail(path);
    for (size_t index = 0; index < pages; index++)
        cached += resident[index] & 1;
    munmap(map, FILE_BYTES);
    close(file);
    free(resident);
    if (cached > pages / 100) {
        fprintf(stderr, "%zu of %zu pages of the file are still cached\n", cached, pages);
        exit(1);
    }
}

static int print_pass(uint64_t start, unsigned long reads, size_t size)
{
    double ns = (double)(now_ns() - start) / (double)reads;
    if (reads != FILE_BYTES / size) {
        fprintf(stderr, "only %lu reads\n", reads);
        return 1;
    }
    return print_figure(ns, "ns", -1, ns, reads, 1);
}

static int by_read(const char *path, size_t size, char *buffer)
{
    unsigned long reads = 0;
    int file = open(path, O_RDONLY);
    uint64_t start = now_ns();
    while (read(file, buffer, size) == (ssize_t)size)
        reads++;
    return print_pass(start, reads, size);
}

static int by_fread(const char *path, size_t size, char *buffer)
{
    unsigned long reads = 0;
    FILE *file = fopen(path, "r");
    uint64_t start = now_ns();
    while (fread(buffer, size, 1, file) == 1)
        reads++;
    return print_pass(start, reads, size);
}

static int by_mmap(const char *path, size_t size, char *buffer)
{
    unsigned long reads = 0;
    int file = open(path, O_RDONLY);
    const char *map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, file, 0);
    uint64_t start;
    if (map == MAP_FAILED)
        fail("mmap");
    start = now_ns();
    for (size_t at = 0; at < FILE_BYTES; at += size, reads++) {
        memcpy(buffer, map + at, size);
        USED(buffer);
    }
    return print_pass(start, reads, size);
}

static int file_read(const struct study_options *options, size_t size,
                     int (*way)(const char *, size_t, char *))
{
    static char buffer[65536];
    const char *path = file_of(options);
    if (size == 0 || size > sizeof buffer)
        return unknown_act(options);
    /* The buffer's own first touches are not the file's. */
    memset(buffer, 1, sizeof buffer);
    drop(path);
    return way(path, size, buffer);
}

int main(int count, char **words)
{
    struct study_options options = parse_options(count, words);
    struct utsname names;
    struct tms used;
    struct timespec now;
    long size;
    if (is_act(&options, "getpid"))
        return print_each(MEAN_OF_EACH(CALLS, USED(getpid())), CALLS);
    if (is_act(&options, "getppid"))
        return print_each(MEAN_OF_EACH(CALLS, USED(getppid())), CALLS);
    if (is_act(&options, "uname"))
        return print_each(MEAN_OF_EACH(CALLS, USED(uname(&names))), CALLS);
    if (is_act(&options, "times"))
        return print_each(MEAN_OF_EACH(CALLS, USED(times(&used))), CALLS);
    if (is_act(&options, "clock_gettime"))
        return print_each(MEAN_OF_EACH(CALLS, USED(clock_gettime(CLOCK_MONOTONIC, &now))), CALLS);
    if (is_act(&options, "signals"))
        return signals(&options);
    if (is_act(&options, "pipes"))
        return pipes(&options);
    if (is_act(&options, "zero-fill"))
        return zero_fill(&options);
    if ((size = act_number(&options, "read")) >= 0)
        return file_read(&options, (size_t)size, by_read);
    if ((size = act_number(&options, "fread")) >= 0)
        return file_read(&options, (size_t)size, by_fread);
    if ((size = act_number(&options, "mmap")) >= 0)
        return file_read(&options, (size_t)size, by_mmap);
    return unknown_act(&options);
}
