// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the programs share with this process, and the fields of the kernel that they read.
#pragma once

// The fields of the kernel's structures that are read; libbpf relocates their offsets (CO-RE).
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct super_block { unsigned long s_magic; };
struct inode {
	unsigned short i_mode;
	__u32 i_rdev;
	struct super_block *i_sb;
	long long i_size;
};
struct qstr { const unsigned char *name; };
struct dentry { struct dentry *d_parent; struct qstr d_name; };
struct path { struct dentry *dentry; };
struct file {
	struct inode *f_inode;
	struct path f_path;
	unsigned int f_flags;
	long long f_pos;
};
typedef struct { long long counter; } atomic64_t;
typedef struct { atomic64_t refcnt; } file_ref_t;
struct file___ref { file_ref_t f_ref; };        // Since Linux 6.13,
struct file___count { atomic64_t f_count; };    // and before.
struct fdtable { unsigned int max_fds; struct file **fd; };
struct files_struct { struct fdtable *fdt; };
typedef struct { int counter; } atomic_t;
struct signal_struct { atomic_t live; };
struct mm_struct { unsigned long arg_start, env_end, saved_auxv[2]; int map_count; };
struct kernel_clone_args { unsigned user_worker : 1; };  // Came with PF_USER_WORKER.
#if defined(__TARGET_ARCH_x86)
struct thread_info { __u32 status; };
#define FOREIGN_FLAG 0x2                // TS_COMPAT: the task is in a 32-bit call.
struct pt_regs { unsigned long di, si, dx, r10, r8, r9, orig_ax, cx, r11, ip, flags; };
#else
struct thread_info { unsigned long flags; };
#define FOREIGN_FLAG (1 << 22)          // TIF_32BIT: the task runs a 32-bit program.
#define FOREIGN_MODE 0x10               // PSR_MODE32_BIT
struct pt_regs { __u64 regs[6], orig_x0, pstate; int syscallno; };
#endif
struct task_struct {
	struct thread_info thread_info;
	int pid, tgid, on_rq, on_cpu;
	unsigned int flags;
	unsigned long nvcsw, min_flt, maj_flt;
	unsigned in_iowait : 1;
	void *mm, *vfork_done;
	struct files_struct *files;
	struct signal_struct *signal;
};
#pragma clang attribute pop

#define CALLS 512               // Calls with a higher number have no class.
#define FOREIGN 0xffffffffu     // Stands for the number of any 32-bit call.
#define OTHER 0xfffffffeu       // Stands for all forms that have no room.
#define NO_DEPTH 0xffff         // The depth of a call without a path that could be read.
#define PATH_BYTES 512          // The first bytes of a path whose components are counted.
#define SET_WORDS 16            // Of a set of descriptors: FD_SETSIZE, 1,024 of them.
#define WORD_DESCRIPTORS 64
#define NAME_BYTES 16           // "TCPv6", "[userfaultfd]": the longest names that matter have 13.
#define MAX_FOLLOWED 32768      // Tasks of a running process that are followed from the beginning.
#define SLOT_BITS 10
#define HASH_SLOTS (1 << SLOT_BITS)     // A program has some hundred forms.
#define SLOTS (HASH_SLOTS + CALLS)      // Behind these, one of each plain call.
#define MAX_FORMS 2048          // Those whose slot is taken by another form.
#define BUCKETS 24              // From 64 ns to 268 ms: see bucket_of().
#define MAX_ERRNO 4095
#define AT_FDCWD (-100)
#define AUXILIARY 32            // No kernel has as many entries of the auxiliary vector.
#define AT_NULL 0
#define AT_BASE 7
#define HUGE_ORDER 9            // The pages of a huge page, as a power of two.
#define MOVABLE 0x8             // __GFP_MOVABLE: a page of a process or file, and no table.

#define APPEND_FLAG 02000       // O_APPEND
#define CLONE_VM 0x100          // The new task shares the memory of its creator.
#define CLONE_VFORK 0x4000      // Its creator waits for it.
#define ENDING_FLAG 0x4         // PF_EXITING
#define IO_WORKER_FLAG 0x10     // PF_IO_WORKER: a thread of io_uring.
#define USER_WORKER_FLAG 0x4000 // PF_USER_WORKER: a thread of vhost or io_uring.
#define KERNEL_FLAG 0x200000    // PF_KTHREAD
#define S_IFMT 0170000
#define S_IFIFO 0010000
#define S_IFCHR 0020000
#define S_IFDIR 0040000
#define S_IFBLK 0060000

// Which words of a call are part of its form.
enum words {
	OUTCOME,                // The error alone.
	DESCRIPTOR,             // The kind of the descriptor in the first argument.
	OPEN,                   // Flags, and the kind of the descriptor that it returns.
	STAT,                   // A flag; with it and an empty path the kind of the first argument.
	ARGUMENT,               // An argument.
	MEMORY_WORD,            // What an argument points to.
	CLOSE,                  // As DESCRIPTOR, and whether others refer to the file.
	FUTEX,                  // As ARGUMENT, and whether it has woken a task.
	WRITES,                 // As DESCRIPTOR, and whether the third argument reaches beyond the file.
	OPEN_HOW,               // As OPEN, by what an argument points to.
};

// What a call does to what is counted.
enum act { NOTHING, EXECUTE, EXIT, MARK };

enum size {
	NO_SIZE, RESULT_SIZE, ARGUMENT_SIZE,
	SETS_SIZE,              // The descriptors in the sets of select(2).
	EXECUTED_SIZE,          // The arguments and the environment of the program that it executes.
	MAPPINGS_SIZE,          // The mappings of the memory that a new process gets a copy of.
};

// The kind of a descriptor. SOCKET and ANONYMOUS are named by the kernel.
enum kind {
	NOT_LOOKED_UP, NONE, UNKNOWN, REGULAR, DIRECTORY, PIPE, TTY, PROC, DEVICE, SOCKET, ANONYMOUS,
	PIDFD,
	DISK,                   // What was read from a disk, or written to one.
};

enum flags {
	EMPTY_PATH = 1, WORD_UNREAD = 2, SHARED = 4, HAS_LOADER = 8, WOKE = 16, APPENDS = 32,
};

struct class {                  // What matters of a call: layout.rs makes them of the table.
	__u32 mask;             // The bits of the word that matter.
	__u8 words;             // See enum words,
	__u8 word_argument;     // and which argument the word is.
	__u8 size;              // See enum size,
	__u8 size_argument;     // and which argument it is.
	__u8 path;              // 1 more than the argument that is the path; 0 for none.
	__u8 act;               // See enum act.
	__u8 reads;             // 1 more than the descriptor that may be read from a disk; 0 for none.
	__u8 plain;             // 1 if nothing but its number and its error is part of its form.
};

struct form {                   // Calls that are counted together; layout.rs reads it.
	__u32 call;             // The number of the call, FOREIGN or OTHER.
	__u32 word;
	__u16 error;            // 0 of a success.
	__u16 depth;            // The components of the path, or NO_DEPTH.
	__u8 kind;
	__u8 size;              // 0 for none, 1 for no bytes, 2 + N for at most 2^N.
	__u8 flags;
	__u8 pad;
	char name[NAME_BYTES];
};

union form_words { struct form form; __u64 words[4]; };

// Words of structures, whose first byte is the lowest one: both processors are little-endian.
#define FORM_WITHOUT_PATH ((__u64)NO_DEPTH << 16)       // The second one of a form: NO_DEPTH alone.
#define IN_CALL 1ull            // The first one of an activity: in_call alone.
#define PLAIN_CLASS (1ull << 56)        // The second one: class.plain alone.

// A call is rare if its CPU has been busy for so long since the last one of its number and kind has returned
// there: what it needs has left the caches.
#define RARE_NS 500000
#define RETURNS 2048            // Places of their times. Two that share one are seen as rare less often.

// Calls that returned are counted by the histogram on_cpu alone; off_cpu counts those that were
// switched off a CPU.
struct sum {
	__u64 untimed, moved, on_cpu_ns, off_cpu_ns;
	__u64 rare;             // Calls that were rare, and the first one.
	__u64 on_cpu[BUCKETS], off_cpu[BUCKETS];
};

enum owner { FREE, TAKEN, READY };

struct slot {                   // layout.rs reads it.
	__u64 owner;            // See enum owner: only one that is READY has a form.
	union form_words form;
	struct sum sum;
};

enum following { CANDIDATE, COUNTED, ENDED };

struct activity {               // What a task does: its call, and its faults.
	union {
		struct {
			__u8 in_call;
			__u8 reads_path;
			__u8 waited_for_disk;   // In its call.
			__u8 in_fault;  // A fault has begun whose kind is not counted yet.
			struct class class;     // Of its call.
		};
		__u64 head[2];  // The same, see begin_plain().
	};
	__u64 registers;        // Where those of its calls are, see activity_by(); 0 if not known.
	__u64 entered_ns;       // When its call began.
	__u64 off_ns;           // When it was switched off its CPU in a call, or 0.
	__u64 waited_ns;        // For how long it was off its CPU in this call.
	__u64 bytes;            // The size of the call, if that is an argument.
	union form_words form;
	__u64 path;             // The address of the path that is to be read when the call returns.
	__u64 minor, major;     // Its faults that are counted.
	__u32 fault_code;       // The processor's word on the fault,
	__u32 fault_seen;       // and what was seen during it: see enum seen.
};

// The activity is the first field: no program may compute an address from one that may be null.
struct task {
	struct activity activity;       // But while it runs: see struct running.
	__u32 following;        // CANDIDATE: it has not executed the program yet.
	__u32 cpu;              // Where it was switched off, or created,
	__u8 is_off;            // and whether it has been since:
	__u8 is_new;            // it has not run yet.
	__u8 left_to_task;      // Another task than the kernel's own took that CPU at once.
	__u8 woken_from_outside;
	__u32 woken_on;         // 1 more than the CPU where another task has woken it, or 0,
	__u32 woken_by;         // and what the waker's call was about: see enum waker.
	__u64 voluntary;        // Its voluntary switches that are counted.
};

// A counted task that runs has its activity at its CPU, where a few instructions find it; the entry
// of a task takes a call into the kernel. Its switch off the CPU puts it back.
struct running {
	struct activity activity;
	__u64 task;             // The address of its task_struct, or 0.
};

struct state {                  // totals.rs reads and writes it.
	__u64 token, mark_option, mark_number, children, starter, root, has_ended, began_ns, ended_ns,
		forks, threads, execs, exits, signals, unfinished, unread, lost, alive, left, watched,
		tells_kinds, hidden_wakers;
};

// What the kind of a fault follows from: which of the counters of the memory of a process moved
// (MM_FILEPAGES 0, MM_ANONPAGES 1, MM_SWAPENTS 2, MM_SHMEMPAGES 3), and four more.
enum seen {
	FILE_PAGES = 1, ANONYMOUS_PAGES = 2, SWAP_ENTRIES = 4, FILE_READ = 16, HUGE_PAGE = 32,
	NEW_PAGE = 64, MAPPED_AROUND = 128,
};

// Bits of the word of an x86 processor.
enum fault_code { PRESENT = 1, WRITE = 2 };

enum fault {
	ZERO_FILL, HUGE_ZERO_FILL, FILE_MINOR, COPY_ON_WRITE, PAGE_REUSE, MAJOR, UNKNOWN_FAULT, FAULTS,
};

// What the call of a task that wakes another one is about.
enum waker { BY_TCP, BY_UNIX, BY_PIPE, BY_FUTEX, WAKERS, BY_OTHER = WAKERS };

// Tasks that continued on another CPU than that where a counted one woke them, by what their CPU did
// when they had left it.
struct remote_wakes { __u64 after_idle, after_switch; };

// The same, and tasks that began there and are no forks, where the CPU on which they went on was
// idle: by for how long it had been. The last number is of those below 150 us where it had stopped its tick.
struct wakes_of_idle { __u64 below_150_us, below_600_us, longer, below_150_us_tickless; };

// Wake-ups across CPUs of which one end is a task outside, and those among them of an idle CPU. The
// last ones are BY_OTHER.
struct outside_wakes { __u64 by_call[WAKERS + 1]; struct wakes_of_idle of_idle[WAKERS + 1]; };

// Functions of the C library that read a clock.
enum clock_read { CLOCK_GETTIME, GETTIMEOFDAY, TIME, CLOCK_READS };

struct events {                 // Of a CPU; event_sum.rs reads it.
	__u64 faults[FAULTS];
	__u64 voluntary, forced, same_cpu, other_cpu, softirqs, interrupts;
	__u64 to_process, to_thread;    // Of the voluntary ones: to whom the CPU went at once.
	__u64 clock_reads[CLOCK_READS];
	// Tasks that began on another CPU than that where they were created,
	__u64 forks_to_other_cpu, starts_on_other_cpu;
	// and those that continued on another CPU than that where a counted one woke them, by what
	// their CPU did when they had left it.
	__u64 remote_wakes_after_idle, remote_wakes_after_switch;
	__u64 mapped_file_pages;        // By faults.
	struct remote_wakes by_call[WAKERS];    // Among the remote wakes.
	struct wakes_of_idle of_idle[WAKERS + 1];       // The last ones are BY_OTHER.
	struct outside_wakes of_outside, by_outside;
};

struct auxiliary_entry { unsigned long type, value; };

// Words, and not bytes: clang composes a word from eight loads where it may not be aligned. The
// last one stays 0.
struct path_buffer { __u64 words[PATH_BYTES / 8 + 1]; };

struct idle {
	__u64 since_ns;         // When a CPU switched to its idle task; 0 if not seen.
	__u64 total_ns;         // For how long it has been idle before.
	__u64 is_tickless;      // Whether it has stopped its tick since then.
	// When calls have returned there last, in the time that it was busy.
	__u64 returned_ns[RETURNS];
};

#define OF_ONE(name, kind, value_type) \
	struct { \
		__uint(type, kind); \
		__uint(max_entries, 1); \
		__type(key, __u32); \
		__type(value, struct value_type); \
	} name SEC(".maps")

// The programs know the addresses of these two: to find them takes no look into a map.
struct state the_state SEC(".data.state");
struct class classes[CALLS] SEC(".data.classes");       // By the number of a call.

OF_ONE(no_sum, BPF_MAP_TYPE_ARRAY, sum);        // Never written to: a sum is too large for a stack.
OF_ONE(events, BPF_MAP_TYPE_PERCPU_ARRAY, events);
OF_ONE(running, BPF_MAP_TYPE_PERCPU_ARRAY, running);
OF_ONE(idles, BPF_MAP_TYPE_PERCPU_ARRAY, idle);
OF_ONE(path_buffers, BPF_MAP_TYPE_PERCPU_ARRAY, path_buffer);

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);        // Freed with the task.
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task);
} tasks SEC(".maps");

struct {                        // Ids of tasks that run already: each becomes an entry of `tasks`.
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_FOLLOWED);
	__type(key, __u32);
	__type(value, __u32);
} followed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, MAX_FORMS);
	__type(key, struct form);
	__type(value, struct sum);
} forms SEC(".maps");

static __always_inline struct events *the_events(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&events, &zero);
}

static __always_inline struct idle *the_idle(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&idles, &zero);
}

static __always_inline struct class *class_of(__u32 call)
{
	__u64 at = call;

	if (at >= CALLS)
		return 0;
	// The compiler must not compute the address before the bound is known to the verifier.
	asm volatile("" : "+r"(at));
	return &classes[at];
}

static __always_inline void count(__u64 *events)
{
	__sync_fetch_and_add(events, 1);
}

// How many bits of each number below 16 are significant: four bits each, that of 0 first.
#define SMALL_BITS 0x4444444433332210ull

// The bits of a number from its highest one on; 0 of 0. No instruction tells that. Most numbers are
// small: sizes, and times in units of 64 ns.
static __always_inline __u64 significant_bits(__u64 number)
{
	__u64 bits = 0;

	for (; number > 15; number >>= 4)
		bits += 4;
	return bits + (SMALL_BITS >> 4 * number & 15);
}
