//! An empty eBPF program at a tracepoint that is hardly ever passed, attached and detached as the
//! subject of a measurement.

use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

use super::bpf::{empty_program, load};
use crate::kernel::errno::raw_result;
use crate::kernel::{Errno, arch};

/// A command of bpf(2) and a kind of programs (linux/bpf.h).
const RAW_TRACEPOINT_OPEN: u64 = 17;
const RAW_TRACEPOINT: u32 = 17;

/// `union bpf_attr`, as BPF_RAW_TRACEPOINT_OPEN takes it.
#[repr(C)]
struct TracepointAttribute {
    name: u64,
    program: u32,
    pad: u32,
}

/// An empty program for a tracepoint, which is attached or not.
pub struct TracepointProgram {
    program: OwnedFd,
    attached: Option<OwnedFd>,
}

impl TracepointProgram {
    /// Loads the program, which is not attached yet.
    pub fn load() -> Result<Self, Errno> {
        Ok(Self { program: load(RAW_TRACEPOINT, &empty_program())?, attached: None })
    }

    /// Attaches it by BPF_RAW_TRACEPOINT_OPEN; EBUSY if it is attached.
    #[inline(always)]
    pub fn attach(&mut self) -> Result<(), Errno> {
        if self.attached.is_some() {
            return Err(Errno::EBUSY);
        }
        // A thread of the kernel is asked to end: a rare event.
        let open = TracepointAttribute {
            name: c"sched_kthread_stop".as_ptr() as u64,
            program: self.program.as_raw_fd() as u32,
            pad: 0,
        };
        let bytes = size_of::<TracepointAttribute>() as u64;
        let args = [RAW_TRACEPOINT_OPEN, &raw const open as u64, bytes, 0, 0, 0];
        // SAFETY: the kernel reads the attribute and a NUL-terminated name; the descriptor is new
        // and owned here.
        self.attached = Some(unsafe {
            OwnedFd::from_raw_fd(raw_result(arch::syscall(libc::SYS_bpf, args))? as i32)
        });
        Ok(())
    }

    /// Detaches it by close(2) of the descriptor that holds it; EBADF if it is not attached.
    #[inline(always)]
    pub fn detach(&mut self) -> Result<(), Errno> {
        let attached = self.attached.take().ok_or(Errno::EBADF)?;
        let args = [attached.into_raw_fd() as u64, 0, 0, 0, 0, 0];
        // SAFETY: the descriptor was owned here, and nothing else refers to it.
        raw_result(unsafe { arch::syscall(libc::SYS_close, args) }).map(drop)
    }

    /// Whether it is attached.
    pub fn is_attached(&self) -> bool {
        self.attached.is_some()
    }
}

/// Describes why the program cannot be attached, with a hint.
pub fn explain_refusal(error: Errno) -> Errno {
    let hint = match error {
        Errno::EPERM | Errno::EACCES => {
            "it needs root, or CAP_BPF and CAP_PERFMON; a kernel in lockdown for confidentiality \
             forbids it"
        }
        Errno::ENOSYS => "this kernel has no bpf(2), or a filter hides it (CONFIG_BPF_SYSCALL)",
        _ => "it needs Linux 4.17 with CONFIG_BPF_EVENTS",
    };
    Errno::unavailable(format!("cannot attach an eBPF program to a tracepoint: {error}; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;

    #[test]
    fn a_program_is_attached_and_detached_once_each_time() {
        in_own_process(|| {
            let mut program = match TracepointProgram::load() {
                Ok(program) => program,
                Err(error) => {
                    assert_eq!(error, Errno::UNAVAILABLE);
                    return eprintln!("cannot run here: {error}");
                }
            };
            for _ in 0..3 {
                assert_eq!(program.detach(), Err(Errno::EBADF));
                if let Err(error) = program.attach() {
                    let error = explain_refusal(error);
                    assert!(error.to_string().contains("; "), "{error}");
                    return eprintln!("cannot run here: {error}");
                }
                assert!(program.is_attached());
                assert_eq!(program.attach(), Err(Errno::EBUSY));
                assert_eq!(program.detach(), Ok(()));
            }
        });
    }
}
