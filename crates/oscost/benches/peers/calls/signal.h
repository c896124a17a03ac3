/* Calls of one process: signals. */
#ifndef SIGNAL_H
#define SIGNAL_H

#include "shared.h"

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

IN_LINE int handle(void)
{
    long before = runs;
    return raw(SYS_tgkill, self, self, SIGUSR1) == 0 && runs == before + 1;
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

IN_LINE int queue_raw(void)
{
    long before = runs;
    queued.si_value.sival_ptr = (void *)++last_value;
    return raw(SYS_rt_sigqueueinfo, self, real_time_signal, &queued) == 0 &&
           runs == before + 1 && told == last_value;
}

static int queue_by_library(void)
{
    long before = runs;
    union sigval with = { .sival_ptr = (void *)++last_value };
    return sigqueue(self, real_time_signal, with) == 0 && runs == before + 1 && told == last_value;
}

#define SIGNAL_CALLS(OP) \
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
       RAW(0, SYS_kill, self, SIGUSR1) \
       RAW(sizeof read_info, SYS_read, fd, &read_info, sizeof read_info) \
       RIGHT(read_info.ssi_signo == SIGUSR1)) \
    OP(handle, handler_ready, RIGHT(handle())) \
    OP(queue_raw, queue_ready, RIGHT(queue_raw())) \
    OP(queue_libc, queue_ready, RIGHT(queue_by_library()))

#endif
