// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The sums of the calls of a form, and the histogram of their times.
#pragma once

// The bucket of a time: 0 below 64 ns, N below 2^N times that, the last one without an end.
static __always_inline __u64 bucket_of(__u64 ns)
{
	__u64 bucket = significant_bits(ns >> 6);

	// The compiler must not replace the bound that the verifier needs.
	asm volatile("" : "+r"(bucket));
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

// The slot of a form. The upper bits of a product depend on all lower ones, and no multiplication
// waits for another one. The constants are odd and have no pattern.
static __always_inline __u32 index_of(union form_words *form)
{
	__u64 name = form->words[2] ^ form->words[3] << 1;

	return (form->words[0] * 0x9e3779b97f4a7c15ull + form->words[1] * 0xc2b2ae3d27d4eb4full +
		name * 0x165667b19e3779f9ull) >> (64 - SLOT_BITS);
}

static __always_inline int are_equal(union form_words *one, union form_words *other)
{
	return one->words[0] == other->words[0] && one->words[1] == other->words[1] &&
	       one->words[2] == other->words[2] && one->words[3] == other->words[3];
}

// The sum of a form that is not in its slot: there if that is free, or in the map of those whose
// slot is taken, or else that of all forms without room.
static __noinline struct sum *new_sum_of(union form_words *form, struct slot *slot)
{
	struct form other = { .call = OTHER };
	struct sum *sum, *none;
	__u32 zero = 0;

	if (!form || !slot)
		return 0;
	if (slot->owner == FREE && __sync_val_compare_and_swap(&slot->owner, FREE, TAKEN) == FREE) {
		slot->form = *form;
		slot->owner = READY;
		return &slot->sum;
	}
	sum = bpf_map_lookup_elem(&forms, &form->form);
	if (sum)
		return sum;
	none = bpf_map_lookup_elem(&no_sum, &zero);
	if (none) {
		bpf_map_update_elem(&forms, &form->form, none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&forms, &form->form);
	}
	return sum ? sum : bpf_map_lookup_elem(&forms, &other);
}

static __always_inline struct slot *slot_at(__u32 index)
{
	return bpf_map_lookup_elem(&slots, &index);
}

// The sum of a form on this CPU; 0 if there is none, and the call is lost.
static __always_inline struct sum *sum_of(union form_words *form)
{
	struct slot *slot = slot_at(index_of(form));

	if (slot && slot->owner == READY && are_equal(&slot->form, form))
		return &slot->sum;
	return new_sum_of(form, slot);
}

// The same of a plain call without error. Its number gives its slot, which no other form has: there
// is nothing to hash, nor to compare.
static __always_inline struct sum *sum_of_plain(union form_words *form)
{
	struct slot *slot = slot_at(HASH_SLOTS + form->form.call);

	if (slot && slot->owner == READY)
		return &slot->sum;
	return new_sum_of(form, slot);
}

// Counts a call that never returns.
static __noinline int count_untimed(struct activity *a)
{
	struct sum *sum;

	if (!a)
		return 0;
	sum = sum_of(&a->form);
	count(sum ? &sum->untimed : &the_state.lost);
	return 0;
}

// Adds a call to the sum of its form on this CPU, without locked instructions: count_return() alone
// writes these words and `moved`, and never twice on a CPU at once. An interrupt makes no call; the kernel runs
// the programs of these tracepoints with preemption off; and one that would not, does not begin a
// program on a CPU where another task is in it (since Linux 6.2).
static __always_inline void add_call(struct sum *sum, struct activity *a, __u64 now)
{
	__u64 off_cpu_ns = a->waited_ns, on_cpu_ns = now - a->entered_ns - off_cpu_ns;
	struct idle *idle = the_idle();
	__u32 at = (a->form.form.call + a->form.form.kind * 521) % RETURNS;
	__u64 *returned_ns;

	if (idle) {
		returned_ns = &idle->returned_ns[at];
		// Below zero if the CPU was idle during the call, or another task has returned from one
		// meanwhile.
		if ((__s64)(a->entered_ns - idle->total_ns - *returned_ns) >= RARE_NS)
			sum->rare++;
		*returned_ns = now - idle->total_ns;
	}
	sum->on_cpu_ns += on_cpu_ns;
	sum->on_cpu[bucket_of(on_cpu_ns)]++;
	if (off_cpu_ns) {
		sum->off_cpu_ns += off_cpu_ns;
		sum->off_cpu[bucket_of(off_cpu_ns)]++;
	}
}
