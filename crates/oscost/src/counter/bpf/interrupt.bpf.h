// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Programs that count interrupts and clock reads.
#pragma once

// Those of interrupts are attached where the kernel has the tracepoint, as those of faults.

SEC("raw_tp/softirq_entry")
int count_softirq(void *ctx)
{
	struct events *e = the_events();

	if (e && counted())
		count(&e->softirqs);
	return 0;
}

static __always_inline int count_one_interrupt(void)
{
	struct events *e = the_events();

	if (e && counted())
		count(&e->interrupts);
	return 0;
}

SEC("raw_tp/irq_handler_entry")
int count_interrupt(void *ctx)
{
	return count_one_interrupt();
}

// A local timer has no handler of irq_handler_entry (x86).
SEC("raw_tp/local_timer_entry")
int count_timer(void *ctx)
{
	return count_one_interrupt();
}

// A clock is read in user mode, where only a breakpoint (uprobe) sees it. These are loaded and
// attached if asked for: each costs a trap, in all processes that call the function meanwhile.
static __always_inline int count_clock_read(enum clock_read function)
{
	struct events *e = the_events();

	if (e && counted())
		count(&e->clock_reads[function]);
	return 0;
}

SEC("uprobe")
int count_clock_gettime(void *ctx)
{
	return count_clock_read(CLOCK_GETTIME);
}

SEC("uprobe")
int count_gettimeofday(void *ctx)
{
	return count_clock_read(GETTIMEOFDAY);
}

SEC("uprobe")
int count_time_of_day(void *ctx)
{
	return count_clock_read(TIME);
}
