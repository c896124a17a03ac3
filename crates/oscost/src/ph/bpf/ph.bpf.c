// SPDX-License-Identifier: MIT OR Apache-2.0
//
// pH, process homeostasis (study ph-2000): learns which system calls each executable makes after
// which, and reports new sequences. Three programs, attached to system-call entry, fork and exec.
//
// A call writes only to the storage of its task and to a counter of its CPU. What all CPUs share is
// written only when something is new, so that CPUs do not contend for cache lines.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

// Some of the helpers are available only to programs with a license compatible with the GPL.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

// The fields of the kernel's structures that are read; libbpf relocates their offsets (CO-RE).
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct super_block { __u32 s_dev; };
struct inode { struct super_block *i_sb; unsigned long i_ino; };
struct qstr { const unsigned char *name; };
struct dentry { struct dentry *d_parent; struct qstr d_name; };
struct path { struct dentry *dentry; };
struct file { struct inode *f_inode; struct path f_path; };
struct mm_struct { struct file *exe_file; };
struct task_struct { int pid, tgid; struct task_struct *real_parent; struct mm_struct *mm; };
struct linux_binprm;
#if defined(__TARGET_ARCH_x86)          // The registers with the first two arguments of a call.
struct pt_regs { unsigned long di, si; };
#define FIRST_ARGUMENT di
#define SECOND_ARGUMENT si
#else
struct pt_regs { __u64 regs[2], orig_x0; };
#define FIRST_ARGUMENT orig_x0
#define SECOND_ARGUMENT regs[1]
#endif
#pragma clang attribute pop

#define CALLS 512               // Calls with a higher number are counted, but not examined.
#define PAIR_BYTES (CALLS * CALLS)
#define LOOKBACK 8              // Earlier calls that a call is paired with: a bit of a byte each.
#define NO_CALL 0xffff          // There was no earlier call.
#define UNTRACKED 0             // The slot of calls that belong to no profile.
#define MAX_CPUS 8192           // The largest NR_CPUS of any kernel configuration.
#define MAX_ANCESTORS 64        // How far up the root of a tree is searched.
#define PATH_NAMES 12           // The last components of a path that are reported,
#define NAME_BYTES 48           // and the size of each.
#define SIGSTOP 19
#ifdef __TARGET_ARCH_arm64
#define RESTART_SYSCALL 128     // restart_syscall(2): continues an interrupted wait.
#else
#define RESTART_SYSCALL 219
#endif

// Constants, set before the programs are loaded: the verifier removes code that they disable.
const volatile struct rules {
	__u32 lookback;         // The window without the call itself: 1 to 8.
	__u32 frame;            // Calls in a task's locality frame: 1 to 128.
	__u32 anomaly_limit;    // Anomalies of a profile above which it is trained again.
	__u32 tolerise_limit;   // Anomalies in a frame above which nothing more is learned.
	__u32 delays;           // Whether tasks with anomalies in their frame are stopped.
	__u32 root;             // The root of the monitored process tree; 0 for all processes.
	__u32 monitor, cleanup; // The monitor and the cleanup process, which are never monitored.
	__u32 slots;            // Entries of the maps by slot.
	__u32 cpus;             // Possible CPUs.
	__u32 mark_call;        // A call without effect that marks counted calls: see `handle_mark`.
	__u32 mark_option;      // Its first argument.
	__u32 begin, end;       // The lowest byte of its second argument.
} rules SEC(".rodata.rules") = {};

// What is done with the calls of an executable.
enum state {
	TRAINING,               // They are learned.
	FROZEN,                 // They are learned, but there was nothing new for long.
	NORMAL,                 // They are learned, and compared with the normal pairs.
	PAUSED,                 // They are only counted, while the monitor process copies the pairs.
	UNLEARN,                // They are compared; the monitor process will undo what was learned.
};

struct task {                   // With the kernel's pointer before it: one cache line.
	__u64 calls_low, calls_high;    // The last eight calls, 16 bits each, the last one lowest.
	__u64 frame_low, frame_high;    // The locality frame: a bit for each call, 1 for an anomaly.
	__u64 calls;            // The number of all its calls.
	__u32 slot;             // The slot of its executable's profile.
	__u32 epoch;            // The epoch of the profile when its frame began.
	__u32 marked;           // The process between whose marks it is, or 0.
	__u8 monitored;         // Whether it is monitored.
	__u8 delayed;           // Whether it was stopped at its last call.
	__u8 locality_count;    // Anomalies in its frame,
	__u8 max_locality_count;        // and their maximum since the frame was cleared.
};

struct executable { __u64 device, inode; };     // Identifies a file.
struct pairs { __u8 positions[PAIR_BYTES]; };   // Bit i-1 of [call][earlier call]: i calls earlier.
struct control { __u32 state, epoch; };         // Of a profile. A new epoch clears all frames.
struct counts { __u64 calls, trained, lost, dropped; }; // Of a profile, on one CPU.
struct change_counts {          // Of a profile: counts that change only when something is new.
	__u64 changes;          // Calls with new pairs,
	__u64 changed_at;       // and the number of trained calls at the last of them.
	__u64 anomalies;        // Anomalies since the profile became normal.
	__u64 pad[5];           // Prevents false sharing between profiles.
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);        // Freed with the task.
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);                         // Set to the number of slots by monitor.rs.
	__type(key, struct executable);
	__type(value, __u32);
} slots SEC(".maps");

#define BY_SLOT(name, kind, value_type) \
	struct { \
		__uint(type, kind); \
		__uint(max_entries, 1); \
		__type(key, __u32); \
		__type(value, struct value_type); \
	} name SEC(".maps")

BY_SLOT(train, BPF_MAP_TYPE_ARRAY, pairs);
BY_SLOT(test, BPF_MAP_TYPE_ARRAY, pairs);
BY_SLOT(controls, BPF_MAP_TYPE_ARRAY, control);
BY_SLOT(change_counts, BPF_MAP_TYPE_ARRAY, change_counts);
BY_SLOT(call_counts, BPF_MAP_TYPE_PERCPU_ARRAY, counts);
BY_SLOT(next_slot, BPF_MAP_TYPE_ARRAY, control);        // The first free slot: `state` of [0].

struct {                                                // The processes that were stopped here.
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} stopped SEC(".maps");

// The calls that were observed between the marks of each process whose calls a tracer counts. A run
// counts one process at a time, but others on the machine, such as another run's, may be counted at
// the same time. A process that is killed between its marks leaves its entry, which makes room for
// others when the map is full.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} marked SEC(".maps");

enum kind { NEW_EXECUTABLE = 1, ANOMALY, STOPPED, TOLERISED, RETRAINED, MARKED };

struct event {                  // The beginning of each event; event.rs parses it.
	__u32 kind, slot, process, thread;
	__u64 calls;            // Calls of the task.
	__u64 anomalies;        // Anomalies of the profile; for MARKED, the calls between the marks.
	__u16 call, previous;   // The nearest new pair,
	__u8 position;          // how many calls `previous` was before `call`,
	__u8 new_positions;     // and all positions with a new pair, as bits.
	__u8 locality_count, max_locality_count;
	char comm[16];
};

struct executable_event {
	struct event event;
	struct executable executable;
	char path[PATH_NAMES][NAME_BYTES];      // Its path in its file system, the last name first.
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 19);
} events SEC(".maps");

// The `i`-th call before the current one, counted from 0.
static __always_inline __u32 earlier_call(const struct task *t, __u32 i)
{
	return (i < 4 ? t->calls_low >> 16 * i : t->calls_high >> 16 * (i - 4)) & 0xffff;
}

static __always_inline __u32 pair_index(__u32 call, __u32 previous)
{
	return (call * CALLS + previous) & (PAIR_BYTES - 1);
}

// The positions of pairs that `pairs` lacks, as bits.
static __always_inline __u32 missing_positions(const struct pairs *pairs, __u32 call,
					       const struct task *t)
{
	__u32 lookback = rules.lookback, missing = 0;

#pragma unroll
	for (__u32 i = 0; i < LOOKBACK; i++) {
		__u32 previous = earlier_call(t, i);

		if (i >= lookback || previous == NO_CALL)
			break;
		missing |= ~pairs->positions[pair_index(call, previous)] & (1u << i);
	}
	return missing;
}

static __always_inline void push_call(struct task *t, __u32 call)
{
	t->calls_high = t->calls_high << 16 | t->calls_low >> 48;
	t->calls_low = t->calls_low << 16 | call;
}

static __always_inline void clear_window(struct task *t)
{
	t->calls_low = t->calls_high = ~0ull;
}

static __always_inline void clear_frame(struct task *t)
{
	t->frame_low = t->frame_high = 0;
	t->locality_count = t->max_locality_count = 0;
}

// Shifts a call into the frame, and the oldest one out of it.
static __always_inline void shift_frame(struct task *t, __u64 is_anomaly)
{
	__u32 last = rules.frame - 1;
	__u64 out = (last < 64 ? t->frame_low >> last : t->frame_high >> (last - 64)) & 1;

	t->frame_high = t->frame_high << 1 | t->frame_low >> 63;
	t->frame_low = t->frame_low << 1 | is_anomaly;
	t->locality_count += is_anomaly;
	t->locality_count -= out;
	if (t->locality_count > t->max_locality_count)
		t->max_locality_count = t->locality_count;
}

// Fills in the fields that all events have.
static __always_inline void fill_event(struct event *event, __u32 kind, const struct task *t)
{
	__u64 id = bpf_get_current_pid_tgid();

	event->kind = kind;
	event->slot = t->slot;
	event->process = id >> 32;
	event->thread = id;
	event->calls = t->calls;
	event->anomalies = 0;
	event->call = event->previous = NO_CALL;
	event->position = event->new_positions = 0;
	event->locality_count = t->locality_count;
	event->max_locality_count = t->max_locality_count;
	bpf_get_current_comm(event->comm, sizeof(event->comm));
}

// Counts an event or an executable for which there was no room.
static __always_inline void count_dropped(void)
{
	__u32 slot = UNTRACKED;
	struct counts *n = bpf_map_lookup_elem(&call_counts, &slot);

	if (n)
		n->dropped++;
}

static __noinline int report(struct task *t, __u32 kind, __u64 anomalies, __u32 call, __u32 missing)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count_dropped();
		return 0;
	}
	fill_event(event, kind, t);
	event->anomalies = anomalies;
	event->call = call;
	event->new_positions = missing;
#pragma unroll
	for (__u32 i = LOOKBACK; i--;) {
		if (missing & (1u << i)) {
			event->position = i + 1;
			event->previous = earlier_call(t, i);
		}
	}
	bpf_ringbuf_submit(event, 0);
	return 0;
}

// Reports a new profile: the file of its executable, and the path of that.
static __noinline int report_executable(struct task *t, struct executable *exe, struct dentry *at)
{
	struct executable_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count_dropped();
		return 0;
	}
	fill_event(&event->event, NEW_EXECUTABLE, t);
	event->executable = *exe;
	for (__u32 i = 0; i < PATH_NAMES; i++) {
		struct dentry *parent = BPF_CORE_READ(at, d_parent);

		event->path[i][0] = 0;
		// A file without a directory (memfd_create(2)) is its own parent, but has a name.
		if (!at || (at == parent && i))
			continue;
		bpf_probe_read_kernel_str(event->path[i], NAME_BYTES, BPF_CORE_READ(at, d_name.name));
		at = parent;
	}
	bpf_ringbuf_submit(event, 0);
	return 0;
}

// Binds a task to the profile of its executable file; adds a profile if there is none.
static __noinline int bind_task(struct task *t, struct task_struct *task)
{
	struct file *file = BPF_CORE_READ(task, mm, exe_file);
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct executable exe = {};
	__u32 zero = 0, *found, slot;
	struct control *free;

	t->slot = UNTRACKED;
	if (!inode)
		return 0;
	exe.device = BPF_CORE_READ(inode, i_sb, s_dev);
	exe.inode = BPF_CORE_READ(inode, i_ino);
	found = bpf_map_lookup_elem(&slots, &exe);
	if (found) {
		t->slot = *found;
		return 0;
	}
	free = bpf_map_lookup_elem(&next_slot, &zero);
	if (!free)
		return 0;
	slot = free->state < rules.slots ? __sync_fetch_and_add(&free->state, 1) : rules.slots;
	if (slot >= rules.slots) {
		count_dropped();
		return 0;
	}
	// If another CPU has added the same file first, its slot is used, and this one stays empty.
	if (bpf_map_update_elem(&slots, &exe, &slot, BPF_NOEXIST)) {
		found = bpf_map_lookup_elem(&slots, &exe);
		t->slot = found ? *found : UNTRACKED;
		return 0;
	}
	t->slot = slot;
	return report_executable(t, &exe, BPF_CORE_READ(file, f_path.dentry));
}

// Whether a task is in the monitored process tree.
static __noinline int is_in_tree(struct task_struct *task)
{
	for (__u32 i = 0; i < MAX_ANCESTORS && task; i++) {
		__u32 process = BPF_CORE_READ(task, tgid);

		if (process == rules.root)
			return 1;
		if (process <= 1)
			return 0;
		task = BPF_CORE_READ(task, real_parent);
	}
	return 0;
}

// Adds the current task, which existed before the programs were attached.
static __noinline struct task *add_task(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task *t = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u32 process = bpf_get_current_pid_tgid() >> 32;

	if (!t)
		return 0;
	clear_window(t);
	t->monitored = process != rules.monitor && process != rules.cleanup &&
		       (!rules.root || is_in_tree(task));
	if (t->monitored)
		bind_task(t, task);
	return t;
}

// Learns the new pairs. If two CPUs write the same byte, a bit may be lost, and is learned later.
static __noinline int learn(struct task *t, struct pairs *pairs, __u32 call, __u32 missing)
{
	struct control *control = bpf_map_lookup_elem(&controls, &t->slot);
	struct change_counts *counts = bpf_map_lookup_elem(&change_counts, &t->slot);
	__u64 trained = 0;

	if (!control || !counts)
		return 0;
#pragma unroll
	for (__u32 i = 0; i < LOOKBACK; i++) {
		if (missing & (1u << i))
			pairs->positions[pair_index(call, earlier_call(t, i))] |= 1u << i;
	}
	for (__u32 cpu = 0; cpu < MAX_CPUS && cpu < rules.cpus; cpu++) {
		struct counts *n = bpf_map_lookup_percpu_elem(&call_counts, &t->slot, cpu);

		if (n)
			trained += n->trained;
	}
	counts->changed_at = trained;
	__sync_fetch_and_add(&counts->changes, 1);
	if (control->state == FROZEN)
		control->state = TRAINING;
	return 0;
}

// Counts and reports a call that is not normal, and applies both limits.
static __noinline int handle_anomaly(struct task *t, struct control *control, __u32 call,
				     __u32 missing)
{
	struct change_counts *counts = bpf_map_lookup_elem(&change_counts, &t->slot);
	__u64 anomalies;

	if (!counts)
		return 0;
	anomalies = __sync_fetch_and_add(&counts->anomalies, 1) + 1;
	report(t, ANOMALY, anomalies, call, missing);
	if (anomalies > rules.anomaly_limit && control->state != TRAINING) {
		control->state = TRAINING;
		control->epoch++;
		report(t, RETRAINED, anomalies, call, 0);
	} else if (t->locality_count > rules.tolerise_limit && control->state == NORMAL) {
		control->state = UNLEARN;
		report(t, TOLERISED, anomalies, call, 0);
	}
	return 0;
}

// Stops the process when it returns from the call; the monitor process continues it. A process is
// stopped only if it was entered in the map and its event has room.
static __noinline int delay(struct task *t)
{
	__u32 process = bpf_get_current_pid_tgid() >> 32;
	__u64 locality_count = t->locality_count;
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count_dropped();
		return 0;
	}
	if (bpf_map_update_elem(&stopped, &process, &locality_count, BPF_ANY)) {
		bpf_ringbuf_discard(event, 0);
		return 0;
	}
	if (bpf_send_signal(SIGSTOP)) {
		bpf_map_delete_elem(&stopped, &process);
		bpf_ringbuf_discard(event, 0);
		return 0;
	}
	t->delayed = 1;
	fill_event(event, STOPPED, t);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

// Counts the calls between two marks. A process whose calls a tracer counts marks the first and the
// last of them: the calls observed here, of it and of the processes that it starts in between, must
// be those that the tracer counted. Any process can make marks: its calls are its own, and change no
// count of another process.
static __noinline int handle_mark(struct task *t, __u64 call, struct pt_regs *regs)
{
	__u32 process = bpf_get_current_pid_tgid() >> 32, mark;
	__u64 none = 0, observed, *calls;

	if (call != rules.mark_call || BPF_CORE_READ(regs, FIRST_ARGUMENT) != rules.mark_option) {
		// A process that was started between the marks may live on after the second: the entry
		// is gone then.
		calls = t->marked ? bpf_map_lookup_elem(&marked, &t->marked) : 0;
		if (calls)
			__sync_fetch_and_add(calls, 1);
		return 0;
	}
	mark = BPF_CORE_READ(regs, SECOND_ARGUMENT) & 0xff;
	if (mark == rules.begin) {
		t->marked = bpf_map_update_elem(&marked, &process, &none, BPF_ANY) ? 0 : process;
	} else if (mark == rules.end) {
		calls = bpf_map_lookup_elem(&marked, &process);
		if (!calls)
			return 0;
		observed = *calls;
		bpf_map_delete_elem(&marked, &process);
		t->marked = 0;
		return report(t, MARKED, observed, NO_CALL, 0);
	}
	return 0;
}

SEC("raw_tp/sys_enter")
int ph_call(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 call = ctx->args[1];
	struct task *t = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);
	struct pairs *learned, *normal;
	struct control *control;
	struct counts *n;
	__u32 missing;

	if (!t)
		t = add_task();
	if (!t) {
		__u32 slot = UNTRACKED;

		n = bpf_map_lookup_elem(&call_counts, &slot);
		if (n)
			n->lost++;
		return 0;
	}
	if (!t->monitored)
		return 0;
	t->calls++;
	if (t->marked || call == rules.mark_call)
		handle_mark(t, call, (struct pt_regs *)ctx->args[0]);
	n = bpf_map_lookup_elem(&call_counts, &t->slot);
	if (!n)
		return 0;
	n->calls++;
	if (t->slot == UNTRACKED || call >= CALLS)
		return 0;
	// The kernel makes this call itself to continue a wait that a stop has interrupted, a delay or
	// a terminal's. A stop interrupts the waits of all threads.
	if (call == RESTART_SYSCALL) {
		t->delayed = 0;
		return 0;
	}
	// SIGSTOP interrupts a call that forks or waits, and the kernel restarts it. Stopping the
	// process at the restarted call again would stop it forever.
	if (t->delayed) {
		t->delayed = 0;
		if (call == (t->calls_low & 0xffff))
			return 0;
	}
	control = bpf_map_lookup_elem(&controls, &t->slot);
	learned = bpf_map_lookup_elem(&train, &t->slot);
	if (!control || !learned)
		return 0;

	__u32 state = control->state;

	if (state <= NORMAL) {
		n->trained++;
		missing = missing_positions(learned, call, t);
		if (missing)
			learn(t, learned, call, missing);
	}
	if (state == NORMAL || state == UNLEARN) {
		normal = bpf_map_lookup_elem(&test, &t->slot);
		if (!normal)
			return 0;
		if (t->epoch != control->epoch) {
			t->epoch = control->epoch;
			clear_frame(t);
		}
		missing = missing_positions(normal, call, t);
		shift_frame(t, missing != 0);
		if (missing)
			handle_anomaly(t, control, call, missing);
		if (rules.delays && t->locality_count)
			delay(t);
	}
	push_call(t, call);
	return 0;
}

// A child has its parent's executable, but a window and a frame of its own.
SEC("tp_btf/sched_process_fork")
int BPF_PROG(ph_fork, struct task_struct *parent, struct task_struct *child)
{
	struct task *from = bpf_task_storage_get(&tasks, parent, 0, 0);
	struct task *to;

	if (!from)
		return 0;
	to = bpf_task_storage_get(&tasks, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!to)
		return 0;
	clear_window(to);
	to->slot = from->slot;
	to->monitored = from->monitored;
	to->marked = from->marked;
	return 0;
}

// A task with a new executable: its earlier calls are not part of the new one's sequences.
SEC("tp_btf/sched_process_exec")
int BPF_PROG(ph_exec, struct task_struct *task, int old, struct linux_binprm *binary)
{
	struct task *t = bpf_task_storage_get(&tasks, task, 0, 0);

	if (!t) {
		add_task();
		return 0;
	}
	clear_window(t);
	clear_frame(t);
	if (t->monitored)
		bind_task(t, task);
	return 0;
}
