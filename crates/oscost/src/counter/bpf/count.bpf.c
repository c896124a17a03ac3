// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Counts the system calls of a process tree, or of a process with its threads, by what makes them
// cheap or expensive, and the time of each in the kernel. Attached to the entry and the return of
// calls, to fork, exec, exit and the switch of tasks, and to the delivery of signals.
//
// A call of a followed task writes to the entry of that task, which no other task reads, and to a sum
// of its CPU. Nothing is sent to this process while it counts: it reads the sums in the end.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

// Some of the helpers are available only to programs with a license compatible with the GPL.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

// The fields of the kernel's structures that are read; libbpf relocates their offsets (CO-RE).
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct super_block { unsigned long s_magic; };
struct inode { unsigned short i_mode; __u32 i_rdev; struct super_block *i_sb; };
struct qstr { const unsigned char *name; };
struct dentry { struct dentry *d_parent; struct qstr d_name; };
struct path { struct dentry *dentry; };
struct file { struct inode *f_inode; struct path f_path; };
struct fdtable { unsigned int max_fds; struct file **fd; };
struct files_struct { struct fdtable *fdt; };
typedef struct { int counter; } atomic_t;
struct signal_struct { atomic_t live; };
#if defined(__TARGET_ARCH_x86)
struct thread_info { __u32 status; };
#define FOREIGN_FLAG 0x2                // TS_COMPAT: the task is in a 32-bit call.
struct pt_regs { unsigned long di, si, dx, r10, r8, r9; };
#else
struct thread_info { unsigned long flags; };
#define FOREIGN_FLAG (1 << 22)          // TIF_32BIT: the task runs a 32-bit program.
struct pt_regs { __u64 regs[6], orig_x0; };
#endif
struct task_struct {
	struct thread_info thread_info;
	int pid, tgid;
	struct files_struct *files;
	struct signal_struct *signal;
};
#pragma clang attribute pop

#define CALLS 512               // Calls with a higher number have no class.
#define FOREIGN 0xffffffffu     // Stands for the number of any 32-bit call.
#define OTHER 0xfffffffeu       // Stands for all forms that have no room.
#define NO_DEPTH 0xffff         // The depth of a call without a path that could be read.
#define PATH_BYTES 512          // The first bytes of a path whose components are counted.
#define NAME_BYTES 16           // "TCPv6", "[userfaultfd]": the longest names that matter have 13.
#define MAX_TASKS 32768         // Tasks that are followed at once.
#define MAX_FORMS 4096          // A program has some hundred.
#define MAX_ERRNO 4095
#define AT_FDCWD (-100)

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
	MEMORY_WORD,            // What the first argument points to.
};

// What a call does to what is counted.
enum act { NOTHING, EXECUTE, EXIT, MARK };

enum size { NO_SIZE, RESULT_SIZE, ARGUMENT_SIZE };

// The kind of a descriptor. SOCKET and ANONYMOUS are named by the kernel.
enum kind {
	NOT_LOOKED_UP, NONE, UNKNOWN, REGULAR, DIRECTORY, PIPE, TTY, PROC, DEVICE, SOCKET, ANONYMOUS,
	PIDFD,
};

enum flags { EMPTY_PATH = 1, WORD_UNREAD = 2 };

struct class {                  // What matters of a call: layout.rs makes them of the table.
	__u32 mask;             // The bits of the word that matter.
	__u8 words;             // See enum words,
	__u8 word_argument;     // and which argument the word is.
	__u8 size;              // See enum size,
	__u8 size_argument;     // and which argument it is.
	__u8 path;              // 1 more than the argument that is the path; 0 for none.
	__u8 act;               // See enum act.
	__u8 pad[2];
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

struct sum { __u64 calls, moved, on_cpu_ns, off_cpu_ns; };

enum following { CANDIDATE, COUNTED };

struct task {
	__u32 following;        // CANDIDATE: it has not executed the program yet.
	__u32 in_call;
	__u64 entered_ns;       // When its call began.
	__u64 off_ns;           // When it was switched off its CPU, or 0.
	__u64 waited_ns;        // For how long it was off its CPU in this call.
	__u64 bytes;            // The size of the call, if that is an argument.
	__u64 path;             // The address of the path that is to be read when the call returns.
	__u32 reads_path;
	__u32 pad;
	struct form form;
};

struct state {                  // totals.rs reads and writes it.
	__u64 token, mark_option, mark_number, children, starter, root, has_ended, began_ns, ended_ns,
		forks, threads, execs, exits, signals, unfinished, unread, lost, alive, left;
};

struct path_buffer { char bytes[PATH_BYTES + 8]; };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct state);
} states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALLS);
	__type(key, __u32);
	__type(value, struct class);
} classes SEC(".maps");

struct {                        // By the id of the task.
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_TASKS);
	__type(key, __u32);
	__type(value, struct task);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, MAX_FORMS);
	__type(key, struct form);
	__type(value, struct sum);
} forms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct path_buffer);
} path_buffers SEC(".maps");

static __always_inline struct state *the_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&states, &zero);
}

static __always_inline struct class *class_of(__u32 call)
{
	return bpf_map_lookup_elem(&classes, &call);
}

// The argument of a call with this number, from 0.
static __noinline __u64 argument(struct pt_regs *regs, __u32 number)
{
#if defined(__TARGET_ARCH_x86)
	switch (number) {
	case 0: return BPF_CORE_READ(regs, di);
	case 1: return BPF_CORE_READ(regs, si);
	case 2: return BPF_CORE_READ(regs, dx);
	case 3: return BPF_CORE_READ(regs, r10);
	case 4: return BPF_CORE_READ(regs, r8);
	default: return BPF_CORE_READ(regs, r9);
	}
#else
	switch (number) {
	case 0: return BPF_CORE_READ(regs, orig_x0);
	case 1: return BPF_CORE_READ(regs, regs[1]);
	case 2: return BPF_CORE_READ(regs, regs[2]);
	case 3: return BPF_CORE_READ(regs, regs[3]);
	case 4: return BPF_CORE_READ(regs, regs[4]);
	default: return BPF_CORE_READ(regs, regs[5]);
	}
#endif
}

// Whether the current task makes a call by a number of a 32-bit program.
static __always_inline int is_foreign(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

#if defined(__TARGET_ARCH_x86)
	return (BPF_CORE_READ(task, thread_info.status) & FOREIGN_FLAG) != 0;
#else
	return (BPF_CORE_READ(task, thread_info.flags) & FOREIGN_FLAG) != 0;
#endif
}

// The size class of so many bytes: 1 of none, 2 + N of at most 2^N.
static __always_inline __u8 size_class(__u64 bytes)
{
	__u64 rest = bytes - 1;
	__u8 bits = 0;

	if (!bytes)
		return 1;
	if (rest >> 32) { bits += 32; rest >>= 32; }
	if (rest >> 16) { bits += 16; rest >>= 16; }
	if (rest >> 8) { bits += 8; rest >>= 8; }
	if (rest >> 4) { bits += 4; rest >>= 4; }
	if (rest >> 2) { bits += 2; rest >>= 2; }
	if (rest >> 1) { bits += 1; rest >>= 1; }
	return 2 + bits + (rest ? 1 : 0);
}

// Whether files of a file system are those of the kernel, below /proc and /sys.
static __always_inline int is_of_kernel(unsigned long magic)
{
	switch (magic) {
	case 0x9fa0:            // proc
	case 0x62656572:        // sysfs
	case 0x63677270:        // cgroup2
	case 0x27e0eb:          // cgroup
	case 0x64626720:        // debugfs
	case 0x74726163:        // tracefs
	case 0x73636673:        // securityfs
	case 0xcafe4a11:        // bpf
	case 0x6165676c:        // pstore
	case 0x62656570:        // configfs
	case 0xde5e81e4:        // efivarfs
	case 0xf97cff8c:        // selinuxfs
	case 0x65735543:        // fusectl
	case 0x42494e4d:        // binfmt_misc
		return 1;
	default:
		return 0;
	}
}

// Whether a character device is a terminal.
static __always_inline int is_terminal(__u32 number)
{
	__u32 major = number >> 20, minor = number & 0xfffff;

	// /dev/ttyN and ttySN; /dev/tty; /dev/pts; and serial ports of other drivers.
	return major == 4 || (major == 5 && !minor) || (major >= 136 && major <= 143) ||
	       major == 166 || major == 188 || major == 204;
}

static __always_inline void fill_name(struct form *form, struct file *file)
{
	const unsigned char *name = BPF_CORE_READ(file, f_path.dentry, d_name.name);

	bpf_probe_read_kernel_str(form->name, NAME_BYTES, name);
}

// The kind of an open file, as descriptor_kind() of the worker tells it by /proc.
static __noinline int fill_kind_of_file(struct form *form, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	unsigned long magic = BPF_CORE_READ(inode, i_sb, s_magic);
	unsigned short mode = BPF_CORE_READ(inode, i_mode);
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);

	if (!form)
		return 0;
	form->kind = REGULAR;
	if (magic == 0x09041934) {              // Anonymous inodes
		form->kind = ANONYMOUS;
		fill_name(form, file);
	} else if (magic == 0x534f434b) {       // Sockets
		form->kind = SOCKET;
		fill_name(form, file);
	} else if (magic == 0x50494446) {       // pidfds
		form->kind = PIDFD;
	} else if (is_of_kernel(magic)) {
		// The path of /proc itself is not below /proc.
		int is_root = BPF_CORE_READ(dentry, d_parent) == dentry;

		form->kind = (is_root && (magic == 0x9fa0 || magic == 0x62656572)) ? DIRECTORY
										   : PROC;
	} else {
		switch (mode & S_IFMT) {
		case S_IFIFO:
			form->kind = PIPE;
			break;
		case S_IFDIR:
			form->kind = DIRECTORY;
			break;
		case S_IFBLK:
			form->kind = DEVICE;
			break;
		case S_IFCHR:
			form->kind = DEVICE;
			if (magic == 0x1cd1 || is_terminal(BPF_CORE_READ(inode, i_rdev)))
				form->kind = TTY;
			break;
		}
	}
	return 0;
}

// The kind of a descriptor of the current task.
static __noinline int fill_kind(struct form *form, __u64 descriptor)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	__u32 fd = descriptor;
	struct file **files, *file = 0;

	if (!form)
		return 0;
	if ((__s32)fd == AT_FDCWD) {
		form->kind = DIRECTORY;
		return 0;
	}
	form->kind = NONE;
	if (fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	files = BPF_CORE_READ(table, fd);
	if (bpf_probe_read_kernel(&file, sizeof(file), &files[fd])) {
		form->kind = UNKNOWN;
		return 0;
	}
	if (file)
		fill_kind_of_file(form, file);
	return 0;
}

static __always_inline void count_unread(void)
{
	struct state *s = the_state();

	if (s)
		__sync_fetch_and_add(&s->unread, 1);
}

// Counts the components of a path. What it depends on is read from memory in each step, so that the
// verifier need not tell the steps apart.
static __noinline int fill_depth(struct form *form, __u64 address)
{
	__u32 zero = 0, depth = 0;
	struct path_buffer *path = bpf_map_lookup_elem(&path_buffers, &zero);
	char previous = '/';
	long bytes;

	if (!form || !path)
		return 0;
	if (!address) {                 // Since Linux 6.11 no path at all is an empty one.
		form->depth = 0;
		form->flags |= EMPTY_PATH;
		return 0;
	}
	bytes = bpf_probe_read_user_str(path->bytes, PATH_BYTES, (void *)address);
	if (bytes <= 0) {
		count_unread();
		return 0;
	}
	if (bytes == PATH_BYTES)        // Its end is missing.
		count_unread();
	if (bytes == 1)
		form->flags |= EMPTY_PATH;
	for (__u32 i = 0; i < PATH_BYTES; i++) {
		char c = path->bytes[i], next = path->bytes[i + 1];

		if (!c)
			break;
		if (previous == '/' && c != '/' && !(c == '.' && (next == '/' || !next)))
			depth++;
		previous = c;
	}
	form->depth = depth;
	return 0;
}

// Adds a call to the sum of its form.
static __noinline int add(struct task *t, __u64 moved, __u64 on_cpu_ns)
{
	struct sum none = {}, *sum;
	struct form form;
	struct state *s;

	if (!t)
		return 0;
	form = t->form;
	sum = bpf_map_lookup_elem(&forms, &form);
	if (!sum) {
		bpf_map_update_elem(&forms, &form, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&forms, &form);
	}
	if (!sum) {
		__builtin_memset(&form, 0, sizeof(form));
		form.call = OTHER;
		sum = bpf_map_lookup_elem(&forms, &form);
	}
	if (!sum) {
		s = the_state();
		if (s)
			__sync_fetch_and_add(&s->lost, 1);
		return 0;
	}
	__sync_fetch_and_add(&sum->calls, 1);
	__sync_fetch_and_add(&sum->moved, moved);
	__sync_fetch_and_add(&sum->on_cpu_ns, on_cpu_ns);
	__sync_fetch_and_add(&sum->off_cpu_ns, t->waited_ns);
	return 0;
}

// Follows a new task of a process.
static __noinline int follow(struct state *s, __u32 pid, __u32 process, __u32 following)
{
	struct task t = {};

	if (!s)
		return 0;
	t.following = following;
	if (bpf_map_update_elem(&tasks, &pid, &t, BPF_ANY))
		__sync_fetch_and_add(&s->lost, 1);
	else if (following == COUNTED && s->root != process)
		__sync_fetch_and_add(&s->alive, 1);
	return 0;
}

// What the entry of a call tells of its form.
static __noinline int fill_form(struct task *t, struct class *class, struct pt_regs *regs)
{
	struct form *form;
	__u64 word = 0;

	if (!t || !class)
		return 0;
	form = &t->form;
	switch (class->words) {
	case DESCRIPTOR:
		fill_kind(form, argument(regs, 0));
		break;
	case STAT:
		form->word = argument(regs, class->word_argument) & class->mask;
		if (form->word)
			fill_kind(form, argument(regs, 0));
		break;
	case OPEN:
	case ARGUMENT:
		form->word = argument(regs, class->word_argument) & class->mask;
		break;
	case MEMORY_WORD:
		if (bpf_probe_read_user(&word, sizeof(word), (void *)argument(regs, 0))) {
			form->flags |= WORD_UNREAD;
			count_unread();
		}
		form->word = word & class->mask;
		break;
	}
	if (class->size == ARGUMENT_SIZE)
		t->bytes = argument(regs, class->size_argument);
	if (class->path) {
		t->path = argument(regs, class->path - 1);
		t->reads_path = 1;
	}
	return 0;
}

// A process that has the token marks that it is about to start the program.
static __noinline int handle_mark(struct state *s, struct pt_regs *regs)
{
	if (s && s->token && !s->root && argument(regs, 0) == s->mark_option &&
	    argument(regs, 1) == s->mark_number && argument(regs, 2) == s->token)
		s->starter = bpf_get_current_pid_tgid() >> 32;
	return 0;
}

SEC("raw_tp/sys_enter")
int count_entry(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
	__u32 call = ctx->args[1], pid = bpf_get_current_pid_tgid(), foreign;
	struct task *t = bpf_map_lookup_elem(&tasks, &pid);
	struct class *class;
	struct state *s;

	class = class_of(call);
	if (!t) {
		if (class && class->act == MARK)
			handle_mark(the_state(), regs);
		return 0;
	}
	s = the_state();
	if (!s || s->has_ended)
		return 0;
	foreign = is_foreign();
	if (foreign)
		class = 0;
	if (t->following == CANDIDATE && (!class || class->act != EXECUTE))
		return 0;
	__builtin_memset(&t->form, 0, sizeof(t->form));
	// A program may make calls of any number.
	t->form.call = foreign ? FOREIGN : call >= OTHER ? OTHER - 1 : call;
	t->form.depth = NO_DEPTH;
	t->reads_path = 0;
	t->bytes = t->off_ns = t->waited_ns = 0;
	if (class) {
		fill_form(t, class, regs);
		if (class->act == EXECUTE) {    // Its memory is gone when it returns.
			fill_depth(&t->form, t->path);
			t->reads_path = 0;
		} else if (class->act == EXIT) {        // It never returns.
			add(t, 0, 0);
			return 0;
		}
	}
	t->in_call = 1;
	t->entered_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/sys_exit")
int count_return(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 now = bpf_ktime_get_ns(), moved = 0, spent;
	__s64 result = ctx->args[1];
	__u64 id = bpf_get_current_pid_tgid();
	__u32 pid = id;
	struct task *t = bpf_map_lookup_elem(&tasks, &pid);
	struct class *class;
	struct state *s;

	if (!t || !t->in_call)
		return 0;
	t->in_call = 0;
	s = the_state();
	if (!s || s->has_ended)
		return 0;
	if (t->following == CANDIDATE) {
		if (result)                     // The library tries each folder of PATH.
			return 0;
		t->following = COUNTED;
		s->root = id >> 32;
		s->began_ns = now;
	}
	spent = now - t->entered_ns - t->waited_ns;
	if (result < 0 && result >= -MAX_ERRNO)
		t->form.error = -result;
	class = class_of(t->form.call);         // No entry for FOREIGN.
	if (class) {
		if (class->words == OPEN && !t->form.error)
			fill_kind(&t->form, result);
		if (t->reads_path)
			fill_depth(&t->form, t->path);
		if (class->words == STAT && !(t->form.flags & EMPTY_PATH)) {
			// The descriptor was not what it was about.
			t->form.kind = NOT_LOOKED_UP;
			__builtin_memset(t->form.name, 0, NAME_BYTES);
		}
		if (class->size != NO_SIZE && !t->form.error) {
			moved = class->size == RESULT_SIZE ? (__u64)result : t->bytes;
			t->form.size = size_class(moved);
		}
	}
	add(t, moved, spent);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int count_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0];
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	__u32 creator = BPF_CORE_READ(parent, pid), process = BPF_CORE_READ(parent, tgid);
	__u32 created = BPF_CORE_READ(child, pid), its_process = BPF_CORE_READ(child, tgid);
	int is_thread = its_process == process;
	struct task *t = bpf_map_lookup_elem(&tasks, &creator);
	struct state *s = the_state();

	if (!s || s->has_ended)
		return 0;
	if (!t) {
		if (s->starter && s->starter == process && !s->root && !is_thread)
			follow(s, created, its_process, CANDIDATE);
		return 0;
	}
	if (t->following != COUNTED)
		return 0;
	if (is_thread)
		__sync_fetch_and_add(&s->threads, 1);
	else
		__sync_fetch_and_add(&s->forks, 1);
	if (is_thread || s->children)
		follow(s, created, its_process, COUNTED);
	return 0;
}

// A thread that executes a program takes over the id of its process: all other threads have ended.
SEC("raw_tp/sched_process_exec")
int count_exec(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 former = ctx->args[1], pid = bpf_get_current_pid_tgid();
	struct task *t = bpf_map_lookup_elem(&tasks, &former);
	struct state *s = the_state();
	struct task moved;

	if (!t || !s || s->has_ended)
		return 0;
	__sync_fetch_and_add(&s->execs, 1);
	if (former != pid) {
		moved = *t;
		bpf_map_delete_elem(&tasks, &former);
		if (bpf_map_update_elem(&tasks, &pid, &moved, BPF_ANY))
			__sync_fetch_and_add(&s->lost, 1);
	}
	return 0;
}

SEC("raw_tp/sched_process_exit")
int count_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, pid), process = BPF_CORE_READ(task, tgid);
	struct task *t = bpf_map_lookup_elem(&tasks, &pid);
	struct state *s = the_state();

	if (!t || !s)
		return 0;
	if (t->following == COUNTED) {
		// The threads of the root, which may end in any order, do not outlive it.
		if (s->root != process)
			__sync_fetch_and_add(&s->alive, -1);
		// The last threads of the root may end at once.
		if (!s->has_ended || s->root == process) {
			__sync_fetch_and_add(&s->exits, 1);
			if (t->in_call)
				__sync_fetch_and_add(&s->unfinished, 1);
		}
		if (s->root == process && !s->has_ended &&
		    !BPF_CORE_READ(task, signal, live.counter)) {
			s->ended_ns = bpf_ktime_get_ns();
			s->left = s->alive;
			s->has_ended = 1;
		}
	}
	bpf_map_delete_elem(&tasks, &pid);
	return 0;
}

SEC("raw_tp/signal_deliver")
int count_signal(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid();
	struct task *t = bpf_map_lookup_elem(&tasks, &pid);
	struct state *s = the_state();

	if (t && t->following == COUNTED && s && !s->has_ended)
		__sync_fetch_and_add(&s->signals, 1);
	return 0;
}

SEC("raw_tp/sched_switch")
int count_switch(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *previous = (struct task_struct *)ctx->args[1];
	struct task_struct *next = (struct task_struct *)ctx->args[2];
	__u32 from = BPF_CORE_READ(previous, pid), to = BPF_CORE_READ(next, pid);
	struct task *t;

	t = bpf_map_lookup_elem(&tasks, &from);
	if (t && t->in_call)
		t->off_ns = bpf_ktime_get_ns();
	t = bpf_map_lookup_elem(&tasks, &to);
	if (t && t->off_ns) {
		t->waited_ns += bpf_ktime_get_ns() - t->off_ns;
		t->off_ns = 0;
	}
	return 0;
}
