//! The flags of system calls that make a call cheap or expensive, as the kernel's headers number
//! them on the processor that this is built for: counters read them in the arguments of programs.

/// openat(2): create the file if it is not there.
pub const O_CREAT: u64 = 0o100;
/// openat(2): a directory.
#[cfg(not(target_arch = "aarch64"))]
pub const O_DIRECTORY: u64 = 0o200_000;
/// openat(2): a directory.
#[cfg(target_arch = "aarch64")]
pub const O_DIRECTORY: u64 = 0o40_000;
/// openat(2): a file without a name, in this directory.
pub const O_TMPFILE: u64 = 0o20_000_000 | O_DIRECTORY;
/// The descriptor that stands for the working directory.
pub const AT_FDCWD: i32 = -100;
/// newfstatat(2): of the descriptor itself, if the path is empty.
pub const AT_EMPTY_PATH: u64 = 0x1000;
/// mmap(2): memory without a file.
pub const MAP_ANONYMOUS: u64 = 0x20;
/// mmap(2): at this address.
pub const MAP_FIXED: u64 = 0x10;
/// mmap(2): at this address, if nothing is there.
pub const MAP_FIXED_NOREPLACE: u64 = 0x10_0000;
/// clone(2): the new task shares the memory of its creator, which is not copied.
pub const CLONE_VM: u64 = 0x100;
/// clone(2): a thread.
pub const CLONE_THREAD: u64 = 0x1_0000;
/// clone(2): the parent waits until the child executes a program or exits.
pub const CLONE_VFORK: u64 = 0x4000;
/// futex(2): the bits of its operation without private and clock flags, which are above them.
pub const FUTEX_COMMAND_MASK: u64 = 0x7f;
