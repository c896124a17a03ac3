// cs161-syscalls, as its text says: one of ten functions, called 1,000,000 times through a pointer
// that the compiler cannot see through, between two reads of CLOCK_REALTIME; the total in seconds.
// Compiled with -O2, as the text has it.
#include "study.h"

#include <fcntl.h>

static void *first_break;

static unsigned nothing()
{
    return 0;
}

static unsigned call_getpid()
{
    return getpid();
}

static unsigned call_getppid()
{
    return getppid();
}

static unsigned call_time()
{
    return time(nullptr);
}

static unsigned clock_nanoseconds(clockid_t clock)
{
    timespec now;
    clock_gettime(clock, &now);
    return now.tv_nsec;
}

static unsigned call_clock_gettime()
{
    return clock_nanoseconds(CLOCK_REALTIME);
}

static unsigned call_clock_gettime_coarse()
{
    return clock_nanoseconds(CLOCK_REALTIME_COARSE);
}

static unsigned call_sbrk()
{
    return reinterpret_cast<uintptr_t>(sbrk(0));
}

static unsigned call_brk()
{
    return brk(first_break);
}

static unsigned call_open_close()
{
    int file = open("/dev/null", O_RDONLY);
    close(file);
    return file;
}

// Of descriptor 0: all calls but the first fail.
static unsigned call_close()
{
    return close(0);
}

struct Function {
    const char *name;
    unsigned (*function)();
};

static const Function functions[] = {
    {"none", nothing},
    {"time", call_time},
    {"sbrk", call_sbrk},
    {"clock-gettime-coarse", call_clock_gettime_coarse},
    {"clock-gettime", call_clock_gettime},
    {"getppid", call_getppid},
    {"getpid", call_getpid},
    {"brk", call_brk},
    {"close", call_close},
    {"open-close", call_open_close},
};

static double seconds_of_day()
{
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int count, char **words)
{
    study_options options = parse_options(count, words);
    unsigned (*volatile chosen)() = nullptr;
    const unsigned calls = 1000000;
    unsigned long results = 0;
    first_break = sbrk(0);
    for (const Function &it : functions)
        if (is_act(&options, it.name))
            chosen = it.function;
    if (chosen == nullptr)
        return unknown_act(&options);
    double start = seconds_of_day();
    for (unsigned call = 0; call < calls; call++)
        results += chosen();
    double seconds = seconds_of_day() - start;
    USED(results);
    return print_figure(seconds, "s", -1, seconds * 1e9 / calls, calls, 1);
}
