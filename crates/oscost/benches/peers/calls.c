/* The peers of `make bench` for calls of one process: loops that a C programmer would write from
 * the text of a benchmark's op, by syscall(2) where it says the raw instruction.
 *
 *   calls CPU OP[=ARGUMENT] ITERATIONS GROUPS UNROLL...   as `loops`; ARGUMENT is what the op
 *       needs: a word, a CPU, or a folder in which it makes one of its own, a comma, and a word
 *
 * Whoever gives a folder removes what is made in it.
 */
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

#include "timing.h"

/* Of Linux 6.3. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

enum { PAGE = 4096, MIB = 1 << 20, HUGE_PAGE = 2 * MIB };

/* A call with this result, one that fails with this error, and one whose descriptor is closed. */
#define RAW(result, ...) wrong |= syscall(__VA_ARGS__) != (result);
#define RAW_AT_LEAST(result, ...) wrong |= syscall(__VA_ARGS__) < (result);
#define RAW_FAILS(error, ...) wrong |= syscall(__VA_ARGS__) != -1 || errno != (error);
#define RAW_OPEN(...) wrong |= syscall(SYS_close, syscall(__VA_ARGS__)) != 0;
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

/* ---- descriptor ---- */

static int null_ready(const char *with)
{
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    other_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return self_ready(with) || other_fd < 0;
}

static int pipe_ready(const char *with)
{
    int ends[2];
    (void)with;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 1;
    fd = ends[0];
    return 0;
}

/* A free number in the table that a process starts with. */
enum { FREE_FD = 63 };

static unsigned memfd_flags = MFD_CLOEXEC | MFD_NOEXEC_SEAL;

static int memfd_ready(const char *with)
{
    (void)with;
    int made = memfd_create("oscost", memfd_flags);
    if (made < 0)
        memfd_flags = MFD_CLOEXEC;
    else
        close(made);
    return 0;
}

static int new_pipe(void)
{
    int ends[2];
    return pipe2(ends, O_CLOEXEC) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0;
}

static int type;

static int type_ready(const char *with)
{
    type = strcmp(with, "dgram") == 0 ? SOCK_DGRAM
         : strcmp(with, "seqpacket") == 0 ? SOCK_SEQPACKET : SOCK_STREAM;
    return 0;
}

static int new_pair(void)
{
    int ends[2];
    return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) == 0 && close(ends[0]) == 0 &&
           close(ends[1]) == 0;
}

/* A message of one byte with a descriptor. */
struct carrier {
    struct msghdr header;
    struct iovec part;
    char byte;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
};
static struct carrier sent, received;
static int sockets[2];

static void prepare_carrier(struct carrier *carrier)
{
    carrier->part = (struct iovec) { &carrier->byte, 1 };
    carrier->header.msg_iov = &carrier->part;
    carrier->header.msg_iovlen = 1;
    carrier->header.msg_control = &carrier->control;
    carrier->header.msg_controllen = sizeof carrier->control;
}

static int pass_ready(const char *with)
{
    prepare_carrier(&sent);
    prepare_carrier(&received);
    if (null_ready(with) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return 1;
    struct cmsghdr *control = CMSG_FIRSTHDR(&sent.header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(control), &fd, sizeof fd);
    return 0;
}

static int pass_descriptor(void)
{
    int passed;
    received.header.msg_controllen = sizeof received.control;
    if (sendmsg(sockets[0], &sent.header, 0) != 1 ||
        recvmsg(sockets[1], &received.header, MSG_CMSG_CLOEXEC) != 1 ||
        received.control.header.cmsg_type != SCM_RIGHTS || received.header.msg_flags & MSG_CTRUNC)
        return 0;
    memcpy(&passed, CMSG_DATA(&received.control.header), sizeof passed);
    return close(passed) == 0;
}

/* ---- directory ---- */

static int etc_ready(const char *with)
{
    (void)with;
    fd = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || chdir("/etc") != 0;
}

static char path[PATH_MAX];

/* A file at a path of so many components. */
static int depth_ready(const char *with)
{
    const char *word = new_folder(with);
    if (word == NULL)
        return 1;
    for (long depth = strtol(word, NULL, 10); depth > 1; depth--) {
        strcat(path, "d");
        if (mkdirat(folder_fd, path, 0700) != 0)
            return 1;
        strcat(path, "/");
    }
    strcat(path, "empty");
    return create(path);
}

/* So many symbolic links, from the first of which one leads to the next, and the last to a file. */
static int chain_ready(const char *with)
{
    const char *word = new_folder(with);
    if (word == NULL || create("file"))
        return 1;
    char content[32] = "file";
    long links = strtol(word, NULL, 10);
    for (long link = 1; link <= links; link++) {
        snprintf(path, sizeof path, "link-%ld", link);
        if (symlinkat(content, folder_fd, path) != 0)
            return 1;
        snprintf(content, sizeof content, "link-%ld", link);
    }
    return 0;
}

/* A symbolic link whose content has so many bytes. */
static int link_ready(const char *with)
{
    char content[PAGE] = "";
    const char *word = new_folder(with);
    if (word == NULL || size_ready(word) || size >= PAGE)
        return 1;
    memset(content, 'x', size);
    return symlinkat(content, folder_fd, "link") != 0;
}

/* struct open_how: flags, mode, resolve. */
static uint64_t how[3] = { O_RDONLY | O_CLOEXEC, 0, 0 };

/* A file in the working directory. */
static int inside_ready(const char *with)
{
    return folder_ready(with) || fchdir(folder_fd) != 0;
}

static int subfolder_ready(const char *with)
{
    return new_folder(with) == NULL || mkdirat(folder_fd, "empty", 0700) != 0;
}

static char entries[32 << 10];
static long entry_bytes;

/* All of the directory; returns the bytes of its entries, or -1. */
static long read_directory(void)
{
    long total = 0, bytes;
    if (lseek(folder_fd, 0, SEEK_SET) != 0)
        return -1;
    while ((bytes = syscall(SYS_getdents64, folder_fd, entries, sizeof entries)) > 0)
        total += bytes;
    return bytes < 0 ? -1 : total;
}

/* So many names of eight characters, links of one file. */
static int names_ready(const char *with)
{
    const char *word = new_folder(with);
    long names = word == NULL ? 0 : strtol(word, NULL, 10);
    if (names < 1 || create("f0000000"))
        return 1;
    for (long name = 1; name < names; name++) {
        snprintf(path, sizeof path, "f%07ld", name);
        if (linkat(folder_fd, "f0000000", folder_fd, path, 0) != 0)
            return 1;
    }
    entry_bytes = read_directory();
    return syncfs(folder_fd) != 0 || entry_bytes <= 0;
}

static int here_fd, there_fd;

static int across_ready(const char *with)
{
    if (new_folder(with) == NULL || mkdirat(folder_fd, "here", 0700) != 0 ||
        mkdirat(folder_fd, "there", 0700) != 0 || create("here/file"))
        return 1;
    here_fd = openat(folder_fd, "here", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    there_fd = openat(folder_fd, "there", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return here_fd < 0 || there_fd < 0;
}

static int rename_across(void)
{
    int from = here_fd;
    here_fd = there_fd;
    there_fd = from;
    return renameat2(from, "file", here_fd, "file", 0) == 0;
}

static int exchange_ready(const char *with)
{
    return new_folder(with) == NULL || create("one") || create("other");
}

static char value[16];

static int attribute_ready(const char *with)
{
    return new_file(with, PAGE) == NULL ||
           fsetxattr(fd, "user.oscost", value, sizeof value, 0) != 0;
}

/* ---- file ---- */

static int truncate_ready(const char *with)
{
    return new_file(with, PAGE) == NULL || ftruncate(fd, 0) != 0;
}

/* A file of 1 MiB, all of it allocated until the first op has made a hole. */
static int hole_ready(const char *with)
{
    const char *word = new_file(with, MIB);
    if (word == NULL)
        return 1;
    size = strtol(word, NULL, 10);
    return size < PAGE || size > MIB;
}

/* A file of 1 MiB that was written and synced; and /dev/null. */
static int synced_ready(const char *with)
{
    const char *word = new_file(with, MIB);
    if (word == NULL)
        return 1;
    for (size_t at = 0; at < sizeof buffer; at++)
        buffer[at] = 1 + at % 251;
    for (long at = 0; at < MIB; at += sizeof buffer)
        if (pwrite(fd, buffer, sizeof buffer, at) != sizeof buffer)
            return 1;
    size = strtol(word, NULL, 10);
    other_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return fsync(fd) != 0 || other_fd < 0;
}

static off_t offset;
static struct timespec file_times[2];

/* A file whose attributes are known. */
static int attributes_ready(const char *with)
{
    if (new_file(with, PAGE) == NULL || fstat(fd, &status) != 0)
        return 1;
    file_times[0] = status.st_atim;
    file_times[1] = status.st_mtim;
    return 0;
}

static struct iovec vectors[64];
static long vector_count;

/* So many adjacent buffers of 64 bytes, and a file in memory of as many bytes. */
static int vectors_ready(const char *with)
{
    vector_count = strtol(with, NULL, 10);
    if (vector_count < 1 || vector_count > 64)
        return 1;
    size = 64 * vector_count;
    for (long at = 0; at < vector_count; at++)
        vectors[at] = (struct iovec) { buffer + 64 * at, 64 };
    memset(buffer, 1, size);
    fd = new_memory_file(size);
    return fd < 0 || pwrite(fd, buffer, size, 0) != size;
}

static int pipes[2][2];
/* The pipe that is full. */
static int full;
static struct iovec whole;

/* Two pipes for so many bytes, of which the first is full; /dev/null; and pages of the program. */
static int pipes_ready(const char *with)
{
    if (size_ready(with))
        return 1;
    for (int at = 0; at < 2; at++)
        if (pipe2(pipes[at], O_CLOEXEC) != 0 || fcntl(pipes[at][0], F_SETPIPE_SZ, size) < size)
            return 1;
    whole = (struct iovec) { written_pages(size), size };
    memset(buffer, 1, size);
    other_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return whole.iov_base == NULL || other_fd < 0 || write(pipes[0][1], buffer, size) != size;
}

static int move_pages(void)
{
    int from = full;
    full ^= 1;
    return syscall(SYS_splice, pipes[from][0], NULL, pipes[full][1], NULL, size,
                   (long)SPLICE_F_NONBLOCK) == size;
}

/* The second pipe is emptied. */
#define SPLICE_OUT \
    RAW(size, SYS_splice, pipes[1][0], NULL, other_fd, NULL, size, (long)SPLICE_F_NONBLOCK)

static char *pages;

static int mapped_file_ready(const char *with)
{
    (void)with;
    fd = new_memory_file(PAGE);
    pages = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return fd < 0 || pages == MAP_FAILED;
}

/* ---- lock ---- */

static int set_command, get_command;
/* A byte behind all that are held, and the first one. */
static struct flock locked = { .l_type = F_WRLCK, .l_start = MIB, .l_len = 1 };
static struct flock unlocked = { .l_type = F_UNLCK, .l_start = MIB, .l_len = 1 };
static struct flock query = { .l_len = 1 };

/* An empty file, and so many locked bytes, none beside another. */
static int locks_ready(const char *with)
{
    const char *word = new_file(with, 0);
    if (word == NULL)
        return 1;
    long held = strtol(word, NULL, 10);
    for (long at = 0; at < held; at++) {
        struct flock lock = locked;
        lock.l_start = 2 * at;
        if (fcntl(fd, set_command, &lock) != 0)
            return 1;
    }
    return 0;
}

static int process_locks_ready(const char *with)
{
    set_command = F_SETLK;
    get_command = F_GETLK;
    return locks_ready(with);
}

static int open_file_locks_ready(const char *with)
{
    set_command = F_OFD_SETLK;
    get_command = F_OFD_GETLK;
    return locks_ready(with);
}

/* ---- sync: each object in lines of its own ---- */

#define ALONE __attribute__((aligned(128)))
static pthread_mutex_t mutex ALONE;
static pthread_rwlock_t rwlock ALONE = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition ALONE = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier ALONE;
static sem_t semaphore ALONE;
static uint64_t word64 ALONE;
static uint32_t futex_words[4] ALONE;

static void *sleep_for_ever(void *with)
{
    (void)with;
    for (;;)
        syscall(SYS_futex, futex_words, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0L);
    return NULL;
}

/* "KIND,THREADS" */
static int mutex_ready(const char *with)
{
    pthread_mutexattr_t kind;
    pthread_t thread;
    int error = pthread_mutexattr_init(&kind);
    const char *threads = strchr(with, ',');
    if (threads == NULL)
        return 1;
    if (strncmp(with, "normal,", 7) == 0)
        error |= pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_NORMAL);
    else if (strncmp(with, "recursive,", 10) == 0)
        error |= pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    else if (strncmp(with, "robust,", 7) == 0)
        error |= pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    else if (strncmp(with, "pi,", 3) == 0)
        error |= pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
    else
        return 1;
    error |= pthread_mutex_init(&mutex, &kind);
    if (strcmp(threads, ",2") == 0) {
        error |= pthread_create(&thread, NULL, sleep_for_ever, NULL);
        usleep(2000);
    }
    return error != 0;
}

static int semaphore_ready(const char *with)
{
    (void)with;
    return sem_init(&semaphore, 0, 0) != 0;
}

static int barrier_ready(const char *with)
{
    (void)with;
    return pthread_barrier_init(&barrier, NULL, 1) != 0;
}

/* A compare-exchange of 0 for 0. */
static inline int exchange_for_itself(void)
{
    uint64_t expected = 0;
    return __atomic_compare_exchange_n(&word64, &expected, 0, 0, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

#if defined(__x86_64__)
#define PAUSE __builtin_ia32_pause();
#else
#define PAUSE __asm__ volatile("isb" : : : "memory");
#endif
#define UNCHANGED RIGHT(__atomic_load_n(&word64, __ATOMIC_ACQUIRE) == 0)

/* ---- signal ---- */

static volatile long runs, told;
static volatile uintptr_t frame;
static sigset_t library_set;

static void count_run(int signal)
{
    char here;
    (void)signal;
    runs++;
    frame = (uintptr_t)&here;
}

static void count_run_with_info(int signal, siginfo_t *info, void *context)
{
    (void)context;
    told = (long)info->si_value.sival_ptr;
    count_run(signal);
}

static int ignored_ready(const char *with)
{
    return self_ready(with) || signal(SIGUSR2, SIG_IGN) == SIG_ERR;
}

static int set_ready(const char *with)
{
    (void)with;
    return sigemptyset(&library_set) != 0 || sigaddset(&library_set, SIGUSR1) != 0;
}

static int blocked_ready(const char *with)
{
    if (self_ready(with) || set_ready(with) || sigprocmask(SIG_BLOCK, &library_set, NULL) != 0)
        return 1;
    fd = signalfd(-1, &library_set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0;
}

static struct signalfd_siginfo read_info;

/* A handler with the flags of this word. */
static int handler_ready(const char *with)
{
    struct sigaction action = { .sa_handler = count_run };
    if (strcmp(with, "siginfo") == 0) {
        action.sa_sigaction = count_run_with_info;
        action.sa_flags = SA_SIGINFO;
    } else if (strcmp(with, "altstack") == 0) {
        stack_t stack = { .ss_sp = new_pages(64 << 10), .ss_size = 64 << 10 };
        action.sa_flags = SA_ONSTACK;
        if (stack.ss_sp == NULL || sigaltstack(&stack, NULL) != 0)
            return 1;
    } else if (strcmp(with, "nodefer") == 0) {
        action.sa_flags = SA_NODEFER;
    }
    return self_ready(with) || sigaction(SIGUSR1, &action, NULL) != 0;
}

static int handle(void)
{
    long before = runs;
    return syscall(SYS_tgkill, self, self, SIGUSR1) == 0 && runs == before + 1;
}

static int real_time_signal;
static siginfo_t queued;
static long last_value;

static int queue_ready(const char *with)
{
    struct sigaction action = { .sa_flags = SA_SIGINFO };
    action.sa_sigaction = count_run_with_info;
    real_time_signal = SIGRTMIN;
    if (self_ready(with) || sigaction(real_time_signal, &action, NULL) != 0)
        return 1;
    queued.si_signo = real_time_signal;
    queued.si_code = SI_QUEUE;
    queued.si_pid = self;
    queued.si_uid = getuid();
    return 0;
}

static int queue_raw(void)
{
    long before = runs;
    queued.si_value.sival_ptr = (void *)++last_value;
    return syscall(SYS_rt_sigqueueinfo, self, real_time_signal, &queued) == 0 &&
           runs == before + 1 && told == last_value;
}

static int queue_by_library(void)
{
    long before = runs;
    union sigval with = { .sival_ptr = (void *)++last_value };
    return sigqueue(self, real_time_signal, with) == 0 && runs == before + 1 && told == last_value;
}

/* ---- sched ---- */

/* Masks for 8192 CPUs. */
enum { MASK_BYTES = 1024 };
static unsigned long mask[MASK_BYTES / sizeof(long)], mask_there[MASK_BYTES / sizeof(long)];
static struct sched_param parameters;
static long nice_value, slack_ns;

static int mask_ready(const char *with)
{
    (void)with;
    return syscall(SYS_sched_getaffinity, 0, MASK_BYTES, mask) <= 0;
}

/* The other CPU. */
static int migration_ready(const char *with)
{
    unsigned long cpu = strtoul(with, NULL, 10), bits = 8 * sizeof(long);
    if (cpu >= 8 * MASK_BYTES)
        return 1;
    mask_there[cpu / bits] = 1UL << cpu % bits;
    return mask_ready(with);
}

static int nice_ready(const char *with)
{
    (void)with;
    nice_value = 20 - syscall(SYS_getpriority, PRIO_PROCESS, 0);
    return nice_value > 19;
}

static int slack_ready(const char *with)
{
    (void)with;
    slack_ns = prctl(PR_GET_TIMERSLACK);
    return slack_ns <= 0;
}

/* ---- security ---- */

/* The third version of the interface, and the calling thread. */
static uint32_t capability_header[2] = { 0x20080522, 0 };
static uint32_t capability_sets[6];
static uid_t ids[3];

static int credentials_ready(const char *with)
{
    (void)with;
    return syscall(SYS_capget, capability_header, capability_sets) != 0 ||
           getresuid(&ids[0], &ids[1], &ids[2]) != 0;
}

/* ---- random ---- */

static int urandom_ready(const char *with)
{
    fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    return fd < 0 || size_ready(with);
}

/* ---- memory ---- */

enum { ADVISED_BYTES = 8 * MIB };
static long advised_at;
static int advice;

/* "ADVICE,BYTES" */
static int advice_ready(const char *with)
{
    const char *comma = strchr(with, ',');
    if (comma == NULL || size_ready(comma + 1))
        return 1;
    advice = strncmp(with, "willneed,", 9) == 0 ? MADV_WILLNEED
           : strncmp(with, "cold,", 5) == 0 ? MADV_COLD : MADV_FREE;
    pages = new_pages(ADVISED_BYTES);
    return pages == NULL;
}

/* Fresh pages for so many ops. */
static int advice_before(unsigned long iterations)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    long bytes = iterations * size;
    if (bytes > ADVISED_BYTES ||
        mmap(pages, ADVISED_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED ||
        madvise(pages, ADVISED_BYTES, MADV_NOHUGEPAGE) != 0)
        return 1;
    for (long at = 0; at < bytes; at += PAGE)
        *(volatile char *)(pages + at) = 1;
    advised_at = 0;
    return 0;
}

static int advise_next(void)
{
    char *at = pages + advised_at;
    advised_at += size;
    return madvise(at, size, advice) == 0;
}

/* So many written pages. */
static int pages_ready(const char *with)
{
    long count = strtol(with, NULL, 10);
    size = count * PAGE;
    pages = count < 1 || count > (long)sizeof buffer ? NULL : written_pages(size);
    return pages == NULL;
}

static pid_t read_process;
static struct iovec local, remote;

/* So many bytes of the caller, and as many to read them into. */
static int own_memory_ready(const char *with)
{
    if (size_ready(with))
        return 1;
    size_t room = (size + PAGE - 1) / PAGE * PAGE;
    pages = written_pages(room);
    local = (struct iovec) { written_pages(room), size };
    remote = (struct iovec) { pages, size };
    read_process = getpid();
    return pages == NULL || local.iov_base == NULL;
}

/* The same of a child, which has written its pages. */
static int child_memory_ready(const char *with)
{
    if (own_memory_ready(with) || start_children(1, pages, size, 9))
        return 1;
    read_process = children[0];
    return process_vm_readv(read_process, &local, 1, &remote, 1, 0) != size ||
           *(char *)local.iov_base != 9;
}

static int block_size_ready(const char *with)
{
    size = strtol(with, NULL, 10);
    return size < 1;
}

/* The compiler would remove a block that nobody uses. */
static inline int allocate_and_free(void)
{
    void *block = malloc(size);
    __asm__ volatile("" : "+r"(block));
    free(block);
    return block != NULL;
}

/* A file in memory of so many bytes, and a mapping of it. */
static int library_ready(const char *with)
{
    size = strtol(with, NULL, 10);
    fd = new_memory_file(size);
    pages = new_pages(size);
    return fd < 0 || pages == NULL;
}

static inline int map_and_unmap(void)
{
    long at = syscall(SYS_mmap, NULL, size, PROT_READ, MAP_PRIVATE, fd, 0L);
    return at != -1 && syscall(SYS_munmap, at, size) == 0;
}

/* ---- process, thread ---- */

static int child_ready(const char *with)
{
    (void)with;
    return start_children(1, buffer, 1, 1);
}

static int children_ready(const char *with)
{
    return start_children(strtol(with, NULL, 10), buffer, 1, 1);
}

static pid_t own_group;

static int group_ready(const char *with)
{
    own_group = getpgrp();
    return own_group <= 0 || child_ready(with);
}

static siginfo_t child_info;
static struct rlimit limit;

static int limit_ready(const char *with)
{
    (void)with;
    return getrlimit(RLIMIT_CORE, &limit) != 0;
}

static int proc_ready(const char *with)
{
    return snprintf(path, sizeof path, "/proc/self/%s", with) < 0 || access(path, R_OK) != 0;
}

static inline int read_proc(void)
{
    long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    long bytes = syscall(SYS_read, file, buffer, PAGE);
    return syscall(SYS_close, file) == 0 && bytes > 0;
}

static char *arguments[] = { path, NULL };
static char *nothing[] = { NULL };

static int missing_program_ready(const char *with)
{
    return new_folder(with) == NULL ||
           snprintf(path, sizeof path, "%.4000s/missing", own_folder) < 0;
}

static void *robust_list, *tid_address;
static size_t robust_bytes;

static int registration_ready(const char *with)
{
    return self_ready(with) ||
           syscall(SYS_get_robust_list, 0, &robust_list, &robust_bytes) != 0 ||
           prctl(PR_GET_TID_ADDRESS, &tid_address) != 0;
}

/* ---- socket ---- */

static int domain;
static union {
    struct sockaddr any;
    struct sockaddr_in inet;
    struct sockaddr_un local;
    struct sockaddr_nl netlink;
} address, found;
static socklen_t address_bytes;

/* A domain, and an address in it that the kernel completes. */
static int domain_ready(const char *with)
{
    type = SOCK_STREAM;
    if (strncmp(with, "inet-", 5) == 0) {
        domain = AF_INET;
        address_bytes = sizeof address.inet;
        address.inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (strcmp(with, "inet-udp") == 0)
            type = SOCK_DGRAM;
    } else if (strcmp(with, "netlink") == 0) {
        domain = AF_NETLINK;
        address_bytes = sizeof address.netlink;
        type = SOCK_RAW;
    } else {
        domain = AF_UNIX;
        address_bytes = sizeof address.any.sa_family;
    }
    address.any.sa_family = domain;
    return 0;
}

static inline int new_socket(void)
{
    return socket(domain, type | SOCK_CLOEXEC, 0);
}

static inline int open_and_close(void)
{
    return close(new_socket()) == 0;
}

static inline int bind_and_close(void)
{
    int made = new_socket();
    int bound = bind(made, &address.any, address_bytes) == 0;
    return close(made) == 0 && bound;
}

static inline int listen_and_close(void)
{
    int made = new_socket();
    int listens = bind(made, &address.any, address_bytes) == 0 && listen(made, 16) == 0;
    return close(made) == 0 && listens;
}

/* An address that is bound, and at which no one listens. */
static int refusal_ready(const char *with)
{
    if (domain_ready(with))
        return 1;
    fd = new_socket();
    socklen_t room = sizeof address;
    if (bind(fd, &address.any, address_bytes) != 0 || getsockname(fd, &address.any, &room) != 0)
        return 1;
    address_bytes = room;
    return 0;
}

static inline int connect_and_close(void)
{
    int made = new_socket();
    int refused = connect(made, &address.any, address_bytes) == -1 && errno == ECONNREFUSED;
    return close(made) == 0 && refused;
}

static int option_level, option, option_value;

static int option_ready(const char *with)
{
    int is_nodelay = strcmp(with, "nodelay") == 0;
    option_level = is_nodelay ? IPPROTO_TCP : SOL_SOCKET;
    option = is_nodelay ? TCP_NODELAY : SO_KEEPALIVE;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0;
}

static inline int flip_option(void)
{
    int answer = -1;
    socklen_t bytes = sizeof answer;
    option_value ^= 1;
    return setsockopt(fd, option_level, option, &option_value, sizeof option_value) == 0 &&
           getsockopt(fd, option_level, option, &answer, &bytes) == 0 && answer == option_value;
}

/* Two connected UDP sockets; the address of the one that is asked for. */
static int names_known_ready(const char *with)
{
    int ends[2];
    struct sockaddr_in at[2];
    for (int end = 0; end < 2; end++) {
        socklen_t length = sizeof at[end];
        at[end] = (struct sockaddr_in) { .sin_family = AF_INET };
        at[end].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ends[end] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (bind(ends[end], (void *)&at[end], length) != 0 ||
            getsockname(ends[end], (void *)&at[end], &length) != 0)
            return 1;
    }
    fd = ends[0];
    address.inet = at[strcmp(with, "peer") == 0];
    return connect(ends[0], (void *)&at[1], sizeof at[1]) != 0 ||
           connect(ends[1], (void *)&at[0], sizeof at[0]) != 0;
}

#define IS_NAMED(call) \
    address_bytes = sizeof found.inet; \
    RIGHT(call(fd, &found.any, &address_bytes) == 0 && address_bytes == sizeof found.inet && \
          memcmp(&found.inet, &address.inet, sizeof found.inet) == 0)

static int shut_down_pair(void)
{
    int ends[2];
    char byte;
    return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) == 0 &&
           shutdown(ends[0], SHUT_RDWR) == 0 && recv(ends[1], &byte, 1, MSG_DONTWAIT) == 0 &&
           close(ends[0]) == 0 && close(ends[1]) == 0;
}

enum { MESSAGE_BYTES = 64 };
static struct msghdr sent_message, received_message;
static struct iovec sent_vectors[8], received_vectors[8];

/* "KIND,VECTORS" */
static int message_ready(const char *with)
{
    char kind[16];
    long count;
    if (sscanf(with, "%15[a-z],%ld", kind, &count) != 2 || count < 1 || count > 8)
        return 1;
    size_t part = MESSAGE_BYTES / count;
    for (long at = 0; at < count; at++) {
        sent_vectors[at] = (struct iovec) { buffer + part * at, part };
        received_vectors[at] = (struct iovec) { buffer + PAGE + part * at, part };
    }
    memset(buffer, 7, MESSAGE_BYTES);
    sent_message = (struct msghdr) { .msg_iov = sent_vectors, .msg_iovlen = count };
    received_message = (struct msghdr) { .msg_iov = received_vectors, .msg_iovlen = count };
    return type_ready(kind) || socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, sockets) != 0;
}

static int pass_message(void)
{
    return sendmsg(sockets[0], &sent_message, MSG_NOSIGNAL) == MESSAGE_BYTES &&
           recvmsg(sockets[1], &received_message, 0) == MESSAGE_BYTES;
}

/* ---- the table: a name, what makes it ready, and what is repeated ---- */

#define CALLS(OP) \
    OP(fcntl_getfd, null_ready, RAW(FD_CLOEXEC, SYS_fcntl, fd, F_GETFD, 0)) \
    OP(fcntl_setfd, null_ready, RAW(0, SYS_fcntl, fd, F_SETFD, FD_CLOEXEC)) \
    OP(fcntl_setfl, null_ready, RAW(0, SYS_fcntl, fd, F_SETFL, O_NONBLOCK)) \
    OP(ioctl_fionread, pipe_ready, RAW(0, SYS_ioctl, fd, FIONREAD, buffer)) \
    OP(ioctl_tcgets, pipe_ready, RAW_FAILS(ENOTTY, SYS_ioctl, fd, TCGETS, buffer)) \
    OP(dup_to_free, null_ready, \
       RAW(FREE_FD, SYS_dup3, fd, FREE_FD, O_CLOEXEC) RAW(0, SYS_close, FREE_FD)) \
    OP(dup_to_open, null_ready, RAW(other_fd, SYS_dup3, fd, other_fd, O_CLOEXEC)) \
    OP(dup_fcntl, null_ready, RAW_OPEN(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0)) \
    OP(new_eventfd, NULL, RAW_OPEN(SYS_eventfd2, 0, EFD_CLOEXEC)) \
    OP(new_epoll, NULL, RAW_OPEN(SYS_epoll_create1, EPOLL_CLOEXEC)) \
    OP(new_timerfd, NULL, RAW_OPEN(SYS_timerfd_create, CLOCK_MONOTONIC, TFD_CLOEXEC)) \
    OP(new_signalfd, NULL, RAW_OPEN(SYS_signalfd4, -1, &usr1, sizeof usr1, SFD_CLOEXEC)) \
    OP(new_pidfd, self_ready, RAW_OPEN(SYS_pidfd_open, self, 0)) \
    OP(new_memfd, memfd_ready, RAW_OPEN(SYS_memfd_create, "oscost", memfd_flags)) \
    OP(new_pipe, NULL, RIGHT(new_pipe())) \
    OP(new_pair, type_ready, RIGHT(new_pair())) \
    OP(pass_descriptor, pass_ready, RIGHT(pass_descriptor())) \
    \
    OP(getcwd_etc, etc_ready, RAW(sizeof "/etc", SYS_getcwd, buffer, PAGE)) \
    OP(chdir_etc, NULL, RAW(0, SYS_chdir, "/etc")) \
    OP(fchdir_etc, etc_ready, RAW(0, SYS_fchdir, fd)) \
    OP(stat_depth, depth_ready, RAW(0, SYS_newfstatat, folder_fd, path, &status, 0)) \
    OP(stat_chain, chain_ready, RAW(0, SYS_newfstatat, folder_fd, path, &status, 0)) \
    OP(missing_open, empty_ready, \
       RIGHT(openat(folder_fd, "missing", O_RDONLY | O_CLOEXEC) == -1 && errno == ENOENT)) \
    OP(missing_stat, empty_ready, \
       RIGHT(fstatat(folder_fd, "missing", &status, 0) == -1 && errno == ENOENT)) \
    OP(missing_access, empty_ready, \
       RIGHT(faccessat(folder_fd, "missing", F_OK, 0) == -1 && errno == ENOENT)) \
    OP(read_link, link_ready, RAW(size, SYS_readlinkat, folder_fd, "link", buffer, PAGE)) \
    OP(open_openat, inside_ready, RAW_OPEN(SYS_openat, AT_FDCWD, "file", O_RDONLY | O_CLOEXEC)) \
    OP(open_openat2, inside_ready, RAW_OPEN(SYS_openat2, AT_FDCWD, "file", how, sizeof how)) \
    OP(open_directory, subfolder_ready, \
       RAW_OPEN(SYS_openat, folder_fd, "empty", O_RDONLY | O_CLOEXEC | O_DIRECTORY)) \
    OP(read_directory, names_ready, RIGHT(read_directory() == entry_bytes)) \
    OP(link_unlink, folder_ready, \
       RIGHT(linkat(folder_fd, "file", folder_fd, "another", 0) == 0 && \
             unlinkat(folder_fd, "another", 0) == 0)) \
    OP(symlink_unlink, empty_ready, \
       RIGHT(symlinkat("file", folder_fd, "link") == 0 && unlinkat(folder_fd, "link", 0) == 0)) \
    OP(mkdir_rmdir, empty_ready, \
       RIGHT(mkdirat(folder_fd, "made", 0700) == 0 && \
             unlinkat(folder_fd, "made", AT_REMOVEDIR) == 0)) \
    OP(rename_across, across_ready, RIGHT(rename_across())) \
    OP(rename_exchange, exchange_ready, \
       RIGHT(renameat2(folder_fd, "one", folder_fd, "other", RENAME_EXCHANGE) == 0)) \
    OP(xattr_get, attribute_ready, \
       RIGHT(fgetxattr(fd, "user.oscost", buffer, sizeof value) == sizeof value)) \
    OP(xattr_list, attribute_ready, \
       RIGHT(flistxattr(fd, buffer, PAGE) >= (long)sizeof "user.oscost")) \
    OP(xattr_set, attribute_ready, \
       value[0] ^= 1; RIGHT(fsetxattr(fd, "user.oscost", value, sizeof value, 0) == 0)) \
    \
    OP(truncate_both, truncate_ready, \
       RAW(0, SYS_ftruncate, fd, PAGE) RAW(0, SYS_ftruncate, fd, 0)) \
    OP(allocate_and_punch, hole_ready, \
       RAW(0, SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, 0, size) \
       RAW(0, SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, size)) \
    OP(sync_fsync, synced_ready, RAW(0, SYS_fsync, fd)) \
    OP(sync_fdatasync, synced_ready, RAW(0, SYS_fdatasync, fd)) \
    OP(sync_range, synced_ready, \
       RAW(0, SYS_sync_file_range, fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | \
           SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER)) \
    OP(will_need, synced_ready, RAW(0, SYS_fadvise64, fd, 0, size, POSIX_FADV_WILLNEED)) \
    OP(stat_here, inside_ready, RAW(0, SYS_newfstatat, AT_FDCWD, ".", &status, 0)) \
    OP(statx_here, inside_ready, \
       RAW(0, SYS_statx, AT_FDCWD, ".", 0, STATX_BASIC_STATS, buffer)) \
    OP(change_mode, attributes_ready, RAW(0, SYS_fchmod, fd, 0600)) \
    OP(change_owner, attributes_ready, RAW(0, SYS_fchown, fd, status.st_uid, status.st_gid)) \
    OP(change_times, attributes_ready, RAW(0, SYS_utimensat, fd, NULL, file_times, 0)) \
    OP(read_vectors, vectors_ready, RAW(size, SYS_preadv, fd, vectors, vector_count, 0L, 0L)) \
    OP(write_vectors, vectors_ready, RAW(size, SYS_pwritev, fd, vectors, vector_count, 0L, 0L)) \
    OP(send_file, synced_ready, offset = 0; RAW(size, SYS_sendfile, other_fd, fd, &offset, size)) \
    OP(move_pages, pipes_ready, RIGHT(move_pages())) \
    OP(tee_pages, pipes_ready, \
       RAW(size, SYS_tee, pipes[0][0], pipes[1][1], size, SPLICE_F_NONBLOCK) SPLICE_OUT) \
    OP(vmsplice_pages, pipes_ready, \
       RAW(size, SYS_vmsplice, pipes[1][1], &whole, 1, SPLICE_F_NONBLOCK) SPLICE_OUT) \
    OP(msync_sync, mapped_file_ready, \
       ++*(volatile char *)pages; RAW(0, SYS_msync, pages, PAGE, MS_SYNC)) \
    OP(msync_async, mapped_file_ready, \
       ++*(volatile char *)pages; RAW(0, SYS_msync, pages, PAGE, MS_ASYNC)) \
    \
    OP(flock_unlock, process_locks_ready, \
       RAW(0, SYS_flock, fd, LOCK_EX) RAW(0, SYS_flock, fd, LOCK_UN)) \
    OP(process_lock, process_locks_ready, \
       RAW(0, SYS_fcntl, fd, F_SETLK, &locked) RAW(0, SYS_fcntl, fd, F_SETLK, &unlocked)) \
    OP(open_file_lock, open_file_locks_ready, \
       RAW(0, SYS_fcntl, fd, F_OFD_SETLK, &locked) RAW(0, SYS_fcntl, fd, F_OFD_SETLK, &unlocked)) \
    OP(process_query, process_locks_ready, ASK) \
    OP(open_file_query, open_file_locks_ready, ASK) \
    OP(lease_return, process_locks_ready, \
       RAW(0, SYS_fcntl, fd, F_SETLEASE, F_WRLCK) RAW(0, SYS_fcntl, fd, F_SETLEASE, F_UNLCK)) \
    \
    OP(mutex_both, mutex_ready, \
       RIGHT(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0)) \
    OP(rwlock_read, NULL, \
       RIGHT(pthread_rwlock_rdlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0)) \
    OP(rwlock_write, NULL, \
       RIGHT(pthread_rwlock_wrlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0)) \
    OP(semaphore_both, semaphore_ready, \
       RIGHT(sem_post(&semaphore) == 0 && sem_wait(&semaphore) == 0)) \
    OP(condition_signal, NULL, RIGHT(pthread_cond_signal(&condition) == 0)) \
    OP(barrier_alone, barrier_ready, \
       RIGHT(pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)) \
    OP(spin_plain, NULL, UNCHANGED) \
    OP(spin_pause, NULL, UNCHANGED PAUSE) \
    OP(atomic_load, NULL, USED(__atomic_load_n(&word64, __ATOMIC_ACQUIRE));) \
    OP(atomic_store, NULL, __atomic_store_n(&word64, 0, __ATOMIC_RELEASE);) \
    OP(atomic_add, NULL, USED(__atomic_fetch_add(&word64, 1, __ATOMIC_SEQ_CST));) \
    OP(atomic_exchange, NULL, USED(__atomic_exchange_n(&word64, 0, __ATOMIC_SEQ_CST));) \
    OP(atomic_compare, NULL, RIGHT(exchange_for_itself())) \
    OP(futex_requeue, NULL, \
       RAW(0, SYS_futex, futex_words, FUTEX_CMP_REQUEUE_PRIVATE, 1, (long)INT_MAX, \
           futex_words + 2, 0L)) \
    \
    OP(kill_nothing, self_ready, RAW(0, SYS_kill, self, 0)) \
    OP(kill_ignored, ignored_ready, RAW(0, SYS_kill, self, SIGUSR2)) \
    OP(mask_raw, NULL, \
       RAW(0, SYS_rt_sigprocmask, SIG_BLOCK, &usr1, NULL, sizeof usr1) \
       RAW(0, SYS_rt_sigprocmask, SIG_UNBLOCK, &usr1, NULL, sizeof usr1)) \
    OP(mask_libc, set_ready, \
       RIGHT(sigprocmask(SIG_BLOCK, &library_set, NULL) == 0 && \
             sigprocmask(SIG_UNBLOCK, &library_set, NULL) == 0)) \
    OP(fetch_kill, blocked_ready, \
       RAW(0, SYS_kill, self, SIGUSR1) \
       RAW(SIGUSR1, SYS_rt_sigtimedwait, &usr1, NULL, &no_time, sizeof usr1)) \
    OP(fetch_tgkill, blocked_ready, \
       RAW(0, SYS_tgkill, self, self, SIGUSR1) \
       RAW(SIGUSR1, SYS_rt_sigtimedwait, &usr1, NULL, &no_time, sizeof usr1)) \
    OP(fetch_signalfd, blocked_ready, \
       RIGHT(kill(self, SIGUSR1) == 0 && \
             read(fd, &read_info, sizeof read_info) == sizeof read_info && \
             read_info.ssi_signo == SIGUSR1)) \
    OP(handle, handler_ready, RIGHT(handle())) \
    OP(queue_raw, queue_ready, RIGHT(queue_raw())) \
    OP(queue_libc, queue_ready, RIGHT(queue_by_library())) \
    \
    OP(affinity_get, NULL, RAW_AT_LEAST(1, SYS_sched_getaffinity, 0, MASK_BYTES, mask)) \
    OP(affinity_set, mask_ready, RAW(0, SYS_sched_setaffinity, 0, MASK_BYTES, mask)) \
    OP(affinity_move, migration_ready, \
       RAW(0, SYS_sched_setaffinity, 0, MASK_BYTES, mask_there) \
       RAW(0, SYS_sched_setaffinity, 0, MASK_BYTES, mask)) \
    OP(policy_both, NULL, \
       RAW(0, SYS_sched_setscheduler, 0, SCHED_BATCH, &parameters) \
       RAW(0, SYS_sched_setscheduler, 0, SCHED_OTHER, &parameters)) \
    OP(priority_get, NULL, RAW_AT_LEAST(1, SYS_getpriority, PRIO_PROCESS, 0)) \
    OP(priority_set, nice_ready, RAW(0, SYS_setpriority, PRIO_PROCESS, 0, nice_value)) \
    OP(slack_get, NULL, RAW_AT_LEAST(0, SYS_prctl, PR_GET_TIMERSLACK, 0L, 0L, 0L, 0L)) \
    OP(slack_set, slack_ready, RAW(0, SYS_prctl, PR_SET_TIMERSLACK, slack_ns, 0L, 0L, 0L)) \
    \
    OP(capabilities_get, NULL, RAW(0, SYS_capget, capability_header, capability_sets)) \
    OP(capabilities_set, credentials_ready, \
       RAW(0, SYS_capset, capability_header, capability_sets)) \
    OP(user_set, credentials_ready, RAW(0, SYS_setresuid, ids[0], ids[1], ids[2])) \
    OP(no_new_privs_get, NULL, RAW_AT_LEAST(0, SYS_prctl, PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L)) \
    \
    OP(getrandom_raw, size_ready, RAW(size, SYS_getrandom, buffer, size, 0)) \
    OP(getrandom_libc, size_ready, RIGHT(getrandom(buffer, size, 0) == size)) \
    OP(urandom, urandom_ready, RIGHT(read(fd, buffer, size) == size)) \
    \
    OP(lock_pages, pages_ready, RAW(0, SYS_mlock, pages, size) RAW(0, SYS_munlock, pages, size)) \
    OP(pages_in_core, pages_ready, RAW(0, SYS_mincore, pages, size, buffer)) \
    OP(read_self, own_memory_ready, READ_PROCESS) \
    OP(read_child, child_memory_ready, READ_PROCESS) \
    OP(allocate_and_free, block_size_ready, RIGHT(allocate_and_free())) \
    OP(map_and_unmap, library_ready, RIGHT(map_and_unmap())) \
    OP(map_over, library_ready, \
       RAW((long)pages, SYS_mmap, pages, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0L)) \
    \
    OP(group_of_self, NULL, RAW_AT_LEAST(0, SYS_getpgid, 0)) \
    OP(group_of_child, child_ready, RAW_AT_LEAST(0, SYS_getpgid, children[0])) \
    OP(session_of_self, NULL, RAW_AT_LEAST(0, SYS_getsid, 0)) \
    OP(session_of_child, child_ready, RAW_AT_LEAST(0, SYS_getsid, children[0])) \
    OP(group_and_back, group_ready, \
       RAW(0, SYS_setpgid, children[0], children[0]) RAW(0, SYS_setpgid, children[0], own_group)) \
    OP(wait_for_any, children_ready, \
       RAW(0, SYS_waitid, P_ALL, 0, &child_info, WEXITED | WNOHANG | WNOWAIT, NULL)) \
    OP(limit_getrlimit, NULL, RAW(0, SYS_getrlimit, RLIMIT_CORE, &limit)) \
    OP(limit_get, NULL, RAW(0, SYS_prlimit64, 0, RLIMIT_CORE, NULL, &limit)) \
    OP(limit_set, limit_ready, RAW(0, SYS_prlimit64, 0, RLIMIT_CORE, &limit, NULL)) \
    OP(read_proc, proc_ready, RIGHT(read_proc())) \
    OP(exec_missing, missing_program_ready, \
       RAW_FAILS(ENOENT, SYS_execve, path, arguments, nothing)) \
    OP(register_list, registration_ready, RAW(0, SYS_set_robust_list, robust_list, robust_bytes)) \
    OP(register_tid, registration_ready, RAW(self, SYS_set_tid_address, tid_address)) \
    \
    OP(socket_open, domain_ready, RIGHT(open_and_close())) \
    OP(socket_bind, domain_ready, RIGHT(bind_and_close())) \
    OP(socket_listen, domain_ready, RIGHT(listen_and_close())) \
    OP(socket_refused, refusal_ready, RIGHT(connect_and_close())) \
    OP(socket_option, option_ready, RIGHT(flip_option())) \
    OP(socket_own_name, names_known_ready, IS_NAMED(getsockname)) \
    OP(socket_peer_name, names_known_ready, IS_NAMED(getpeername)) \
    OP(socket_shutdown, type_ready, RIGHT(shut_down_pair())) \
    OP(socket_message, message_ready, RIGHT(pass_message())) \
    \
    OP(statfs_root, NULL, RAW(0, SYS_statfs, "/", &space)) \
    OP(statfs_proc, NULL, RAW(0, SYS_statfs, "/proc", &space))

/* The kernel overwrites the type with its answer. */
#define ASK \
    query.l_type = F_WRLCK; \
    RAW(0, SYS_fcntl, fd, get_command, &query) \
    RIGHT(query.l_type == F_UNLCK)

#define READ_PROCESS RAW(size, SYS_process_vm_readv, read_process, &local, 1L, &remote, 1L, 0L)

#define DEFINE(name, ready, ...) LOOPS(name##_loop, __VA_ARGS__)
CALLS(DEFINE)
LOOPS(advise_loop, RIGHT(advise_next()))

static const struct op ops[] = {
#define ROW(name, ready, ...) \
    { #name, name##_loop_1, name##_loop_2, name##_loop_4, name##_loop_8, ready, NULL },
    CALLS(ROW)
    { "advise", advise_loop_1, advise_loop_2, advise_loop_4, advise_loop_8, advice_ready,
      advice_before },
};

int main(int argc, char **argv)
{
    return time_op(ops, sizeof ops / sizeof *ops, argc, argv);
}
