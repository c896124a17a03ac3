// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The kind of an open file, and of a descriptor.
#pragma once

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

// The kind of an open file, as descriptor_kind() of the worker tells it by /proc. For the verifier
// a file has no type: each field of it is a call, and only what decides is read.
static __noinline int fill_kind_of_file(struct form *form, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	unsigned long magic = BPF_CORE_READ(inode, i_sb, s_magic);
	struct dentry *dentry;
	int is_root;

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
		dentry = BPF_CORE_READ(file, f_path.dentry);
		is_root = BPF_CORE_READ(dentry, d_parent) == dentry;
		form->kind = (is_root && (magic == 0x9fa0 || magic == 0x62656572)) ? DIRECTORY
										   : PROC;
	} else {
		switch (BPF_CORE_READ(inode, i_mode) & S_IFMT) {
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

// The kind of a descriptor of the current task; returns the file that it refers to, if there is one.
static __noinline struct file *fill_kind(struct form *form, __u64 descriptor)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct files_struct *open = task->files;
	struct fdtable *table;
	struct file **files, *file = 0;
	__u32 fd = descriptor;

	if (!form)
		return 0;
	if ((__s32)fd == AT_FDCWD) {
		form->kind = DIRECTORY;
		return 0;
	}
	form->kind = NONE;
	if (!open)
		return 0;
	table = open->fdt;
	if (!table || fd >= table->max_fds)
		return 0;
	files = table->fd;
	if (bpf_probe_read_kernel(&file, sizeof(file), &files[fd])) {
		form->kind = UNKNOWN;
		return 0;
	}
	if (file)
		fill_kind_of_file(form, file);
	return file;
}
