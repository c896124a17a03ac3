/* Calls of one process: processes and threads. */
#ifndef PROCESS_H
#define PROCESS_H

#include "shared.h"

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

IN_LINE int read_proc(void)
{
    long file = raw(SYS_openat, AT_FDCWD, path, O_RDONLY);
    long bytes = raw(SYS_read, file, buffer, PAGE);
    return raw(SYS_close, file) == 0 && bytes > 0;
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

#define PROCESS_CALLS(OP) \
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
    OP(register_tid, registration_ready, RAW(self, SYS_set_tid_address, tid_address))

#endif
