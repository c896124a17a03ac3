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
//  * What a counted task does is at its CPU while it runs, and is known by where the registers of its
//    calls are: no call into the kernel finds it, nor tells which task it is. The entry of a task
//    hangs at its task_struct (task storage): following a pointer instead of hashing an id, and
//    freed with the task. A task that is not followed costs both looks alone.
//  * The programs get typed pointers (tp_btf), whose fields an instruction loads, where
//    bpf_probe_read_kernel() is a call. Only what has no type (a file of the table) is read so.
//  * The class of a call is looked up at its entry and kept until it returns. The table of classes
//    and the state are variables, whose addresses are part of the instructions.
//  * The sum of a form is in a table of each CPU, at a place that a few multiplications give; only
//    a form whose place is taken goes through a hash map, which hashes and compares longer. A call
//    of which nothing but the number matters has a place by that, and its class is two words.
//  * Where the kernel defends returns (SRSO, retbleed), each return from a function is a
//    misprediction: on the way of most calls there is none but those of helpers. What few calls
//    need is a function of its own (__noinline), whose variables have no place in the frame of the
//    others: from 64 bytes on, Linux 6.13 and later give a program another stack.
//  * The clock is read once an event; a call's number is the sum of its histogram. Paths are read
//    of calls that have one, and eight bytes of a path are examined at once.
//
// Nothing is sent to this process while it counts: it reads the sums in the end. Additions are
// atomic: an interrupt, or a kernel whose tracepoints can be preempted, loses none. Those to the
// sum of a call need not be, see add_call(): a locked instruction takes some twenty cycles. A program
// that the kernel leaves out, since it was preempted on that CPU, is counted by the kernel, and is a
// lost event (skipped_runs.rs).
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "layout.bpf.h"
#include "task.bpf.h"
#include "path.bpf.h"
#include "kind.bpf.h"
#include "form.bpf.h"
#include "sum.bpf.h"
#include "fault.bpf.h"
#include "switch.bpf.h"
#include "interrupt.bpf.h"

// Some of the helpers are available only to programs with a license compatible with the GPL.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

// A process that has the token marks that it is about to start the program.
static __noinline int handle_mark(struct pt_regs *regs, __u32 call)
{
	struct class *class = class_of(call);

	if (class && class->act == MARK && argument(regs, 0) == the_state.mark_option &&
	    argument(regs, 1) == the_state.mark_number && argument(regs, 2) == the_state.token)
		the_state.starter = bpf_get_current_pid_tgid() >> 32;
	return 0;
}

// What a followed task does that is not at its CPU yet, or whose registers are not known there: it
// has just been created, adopted or has just executed the program, or it is the parent's worker, of
// which that call alone counts.
static __noinline struct activity *begin_activity(struct task *t, struct task_struct *task,
						  struct pt_regs *regs, __u32 call)
{
	struct activity *a;
	struct class *class;

	if (!t)
		return 0;
	if (t->following == COUNTED) {
		a = running_activity(task);
		if (!a)
			a = bring(t, task);
		a->registers = (__u64)regs;
		return a;
	}
	class = is_foreign(task) ? 0 : class_of(call);
	if (t->following != CANDIDATE || !class || class->act != EXECUTE)
		return 0;
	t->activity.minor = task->min_flt;
	t->activity.major = task->maj_flt;
	return &t->activity;
}

// The number under which a call without a class is counted. A program may make calls of any number.
static __noinline __u32 number_without_class(struct pt_regs *regs, __u32 call)
{
	if (is_foreign_call(regs))
		return FOREIGN;
	return call >= OTHER ? OTHER - 1 : call;
}

// The form of a call before its arguments are looked at.
static __always_inline void begin_form(union form_words *form, __u32 call)
{
	// A store of each word: a load of a word stalls that smaller stores have written to lately.
	form->words[0] = call;
	form->words[1] = FORM_WITHOUT_PATH;
	form->words[2] = form->words[3] = 0;
}

// The marks and the class of a plain call, as two stores. No fault is open at an entry.
static __always_inline void begin_plain(struct activity *a)
{
	a->head[0] = IN_CALL;
	a->head[1] = PLAIN_CLASS;
}

SEC("tp_btf/sys_enter")
int count_entry(__u64 *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];
	struct activity *a = activity_by(regs);
	__u32 call = ctx[1];
	struct task_struct *task;
	struct class *class;
	struct task *t;

	if (!a) {
		task = bpf_get_current_task_btf();
		t = entry_of(task);
		if (!t) {
			if (the_state.watched)
				t = adopt(task);
			else if (the_state.token && !the_state.root)
				handle_mark(regs, call);
			if (!t)
				return 0;
		}
		a = begin_activity(t, task, regs, call);
		if (!a)
			return 0;
	}
	if (the_state.has_ended)
		return 0;
	settle_faults(a);
	a->off_ns = a->waited_ns = 0;
	class = is_foreign_call(regs) ? 0 : class_of(call);
	if (class && class->plain) {
		begin_form(&a->form, call);
		begin_plain(a);
		a->entered_ns = bpf_ktime_get_ns();
		return 0;
	}
	begin_form(&a->form, class ? call : number_without_class(regs, call));
	a->reads_path = a->waited_for_disk = 0;
	a->bytes = 0;
	if (class) {
		a->class = *class;
		if (class->path) {
			a->path = argument(regs, class->path - 1);
			a->reads_path = 1;
		}
		if (tells_at_entry(class))
			fill_form(a, regs);
		if (class->act == EXECUTE) {    // Its memory is gone when it returns.
			fill_depth(&a->form.form, a->path);
			a->reads_path = 0;
		} else if (class->act == EXIT) {
			return count_untimed(a);
		}
	} else {
		__builtin_memset(&a->class, 0, sizeof(a->class));
	}
	a->in_call = 1;
	a->entered_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int count_return(__u64 *ctx)
{
	struct activity *a = activity_by((struct pt_regs *)ctx[0]);
	struct task_struct *task;
	struct task *t = 0;
	__u64 now, moved;
	struct sum *sum;
	__s64 result;

	if (!a) {
		task = bpf_get_current_task_btf();
		t = entry_of(task);
		if (!t)
			return 0;
		a = running_activity(task);
		if (!a)
			a = &t->activity;
	}
	if (!a->in_call)
		return 0;
	now = bpf_ktime_get_ns();
	result = ctx[1];
	a->in_call = 0;
	if (the_state.has_ended)
		return 0;
	if (t && t->following == CANDIDATE) {
		if (result)                     // The library tries each folder of PATH.
			return 0;
		t->following = COUNTED;
		the_state.root = bpf_get_current_pid_tgid() >> 32;
		the_state.began_ns = now;
	}
	if (a->in_fault)
		count_faults(a, bpf_get_current_task_btf());
	if (a->class.plain && !is_error(result)) {
		sum = sum_of_plain(&a->form);
	} else {
		moved = finish_form(a, result);
		sum = sum_of(&a->form);
		if (sum)
			sum->moved += moved;
	}
	if (sum)
		add_call(sum, a, now);
	else
		count(&the_state.lost);
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

	if (the_state.has_ended)
		return 0;
	if (!t)
		t = adopt(parent);
	if (!t) {
		if (the_state.starter && the_state.starter == process && !the_state.root &&
		    !is_thread)
			follow(child, CANDIDATE);
		return 0;
	}
	if (t->following != COUNTED)
		return 0;
	if (is_thread)
		count(&the_state.threads);
	else
		count(&the_state.forks);
	if (!is_thread && !the_state.children)
		return 0;
	its = follow(child, COUNTED);
	if (!its)
		return 0;
	its->is_new = 1;
	its->cpu = bpf_get_smp_processor_id();
	if (the_state.root != its_process)
		count(&the_state.alive);
	return 0;
}

// A thread that executes a program takes over the id of its process, and keeps its entry: all other
// threads have ended.
SEC("tp_btf/sched_process_exec")
int count_exec(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct activity *a = activity_of(task);
	struct task *t;

	if (the_state.has_ended)
		return 0;
	if (!a) {
		t = adopt(task);
		if (!t)
			return 0;
		a = &t->activity;
	}
	count(&the_state.execs);
	// Its call has yet to return.
	if (has_loader(task))
		a->form.form.flags |= HAS_LOADER;
	a->bytes = argument_bytes(task);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int count_exit(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	__u32 pid = task->pid, process = task->tgid;
	struct task *t = entry_of(task);
	struct signal_struct *signal = task->signal;

	if (!t)
		t = adopt(task);
	if (the_state.watched)                         // Another task may get its id.
		bpf_map_delete_elem(&followed, &pid);
	if (!t)
		return 0;
	put_back(t, task);
	if (t->following == COUNTED) {
		// The threads of the root, which may end in any order, do not outlive it.
		if (the_state.root != process)
			__sync_fetch_and_add(&the_state.alive, -1);
		// The last threads of the root may end at once.
		if (!the_state.has_ended || the_state.root == process) {
			count_faults(&t->activity, task);
			count(&the_state.exits);
			if (t->activity.in_call)
				count(&the_state.unfinished);
		}
		if (the_state.root == process && !the_state.has_ended && signal &&
		    !signal->live.counter) {
			the_state.ended_ns = bpf_ktime_get_ns();
			the_state.left = the_state.alive;
			the_state.has_ended = 1;
		}
	}
	// Its entry is freed with it: its last switch is still to come.
	t->following = ENDED;
	t->activity.in_call = 0;
	return 0;
}

SEC("raw_tp/signal_deliver")
int count_signal(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task *t = entry_of(task);

	if (!t)
		t = adopt(task);
	if (t && t->following == COUNTED && !the_state.has_ended)
		count(&the_state.signals);
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
		leave_cpu(left, previous, next);
	else
		forget(previous);
	if (taken)
		take_cpu(taken, next, is_idle_task(previous));
	else if (!works_for_kernel(next))
		take_cpu_outside(next, is_idle_task(previous));
	if (is_idle_task(next)) {
		idle = the_idle();
		if (idle) {
			idle->since_ns = bpf_ktime_get_ns();
			idle->is_tickless = 0;
		}
	} else if (is_idle_task(previous)) {
		idle = the_idle();
		if (idle && idle->since_ns)
			idle->total_ns += bpf_ktime_get_ns() - idle->since_ns;
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
	struct activity *a;

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
		return 0;
	}
	a = activity_of(current);
	if (a && (is_ending(waker, current) || a->in_call)) {
		woken->woken_on = bpf_get_smp_processor_id() + 1;
		woken->woken_by = is_ending(waker, current) ? BY_OTHER : waker_of(a);
		woken->woken_from_outside = 0;
	}
	return 0;
}
