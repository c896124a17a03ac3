//! Installing a seccomp filter, as the subject of a benchmark.

use crate::kernel::errno::raw_result;
use crate::kernel::{Errno, arch};

/// `ld [0]` of a classic BPF program: the number of the call (BPF_LD | BPF_W | BPF_ABS).
const LOAD_NUMBER: libc::sock_filter = libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
/// `ret ALLOW` (BPF_RET | BPF_K).
const ALLOW: libc::sock_filter =
    libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };

/// A filter that allows every call, of a number of instructions.
pub struct PreparedFilter(Vec<libc::sock_filter>);

impl PreparedFilter {
    /// A filter of so many instructions, at least one: all but the last load the number of the
    /// call, so that the kernel executes them all.
    pub fn new(instructions: u64) -> Self {
        let mut program = vec![LOAD_NUMBER; instructions.saturating_sub(1) as usize];
        program.push(ALLOW);
        Self(program)
    }

    /// seccomp(SECCOMP_SET_MODE_FILTER): the calling thread and its descendants keep the filter
    /// until they end, so that a child calls this. The thread must have set `no_new_privs`, or have
    /// CAP_SYS_ADMIN.
    #[inline(always)]
    pub fn install(&self) -> Result<(), Errno> {
        self.seccomp(0)
    }

    /// The same call with an invalid flag, which installs nothing: afterwards the code and the
    /// stack that it needs are in memory.
    pub fn install_nothing(&self) {
        const NO_FLAG: u64 = 1 << 31;
        // It fails with EINVAL.
        let _ = self.seccomp(NO_FLAG);
    }

    #[inline(always)]
    fn seccomp(&self, flags: u64) -> Result<(), Errno> {
        let whole = libc::sock_fprog {
            len: self.0.len() as u16,
            // The type is that of a program that may be written; the kernel reads it.
            filter: self.0.as_ptr().cast_mut(),
        };
        let operation = u64::from(libc::SECCOMP_SET_MODE_FILTER);
        let args = [operation, flags, &raw const whole as u64, 0, 0, 0];
        // SAFETY: the kernel reads one program, which is borrowed.
        raw_result(unsafe { arch::syscall(libc::SYS_seccomp, args) }).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::spawn::reap;
    use crate::kernel::process::{fork, in_own_process};

    fn filters() -> u32 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"));
        line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    }

    #[test]
    fn a_filter_is_installed_once_and_an_invalid_flag_installs_none() {
        in_own_process(|| {
            let before = filters();
            let child = fork(|| {
                let filter = PreparedFilter::new(16);
                if rustix::thread::set_no_new_privs(true).is_err() {
                    return 1;
                }
                filter.install_nothing();
                if filters() != before {
                    return 2;
                }
                match filter.install() {
                    // Kernels before 5.9 do not say how many there are.
                    Ok(()) => i32::from(![0, before + 1].contains(&filters())),
                    Err(error) => {
                        eprintln!("cannot run here: {error}");
                        0
                    }
                }
            });
            assert_eq!(child.and_then(reap), Ok(()));
            assert_eq!(filters(), before);
        });
    }
}
