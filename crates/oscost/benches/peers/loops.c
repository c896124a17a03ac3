/* The peers of `make bench`: the loops that a C programmer would write around these ops.
 *
 *   loops CPU OP[=ARGUMENT] ITERATIONS GROUPS UNROLL...   times the op on that CPU as the engine does:
 *       warm-up of 3 ms, then GROUPS groups of batches, one batch for each unroll factor;
 *       one line a batch: group, unroll factor, nanoseconds, involuntary switches. ARGUMENT is
 *       what the op needs: a size in bytes, a number, another CPU, a file
 *   loops CPU -- COMMAND...                       runs a command on that CPU
 *
 * Only the loop is between two clock reads. Output is written at the end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timing.h"

static int null_fd;
static struct stat status;
static struct timespec now;

#define GETPID USED(getpid());
#define GETPPID USED(getppid());
#define WRITE wrong |= write(null_fd, "x", 1) != 1;
#define STAT wrong |= stat("/dev/null", &status) != 0;
#define OPEN_CLOSE wrong |= close(open("/dev/null", O_RDONLY)) != 0;
#define CLOCK_GETTIME \
    wrong |= clock_gettime(CLOCK_MONOTONIC, &now) != 0; \
    USED(now.tv_sec * 1000000000L + now.tv_nsec);

LOOPS(getpid_loop, GETPID)
LOOPS(getppid_loop, GETPPID)
LOOPS(write_loop, WRITE)
LOOPS(stat_loop, STAT)
LOOPS(open_close_loop, OPEN_CLOSE)
LOOPS(clock_gettime_loop, CLOCK_GETTIME)

/* Counts mappings, and written pages of private memory: what fork(2) has to copy. */
static void size_of_self(unsigned long *mappings, unsigned long *pages)
{
    char line[512];
    unsigned long kib;
    FILE *smaps = fopen("/proc/self/smaps", "r");
    *mappings = *pages = 0;
    while (smaps != NULL && fgets(line, sizeof line, smaps) != NULL) {
        if (strstr(line, "[vsyscall]") != NULL)
            break; /* The last mapping: it belongs to no process, and no fork copies it (x86). */
        *mappings += strncmp(line, "VmFlags:", 8) == 0;
        if (sscanf(line, "Anonymous: %lu", &kib) == 1)
            *pages += kib / 4;
    }
    if (smaps != NULL)
        fclose(smaps);
}

/* The kibibytes of page tables. */
static unsigned long page_tables_of_self(void)
{
    char line[512];
    unsigned long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "VmPTE: %lu", &kib) == 1)
            break;
    if (status != NULL)
        fclose(status);
    return kib;
}

/* Adds mappings and pages until this process has as many as another: "MAPPINGS,PAGES". */
static int grow_to(const char *with)
{
    enum { PAGE = 4096 };
    unsigned long want_mappings, want_pages, mappings, pages;
    if (sscanf(with, "%lu,%lu", &want_mappings, &want_pages) != 2)
        return 1;
    size_of_self(&mappings, &pages);
    /* Adjacent equal mappings are merged: every second one is made readable too. */
    for (unsigned long more = mappings; more < want_mappings; more++) {
        int access = more % 2 ? PROT_WRITE : PROT_READ | PROT_WRITE;
        char *page = mmap(NULL, PAGE, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            return 1;
        if (pages < want_pages) {
            *(volatile char *)page = 1;
            pages++;
        }
    }
    /* The rest is allocated from the C library's heap. */
    for (; pages < want_pages; pages++) {
        char *page = malloc(PAGE);
        if (page == NULL)
            return 1;
        memset(page, 1, PAGE);
    }
    return 0;
}

/* An op that is expensive enough for an unroll factor of one. */
static int wait_failed(pid_t child)
{
    int end = -1;
    return child < 0 || waitpid(child, &end, 0) != child || end != 0;
}

static int fork_exit_loop(unsigned long iterations)
{
    int wrong = 0;
    for (; iterations != 0; iterations--) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        wrong |= wait_failed(child);
    }
    return wrong;
}

static const char *program;

/* "MAPPINGS,PAGES,PROGRAM" */
static int program_ready(const char *with)
{
    program = strrchr(with, ',');
    return program == NULL || access(++program, X_OK) != 0 || grow_to(with);
}

static int fork_exec_loop(unsigned long iterations)
{
    static char *nothing[] = { NULL };
    char *arguments[] = { (char *)program, NULL };
    int wrong = 0;
    for (; iterations != 0; iterations--) {
        pid_t child = fork();
        if (child == 0) {
            execve(program, arguments, nothing);
            _exit(127);
        }
        wrong |= wait_failed(child);
    }
    return wrong;
}

static void *ends(void *with)
{
    return with;
}

static int create_join_loop(unsigned long iterations)
{
    int wrong = 0;
    for (; iterations != 0; iterations--) {
        pthread_t thread;
        wrong |= pthread_create(&thread, NULL, ends, NULL) != 0 || pthread_join(thread, NULL) != 0;
    }
    return wrong;
}

static int request[2], reply[2];

/* Starts a child on that CPU that answers each byte with one, until end of file. */
static int pipe_ready(const char *with)
{
    if (pipe(request) != 0 || pipe(reply) != 0)
        return 1;
    pid_t child = fork();
    if (child != 0)
        return child < 0 || close(request[0]) != 0 || close(reply[1]) != 0;
    char byte;
    if (!pin_to(with) || close(request[1]) != 0 || close(reply[0]) != 0)
        _exit(1);
    while (read(request[0], &byte, 1) == 1 && write(reply[1], &byte, 1) == 1)
        ;
    _exit(0);
}

static int pipe_loop(unsigned long iterations)
{
    char byte = 'x';
    int wrong = 0;
    for (; iterations != 0 && !wrong; iterations--)
        wrong = write(request[1], &byte, 1) != 1 || read(reply[0], &byte, 1) != 1;
    return wrong;
}

static size_t message_bytes;
static char *message;
static int counts[2];

/* The channel of messages. */
enum channel { PIPES, TCP, UNIX, UDP } channel;

/* Receives a whole message, in as many calls as it takes; returns whether all of it arrived. */
static int receive_all(int fd, char *into, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t given = channel == PIPES ? read(fd, into + done, bytes - done)
                                       : recv(fd, into + done, bytes - done, MSG_WAITALL);
        if (given <= 0)
            return 0;
        done += given;
    }
    return 1;
}

/* Sends a whole message; returns whether all of it was sent. */
static int send_all(int fd, const char *from, size_t bytes)
{
    return (channel == PIPES ? write(fd, from, bytes) : send(fd, from, bytes, MSG_NOSIGNAL)) ==
           (ssize_t)bytes;
}

/* Two connected UDP sockets on loopback. */
static int udp_pair(int ends[2])
{
    struct sockaddr_in at[2];
    socklen_t length = sizeof at[0];
    for (int end = 0; end < 2; end++) {
        at[end] = (struct sockaddr_in) { .sin_family = AF_INET };
        at[end].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ends[end] = socket(AF_INET, SOCK_DGRAM, 0);
        if (bind(ends[end], (void *)&at[end], length) != 0 ||
            getsockname(ends[end], (void *)&at[end], &length) != 0)
            return 1;
    }
    return connect(ends[0], (void *)&at[1], length) != 0 ||
           connect(ends[1], (void *)&at[0], length) != 0;
}

/* Both ends of a TCP connection over loopback, with TCP_NODELAY. */
static int tcp_pair(int ends[2])
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t length = sizeof at;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (void *)&at, length) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (void *)&at, &length) != 0)
        return 1;
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(ends[0], (void *)&at, length) != 0)
        return 1;
    ends[1] = accept(listener, NULL, NULL);
    close(listener);
    for (int end = 0; end < 2; end++)
        if (setsockopt(ends[end], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0)
            return 1;
    return 0;
}

/* The four descriptors of a message channel. */
static int open_channel(void)
{
    int ends[2];
    if (channel == PIPES)
        return pipe(request) != 0 || pipe(reply) != 0;
    if (channel == TCP ? tcp_pair(ends) : channel == UDP ? udp_pair(ends)
                     : socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return 1;
    request[1] = ends[0];
    reply[0] = dup(ends[0]);
    request[0] = ends[1];
    reply[1] = dup(ends[1]);
    return reply[0] < 0 || reply[1] < 0;
}

/* The descriptors and a child process, for messages: "BYTES,CPU", or "BYTES,CPU,CAPACITY" of pipes. */
static int messages_ready(const char *with, int streams)
{
    char cpu[16];
    int capacity = 0;
    enum { PAGE = 4096, ACK = 4 };
    if (sscanf(with, "%zu,%15[0-9],%d", &message_bytes, cpu, &capacity) < 2)
        return 1;
    size_t room = (message_bytes + PAGE - 1) / PAGE * PAGE;
    message = aligned_alloc(PAGE, room);
    if (message == NULL || open_channel() || pipe(counts) != 0)
        return 1;
    if (capacity != 0 && (fcntl(request[1], F_SETPIPE_SZ, capacity) != capacity ||
                          fcntl(reply[1], F_SETPIPE_SZ, capacity) != capacity))
        return 1;
    memset(message, 1, room);
    pid_t child = fork();
    if (child != 0)
        return child < 0 || close(request[0]) != 0 || close(reply[1]) != 0 || close(counts[0]) != 0;
    /* A datagram socket has no end of file: the child dies with kind parent. */
    if (!pin_to(cpu) || close(request[1]) != 0 || close(reply[0]) != 0 || close(counts[1]) != 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        _exit(1);
    unsigned long count;
    while (streams && read(counts[0], &count, sizeof count) == sizeof count) {
        for (; count != 0; count--)
            if (!receive_all(request[0], message, message_bytes))
                _exit(1);
        if (!send_all(reply[1], message, ACK))
            _exit(1);
    }
    while (!streams && receive_all(request[0], message, message_bytes))
        if (!send_all(reply[1], message, message_bytes))
            _exit(1);
    _exit(0);
}

static int trip_ready(const char *with)
{
    return messages_ready(with, 0);
}

static int stream_ready(const char *with)
{
    return messages_ready(with, 1);
}

#define CHANNEL(name, kind) \
    static int name##_trip_ready(const char *with) \
    { \
        channel = kind; \
        return messages_ready(with, 0); \
    } \
    static int name##_stream_ready(const char *with) \
    { \
        channel = kind; \
        return messages_ready(with, 1); \
    }
CHANNEL(tcp, TCP)
CHANNEL(unix_socket, UNIX)

static int udp_trip_ready(const char *with)
{
    channel = UDP;
    return messages_ready(with, 0);
}

static int trip_loop(unsigned long iterations)
{
    int wrong = 0;
    for (; iterations != 0 && !wrong; iterations--)
        wrong = !send_all(request[1], message, message_bytes) ||
                !receive_all(reply[0], message, message_bytes);
    return wrong;
}

/* Many messages, and one answer when all have arrived. */
static int stream(unsigned long messages)
{
    char answer[4];
    int wrong = write(counts[1], &messages, sizeof messages) != sizeof messages;
    for (; messages != 0 && !wrong; messages--)
        wrong = !send_all(request[1], message, message_bytes);
    return wrong || !receive_all(reply[0], answer, sizeof answer);
}

#define STREAM(factor) \
    static int stream_loop_##factor(unsigned long iterations) { return stream(iterations * factor); }
STREAM(1)
STREAM(2)
STREAM(4)
STREAM(8)

enum { REGION_BYTES = 8 << 20, PAGE_BYTES = 4096 };
static char *region;
static size_t touched = REGION_BYTES;

/* A new mapping when the old one has too few untouched pages for a batch. */
static int region_before(unsigned long iterations)
{
    if (touched + iterations * PAGE_BYTES <= REGION_BYTES)
        return 0;
    if (region != NULL && munmap(region, REGION_BYTES) != 0)
        return 1;
    touched = 0;
    region = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return region == MAP_FAILED || madvise(region, REGION_BYTES, MADV_NOHUGEPAGE) != 0;
}

static int zero_fill_loop(unsigned long iterations)
{
    for (; iterations != 0; iterations--) {
        *(volatile char *)(region + touched) = 1;
        touched += PAGE_BYTES;
    }
    return 0;
}

static size_t copied_bytes;
static char *from, *to;

static int copy_ready(const char *with)
{
    copied_bytes = strtoul(with, NULL, 10);
    from = aligned_alloc(PAGE_BYTES, (copied_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    to = aligned_alloc(PAGE_BYTES, (copied_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    if (from == NULL || to == NULL)
        return 1;
    memset(from, 1, copied_bytes);
    memset(to, 2, copied_bytes);
    return 0;
}

#define COPY memcpy(to, from, copied_bytes); __asm__ volatile("" : : "r"(to) : "memory");
LOOPS(copy_loop, COPY)

enum { READ_BYTES = 65536, FILE_BYTES = 8 << 20 };
static int file_fd;
static size_t file_at;

/* An unlinked file in the page cache. */
static int file_ready(const char *with)
{
    file_fd = open(with, O_TMPFILE | O_RDWR, 0600);
    to = aligned_alloc(PAGE_BYTES, READ_BYTES);
    if (file_fd < 0 || to == NULL)
        return 1;
    memset(to, 1, READ_BYTES);
    for (size_t at = 0; at < FILE_BYTES; at += READ_BYTES)
        if (write(file_fd, to, READ_BYTES) != READ_BYTES)
            return 1;
    return fsync(file_fd) != 0 || lseek(file_fd, 0, SEEK_SET) != 0;
}

static int file_before(unsigned long iterations)
{
    if (file_at + iterations * READ_BYTES <= FILE_BYTES)
        return 0;
    file_at = 0;
    return lseek(file_fd, 0, SEEK_SET) != 0;
}

static int read_loop(unsigned long iterations)
{
    int wrong = 0;
    for (; iterations != 0; iterations--) {
        wrong |= read(file_fd, to, READ_BYTES) != READ_BYTES;
        file_at += READ_BYTES;
    }
    return wrong;
}

static int set_fd;
static uint64_t ready_at;
static struct epoll_event event[2];

/* A set of pipes; the one in the middle has a byte. */
static int set_ready(const char *with)
{
    unsigned long pipes = strtoul(with, NULL, 10);
    set_fd = epoll_create1(EPOLL_CLOEXEC);
    ready_at = pipes / 2;
    for (uint64_t at = 0; at < pipes; at++) {
        int ends[2];
        struct epoll_event wanted = { .events = EPOLLIN, .data.u64 = at };
        if (pipe(ends) != 0 || epoll_ctl(set_fd, EPOLL_CTL_ADD, ends[0], &wanted) != 0)
            return 1;
        if (at == ready_at && write(ends[1], "x", 1) != 1)
            return 1;
    }
    return set_fd < 0;
}

#define EPOLL_WAIT \
    wrong |= epoll_wait(set_fd, event, 2, -1) != 1 || event[0].data.u64 != ready_at;
LOOPS(epoll_wait_loop, EPOLL_WAIT)

static int ready_fd;
static uint64_t one = 1;

/* An edge-triggered set of eventfds; the one in the middle is ready. */
static int edge_ready(const char *with)
{
    unsigned long counters = strtoul(with, NULL, 10);
    set_fd = epoll_create1(EPOLL_CLOEXEC);
    ready_at = counters / 2;
    for (uint64_t at = 0; at < counters; at++) {
        int fd = eventfd(0, EFD_CLOEXEC);
        struct epoll_event wanted = { .events = EPOLLIN | EPOLLET, .data.u64 = at };
        if (fd < 0 || epoll_ctl(set_fd, EPOLL_CTL_ADD, fd, &wanted) != 0)
            return 1;
        if (at == ready_at)
            ready_fd = fd;
    }
    return set_fd < 0 || write(ready_fd, &one, sizeof one) != sizeof one;
}

#define EPOLL_EDGE \
    wrong |= epoll_wait(set_fd, event, 2, -1) != 1 || event[0].data.u64 != ready_at \
        || read(ready_fd, &one, sizeof one) != sizeof one \
        || write(ready_fd, &one, sizeof one) != sizeof one;
LOOPS(epoll_edge_loop, EPOLL_EDGE)

static const struct op ops[] = {
#define OP(name, loops, ...) { name, loops##_1, loops##_2, loops##_4, loops##_8, __VA_ARGS__ }
    OP("getpid", getpid_loop, NULL, NULL),
    OP("getppid", getppid_loop, NULL, NULL),
    OP("write", write_loop, NULL, NULL),
    OP("stat", stat_loop, NULL, NULL),
    OP("open-close", open_close_loop, NULL, NULL),
    OP("clock-gettime", clock_gettime_loop, NULL, NULL),
    OP("copy", copy_loop, copy_ready, NULL),
    OP("epoll-wait", epoll_wait_loop, set_ready, NULL),
    OP("epoll-edge", epoll_edge_loop, edge_ready, NULL),
    { "fork-exit", fork_exit_loop, NULL, NULL, NULL, grow_to, NULL },
    { "fork-exec", fork_exec_loop, NULL, NULL, NULL, program_ready, NULL },
    { "create-join", create_join_loop, NULL, NULL, NULL, NULL, NULL },
    { "pipe", pipe_loop, NULL, NULL, NULL, pipe_ready, NULL },
    { "trip", trip_loop, NULL, NULL, NULL, trip_ready, NULL },
    OP("stream", stream_loop, stream_ready, NULL),
    { "tcp-trip", trip_loop, NULL, NULL, NULL, tcp_trip_ready, NULL },
    { "unix-trip", trip_loop, NULL, NULL, NULL, unix_socket_trip_ready, NULL },
    { "udp-trip", trip_loop, NULL, NULL, NULL, udp_trip_ready, NULL },
    OP("tcp-stream", stream_loop, tcp_stream_ready, NULL),
    OP("unix-stream", stream_loop, unix_socket_stream_ready, NULL),
    { "zero-fill", zero_fill_loop, NULL, NULL, NULL, NULL, region_before },
    { "read", read_loop, NULL, NULL, NULL, file_ready, file_before },
};

int main(int argc, char **argv)
{
    if (argc >= 4 && strcmp(argv[2], "--") == 0) {
        if (!pin_to(argv[1]))
            return failed("sched_setaffinity");
        execvp(argv[3], argv + 3);
        return failed(argv[3]) + 126;
    }
    if (argc == 3 && strcmp(argv[2], "memory") == 0) {
        unsigned long mappings, pages;
        size_of_self(&mappings, &pages);
        printf("%lu %lu %lu\n", mappings, pages, page_tables_of_self());
        return fflush(stdout) == 0 ? 0 : failed("stdout");
    }
    null_fd = open("/dev/null", O_WRONLY);
    if (null_fd < 0)
        return failed("/dev/null");
    return time_op(ops, sizeof ops / sizeof *ops, argc, argv);
}
