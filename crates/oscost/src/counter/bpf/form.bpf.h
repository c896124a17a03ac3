// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The form of a call: what makes it cheap or expensive.
#pragma once

// The argument of a call with this number, from 0. Where the number is known it is one load.
static __always_inline __u64 argument(struct pt_regs *regs, __u32 number)
{
#if defined(__TARGET_ARCH_x86)
	switch (number) {
	case 0: return regs->di;
	case 1: return regs->si;
	case 2: return regs->dx;
	case 3: return regs->r10;
	case 4: return regs->r8;
	default: return regs->r9;
	}
#else
	switch (number) {
	case 0: return regs->orig_x0;
	case 1: return regs->regs[1];
	case 2: return regs->regs[2];
	case 3: return regs->regs[3];
	case 4: return regs->regs[4];
	default: return regs->regs[5];
	}
#endif
}

// The number of the call that a task is in, by its registers; below 0 if it is in none: an interrupt
// has come while it ran in user mode.
static __always_inline __s64 number_of_call(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return regs->orig_ax;
#else
	return regs->syscallno;
#endif
}

// Whether a task is in a call by a number of a 32-bit program.
static __always_inline int is_foreign(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return (task->thread_info.status & FOREIGN_FLAG) != 0;
#else
	return (task->thread_info.flags & FOREIGN_FLAG) != 0;
#endif
}

// The same of the current task at the entry of a call with these registers, which exclude it in
// most calls. SYSCALL of a 64-bit program leaves the address behind it in rcx, and the flags in r11:
// by these two the kernel itself knows whether SYSRET may end the call. INT 80 leaves there what the
// program had. Of SYSCALL of a 32-bit program (AMD) the kernel stores an argument in the place of
// rcx, and the ip at which its vDSO goes on. With FRED both registers are left to the program: each
// call takes the helper.
static __always_inline int is_foreign_call(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	if (regs->cx == regs->ip && regs->r11 == regs->flags)
		return 0;
#else
	if (!(regs->pstate & FOREIGN_MODE))
		return 0;
#endif
	return is_foreign(bpf_get_current_task_btf());
}

// The size class of so many bytes: 1 of none, 2 + N of at most 2^N.
static __always_inline __u8 size_class(__u64 bytes)
{
	return bytes ? 2 + significant_bits(bytes - 1) : 1;
}

// Whether a file has references besides that of one descriptor: duplicates, descriptors of other
// processes, mappings. A close of that descriptor does not release it.
static __always_inline int is_shared(struct file *file)
{
	struct file___ref *with_ref = (void *)file;
	struct file___count *with_count = (void *)file;

	// A file_ref_t is one less than the number of references.
	if (bpf_core_field_exists(with_ref->f_ref))
		return BPF_CORE_READ(with_ref, f_ref.refcnt.counter) > 0;
	if (bpf_core_field_exists(with_count->f_count))
		return BPF_CORE_READ(with_count, f_count.counter) > 1;
	return 0;
}

// Whether so many bytes end beyond the end of a file, from its position on, or from its end if it is
// only appended to.
static __always_inline int ends_beyond(struct file *file, __u64 bytes)
{
	__u64 size = BPF_CORE_READ(file, f_inode, i_size), begin = BPF_CORE_READ(file, f_pos);

	if (BPF_CORE_READ(file, f_flags) & APPEND_FLAG)
		begin = size;
	return bytes && begin + bytes > size;
}

// The number of bits of a word that are set: those of each byte, and then their sum. No instruction
// does that, and not every compiler has a way around it.
static __always_inline __u64 bits_of(__u64 word)
{
	__u64 of_bytes = 0;

	for (__u32 bit = 0; bit < 8; bit++)
		of_bytes += (word >> bit) & EACH_BYTE;
	return (of_bytes * EACH_BYTE) >> 56;
}

// Counts the descriptors that are in at least one of the three sets of select(2): the kernel looks at
// each once. Its first argument bounds their numbers. A set that is missing is replaced by another one,
// so that no step in the loop depends on that.
static __noinline int fill_sets(struct activity *a, struct pt_regs *regs)
{
	__u64 read = argument(regs, 1), write = argument(regs, 2), except = argument(regs, 3);
	__u64 any = read ? read : write ? write : except, descriptors = 0, failed = 0;
	__u32 left = argument(regs, 0);

	if (!a)
		return 0;
	a->bytes = 0;
	if ((__s32)left <= 0 || !any)
		return 0;
	if (!read)
		read = any;
	if (!write)
		write = any;
	if (!except)
		except = any;
	if (left > SET_WORDS * WORD_DESCRIPTORS) {
		left = SET_WORDS * WORD_DESCRIPTORS;
		count_unread();
	}
	for (__u32 i = 0; i < SET_WORDS; i++) {
		__u64 words[3] = {}, word;

		failed |= bpf_probe_read_user(&words[0], sizeof(word), (void *)(read + 8 * i));
		failed |= bpf_probe_read_user(&words[1], sizeof(word), (void *)(write + 8 * i));
		failed |= bpf_probe_read_user(&words[2], sizeof(word), (void *)(except + 8 * i));
		word = words[0] | words[1] | words[2];
		if (left <= WORD_DESCRIPTORS) {
			word &= ~0ull >> (WORD_DESCRIPTORS - left);
			descriptors += bits_of(word);
			break;
		}
		descriptors += bits_of(word);
		left -= WORD_DESCRIPTORS;
	}
	if (failed) {
		a->class.size = NO_SIZE;        // Of this call alone.
		count_unread();
	}
	a->bytes = descriptors;
	return 0;
}

// Counts the mappings that a call copies for a new process, unless that shares them or its creator
// waits for it.
static __always_inline void fill_mappings(struct activity *a)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = task->mm;

	if (a->form.form.word & (CLONE_VM | CLONE_VFORK))
		a->class.size = NO_SIZE;        // Of this call alone.
	else if (mm)
		a->bytes = mm->map_count;
}

// Whether the entry of a call tells more of its form than its number and its path.
static __always_inline int tells_at_entry(struct class *class)
{
	return class->words != OUTCOME || class->size >= ARGUMENT_SIZE;
}

// What it tells then.
static __noinline int fill_form(struct activity *a, struct pt_regs *regs)
{
	struct form *form;
	struct file *file;
	__u64 address, word = 0;

	if (!a)
		return 0;
	form = &a->form.form;
	switch (a->class.words) {
	case DESCRIPTOR:
		fill_kind(form, argument(regs, 0));
		break;
	case CLOSE:
		file = fill_kind(form, argument(regs, 0));
		if (file && is_shared(file))
			form->flags |= SHARED;
		break;
	case WRITES:
		file = fill_kind(form, argument(regs, 0));
		if (file && form->kind == REGULAR && ends_beyond(file, argument(regs, 2)))
			form->flags |= APPENDS;
		break;
	case STAT:
		form->word = argument(regs, a->class.word_argument) & a->class.mask;
		if (form->word)
			fill_kind(form, argument(regs, 0));
		break;
	case OPEN:
	case ARGUMENT:
	case FUTEX:
		form->word = argument(regs, a->class.word_argument) & a->class.mask;
		break;
	case MEMORY_WORD:
	case OPEN_HOW:
		address = argument(regs, a->class.word_argument);
		if (bpf_probe_read_user(&word, sizeof(word), (void *)address)) {
			form->flags |= WORD_UNREAD;
			count_unread();
		}
		form->word = word & a->class.mask;
		break;
	}
	if (a->class.size == ARGUMENT_SIZE)
		a->bytes = argument(regs, a->class.size_argument);
	else if (a->class.size == SETS_SIZE)
		fill_sets(a, regs);
	else if (a->class.size == MAPPINGS_SIZE)
		fill_mappings(a);
	return 0;
}

// Whether the program that a task has just begun to execute has a loader: its auxiliary vector says
// at which address (AT_BASE), or 0.
static __noinline int has_loader(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	const unsigned long *vector = mm->saved_auxv;
	struct auxiliary_entry entry;

	for (__u32 i = 0; i < AUXILIARY; i++) {
		if (bpf_probe_read_kernel(&entry, sizeof(entry), vector + 2 * i))
			return 0;
		if (entry.type == AT_BASE)
			return entry.value != 0;
		if (entry.type == AT_NULL)
			return 0;
	}
	return 0;
}

// The bytes of the arguments and the environment of the program that a task has just begun to execute:
// the strings of both lie one after another.
static __noinline __u64 argument_bytes(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	unsigned long begin = BPF_CORE_READ(mm, arg_start), end = BPF_CORE_READ(mm, env_end);

	return end > begin ? end - begin : 0;
}

// Whether what a call has read may be on a disk. Of a call that reads another descriptor than the first
// one only the kind of that is known: no socket or pipe waits for input or output in the kernel's sense.
static __always_inline int may_be_of_disk(struct activity *a)
{
	return a->class.reads > 1 || a->form.form.kind == REGULAR || a->form.form.kind == DIRECTORY;
}

// Whether the return of a call may tell what it was about. One shift tells it of all words, where
// each comparison is a branch.
static __always_inline int tells_at_return(struct activity *a)
{
	__u32 tellers = 1u << OPEN | 1u << OPEN_HOW | 1u << STAT | 1u << FUTEX;

	return a->waited_for_disk || (tellers >> a->class.words & 1);
}

// What it tells then.
static __noinline int finish_kind(struct activity *a, __s64 result)
{
	struct form *form;

	if (!a)
		return 0;
	form = &a->form.form;
	if (a->class.words == FUTEX && result > 0)
		form->flags |= WOKE;
	if (a->waited_for_disk && !form->error && may_be_of_disk(a)) {
		form->kind = DISK;
		__builtin_memset(form->name, 0, NAME_BYTES);
	}
	if ((a->class.words == OPEN || a->class.words == OPEN_HOW) && !form->error)
		fill_kind(form, result);
	if (a->class.words == STAT && form->kind != NOT_LOOKED_UP && !(form->flags & EMPTY_PATH)) {
		// The descriptor was not what it was about.
		form->kind = NOT_LOOKED_UP;
		__builtin_memset(form->name, 0, NAME_BYTES);
	}
	return 0;
}

static __always_inline int is_error(__s64 result)
{
	return result < 0 && result >= -MAX_ERRNO;
}

// What the return of a call adds to its form; returns the bytes that it moved.
static __always_inline __u64 finish_form(struct activity *a, __s64 result)
{
	struct form *form = &a->form.form;
	__u64 moved;

	if (is_error(result))
		form->error = -result;
	if (a->reads_path)
		fill_depth(form, a->path);
	if (tells_at_return(a))
		finish_kind(a, result);
	if (a->class.size == NO_SIZE || form->error)
		return 0;
	moved = a->class.size == RESULT_SIZE ? (__u64)result : a->bytes;
	form->size = size_class(moved);
	return moved;
}
