// SPDX-License-Identifier: MIT OR Apache-2.0
//
// pH, process homeostasis (study 001, ph-2000): what each executable calls after what, and what is
// new in it. Four programs: at each system call, at fork, at exec, and what they share.
//
// Per call it writes to what belongs to the task, and to a counter of this CPU. What all CPUs share
// is written only when something is new, so that two CPUs do not wait for each other.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

// The helpers that are used may be called only by programs that say they are under the GPL, too.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

// What is read of the kernel's own structures; where it lies there, libbpf finds out.
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
#if defined(__TARGET_ARCH_x86)          // The registers of a call: its first arguments.
struct pt_regs { unsigned long di, si; };
#define FIRST di
#define SECOND si
#else
struct pt_regs { __u64 regs[2], orig_x0; };
#define FIRST orig_x0
#define SECOND regs[1]
#endif
#pragma clang attribute pop

#define CALLS 512           // Calls by number; one above is counted, and not looked at.
#define CELLS (CALLS * CALLS)
#define BEFORE 8            // Earlier calls that a call is looked at with: a bit of a byte each.
#define NONE 0xffff         // No call yet.
#define STRANGER 0          // The slot of calls that belong to no profile.
#define MOST_CPUS 8192      // No kernel is built for more.
#define MOST_PARENTS 64     // How far up a task is looked for below the root of a tree.
#define PARTS 12            // Names that a path is told by, from its end,
#define PART 48             // and the bytes of one.
#define SIGSTOP 19
#ifdef __TARGET_ARCH_arm64
#define RESTART 128         // restart_syscall(2): a call that waits goes on waiting.
#else
#define RESTART 219
#endif

// What to do, fixed before the programs are loaded: the verifier drops what is not asked for.
const volatile struct rules {
	__u32 before;           // The window without the call itself: 1 to 8.
	__u32 frame;            // Calls in a task's locality frame: 1 to 128.
	__u32 anomaly_limit;    // Anomalies of a profile, above which it is normal no longer.
	__u32 tolerise_limit;   // Anomalies in a frame, above which nothing more is learnt.
	__u32 delays;           // Whether a task with anomalies in its frame is stopped.
	__u32 root;             // Only the tree below this process; 0 for all processes.
	__u32 holder, guard;    // Two processes that are never looked at: they continue the stopped.
	__u32 slots;            // Entries of the maps by slot.
	__u32 cpus;             // Possible CPUs.
	__u32 mark_call, mark;  // A call that does nothing, and its first argument: see `marked`.
	__u32 begin, end;       // The lowest byte of its second one.
} rules SEC(".rodata.rules") = {};

// What is done with the calls of an executable.
enum state {
	TRAINING,               // They are learnt.
	FROZEN,                 // They are learnt, but nothing new has come for long.
	NORMAL,                 // They are learnt, and held against what is normal.
	HELD,                   // The holder is copying: they are only counted.
	UNLEARN,                // Held against what is normal; the holder undoes what was learnt.
};

struct task {                   // A cache line, with the pointer that the kernel puts before it.
	__u64 near, far;        // Its last calls, 16 bits each, the last one lowest.
	__u64 low, high;        // Its locality frame: which of its last calls were anomalies.
	__u64 calls;            // Its calls, all of them.
	__u32 slot;             // Of its executable's profile.
	__u32 epoch;            // Of the profile, when its frame began.
	__u8 watched;           // Whether it is looked at.
	__u8 delayed;           // Whether its last call was stopped.
	__u8 lfc, most;         // Anomalies in its frame: locality frame count, and the largest ever.
	__u8 marked;            // Whether it is between marks.
};

struct exe { __u64 device, inode; };            // An executable, as the kernel tells them apart.
struct pairs { __u8 seen[CELLS]; };             // Bit i-1 of [call][earlier]: seen i calls before.
struct control { __u32 state, epoch; };         // Of a profile. The epoch begins frames anew.
struct counts { __u64 calls, trained, lost, unsaid; };  // Of a profile, on one CPU.
struct rare {                                   // Of a profile: what changes with something new.
	__u64 changes;          // Calls that brought new pairs,
	__u64 changed_at;       // and how many it had been trained with at the last of them.
	__u64 anomalies;        // Since it became normal.
	__u64 pad[5];           // So that two profiles do not share a cache line.
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);        // Goes with the task.
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);                         // As many as there are slots: see monitor.rs.
	__type(key, struct exe);
	__type(value, __u32);
} slots SEC(".maps");

#define BY_SLOT(name, kind, of) \
	struct { \
		__uint(type, kind); \
		__uint(max_entries, 1); \
		__type(key, __u32); \
		__type(value, struct of); \
	} name SEC(".maps")

BY_SLOT(train, BPF_MAP_TYPE_ARRAY, pairs);
BY_SLOT(test, BPF_MAP_TYPE_ARRAY, pairs);
BY_SLOT(controls, BPF_MAP_TYPE_ARRAY, control);
BY_SLOT(rares, BPF_MAP_TYPE_ARRAY, rare);
BY_SLOT(counted, BPF_MAP_TYPE_PERCPU_ARRAY, counts);
BY_SLOT(next, BPF_MAP_TYPE_ARRAY, control);             // The first free slot, in `state` of [0].

struct {                                                // Processes that are stopped by us.
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} stopped SEC(".maps");

// Whose calls a tracer counts at this moment, and how many we have seen of them. Nobody else ever
// looks at it, and what is timed is never traced.
struct {
	__u32 process;
	__u64 calls;
} between;

enum kind { BORN = 1, ANOMALY, STOPPED, TOLERISED, ABORTED, MARKED };

struct event {                  // The beginning of all events.
	__u32 kind, slot, process, thread;
	__u64 calls;            // Of the task.
	__u64 anomalies;        // Of the profile; of marks, the calls between them.
	__u16 call, previous;   // The first pair that was new,
	__u8 position;          // how many calls `previous` was before `call`,
	__u8 missing;           // and all positions with a new pair, as bits.
	__u8 lfc, most;
	char comm[16];
};

struct born {
	struct event event;
	struct exe exe;
	char parts[PARTS][PART];        // Its path in its file system, the last name first.
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 19);
} events SEC(".maps");

// An earlier call: the `i`-th before this one, counted from 0.
static __always_inline __u32 earlier(const struct task *t, __u32 i)
{
	return (i < 4 ? t->near >> 16 * i : t->far >> 16 * (i - 4)) & 0xffff;
}

static __always_inline __u32 cell(__u32 call, __u32 previous)
{
	return (call * CALLS + previous) & (CELLS - 1);
}

// At which positions stand pairs that were not seen, as bits.
static __always_inline __u32 unseen(const struct pairs *pairs, __u32 call, const struct task *t)
{
	__u32 before = rules.before, missing = 0;

#pragma unroll
	for (__u32 i = 0; i < BEFORE; i++) {
		__u32 previous = earlier(t, i);

		if (i >= before || previous == NONE)
			break;
		missing |= ~pairs->seen[cell(call, previous)] & (1u << i);
	}
	return missing;
}

static __always_inline void remember(struct task *t, __u32 call)
{
	t->far = t->far << 16 | t->near >> 48;
	t->near = t->near << 16 | call;
}

static __always_inline void begin(struct task *t)
{
	t->near = t->far = ~0ull;
}

static __always_inline void clear_frame(struct task *t)
{
	t->low = t->high = 0;
	t->lfc = t->most = 0;
}

// Takes a call into the frame, and the oldest one out of it.
static __always_inline void frame(struct task *t, __u64 is_anomaly)
{
	__u32 last = rules.frame - 1;
	__u64 out = (last < 64 ? t->low >> last : t->high >> (last - 64)) & 1;

	t->high = t->high << 1 | t->low >> 63;
	t->low = t->low << 1 | is_anomaly;
	t->lfc += is_anomaly;
	t->lfc -= out;
	if (t->lfc > t->most)
		t->most = t->lfc;
}

// Fills in what all events say.
static __always_inline void say(struct event *event, __u32 kind, const struct task *t)
{
	__u64 id = bpf_get_current_pid_tgid();

	event->kind = kind;
	event->slot = t->slot;
	event->process = id >> 32;
	event->thread = id;
	event->calls = t->calls;
	event->anomalies = 0;
	event->call = event->previous = NONE;
	event->position = event->missing = 0;
	event->lfc = t->lfc;
	event->most = t->most;
	bpf_get_current_comm(event->comm, sizeof(event->comm));
}

// Somebody must hear that there was no room for an event, or for an executable.
static __always_inline void unsaid(void)
{
	__u32 nobody = STRANGER;
	struct counts *n = bpf_map_lookup_elem(&counted, &nobody);

	if (n)
		n->unsaid++;
}

static __noinline int tell(struct task *t, __u32 kind, __u64 anomalies, __u32 call, __u32 missing)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		unsaid();
		return 0;
	}
	say(event, kind, t);
	event->anomalies = anomalies;
	event->call = call;
	event->missing = missing;
#pragma unroll
	for (__u32 i = BEFORE; i--;) {
		if (missing & (1u << i)) {
			event->position = i + 1;
			event->previous = earlier(t, i);
		}
	}
	bpf_ringbuf_submit(event, 0);
	return 0;
}

// A profile has been begun: which executable it is of, and where that is.
static __noinline int tell_birth(struct task *t, struct exe *exe, struct dentry *at)
{
	struct born *born = bpf_ringbuf_reserve(&events, sizeof(*born), 0);

	if (!born) {
		unsaid();
		return 0;
	}
	say(&born->event, BORN, t);
	born->exe = *exe;
	for (__u32 i = 0; i < PARTS; i++) {
		struct dentry *above = BPF_CORE_READ(at, d_parent);

		born->parts[i][0] = 0;
		// What lies in no folder (memfd_create(2)) is its own, and has a name all the same.
		if (!at || (at == above && i))
			continue;
		bpf_probe_read_kernel_str(born->parts[i], PART, BPF_CORE_READ(at, d_name.name));
		at = above;
	}
	bpf_ringbuf_submit(born, 0);
	return 0;
}

// Binds a task to the profile of the file that it runs; begins one if there is none.
static __noinline int bind(struct task *t, struct task_struct *task)
{
	struct file *file = BPF_CORE_READ(task, mm, exe_file);
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct exe exe = {};
	__u32 zero = 0, *known, slot;
	struct control *free;

	t->slot = STRANGER;
	if (!inode)
		return 0;
	exe.device = BPF_CORE_READ(inode, i_sb, s_dev);
	exe.inode = BPF_CORE_READ(inode, i_ino);
	known = bpf_map_lookup_elem(&slots, &exe);
	if (known) {
		t->slot = *known;
		return 0;
	}
	free = bpf_map_lookup_elem(&next, &zero);
	if (!free)
		return 0;
	slot = free->state < rules.slots ? __sync_fetch_and_add(&free->state, 1) : rules.slots;
	if (slot >= rules.slots) {
		unsaid();
		return 0;
	}
	// Another CPU may be first with the same file: its slot is the one then, and ours stays empty.
	if (bpf_map_update_elem(&slots, &exe, &slot, BPF_NOEXIST)) {
		known = bpf_map_lookup_elem(&slots, &exe);
		t->slot = known ? *known : STRANGER;
		return 0;
	}
	t->slot = slot;
	return tell_birth(t, &exe, BPF_CORE_READ(file, f_path.dentry));
}

// Whether a task stands below the root of the tree that is looked at.
static __noinline int is_below_root(struct task_struct *task)
{
	for (__u32 i = 0; i < MOST_PARENTS && task; i++) {
		__u32 process = BPF_CORE_READ(task, tgid);

		if (process == rules.root)
			return 1;
		if (process <= 1)
			return 0;
		task = BPF_CORE_READ(task, real_parent);
	}
	return 0;
}

// A task that ran before we came.
static __noinline struct task *first_sight(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task *t = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u32 process = bpf_get_current_pid_tgid() >> 32;

	if (!t)
		return 0;
	begin(t);
	t->watched = process != rules.holder && process != rules.guard &&
		     (!rules.root || is_below_root(task));
	if (t->watched)
		bind(t, task);
	return t;
}

// Takes up the new pairs. Two CPUs that write one byte may lose a bit, and learn it once more.
static __noinline int learn(struct task *t, struct pairs *pairs, __u32 call, __u32 missing)
{
	struct control *control = bpf_map_lookup_elem(&controls, &t->slot);
	struct rare *rare = bpf_map_lookup_elem(&rares, &t->slot);
	__u64 trained = 0;

	if (!control || !rare)
		return 0;
#pragma unroll
	for (__u32 i = 0; i < BEFORE; i++) {
		if (missing & (1u << i))
			pairs->seen[cell(call, earlier(t, i))] |= 1u << i;
	}
	for (__u32 cpu = 0; cpu < MOST_CPUS && cpu < rules.cpus; cpu++) {
		struct counts *n = bpf_map_lookup_percpu_elem(&counted, &t->slot, cpu);

		if (n)
			trained += n->trained;
	}
	rare->changed_at = trained;
	__sync_fetch_and_add(&rare->changes, 1);
	if (control->state == FROZEN)
		control->state = TRAINING;
	return 0;
}

// A call that is not normal.
static __noinline int anomaly(struct task *t, struct control *control, __u32 call, __u32 missing)
{
	struct rare *rare = bpf_map_lookup_elem(&rares, &t->slot);
	__u64 anomalies;

	if (!rare)
		return 0;
	anomalies = __sync_fetch_and_add(&rare->anomalies, 1) + 1;
	tell(t, ANOMALY, anomalies, call, missing);
	if (anomalies > rules.anomaly_limit && control->state != TRAINING) {
		control->state = TRAINING;
		control->epoch++;
		tell(t, ABORTED, anomalies, call, 0);
	} else if (t->lfc > rules.tolerise_limit && control->state == NORMAL) {
		control->state = UNLEARN;
		tell(t, TOLERISED, anomalies, call, 0);
	}
	return 0;
}

// Stops the process at its return from the call; the holder continues it. Whom nobody would
// remember, or whose stop cannot be told to the holder, is not stopped.
static __noinline int delay(struct task *t)
{
	__u32 process = bpf_get_current_pid_tgid() >> 32;
	__u64 lfc = t->lfc;
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		unsaid();
		return 0;
	}
	if (bpf_map_update_elem(&stopped, &process, &lfc, BPF_ANY)) {
		bpf_ringbuf_discard(event, 0);
		return 0;
	}
	if (bpf_send_signal(SIGSTOP)) {
		bpf_map_delete_elem(&stopped, &process);
		bpf_ringbuf_discard(event, 0);
		return 0;
	}
	t->delayed = 1;
	say(event, STOPPED, t);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

// A process whose calls are counted by a tracer says where the counted ones begin and end: what we
// see between these marks, of it and of what it starts there, must be what the tracer sees. Anybody
// may make marks: then the two numbers differ, and what was counted is thrown away.
static __noinline int marked(struct task *t, __u64 call, struct pt_regs *regs)
{
	__u32 process = bpf_get_current_pid_tgid() >> 32, which;

	if (call != rules.mark_call || BPF_CORE_READ(regs, FIRST) != rules.mark) {
		if (t->marked && between.process)
			__sync_fetch_and_add(&between.calls, 1);
		return 0;
	}
	which = BPF_CORE_READ(regs, SECOND) & 0xff;
	if (which == rules.begin) {
		t->marked = 1;
		between.calls = 0;
		between.process = process;
	} else if (which == rules.end && between.process == process) {
		t->marked = 0;
		between.process = 0;
		return tell(t, MARKED, between.calls, NONE, 0);
	}
	return 0;
}

SEC("raw_tp/sys_enter")
int ph_call(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 call = ctx->args[1];
	struct task *t = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);
	struct pairs *learnt, *normal;
	struct control *control;
	struct counts *n;
	__u32 missing;

	if (!t)
		t = first_sight();
	if (!t) {
		__u32 nobody = STRANGER;

		n = bpf_map_lookup_elem(&counted, &nobody);
		if (n)
			n->lost++;
		return 0;
	}
	if (!t->watched)
		return 0;
	t->calls++;
	if (t->marked || call == rules.mark_call)
		marked(t, call, (struct pt_regs *)ctx->args[0]);
	n = bpf_map_lookup_elem(&counted, &t->slot);
	if (!n)
		return 0;
	n->calls++;
	if (t->slot == STRANGER || call >= CALLS)
		return 0;
	// The kernel's own: a wait that a stop has interrupted, ours or a terminal's, goes on. A stop
	// interrupts the waits of all threads.
	if (call == RESTART) {
		t->delayed = 0;
		return 0;
	}
	// Our signal interrupts a call that forks or waits, and it is begun once more. Whoever stopped
	// that too would stop it for ever.
	if (t->delayed) {
		t->delayed = 0;
		if (call == (t->near & 0xffff))
			return 0;
	}
	control = bpf_map_lookup_elem(&controls, &t->slot);
	learnt = bpf_map_lookup_elem(&train, &t->slot);
	if (!control || !learnt)
		return 0;

	__u32 state = control->state;

	if (state <= NORMAL) {
		n->trained++;
		missing = unseen(learnt, call, t);
		if (missing)
			learn(t, learnt, call, missing);
	}
	if (state == NORMAL || state == UNLEARN) {
		normal = bpf_map_lookup_elem(&test, &t->slot);
		if (!normal)
			return 0;
		if (t->epoch != control->epoch) {
			t->epoch = control->epoch;
			clear_frame(t);
		}
		missing = unseen(normal, call, t);
		frame(t, missing != 0);
		if (missing)
			anomaly(t, control, call, missing);
		if (rules.delays && t->lfc)
			delay(t);
	}
	remember(t, call);
	return 0;
}

// A child runs its parent's executable, with a window and a frame of its own.
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
	begin(to);
	to->slot = from->slot;
	to->watched = from->watched;
	to->marked = from->marked;
	return 0;
}

// A task runs another executable from now on: what it called before says nothing of it.
SEC("tp_btf/sched_process_exec")
int BPF_PROG(ph_exec, struct task_struct *task, int old, struct linux_binprm *binary)
{
	struct task *t = bpf_task_storage_get(&tasks, task, 0, 0);

	if (!t) {
		first_sight();
		return 0;
	}
	begin(t);
	clear_frame(t);
	if (t->watched)
		bind(t, task);
	return 0;
}
