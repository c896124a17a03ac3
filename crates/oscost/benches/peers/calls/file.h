/* Calls of one process: files. */
#ifndef FILE_H
#define FILE_H

#include "shared.h"

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

IN_LINE int move_pages(void)
{
    int from = full;
    full ^= 1;
    return raw(SYS_splice, pipes[from][0], NULL, pipes[full][1], NULL, size, SPLICE_F_NONBLOCK)
           == size;
}

/* The second pipe is emptied. */
#define SPLICE_OUT \
    RAW(size, SYS_splice, pipes[1][0], NULL, other_fd, NULL, size, (long)SPLICE_F_NONBLOCK)

static int mapped_file_ready(const char *with)
{
    (void)with;
    fd = new_memory_file(PAGE);
    pages = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return fd < 0 || pages == MAP_FAILED;
}

#define FILE_CALLS(OP) \
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
       ++*(volatile char *)pages; RAW(0, SYS_msync, pages, PAGE, MS_ASYNC))

#endif
