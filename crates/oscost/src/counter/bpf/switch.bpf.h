// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Switches of tasks, those that begin or are woken on another CPU, and for how long that CPU had been
// idle.
#pragma once

#define MAX_WOKEN 4096          // Tasks outside that counted ones have woken, and that have yet to run.
#define SHORT_IDLE_NS 150000    // The ends of the classes of struct wakes_of_idle.
#define MEDIUM_IDLE_NS 600000

// By a counted task, of one outside that has yet to run: on which CPU that was, and what the call was
// about.
struct woken_outside { __u32 on, by; };

struct {                        // By the id of the task. Memory is there before: no switch waits for it.
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_WOKEN);
	__type(key, __u32);
	__type(value, struct woken_outside);
} woken_outside SEC(".maps");

// A switch is a voluntary one if the kernel has counted it as such: it does so before.
static __noinline int leave_cpu(struct task *t, struct task_struct *task, struct task_struct *next)
{
	__u64 voluntary = task->nvcsw;
	struct events *e = the_events();

	if (!t || !e)
		return 0;
	put_back(t, task);
	if (t->activity.in_call) {
		t->activity.off_ns = bpf_ktime_get_ns();
		// The kernel says so of a task that waits for a disk, or a file system elsewhere.
		if (t->activity.class.reads && BPF_CORE_READ_BITFIELD(task, in_iowait))
			t->activity.waited_for_disk = 1;
	}
	t->cpu = bpf_get_smp_processor_id();
	t->is_off = 1;
	t->left_to_task = 0;
	if (t->following == COUNTED && !the_state.has_ended) {
		if (has_new_faults(&t->activity, task))
			count_faults(&t->activity, task);
		if (t->voluntary == voluntary) {
			count(&e->forced);
		} else {
			count(&e->voluntary);
			// The idle task and threads of the kernel have no memory of their own.
			if (next->mm) {
				t->left_to_task = 1;
				if (next->mm == task->mm)
					count(&e->to_thread);
				else
					count(&e->to_process);
			}
		}
	}
	t->voluntary = voluntary;
	return 0;
}

// A task continues on another CPU than that where a counted one has woken it.
static __noinline int count_remote_wake(struct events *e, struct task *t)
{
	__u64 by;

	if (!e || !t)
		return 0;
	if (t->left_to_task)
		count(&e->remote_wakes_after_switch);
	else
		count(&e->remote_wakes_after_idle);
	by = t->woken_by;
	// The compiler must not replace the bound that the verifier needs.
	asm volatile("" : "+r"(by));
	if (by >= WAKERS)
		return 0;
	if (t->left_to_task)
		count(&e->by_call[by].after_switch);
	else
		count(&e->by_call[by].after_idle);
	return 0;
}

// A task goes on, or begins, on this CPU, which leaves its idle task for it. A CPU that was idle before
// the programs were attached has been for longer than that takes.
static __noinline int count_wake_of_idle(struct wakes_of_idle *of_idle, __u64 by)
{
	struct idle *idle = the_idle();
	__u64 idle_ns;

	if (!of_idle || !idle)
		return 0;
	idle_ns = bpf_ktime_get_ns() - idle->since_ns;
	// The compiler must not replace the bound that the verifier needs.
	asm volatile("" : "+r"(by));
	if (by > BY_OTHER)
		return 0;
	if (idle_ns < SHORT_IDLE_NS) {
		count(&of_idle[by].below_150_us);
		if (idle->is_tickless)
			count(&of_idle[by].below_150_us_tickless);
	} else if (idle_ns < MEDIUM_IDLE_NS) {
		count(&of_idle[by].below_600_us);
	} else {
		count(&of_idle[by].longer);
	}
	return 0;
}

// Attached where the kernel has the tracepoint, as those of faults. An idle CPU stops its tick after its
// idle task has the CPU, and starts it before another task has. One that had stopped it for a task
// (nohz_full) has no more to do when it is idle: it is not told again.
SEC("raw_tp/tick_stop")
int see_tick_stop(struct bpf_raw_tracepoint_args *ctx)
{
	struct idle *idle = the_idle();

	if (idle && (int)ctx->args[0])
		idle->is_tickless = 1;
	return 0;
}

// A task continues on another CPU than its waker's: either it or its waker is a task outside.
static __noinline int count_outside_wake(struct outside_wakes *wakes, __u64 by, __u32 was_idle)
{
	if (!wakes)
		return 0;
	if (was_idle)
		count_wake_of_idle(wakes->of_idle, by);
	// The compiler must not replace the bound that the verifier needs.
	asm volatile("" : "+r"(by));
	if (by > BY_OTHER)
		return 0;
	count(&wakes->by_call[by]);
	return 0;
}

static __noinline int take_cpu(struct task *t, struct task_struct *task, __u32 was_idle)
{
	struct events *e = the_events();
	__u32 cpu = bpf_get_smp_processor_id();

	if (!t || !e)
		return 0;
	if (t->activity.off_ns) {
		t->activity.waited_ns += bpf_ktime_get_ns() - t->activity.off_ns;
		t->activity.off_ns = 0;
	}
	if (t->following == COUNTED && !the_state.has_ended) {
		if (t->is_off) {
			if (t->cpu == cpu)
				count(&e->same_cpu);
			else
				count(&e->other_cpu);
			if (t->woken_on && t->woken_on != cpu + 1) {
				if (t->woken_from_outside) {
					count_outside_wake(&e->by_outside, t->woken_by, was_idle);
				} else {
					count_remote_wake(e, t);
					if (was_idle)
						count_wake_of_idle(e->of_idle, t->woken_by);
				}
			}
		} else if (t->is_new && t->cpu != cpu) {
			// The child of a vfork(2) has that until it executes a program.
			if (task->pid == task->tgid && !task->vfork_done) {
				count(&e->forks_to_other_cpu);
			} else {
				count(&e->starts_on_other_cpu);
				if (was_idle)
					count_wake_of_idle(e->of_idle, BY_OTHER);
			}
		}
	}
	t->is_off = t->is_new = 0;
	t->woken_on = 0;
	if (t->following == COUNTED)
		bring(t, task);
	return 0;
}

// Each CPU has one of its own, and all of them have this number.
static __always_inline __u32 is_idle_task(struct task_struct *task)
{
	return task->pid == 0;
}

// Whether a task works for the kernel, io_uring or vhost: it is no other end of a message. Before Linux
// 6.4 the bit of the last flag was free, or PF_USED_ASYNC, which any task may have.
static __always_inline __u32 works_for_kernel(struct task_struct *task)
{
	__u32 flags = KERNEL_FLAG | IO_WORKER_FLAG;

	if (bpf_core_field_exists(struct kernel_clone_args, user_worker))
		flags |= USER_WORKER_FLAG;
	return is_idle_task(task) || (task->flags & flags);
}

// A task outside goes on: perhaps one that a counted task has woken.
static __noinline int take_cpu_outside(struct task_struct *task, __u32 was_idle)
{
	__u32 pid = task->pid, on, by;
	struct woken_outside *woken = bpf_map_lookup_elem(&woken_outside, &pid);
	struct events *e;

	if (!woken)
		return 0;
	on = woken->on;
	by = woken->by;
	bpf_map_delete_elem(&woken_outside, &pid);
	e = the_events();
	if (e && on != bpf_get_smp_processor_id())
		count_outside_wake(&e->of_outside, by, was_idle);
	return 0;
}

// What a call about this descriptor wakes a task by. A packet over loopback is received within the call
// that sends it.
static __always_inline __u32 waker_by(struct form *form)
{
	if (form->kind == PIPE)
		return BY_PIPE;
	if (form->kind == SOCKET && form->name[0] == 'T' && form->name[1] == 'C')
		return BY_TCP;          // "TCP", "TCPv6"
	if (form->kind == SOCKET && form->name[0] == 'U' && form->name[1] == 'N')
		return BY_UNIX;         // "UNIX", "UNIX-STREAM"
	return BY_OTHER;
}

// What the call of a counted task is about that wakes another one.
static __always_inline __u32 waker_of(struct activity *waker)
{
	__u32 by = waker_by(&waker->form.form);

	return by == BY_OTHER && waker->class.words == FUTEX ? BY_FUTEX : by;
}

// The same of a task outside, whose call is not classified yet.
static __noinline __u32 waker_outside(struct task_struct *task, struct pt_regs *regs, __u32 call)
{
	struct class *class;
	struct form form = {};

	if (is_foreign(task))
		return BY_OTHER;
	class = class_of(call);
	if (!class)
		return BY_OTHER;
	if (class->words == FUTEX)
		return BY_FUTEX;
	if (class->words == DESCRIPTOR || class->words == CLOSE || class->words == WRITES)
		fill_kind(&form, argument(regs, 0));
	return waker_by(&form);
}

// A counted task is about to be woken by one outside: in a call, which its registers tell, or at its
// end. Before Linux 5.15 no program can look at these.
static __noinline int wake_from_outside(struct task *woken, struct task_struct *current)
{
	struct pt_regs *regs;
	__u32 by = BY_OTHER;
	__s64 call;

	// One that is watched is in a call that began before.
	if (!woken || works_for_kernel(current) || is_watched(current))
		return 0;
	if (!(current->flags & ENDING_FLAG)) {
		if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
			count(&the_state.hidden_wakers);
			return 0;
		}
		regs = (struct pt_regs *)bpf_task_pt_regs(current);
		call = number_of_call(regs);
		if (call < 0)
			return 0;
		by = waker_outside(current, regs, call);
	}
	woken->woken_on = bpf_get_smp_processor_id() + 1;
	woken->woken_by = by;
	woken->woken_from_outside = 1;
	return 0;
}

// Whether a counted task wakes another one at its end: its last call, if it was killed in one, wakes
// nobody. Before that it does so in its calls alone: what an interrupt wakes while it runs in user mode
// is not its act.
static __always_inline int is_ending(struct task *waker, struct task_struct *current)
{
	return waker->following == ENDED || (current->flags & ENDING_FLAG);
}

// A task outside is about to be woken, perhaps by a counted one. On which CPU it continues is known when
// it does: until then it is in a map.
static __noinline int wake_outside(struct task_struct *task, struct task_struct *current)
{
	struct woken_outside wake = {};
	__u32 pid = task->pid;
	struct task *waker;
	struct activity *a;

	if (works_for_kernel(task) || works_for_kernel(current))
		return 0;
	waker = entry_of(current);
	if (!waker || waker->following == CANDIDATE || the_state.has_ended)
		return 0;
	a = activity_of(current);
	if (!a || (!is_ending(waker, current) && !a->in_call))
		return 0;
	// It was about to wait, and has not left its CPU.
	if (task->on_rq && bpf_core_field_exists(task->on_cpu) && task->on_cpu)
		return 0;
	if (is_watched(task))
		return 0;
	wake.on = bpf_get_smp_processor_id();
	wake.by = is_ending(waker, current) ? BY_OTHER : waker_of(a);
	if (bpf_map_update_elem(&woken_outside, &pid, &wake, BPF_ANY))
		count(&the_state.lost);
	return 0;
}
