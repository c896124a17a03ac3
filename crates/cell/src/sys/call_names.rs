//! System calls by the kernel's names.

#[cfg_attr(target_arch = "x86_64", path = "arch/call_names_x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "arch/call_names_aarch64.rs")]
mod table;

/// The kernel's name of a call; `syscall_N` for one that is younger than this table.
pub fn of(number: u64) -> String {
    match table::NAMES.binary_search_by_key(&number, |&(number, _)| number) {
        Ok(index) => table::NAMES[index].1.to_owned(),
        Err(_) => format!("syscall_{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_agrees_with_libc() {
        assert!(table::NAMES.is_sorted_by_key(|&(number, _)| number));
        assert_eq!(of(libc::SYS_getppid as u64), "getppid");
        assert_eq!(of(libc::SYS_openat as u64), "openat");
        assert_eq!(of(libc::SYS_clock_gettime as u64), "clock_gettime");
        assert_eq!(of(99_999), "syscall_99999");
    }
}
