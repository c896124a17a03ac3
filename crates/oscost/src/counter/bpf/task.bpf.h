// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The entry of a task, and what it does, which is at its CPU while it runs.
#pragma once

// Whether a task of a process that is watched has run before, and may have no entry yet: its id was told.
static __always_inline int is_watched(struct task_struct *task)
{
	__u32 pid = task->pid;

	return the_state.watched && bpf_map_lookup_elem(&followed, &pid);
}

// The entry of a task that is followed.
static __always_inline struct task *entry_of(struct task_struct *task)
{
	return bpf_task_storage_get(&tasks, task, 0, 0);
}

static __always_inline struct running *the_running(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&running, &zero);
}

// What the task with these registers does, if that is at its CPU: they are at the end of its stack
// in the kernel, where no other task has its own. So no helper has to tell which task it is.
static __always_inline struct activity *activity_by(struct pt_regs *regs)
{
	struct running *here = the_running();
	__u64 address = (__u64)regs;

	// The compiler must not take the number that is equal for the pointer.
	asm volatile("" : "+r"(address));
	return here && here->activity.registers == address ? &here->activity : 0;
}

// What the current task does, if that is at its CPU.
static __always_inline struct activity *running_activity(struct task_struct *task)
{
	struct running *here = the_running();

	return here && here->task == (__u64)task ? &here->activity : 0;
}

// What the current task does, if it is followed.
static __always_inline struct activity *activity_of(struct task_struct *task)
{
	struct activity *a = running_activity(task);
	struct task *t;

	if (a)
		return a;
	t = entry_of(task);
	return t ? &t->activity : 0;
}

// Brings what a task does to this CPU, where it runs.
static __always_inline struct activity *bring(struct task *t, struct task_struct *task)
{
	struct running *here = the_running();

	if (!here)
		return &t->activity;
	here->activity = t->activity;
	here->task = (__u64)task;
	return &here->activity;
}

// No task has what it does at this CPU any more.
static __always_inline void vacate(struct running *here)
{
	here->task = here->activity.registers = 0;
}

// Puts what a task has done on this CPU back into its entry.
static __always_inline void put_back(struct task *t, struct task_struct *task)
{
	struct running *here = the_running();

	if (!here || here->task != (__u64)task)
		return;
	t->activity = here->activity;
	vacate(here);
}

// Until Linux 6.2 the storage of a task is not found while this CPU changes one: then what it does cannot
// be put back, and must not be taken for that of another task at the same address.
static __always_inline void forget(struct task_struct *task)
{
	struct running *here = the_running();

	if (here && here->task == (__u64)task) {
		vacate(here);
		count(&the_state.lost);
	}
}

// Makes the entry of a task.
static __noinline struct task *follow(struct task_struct *task, __u32 following)
{
	struct task *t = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (t) {
		t->following = following;
		// A task that runs already has had faults and switches before.
		t->activity.minor = task->min_flt;
		t->activity.major = task->maj_flt;
		t->voluntary = task->nvcsw;
	} else {
		count(&the_state.lost);
	}
	return t;
}

// The entry of a task of a process that is watched. Not called at a switch, where the kernel holds a
// lock that memory for an entry may need.
static __noinline struct task *adopt(struct task_struct *task)
{
	if (the_state.has_ended || !is_watched(task))
		return 0;
	return follow(task, COUNTED);
}
