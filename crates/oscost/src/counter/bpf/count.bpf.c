// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Counts the system calls of a process tree, or of a process with its threads, by what makes them
// cheap or expensive, and the time of each in the kernel; page faults by kind, switches of tasks,
// those that begin or are woken on another CPU, signals and interrupts. Attached to the entry and
// the return of calls, to fork, exec, exit, wake-up and switch of tasks, to the delivery of
// signals, to interrupts, and to what tells the kind of a fault; if asked for, to functions of the C
// library that read a clock.
//
// What keeps the cost of a call down, most of all on the way of each call (entry and return):
//  * The entry of a task hangs at its task_struct (task storage): following a pointer instead of
//    hashing an id, and freed with the task. A task that is not followed costs that alone.
//  * The programs get typed pointers (tp_btf), whose fields an instruction loads, where
//    bpf_probe_read_kernel() is a call. Only what has no type (a file of the table) is read so.
//  * The class of a call is looked up at its entry and kept until it returns.
//  * The sum of a form is in a table of each CPU, at a place that a few multiplications give; only
//    a form whose place is taken goes through a hash map, which hashes and compares longer.
//  * The clock is read once an event; a call's number is the sum of its histogram; what is 0 is not
//    added. Paths are read of calls that have one, and eight bytes of a path are examined at once.
//
// Nothing is sent to this process while it counts: it reads the sums in the end. Additions are
// atomic: an interrupt, or a kernel whose tracepoints can be preempted, loses none.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "layout.bpf.h"
#include "form.bpf.h"
#include "sum.bpf.h"
#include "fault.bpf.h"
#include "switch.bpf.h"

// Some of the helpers are available only to programs with a license compatible with the GPL.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

// A process that has the token marks that it is about to start the program.
static __noinline int handle_mark(struct state *s, struct pt_regs *regs)
{
	if (s && argument(regs, 0) == s->mark_option && argument(regs, 1) == s->mark_number &&
	    argument(regs, 2) == s->token)
		s->starter = bpf_get_current_pid_tgid() >> 32;
	return 0;
}

SEC("tp_btf/sys_enter")
int count_entry(__u64 *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];
	struct task_struct *task = bpf_get_current_task_btf();
	struct task *t = entry_of(task);
	struct state *s = the_state();
	__u32 call = ctx[1], foreign;
	struct class *class;
	struct sum *sum;

	if (!s)
		return 0;
	if (!t) {
		if (s->watched) {
			t = adopt(s, task);
		} else if (s->token && !s->root) {
			class = class_of(call);
			if (class && class->act == MARK)
				handle_mark(s, regs);
		}
		if (!t)
			return 0;
	}
	if (s->has_ended)
		return 0;
	foreign = is_foreign(task);
	class = foreign ? 0 : class_of(call);
	if (t->following != COUNTED) {
		if (t->following != CANDIDATE || !class || class->act != EXECUTE)
			return 0;
		// It is the parent's worker until it has executed the program.
		t->minor = task->min_flt;
		t->major = task->maj_flt;
	}
	settle_faults(s, t, task);
	t->form.words[0] = t->form.words[1] = t->form.words[2] = t->form.words[3] = 0;
	// A program may make calls of any number.
	t->form.form.call = foreign ? FOREIGN : call >= OTHER ? OTHER - 1 : call;
	t->form.form.depth = NO_DEPTH;
	t->reads_path = t->waited_for_disk = 0;
	t->bytes = t->off_ns = t->waited_ns = 0;
	if (class) {
		t->class = *class;
		fill_form(t, task, regs);
		if (class->act == EXECUTE) {    // Its memory is gone when it returns.
			fill_depth(&t->form.form, t->path);
			t->reads_path = 0;
		} else if (class->act == EXIT) {        // It never returns.
			sum = sum_of_call(t);
			if (sum)
				count(&sum->untimed);
			return 0;
		}
	} else {
		__builtin_memset(&t->class, 0, sizeof(t->class));
	}
	t->in_call = 1;
	t->entered_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int count_return(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task *t = entry_of(task);
	__u64 now, moved, spent;
	__s64 result = ctx[1];
	struct state *s;
	struct sum *sum;

	if (!t || !t->in_call)
		return 0;
	now = bpf_ktime_get_ns();
	t->in_call = 0;
	s = the_state();
	if (!s || s->has_ended)
		return 0;
	if (t->following == CANDIDATE) {
		if (result)                     // The library tries each folder of PATH.
			return 0;
		t->following = COUNTED;
		s->root = task->tgid;
		s->began_ns = now;
	}
	settle_faults(s, t, task);
	spent = now - t->entered_ns - t->waited_ns;
	moved = finish_form(t, task, result);
	sum = sum_of_call(t);
	if (!sum)
		return 0;
	if (moved)
		__sync_fetch_and_add(&sum->moved, moved);
	__sync_fetch_and_add(&sum->on_cpu_ns, spent);
	count_time(sum->on_cpu, spent);
	if (t->waited_ns) {
		__sync_fetch_and_add(&sum->off_cpu_ns, t->waited_ns);
		count_time(sum->off_cpu, t->waited_ns);
	}
	return 0;
}

SEC("tp_btf/sched_process_fork")
int count_fork(__u64 *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx[0];
	struct task_struct *child = (struct task_struct *)ctx[1];
	__u32 process = parent->tgid, its_process = child->tgid;
	int is_thread = its_process == process;
	struct task *t = entry_of(parent), *its;
	struct state *s = the_state();

	if (!s || s->has_ended)
		return 0;
	if (!t)
		t = adopt(s, parent);
	if (!t) {
		if (s->starter && s->starter == process && !s->root && !is_thread)
			follow(s, child, CANDIDATE);
		return 0;
	}
	if (t->following != COUNTED)
		return 0;
	if (is_thread)
		count(&s->threads);
	else
		count(&s->forks);
	if (!is_thread && !s->children)
		return 0;
	its = follow(s, child, COUNTED);
	if (!its)
		return 0;
	its->is_new = 1;
	its->cpu = bpf_get_smp_processor_id();
	if (s->root != its_process)
		count(&s->alive);
	return 0;
}

// A thread that executes a program takes over the id of its process, and keeps its entry: all other
// threads have ended.
SEC("tp_btf/sched_process_exec")
int count_exec(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct task *t = entry_of(task);
	struct state *s = the_state();

	if (!s || s->has_ended)
		return 0;
	if (!t)
		t = adopt(s, task);
	if (!t)
		return 0;
	count(&s->execs);
	// Its call has yet to return.
	if (has_loader(task))
		t->form.form.flags |= HAS_LOADER;
	t->bytes = argument_bytes(task);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int count_exit(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	__u32 pid = task->pid, process = task->tgid;
	struct task *t = entry_of(task);
	struct state *s = the_state();
	struct signal_struct *signal = task->signal;

	if (!s)
		return 0;
	if (!t)
		t = adopt(s, task);
	if (s->watched)                         // Another task may get its id.
		bpf_map_delete_elem(&followed, &pid);
	if (!t)
		return 0;
	if (t->following == COUNTED) {
		// The threads of the root, which may end in any order, do not outlive it.
		if (s->root != process)
			__sync_fetch_and_add(&s->alive, -1);
		// The last threads of the root may end at once.
		if (!s->has_ended || s->root == process) {
			count_faults(s, t, task);
			count(&s->exits);
			if (t->in_call)
				count(&s->unfinished);
		}
		if (s->root == process && !s->has_ended && signal && !signal->live.counter) {
			s->ended_ns = bpf_ktime_get_ns();
			s->left = s->alive;
			s->has_ended = 1;
		}
	}
	// Its entry is freed with it: its last switch is still to come.
	t->following = ENDED;
	t->in_call = 0;
	return 0;
}

SEC("raw_tp/signal_deliver")
int count_signal(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task *t = entry_of(task);
	struct state *s = the_state();

	if (!s)
		return 0;
	if (!t)
		t = adopt(s, task);
	if (t && t->following == COUNTED && !s->has_ended)
		count(&s->signals);
	return 0;
}

SEC("tp_btf/sched_switch")
int count_switch(__u64 *ctx)
{
	struct task_struct *previous = (struct task_struct *)ctx[1];
	struct task_struct *next = (struct task_struct *)ctx[2];
	struct task *left = entry_of(previous), *taken = entry_of(next);
	struct idle *idle;

	if (left)
		leave_cpu(the_state(), left, previous, next);
	if (taken)
		take_cpu(the_state(), taken, next, is_idle_task(previous));
	else if (!works_for_kernel(next))
		take_cpu_outside(next, is_idle_task(previous));
	if (is_idle_task(next)) {
		idle = the_idle();
		if (idle)
			idle->since_ns = bpf_ktime_get_ns();
	}
	return 0;
}

// A task is about to be woken. On which CPU it continues is known when it does. Until Linux 6.15 a task
// wakes who joins it, or the parent of a vfork(2), before count_exit() is told that it ends.
SEC("tp_btf/sched_waking")
int count_waking(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0], *current = bpf_get_current_task_btf();
	struct task *woken = entry_of(task), *waker;

	if (!woken) {
		wake_outside(task, current);
		return 0;
	}
	if (woken->following != COUNTED)
		return 0;
	// It was about to wait, and has not left its CPU: it goes on there.
	if (!woken->is_off && task->on_rq)
		return 0;
	waker = entry_of(current);
	if (!waker) {
		wake_from_outside(woken, current);
	} else if (is_ending(waker, current) || waker->in_call) {
		woken->woken_on = bpf_get_smp_processor_id() + 1;
		woken->woken_by = is_ending(waker, current) ? BY_OTHER : waker_of(waker);
		woken->woken_from_outside = 0;
	}
	return 0;
}

// The rest, and the faults, are attached where the kernel has the tracepoint.

SEC("raw_tp/softirq_entry")
int count_softirq(void *ctx)
{
	struct state *s = the_state();
	struct events *e = the_events();

	if (e && counted(s))
		count(&e->softirqs);
	return 0;
}

SEC("raw_tp/irq_handler_entry")
int count_interrupt(void *ctx)
{
	struct state *s = the_state();
	struct events *e = the_events();

	if (e && counted(s))
		count(&e->interrupts);
	return 0;
}

// A local timer has no handler of irq_handler_entry (x86).
SEC("raw_tp/local_timer_entry")
int count_timer(void *ctx)
{
	struct state *s = the_state();
	struct events *e = the_events();

	if (e && counted(s))
		count(&e->interrupts);
	return 0;
}

// A clock is read in user mode, where only a breakpoint (uprobe) sees it. These are loaded and
// attached if asked for: each costs a trap, in all processes that call the function meanwhile.
static __always_inline int count_clock_read(enum clock_read function)
{
	struct state *s = the_state();
	struct events *e = the_events();

	if (e && counted(s))
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
