/* Calls of one process: locks on files, and objects that threads share, each in lines of its own. */
#ifndef SYNC_H
#define SYNC_H

#include "shared.h"

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

/* ---- sync ---- */

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

/* The kernel overwrites the type with its answer. */
#define ASK \
    query.l_type = F_WRLCK; \
    RAW(0, SYS_fcntl, fd, get_command, &query) \
    RIGHT(query.l_type == F_UNLCK)

/* ---- the table ---- */

#define SYNC_CALLS(OP) \
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
           futex_words + 2, 0L))

#endif
