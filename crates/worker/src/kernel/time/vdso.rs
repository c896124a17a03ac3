//! The vDSO: code that the kernel maps into every process, so that some calls need not enter the
//! kernel.

use std::ffi::CStr;

use crate::kernel::Errno;
use crate::kernel::time::clock::{ClockId, microseconds, nanoseconds};

/// The vDSO's own clock_gettime.
#[derive(Clone, Copy)]
pub struct ClockGettime(extern "C" fn(libc::clockid_t, *mut libc::timespec) -> libc::c_int);

#[cfg(target_arch = "x86_64")]
const CLOCK_GETTIME: &CStr = c"__vdso_clock_gettime";
#[cfg(target_arch = "aarch64")]
const CLOCK_GETTIME: &CStr = c"__kernel_clock_gettime";

#[cfg(target_arch = "x86_64")]
const GETTIMEOFDAY: &CStr = c"__vdso_gettimeofday";
#[cfg(target_arch = "aarch64")]
const GETTIMEOFDAY: &CStr = c"__kernel_gettimeofday";

/// Only x86-64 has it.
const TIME: &CStr = c"__vdso_time";

impl ClockGettime {
    /// Finds it in this process; `None` if the kernel maps no vDSO.
    pub fn find() -> Option<Self> {
        let address = symbol(CLOCK_GETTIME)?;
        // SAFETY: the vDSO's symbol of that name has this C type (vdso(7)).
        Some(Self(unsafe {
            std::mem::transmute::<
                *const (),
                extern "C" fn(libc::clockid_t, *mut libc::timespec) -> libc::c_int,
            >(address)
        }))
    }

    /// The clock's time in nanoseconds.
    #[inline(always)]
    pub fn call(self, clock: ClockId) -> Result<u64, Errno> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // The vDSO returns errors as the kernel does: a negative errno.
        match (self.0)(clock.0, &raw mut time) {
            0 => Ok(nanoseconds(&time)),
            error => Err(Errno(-error)),
        }
    }
}

/// The vDSO's own gettimeofday.
#[derive(Clone, Copy)]
pub struct Gettimeofday(extern "C" fn(*mut libc::timeval, *mut libc::c_void) -> libc::c_int);

impl Gettimeofday {
    /// Finds it in this process.
    pub fn find() -> Option<Self> {
        let address = symbol(GETTIMEOFDAY)?;
        // SAFETY: the vDSO's symbol of that name has this C type (vdso(7)).
        Some(Self(unsafe {
            std::mem::transmute::<
                *const (),
                extern "C" fn(*mut libc::timeval, *mut libc::c_void) -> libc::c_int,
            >(address)
        }))
    }

    /// The time in microseconds.
    #[inline(always)]
    pub fn call(self) -> Result<u64, Errno> {
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        match (self.0)(&raw mut time, std::ptr::null_mut()) {
            0 => Ok(microseconds(&time)),
            error => Err(Errno(-error)),
        }
    }
}

/// The vDSO's own time.
#[derive(Clone, Copy)]
pub struct Time(extern "C" fn(*mut libc::time_t) -> libc::time_t);

impl Time {
    /// Finds it in this process.
    pub fn find() -> Option<Self> {
        let address = symbol(TIME)?;
        // SAFETY: the vDSO's symbol of that name has this C type (vdso(7)).
        Some(Self(unsafe {
            std::mem::transmute::<*const (), extern "C" fn(*mut libc::time_t) -> libc::time_t>(
                address,
            )
        }))
    }

    /// The time in seconds.
    #[inline(always)]
    pub fn call(self) -> u64 {
        (self.0)(std::ptr::null_mut()) as u64
    }
}

/// The address of a function in the vDSO.
pub(in crate::kernel) fn symbol(name: &CStr) -> Option<*const ()> {
    // SAFETY: getauxval reads the auxiliary vector from the initial stack.
    let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as *const u8;
    if base.is_null() {
        return None;
    }
    // SAFETY: the kernel maps a complete, well-formed ELF image there for the life of the process;
    // its headers, dynamic section, symbols and strings all lie inside that mapping.
    unsafe {
        let elf = &*base.cast::<libc::Elf64_Ehdr>();
        let headers = std::slice::from_raw_parts(
            base.add(elf.e_phoff as usize).cast::<libc::Elf64_Phdr>(),
            elf.e_phnum as usize,
        );
        let load = headers.iter().find(|header| header.p_type == libc::PT_LOAD)?;
        let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let slide = base.wrapping_add(load.p_offset as usize).wrapping_sub(load.p_vaddr as usize);
        let at = |address: u64| slide.wrapping_add(address as usize);
        let (mut strings, mut symbols, mut hash) = (None, None, None);
        let mut entry = base.add(dynamic.p_offset as usize).cast::<[u64; 2]>();
        while (*entry)[0] != 0 {
            match (*entry)[0] {
                DT_STRTAB => strings = Some(at((*entry)[1])),
                DT_SYMTAB => symbols = Some(at((*entry)[1]).cast::<libc::Elf64_Sym>()),
                DT_HASH => hash = Some(at((*entry)[1]).cast::<u32>()),
                _ => {}
            }
            entry = entry.add(1);
        }
        let (strings, symbols) = (strings?, symbols?);
        // The string table follows the symbol table in every vDSO without the old hash table, whose
        // second word is the number of symbols.
        let count = match hash {
            Some(hash) => *hash.add(1) as usize,
            None => {
                (strings as usize).checked_sub(symbols as usize)? / size_of::<libc::Elf64_Sym>()
            }
        };
        (0..count)
            .map(|index| &*symbols.add(index))
            .find(|symbol| {
                symbol.st_shndx != 0
                    && CStr::from_ptr(strings.add(symbol.st_name as usize).cast()) == name
            })
            .map(|symbol| at(symbol.st_value).cast())
    }
}

const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;

/// Whether the vDSO has a function of that name.
pub fn has_function(name: &str) -> bool {
    std::ffi::CString::new(name).is_ok_and(|name| symbol(&name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vdso_reads_the_same_time_as_the_kernel() {
        let Some(vdso) = ClockGettime::find() else {
            return; // A machine without a vDSO has nothing to agree with.
        };
        let before = crate::kernel::syscall::clock_gettime(ClockId::MONOTONIC_RAW).unwrap();
        let between = vdso.call(ClockId::MONOTONIC_RAW).unwrap();
        let after = crate::kernel::syscall::clock_gettime(ClockId::MONOTONIC_RAW).unwrap();
        assert!(before <= between && between <= after);
    }

    #[test]
    fn an_unknown_name_is_not_found() {
        assert!(!has_function("oscost_no_such_function"));
        assert!(!has_function("with\0nul"));
    }
}
