/*
 * A clock that was set, or that went on while its machine was suspended: loaded by LD_PRELOAD into a
 * program whose C library is a shared one. The clocks of the day are off by
 *
 *   FAKE_CLOCK_STEP_S   so many seconds for each reading until now, and
 *   FAKE_CLOCK_JUMP_S   so many seconds from FAKE_CLOCK_AFTER_MS after the first reading on.
 *
 * CLOCK_BOOTTIME, which counts the time of a suspended machine, goes on with them, but never back.
 * CLOCK_MONOTONIC, which does not count it, and the clocks of CPU time are right.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long readings;
static long long first_ms;

static long long variable(const char *name)
{
	const char *text = getenv(name);

	return text ? atoll(text) : 0;
}

static long long monotonic_ms(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* The seconds by which the clocks are off at this reading. */
static long long offset(void)
{
	long long now = monotonic_ms();
	long long none = 0;
	long long off;

	__atomic_compare_exchange_n(&first_ms, &none, now, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	off = variable("FAKE_CLOCK_STEP_S") * __atomic_fetch_add(&readings, 1, __ATOMIC_SEQ_CST);
	if (now - __atomic_load_n(&first_ms, __ATOMIC_SEQ_CST) >= variable("FAKE_CLOCK_AFTER_MS"))
		off += variable("FAKE_CLOCK_JUMP_S");
	return off;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int failed = syscall(SYS_clock_gettime, clock, now);
	long long off;

	if (failed)
		return failed;
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_TAI:
		now->tv_sec += offset();
		break;
	case CLOCK_BOOTTIME:
		off = offset();
		now->tv_sec += off > 0 ? off : 0;
		break;
	}
	return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec exact;
	int failed = clock_gettime(CLOCK_REALTIME, &exact);

	(void)zone;
	if (failed)
		return failed;
	now->tv_sec = exact.tv_sec;
	now->tv_usec = exact.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *now)
{
	struct timespec exact = {0};

	clock_gettime(CLOCK_REALTIME, &exact);
	if (now)
		*now = exact.tv_sec;
	return exact.tv_sec;
}
