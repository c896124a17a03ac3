//! perf_event_open(2) on points of tracing: a tracepoint, a kprobe or a uprobe, with a counter for
//! the calling thread alone, or an empty eBPF program attached.
//!
//! The descriptor holds all of it: when its owner ends, however that happens, the kernel removes
//! the probe. What the kernel changes at the point itself, other threads meet too: see
//! [`TraceEvent::at_syscall`] and [`TraceEvent::at_getegid`].

use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::bpf::{empty_program, load};
use crate::kernel::Errno;

/// `perf_event_attr` in its second version (PERF_ATTR_SIZE_VER1), the first with `config2`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Attribute {
    kind: u32,
    bytes: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_kind: u32,
    config1: u64,
    config2: u64,
}

/// PERF_TYPE_TRACEPOINT of linux/perf_event.h.
const TRACEPOINT: u32 = 2;
/// PERF_FLAG_FD_CLOEXEC of perf_event_open(2).
const CLOSE_ON_EXEC: u64 = 1 << 3;
/// PERF_EVENT_IOC_SET_BPF.
const SET_BPF: libc::Ioctl = 0x4004_2408;
/// The kinds of programs (linux/bpf.h): that of kprobes is that of uprobes, too.
const KPROBE_PROGRAM: u32 = 2;
const TRACEPOINT_PROGRAM: u32 = 5;

/// The kernel's function of getegid(2).
const GETEGID: &CStr =
    if cfg!(target_arch = "x86_64") { c"__x64_sys_getegid" } else { c"__arm64_sys_getegid" };

/// Where a function is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At its first instruction.
    Entry,
    /// When it returns (a kretprobe or uretprobe).
    Return,
}

impl Place {
    /// As `config` has it: bit 0 is `retprobe` in the `format` of both kinds.
    fn config(self) -> u64 {
        match self {
            Place::Entry => 0,
            Place::Return => 1,
        }
    }
}

/// An event that occurs when the calling thread reaches a point of tracing. It counts from the
/// beginning, and takes no samples.
pub struct TraceEvent {
    event: File,
    program_kind: u32,
}

impl TraceEvent {
    /// The tracepoint at the entry of this system call. While it is open, all system calls of the
    /// machine take the slow path of kernel entry.
    pub fn at_syscall(name: &str) -> Result<Self, Errno> {
        Self::at_tracepoint(&format!("syscalls/sys_enter_{name}"))
    }

    /// A tracepoint, by its group and its name.
    pub fn at_tracepoint(name: &str) -> Result<Self, Errno> {
        let number = tracepoint_number(name).map_err(|error| {
            Errno::unavailable(format!(
                "cannot read the number of the tracepoint {name}: {error}; it needs root, and a \
                 kernel with tracefs and this tracepoint (CONFIG_FTRACE_SYSCALLS for those of \
                 system calls)"
            ))
        })?;
        let attribute = Attribute { kind: TRACEPOINT, config: number, ..Attribute::default() };
        Self::open(attribute, "a tracepoint", TRACEPOINT_PROGRAM)
    }

    /// A kprobe on getegid(2). While it is open, all threads that make this call run into it.
    pub fn at_getegid(place: Place) -> Result<Self, Errno> {
        let attribute = Attribute {
            kind: kind_of("kprobe")?,
            config: place.config(),
            config1: GETEGID.as_ptr() as u64,
            ..Attribute::default()
        };
        Self::open(attribute, "a kprobe", KPROBE_PROGRAM)
    }

    /// A uprobe on the function of this program that begins at an address. No other process meets
    /// it.
    pub fn at_address(address: u64, place: Place) -> Result<Self, Errno> {
        const PROGRAM: &CStr = c"/proc/self/exe";
        let offset = file_offset(address).map_err(|error| {
            Errno::unavailable(format!(
                "cannot find the function in the file of the program: {error}; it needs \
                 /proc/self/maps"
            ))
        })?;
        let attribute = Attribute {
            kind: kind_of("uprobe")?,
            config: place.config(),
            config1: PROGRAM.as_ptr() as u64,
            config2: offset,
            ..Attribute::default()
        };
        Self::open(attribute, "a uprobe", KPROBE_PROGRAM)
    }

    /// Opens an event. What the attribute points to is static.
    fn open(attribute: Attribute, what: &str, program_kind: u32) -> Result<Self, Errno> {
        const CALLING_THREAD: i32 = 0;
        const ANY_CPU: i32 = -1;
        const NO_GROUP: i32 = -1;
        let attribute = Attribute { bytes: size_of::<Attribute>() as u32, ..attribute };
        // SAFETY: the kernel reads as many bytes as the attribute says, which are its own, and
        // static strings with their NUL.
        let opened = Errno::check(unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attribute,
                CALLING_THREAD,
                ANY_CPU,
                NO_GROUP,
                CLOSE_ON_EXEC,
            )
        } as i32);
        let fd = opened.map_err(|error| explain_error(&format!("open {what}"), error))?;
        // SAFETY: a new descriptor, owned here.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { event: File::from(fd), program_kind })
    }

    /// Attaches an eBPF program that returns 0, for as long as the event exists. It rejects the
    /// event: from then on nothing is counted. A program belongs to the point and not to a thread:
    /// at a tracepoint it runs for all, and other observers by perf_event_open(2) get no events of
    /// it meanwhile. Probes are the event's own.
    pub fn attach_empty_program(&self) -> Result<(), Errno> {
        let program = load(self.program_kind, &empty_program())?;
        let number = program.as_raw_fd() as libc::c_ulong;
        // SAFETY: the request takes the number of a descriptor, and takes a reference of its own.
        let attached =
            Errno::check(unsafe { libc::ioctl(self.event.as_raw_fd(), SET_BPF, number) });
        attached
            .map(drop)
            .map_err(|error| explain_error("attach an eBPF program to the event", error))
    }

    /// How often the thread has reached the point.
    pub fn count(&self) -> Result<u64, Errno> {
        let mut count = [0; size_of::<u64>()];
        (&self.event).read_exact(&mut count)?;
        Ok(u64::from_ne_bytes(count))
    }
}

/// Describes a refused act, with a hint.
fn explain_error(act: &str, error: Errno) -> Errno {
    let hint = match error {
        Errno::EPERM | Errno::EACCES => {
            "it needs root, or CAP_PERFMON and CAP_BPF; a kernel in lockdown for confidentiality \
             forbids it"
        }
        Errno::ENOSYS => {
            "this kernel has no perf_event_open(2), or a filter hides it (CONFIG_PERF_EVENTS)"
        }
        Errno::ENOENT => "this kernel has no such point",
        _ => "it needs Linux 5.0 with CONFIG_BPF_EVENTS",
    };
    Errno::unavailable(format!("cannot {act}: {error}; {hint}"))
}

/// The number of a kind of events (`type` in sysfs).
fn kind_of(name: &str) -> Result<u32, Errno> {
    let file = format!("/sys/bus/event_source/devices/{name}/type");
    let text = fs::read_to_string(&file).map_err(Errno::from);
    let number = text.and_then(|text| text.trim().parse::<u32>().map_err(|_| Errno::EINVAL));
    number.map_err(|error| {
        Errno::unavailable(format!(
            "cannot read {file}: {error}; it needs Linux 4.17 with CONFIG_KPROBE_EVENTS or \
             CONFIG_UPROBE_EVENTS"
        ))
    })
}

/// The number of a tracepoint, from tracefs where it is mounted.
fn tracepoint_number(name: &str) -> Result<u64, Errno> {
    let file = format!("events/{name}/id");
    let text = match fs::read_to_string(format!("/sys/kernel/tracing/{file}")) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => read_unmounted(&file)?,
        Err(error) => return Err(error.into()),
    };
    text.trim().parse().map_err(|_| Errno::EINVAL)
}

/// Reads a file of tracefs through a detached mount (Linux 5.2), which no other process sees.
fn read_unmounted(file: &str) -> Result<String, Errno> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    let mut opened: File =
        openat(&mount, file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?.into();
    let mut text = String::new();
    opened.read_to_string(&mut text)?;
    Ok(text)
}

/// Where the code at an address of this process lies in the file that it is mapped from.
fn file_offset(address: u64) -> Result<u64, Errno> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    maps.lines().find_map(|line| offset_in_line(line, address)).ok_or(Errno::ENOENT)
}

/// The same for a line of `maps`: first and last address, permissions, offset, and more.
fn offset_in_line(line: &str, address: u64) -> Option<u64> {
    let number = |hexadecimal: &str| u64::from_str_radix(hexadecimal, 16).ok();
    let mut words = line.split_ascii_whitespace();
    let (first, end) = words.next()?.split_once('-')?;
    let (first, end) = (number(first)?, number(end)?);
    let offset = number(words.nth(1)?)?;
    (first..end).contains(&address).then(|| address - first + offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::cpu::procedure::{FirstInstruction, ProbedFunction};
    use crate::kernel::process::in_own_process;
    use crate::kernel::process::task_name::TaskName;
    use crate::kernel::syscall;

    /// Fails unless each act is counted once, and none after a program has been attached. Passes,
    /// with a message, where the event is refused.
    fn assert_counts(opened: Result<TraceEvent, Errno>, mut act: impl FnMut()) {
        let event = match opened {
            Ok(event) => event,
            Err(error) => {
                assert_eq!(error, Errno::UNAVAILABLE);
                assert!(error.to_string().contains("; "), "{error}");
                return eprintln!("not tested: {error}");
            }
        };
        let before = event.count().unwrap();
        (0..100).for_each(|_| act());
        assert_eq!(event.count(), Ok(before + 100));
        match event.attach_empty_program() {
            Ok(()) => (0..100).for_each(|_| act()),
            Err(error) => {
                assert_eq!(error, Errno::UNAVAILABLE);
                eprintln!("not tested: {error}");
            }
        }
        assert_eq!(event.count(), Ok(before + 100));
    }

    #[test]
    fn each_arrival_is_counted_until_an_empty_program_rejects_it() {
        in_own_process(|| {
            let getegid = || {
                syscall::getegid().unwrap();
            };
            assert_counts(TraceEvent::at_syscall("getegid"), getegid);
            for place in [Place::Entry, Place::Return] {
                assert_counts(TraceEvent::at_getegid(place), getegid);
            }
            let name = TaskName::current().unwrap();
            assert_counts(TraceEvent::at_tracepoint("task/task_rename"), || name.set().unwrap());
        });
    }

    #[test]
    fn a_function_of_the_program_is_probed_whatever_it_begins_with() {
        in_own_process(|| {
            let all =
                [FirstInstruction::Nop, FirstInstruction::LongNop, FirstInstruction::Arithmetic];
            for function in all.into_iter().filter_map(ProbedFunction::new) {
                for place in [Place::Entry, Place::Return] {
                    let event = TraceEvent::at_address(function.address(), place);
                    assert_counts(event, || function.call());
                }
                // Nothing is left in the code.
                function.call();
            }
        });
    }

    #[test]
    fn a_refusal_says_what_is_needed() {
        let error = TraceEvent::at_tracepoint("oscost/none").err().unwrap();
        assert_eq!(error, Errno::UNAVAILABLE);
        assert!(error.to_string().contains("tracepoint oscost/none"), "{error}");
        let error = kind_of("oscost").unwrap_err();
        assert!(error.to_string().contains("devices/oscost/type"), "{error}");
        assert!(file_offset(0).is_err(), "nothing is mapped there");
    }

    #[test]
    fn an_offset_in_the_file_is_found_in_the_line_of_its_mapping() {
        let line = "55d0a000-55d0f000 r-xp 00002000 fd:01 1234    /usr/bin/oscost-worker";
        assert_eq!(offset_in_line(line, 0x55d0_a000), Some(0x2000));
        assert_eq!(offset_in_line(line, 0x55d0_effd), Some(0x6ffd));
        assert_eq!(offset_in_line(line, 0x55d0_f000), None);
        for odd in ["", "55d0a000", "x-y r-xp 0", "55d0a000-55d0f000", "55d0a000-55d0f000 r-xp"] {
            assert_eq!(offset_in_line(odd, 0x55d0_a000), None, "{odd}");
        }
    }

    #[test]
    fn the_attribute_has_the_layout_of_the_kernels_header() {
        assert_eq!(size_of::<Attribute>(), 72);
        assert_eq!(std::mem::offset_of!(Attribute, config1), 56);
        assert_eq!(std::mem::offset_of!(Attribute, config2), 64);
    }
}
