/* What the calls of several families need: macros, buffers, children, files, pages. */
#ifndef SHARED_H
#define SHARED_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../timing.h"

/* Of Linux 6.3. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

enum { PAGE = 4096, MIB = 1 << 20, HUGE_PAGE = 2 * MIB };

/* The instruction itself, without a function around it: the return from syscall(2), right behind the
 * call, may change the state of the predictors in which the kernel's own returns run, by a third of
 * the call (docs/explanation/BIAS.md). */
#define IN_LINE static inline __attribute__((always_inline))
IN_LINE long raw_call(long number, long a, long b, long c, long d, long e, long f)
{
#ifdef __x86_64__
    register long rdi __asm__("rdi") = a, rsi __asm__("rsi") = b, rdx __asm__("rdx") = c,
                  r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "+a"(number)
                     : "r"(rdi), "r"(rsi), "r"(rdx), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return number;
#else
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b,
                  x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e,
                  x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#endif
}
#define RAW_WITH(number, a, b, c, d, e, f, ...) \
    raw_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* What the kernel returns: a negative error number if it refuses. */
#define raw(...) RAW_WITH(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

/* A call with this result, one that fails with this error, and one whose descriptor is closed. */
#define RAW(result, ...) wrong |= raw(__VA_ARGS__) != (long)(result);
#define RAW_AT_LEAST(result, ...) wrong |= raw(__VA_ARGS__) < (long)(result);
#define RAW_FAILS(error, ...) wrong |= raw(__VA_ARGS__) != -(error);
#define RAW_OPEN(...) wrong |= raw(SYS_close, raw(__VA_ARGS__)) != 0;
/* What the C library's function returns is right. */
#define RIGHT(...) wrong |= !(__VA_ARGS__);

static int fd, other_fd, folder_fd, self;
static long size;
static char buffer[64 << 10] __attribute__((aligned(PAGE)));
static struct stat status;
static struct statfs space;
/* The kernel's set of SIGUSR1. */
static const uint64_t usr1 = 1ULL << (SIGUSR1 - 1);
static const struct timespec no_time;

/* Children that sleep; killed and reaped at the end. */
static pid_t children[100];
static int child_count;

static void end_children(void)
{
    for (int at = 0; at < child_count; at++)
        kill(children[at], SIGKILL);
    for (int at = 0; at < child_count; at++)
        waitpid(children[at], NULL, 0);
}

/* Starts children that sleep, after they have written a value to these bytes. */
static int start_children(int count, char *bytes, size_t length, char value)
{
    int ends[2];
    char byte;
    if (count < 1 || count > 100 || atexit(end_children) != 0 || pipe(ends) != 0)
        return 1;
    for (; child_count < count; child_count++) {
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            memset(bytes, value, length);
            if (write(ends[1], "x", 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
        children[child_count] = child;
        if (read(ends[0], &byte, 1) != 1)
            return 1;
    }
    /* They still have to fall asleep. */
    usleep(2000);
    return close(ends[0]) != 0 || close(ends[1]) != 0;
}

static int self_ready(const char *with)
{
    (void)with;
    self = getpid();
    return 0;
}

static int size_ready(const char *with)
{
    size = strtol(with, NULL, 10);
    return size < 1 || size > (long)sizeof buffer;
}

/* Private anonymous memory of small pages from a multiple of 2 MiB on, with nothing beside it. */
static char *new_pages(size_t bytes)
{
    char *room = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)room % HUGE_PAGE;
    if ((before != 0 && munmap(room, before) != 0) ||
        munmap(room + before + bytes, HUGE_PAGE - before) != 0 ||
        madvise(room + before, bytes, MADV_NOHUGEPAGE) != 0)
        return NULL;
    return room + before;
}

static char *written_pages(size_t bytes)
{
    char *pages = new_pages(bytes);
    if (pages != NULL)
        memset(pages, 1, bytes);
    return pages;
}

/* A file in memory of this length. */
static int new_memory_file(long bytes)
{
    int made = memfd_create("oscost", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (made < 0 && errno == EINVAL)
        made = memfd_create("oscost", MFD_CLOEXEC);
    return made < 0 || ftruncate(made, bytes) != 0 ? -1 : made;
}

/* Parts "FOLDER,WORD"; returns the word. */
static const char *folder_and_word(const char *with, char folder[PATH_MAX])
{
    const char *comma = strrchr(with, ',');
    if (comma == NULL || comma - with >= PATH_MAX)
        return NULL;
    memcpy(folder, with, comma - with);
    folder[comma - with] = '\0';
    return comma + 1;
}

static char own_folder[PATH_MAX];

/* Makes a folder of its own in a folder and opens it; returns the word. */
static const char *new_folder(const char *with)
{
    char folder[PATH_MAX];
    const char *word = folder_and_word(with, folder);
    if (word == NULL)
        return NULL;
    snprintf(own_folder, sizeof own_folder, "%.4000s/call-XXXXXX", folder);
    if (mkdtemp(own_folder) == NULL)
        return NULL;
    folder_fd = open(own_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder_fd < 0 ? NULL : word;
}

static int create(const char *name)
{
    int made = openat(folder_fd, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    return made < 0 || close(made) != 0;
}

/* A folder of its own that is empty, and one with an empty file. */
static int empty_ready(const char *with)
{
    return new_folder(with) == NULL;
}

static int folder_ready(const char *with)
{
    return new_folder(with) == NULL || create("file");
}

/* A file without a name in a folder, whose space is allocated; returns the word. */
static const char *new_file(const char *with, long bytes)
{
    char folder[PATH_MAX];
    const char *word = folder_and_word(with, folder);
    if (word == NULL)
        return NULL;
    fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd < 0 || (bytes != 0 && fallocate(fd, 0, 0, bytes) != 0) ? NULL : word;
}

/* A file in the working directory. */
static int inside_ready(const char *with)
{
    return folder_ready(with) || fchdir(folder_fd) != 0;
}

static char path[PATH_MAX];

static char *pages;

static int type;

static int type_ready(const char *with)
{
    type = strcmp(with, "dgram") == 0 ? SOCK_DGRAM
         : strcmp(with, "seqpacket") == 0 ? SOCK_SEQPACKET : SOCK_STREAM;
    return 0;
}

static int sockets[2];

#endif
