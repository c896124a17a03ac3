//! The kernel's names of system calls.

use oscost_model::call_names::Arch;

/// The processor that this program was built for.
#[cfg(target_arch = "x86_64")]
const NATIVE: Arch = Arch::X86_64;
#[cfg(target_arch = "aarch64")]
const NATIVE: Arch = Arch::Aarch64;

/// The kernel's name of a call; `syscall_N` for one newer than the table.
pub fn name_of(number: u64) -> String {
    match NATIVE.calls().find(|&(known, _)| u64::from(known) == number) {
        Some((_, name)) => name.to_owned(),
        None => format!("syscall_{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_agrees_with_libc() {
        assert_eq!(name_of(libc::SYS_getppid as u64), "getppid");
        assert_eq!(name_of(libc::SYS_openat as u64), "openat");
        assert_eq!(name_of(libc::SYS_clock_gettime as u64), "clock_gettime");
        assert_eq!(name_of(99_999), "syscall_99999");
    }
}
