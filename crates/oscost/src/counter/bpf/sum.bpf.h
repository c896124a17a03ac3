// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The sums of the calls of a form, and the histogram of their times.
#pragma once

// The bucket of a time: 0 below 64 ns, N below 2^N times that, the last one without an end. It is
// verified by itself, as a function that is not static: its branches are not multiplied by those of
// the callers.
__noinline __u64 bucket_of(__u64 ns)
{
	__u64 rest = ns >> 6, bucket = 0;

	if (rest >> 32)
		return BUCKETS - 1;
	if (rest >> 16) { bucket += 16; rest >>= 16; }
	if (rest >> 8) { bucket += 8; rest >>= 8; }
	if (rest >> 4) { bucket += 4; rest >>= 4; }
	if (rest >> 2) { bucket += 2; rest >>= 2; }
	if (rest >> 1) { bucket += 1; rest >>= 1; }
	return bucket + rest;
}

static __always_inline void count_time(__u64 *buckets, __u64 ns)
{
	__u64 bucket = bucket_of(ns);

	// The verifier knows nothing of the result, and the compiler must not either.
	asm volatile("" : "+r"(bucket));
	if (bucket >= BUCKETS)
		bucket = BUCKETS - 1;
	count(&buckets[bucket]);
}

// The sum of a form on this CPU.
static __noinline struct sum *sum_of(union form_words *form)
{
	__u64 one = form->words[0], two = form->words[1];
	__u64 three = form->words[2], four = form->words[3];
	// Odd constants without a pattern; the upper bits depend on all lower ones.
	__u64 hash = (one * 0x9e3779b97f4a7c15ull ^ two) * 0xc2b2ae3d27d4eb4full ^ three ^ four << 1;
	__u32 index = (hash * 0x165667b19e3779f9ull) >> (64 - SLOT_BITS);
	struct slot *slot = bpf_map_lookup_elem(&slots, &index);
	__u32 zero = 0;
	struct sum *sum, *none;

	if (!slot)
		return 0;
	if (slot->owner == READY) {
		if (slot->form.words[0] == one && slot->form.words[1] == two &&
		    slot->form.words[2] == three && slot->form.words[3] == four)
			return &slot->sum;
	} else if (__sync_val_compare_and_swap(&slot->owner, FREE, TAKEN) == FREE) {
		slot->form.words[0] = one;
		slot->form.words[1] = two;
		slot->form.words[2] = three;
		slot->form.words[3] = four;
		slot->owner = READY;
		return &slot->sum;
	}
	sum = bpf_map_lookup_elem(&forms, &form->form);
	if (sum)
		return sum;
	none = bpf_map_lookup_elem(&no_sum, &zero);
	if (!none)
		return 0;
	bpf_map_update_elem(&forms, &form->form, none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&forms, &form->form);
}

// The sum of the call of a task, or that of all forms without room.
static __always_inline struct sum *sum_of_call(struct task *t)
{
	struct sum *sum = sum_of(&t->form);
	struct form other = {};
	struct state *s;

	if (sum)
		return sum;
	other.call = OTHER;
	sum = bpf_map_lookup_elem(&forms, &other);
	if (sum)
		return sum;
	s = the_state();
	if (s)
		count(&s->lost);
	return 0;
}
