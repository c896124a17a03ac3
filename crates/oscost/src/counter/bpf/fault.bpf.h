// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Page faults by kind: those of the kernel's own counts, of which tracepoints tell the kind.
#pragma once

// The kind of a fault: `code` is the processor's word on it, and `seen` what the kernel did.
static __always_inline enum fault kind_of_fault(__u32 code, __u32 seen)
{
	// Without all tracepoints a fault is taken for another kind.
	if (!the_state.tells_kinds)
		return UNKNOWN_FAULT;
	if (code & PRESENT) {
		if (!(code & WRITE))
			return UNKNOWN_FAULT;
		return (seen & (NEW_PAGE | HUGE_PAGE)) ? COPY_ON_WRITE : PAGE_REUSE;
	}
	if (seen & SWAP_ENTRIES)
		return UNKNOWN_FAULT;
	if (seen & ANONYMOUS_PAGES) {
		if (seen & FILE_READ)           // A private copy of a page of a file.
			return COPY_ON_WRITE;
		return (seen & HUGE_PAGE) ? HUGE_ZERO_FILL : ZERO_FILL;
	}
	return (seen & FILE_PAGES) ? FILE_MINOR : UNKNOWN_FAULT;
}

// Counts the faults of a task that the kernel has counted since the last time. Of these one is that
// which the processor told of: the kernel counts a fault when it has handled it, once, however
// often it has begun anew. Others are faults that it takes itself, to get at pages of a process.
static __noinline int count_faults(struct activity *a, struct task_struct *task)
{
	__u64 minor = task->min_flt, major = task->maj_flt;
	struct events *e = the_events();
	__u64 new_minor, new_major;

	if (!a || !e)
		return 0;
	new_minor = minor - a->minor;
	new_major = major - a->major;
	a->minor = minor;
	a->major = major;
	if (a->in_fault && new_minor && !new_major) {
		new_minor--;
		// A page of a file that was mapped alone: others are counted when they are mapped.
		if (!(a->fault_code & PRESENT) && (a->fault_seen & FILE_READ) &&
		    !(a->fault_seen & (ANONYMOUS_PAGES | MAPPED_AROUND)))
			count(&e->mapped_file_pages);
		switch (kind_of_fault(a->fault_code, a->fault_seen)) {
		case ZERO_FILL: count(&e->faults[ZERO_FILL]); break;
		case HUGE_ZERO_FILL: count(&e->faults[HUGE_ZERO_FILL]); break;
		case FILE_MINOR: count(&e->faults[FILE_MINOR]); break;
		case COPY_ON_WRITE: count(&e->faults[COPY_ON_WRITE]); break;
		case PAGE_REUSE: count(&e->faults[PAGE_REUSE]); break;
		default: count(&e->faults[UNKNOWN_FAULT]); break;
		}
	}
	a->in_fault = 0;
	if (new_major)
		__sync_fetch_and_add(&e->faults[MAJOR], new_major);
	if (new_minor)
		__sync_fetch_and_add(&e->faults[UNKNOWN_FAULT], new_minor);
	return 0;
}

// Whether the kernel has counted faults of a task since the last time.
static __always_inline int has_new_faults(struct activity *a, struct task_struct *task)
{
	return a->minor != task->min_flt || a->major != task->maj_flt;
}

// Counts the faults of the current task before a call: most calls have none between them. Where a
// program sees each fault begin, those that it did not see, which the kernel takes itself, wait for
// the next one that begins, a switch or the exit: so no helper has to tell the task.
static __always_inline void settle_faults(struct activity *a)
{
	struct task_struct *task;

	if (!a->in_fault && the_state.tells_kinds)
		return;
	task = bpf_get_current_task_btf();
	if (a->in_fault || has_new_faults(a, task))
		count_faults(a, task);
}

// What the current task does, if what happens to it is counted.
static __always_inline struct activity *counted(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct activity *a = running_activity(task);
	struct task *t;

	if (the_state.has_ended)
		return 0;
	if (a)
		return a;
	t = entry_of(task);
	return t && t->following == COUNTED ? &t->activity : 0;
}

// A fault begins. The one before it has ended, and is counted.
static __noinline int begin_fault(__u32 code)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct activity *a = counted();

	if (!a)
		return 0;
	// If nothing was counted since, it is the same fault: the kernel has waited, and tries again.
	if (!a->in_fault || has_new_faults(a, task)) {
		count_faults(a, task);
		a->fault_seen = 0;
	}
	a->fault_code = code;
	a->in_fault = 1;
	return 0;
}

SEC("raw_tp/page_fault_user")
int begin_user_fault(struct bpf_raw_tracepoint_args *ctx)
{
	return begin_fault(ctx->args[2]);
}

SEC("raw_tp/page_fault_kernel")
int begin_kernel_fault(struct bpf_raw_tracepoint_args *ctx)
{
	return begin_fault(ctx->args[2]);
}

// Notes what is seen while a fault is handled: until the kernel has counted it.
static __always_inline void see(__u32 seen)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct activity *a = activity_of(task);

	if (a && a->in_fault && !has_new_faults(a, task))
		a->fault_seen |= seen;
}

SEC("raw_tp/rss_stat")
int see_pages(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 member = ctx->args[1];

	if (member < 4)
		see(1u << member);
	return 0;
}

SEC("raw_tp/mm_filemap_fault")
int see_file(void *ctx)
{
	see(FILE_READ);
	return 0;
}

// The pages of a file around a fault are mapped, as far as they are in memory and not mapped yet.
SEC("raw_tp/mm_filemap_map_pages")
int see_mapped_pages(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 first = ctx->args[1], last = ctx->args[2];
	struct events *e = the_events();

	see(MAPPED_AROUND);
	if (e && last >= first && counted())
		__sync_fetch_and_add(&e->mapped_file_pages, last - first + 1);
	return 0;
}

SEC("raw_tp/mm_page_alloc")
int see_new_page(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 order = ctx->args[1], flags = ctx->args[2];

	if (order >= HUGE_ORDER)
		see(HUGE_PAGE);
	else if (flags & MOVABLE)               // Those of the kernel itself do not go on.
		see(NEW_PAGE);
	return 0;
}
