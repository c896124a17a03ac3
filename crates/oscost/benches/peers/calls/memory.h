/* Calls of one process: memory, and random bytes. */
#ifndef MEMORY_H
#define MEMORY_H

#include "shared.h"

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

IN_LINE int map_and_unmap(void)
{
    long at = raw(SYS_mmap, NULL, size, PROT_READ, MAP_PRIVATE, fd, 0L);
    return at > 0 && raw(SYS_munmap, at, size) == 0;
}

#define READ_PROCESS RAW(size, SYS_process_vm_readv, read_process, &local, 1L, &remote, 1L, 0L)

/* ---- the table ---- */

#define MEMORY_CALLS(OP) \
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
       RAW((long)pages, SYS_mmap, pages, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0L))

#endif
