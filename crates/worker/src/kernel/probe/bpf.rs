//! bpf(2): a program at the entry of every system call of every process.
//!
//! Two programs, so small that they are written as instructions: no compiler, no loader.
//! Descriptors hold them: when their owner ends, however that happens, they are removed.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::kernel::Errno;

/// Call numbers below this are counted, which covers every architecture.
const SLOTS: u32 = 512;
/// The most CPUs that a kernel is built for (`NR_CPUS` of x86-64 and aarch64): the most values of a
/// map slot.
const MAX_CPUS: usize = 8_192;

/// Commands of bpf(2), kinds of maps and of programs (linux/bpf.h).
const MAP_CREATE: i64 = 0;
const MAP_LOOKUP_ELEM: i64 = 1;
const PROG_LOAD: i64 = 5;
const RAW_TRACEPOINT_OPEN: i64 = 17;
const PERCPU_ARRAY: u32 = 6;
const RAW_TRACEPOINT: u32 = 17;

/// Runs at each system call's entry until dropped.
pub struct SysEnterProgram {
    _attached: OwnedFd,
    counts: Option<OwnedFd>,
}

impl SysEnterProgram {
    /// Loads and attaches the program that counts calls by number, or the empty one.
    pub fn attach(counts: bool) -> Result<Self, Errno> {
        let counts = if counts { Some(counter_map()?) } else { None };
        let program = match &counts {
            Some(map) => load(RAW_TRACEPOINT, &counting_program(map.as_raw_fd())),
            None => load(RAW_TRACEPOINT, &empty_program()),
        }?;
        let name = c"sys_enter";
        let open = TracepointAttribute {
            name: name.as_ptr() as u64,
            program: program.as_raw_fd() as u32,
            pad: 0,
        };
        let attached = create_descriptor(RAW_TRACEPOINT_OPEN, &open)
            .map_err(|error| explain_error("attach an eBPF program to sys_enter", error))?;
        Ok(Self { _attached: attached, counts })
    }

    /// The calls counted, of all processes on all CPUs; `None` for the empty program.
    pub fn call_count(&self) -> Option<Result<u64, Errno>> {
        self.counts.as_ref().map(|map| {
            let mut values = vec![0u64; MAX_CPUS];
            let mut sum = 0;
            for slot in 0..SLOTS {
                let element = LookupAttribute {
                    map: map.as_raw_fd() as u32,
                    pad: 0,
                    key: &raw const slot as u64,
                    value: values.as_mut_ptr() as u64,
                    flags: 0,
                };
                // SAFETY: the key has four bytes; one value per possible CPU is written, and the
                // buffer has more than any kernel has.
                unsafe { bpf(MAP_LOOKUP_ELEM, &element) }?;
                sum += values.iter().sum::<u64>();
            }
            Ok(sum)
        })
    }
}

/// Describes a refused bpf(2) command, with a hint.
fn explain_error(act: &str, error: Errno) -> Errno {
    let hint = match error {
        Errno::EPERM | Errno::EACCES => {
            "it needs root, or CAP_BPF and CAP_PERFMON; a kernel in lockdown for confidentiality \
             forbids it"
        }
        Errno::ENOSYS => "this kernel has no bpf(2), or a filter hides it (CONFIG_BPF_SYSCALL)",
        _ => "it needs Linux 4.17 with CONFIG_BPF_EVENTS",
    };
    Errno::unavailable(format!("cannot {act}: {error}; {hint}"))
}

/// `union bpf_attr`, as BPF_MAP_CREATE takes it.
#[repr(C)]
struct MapAttribute {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
}

/// As BPF_PROG_LOAD takes it.
#[repr(C)]
struct LoadAttribute {
    kind: u32,
    instructions: u32,
    program: u64,
    licence: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
}

/// As BPF_RAW_TRACEPOINT_OPEN takes it.
#[repr(C)]
struct TracepointAttribute {
    name: u64,
    program: u32,
    pad: u32,
}

/// As BPF_MAP_LOOKUP_ELEM takes it.
#[repr(C)]
struct LookupAttribute {
    map: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// bpf(2).
///
/// # Safety
///
/// What `attribute` points to must be valid for the command.
unsafe fn bpf<T>(command: i64, attribute: &T) -> Result<i32, Errno> {
    // SAFETY: the kernel reads as many bytes as the attribute has; the caller guarantees the rest.
    Errno::check(unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attribute), size_of::<T>())
    } as i32)
}

/// A command that returns a descriptor and only reads what its attribute points to.
fn create_descriptor<T>(command: i64, attribute: &T) -> Result<OwnedFd, Errno> {
    // SAFETY: the callers' pointers outlive the call; the descriptor is new and owned here.
    unsafe { Ok(OwnedFd::from_raw_fd(bpf(command, attribute)?)) }
}

/// A count per call number and CPU, so that CPUs share no cache line.
fn counter_map() -> Result<OwnedFd, Errno> {
    let map = MapAttribute { kind: PERCPU_ARRAY, key_bytes: 4, value_bytes: 8, entries: SLOTS };
    create_descriptor(MAP_CREATE, &map).map_err(|error| explain_error("make an eBPF map", error))
}

/// Loads a program of this kind.
pub(super) fn load(kind: u32, program: &[u64]) -> Result<OwnedFd, Errno> {
    const LICENCE: &CStr = c"Dual MIT/GPL";
    let mut name = [0; 16];
    name[..6].copy_from_slice(b"oscost");
    let load = LoadAttribute {
        kind,
        instructions: program.len() as u32,
        program: program.as_ptr() as u64,
        licence: LICENCE.as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
        name,
    };
    create_descriptor(PROG_LOAD, &load)
        .map_err(|error| explain_error("load an eBPF program", error))
}

/// `struct bpf_insn`: operation, two registers of four bits, an offset, a number.
const fn instruction(operation: u8, to: u8, from: u8, offset: i16, number: i32) -> u64 {
    operation as u64
        | (to as u64) << 8
        | (from as u64) << 12
        | (offset as u16 as u64) << 16
        | (number as u32 as u64) << 32
}

/// The empty program, which returns 0.
pub(super) const fn empty_program() -> [u64; 2] {
    [set(0, 0), EXIT]
}

/// Increments the call number's count, unless it is beyond the table.
const fn counting_program(map: i32) -> [u64; 13] {
    const ID: u8 = 1;
    const FRAME: u8 = 10;
    [
        // The context is two numbers: where the registers are, and the call's number.
        load_64(ID, 1, 8),
        skip_unless_below(ID, SLOTS as i32, 9),
        store_32(FRAME, -4, ID),
        copy(2, FRAME),
        add(2, -4),
        // A number of 64 bits in two instructions: the map, by its descriptor.
        instruction(0x18, 1, 1, 0, map),
        0,
        // bpf_map_lookup_elem(map, key).
        instruction(0x85, 0, 0, 0, 1),
        skip_if_zero(0, 2),
        set(1, 1),
        // Atomic: the program may be preempted on this CPU.
        add_atomic_64(0, 0, 1),
        // The target of the skips.
        set(0, 0),
        EXIT,
    ]
}

const EXIT: u64 = instruction(0x95, 0, 0, 0, 0);

const fn set(to: u8, number: i32) -> u64 {
    instruction(0xb7, to, 0, 0, number)
}

const fn copy(to: u8, from: u8) -> u64 {
    instruction(0xbf, to, from, 0, 0)
}

const fn add(to: u8, number: i32) -> u64 {
    instruction(0x07, to, 0, 0, number)
}

const fn load_64(to: u8, from: u8, offset: i16) -> u64 {
    instruction(0x79, to, from, offset, 0)
}

const fn store_32(to: u8, offset: i16, from: u8) -> u64 {
    instruction(0x63, to, from, offset, 0)
}

const fn add_atomic_64(to: u8, offset: i16, from: u8) -> u64 {
    instruction(0xdb, to, from, offset, 0)
}

const fn skip_unless_below(register: u8, number: i32, instructions: i16) -> u64 {
    instruction(0x35, register, 0, instructions, number)
}

const fn skip_if_zero(register: u8, instructions: i16) -> u64 {
    instruction(0x15, register, 0, instructions, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::syscall;

    #[test]
    fn instructions_are_laid_out_as_the_kernel_reads_them() {
        assert_eq!(empty_program().map(u64::to_le_bytes)[0], [0xb7, 0, 0, 0, 0, 0, 0, 0]);
        let store = store_32(10, -4, 1).to_le_bytes();
        assert_eq!(store, [0x63, 0x1a, 0xfc, 0xff, 0, 0, 0, 0]);
        assert_eq!(skip_unless_below(1, 512, 9).to_le_bytes(), [0x35, 1, 9, 0, 0, 2, 0, 0]);
    }

    #[test]
    fn calls_are_counted_while_attached_and_a_refusal_names_what_is_needed() {
        let attached = match SysEnterProgram::attach(true) {
            Ok(attached) => attached,
            Err(error) => {
                assert_eq!(error, Errno::UNAVAILABLE);
                return assert!(error.to_string().contains("; "), "{error}");
            }
        };
        for _ in 0..1_000 {
            syscall::getppid().unwrap();
        }
        let counted = attached.call_count().unwrap().unwrap();
        assert!(counted >= 1_000, "{counted}");
        drop(attached);
        let empty = SysEnterProgram::attach(false).unwrap();
        assert!(empty.call_count().is_none());
    }
}
