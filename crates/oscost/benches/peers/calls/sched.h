/* Calls of one process: scheduling and credentials. */
#ifndef SCHED_H
#define SCHED_H

#include "shared.h"

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

/* ---- the table ---- */

#define SCHED_CALLS(OP) \
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
    OP(no_new_privs_get, NULL, RAW_AT_LEAST(0, SYS_prctl, PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L))

#endif
