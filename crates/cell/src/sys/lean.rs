//! What the program that is shipped leaves out of the C library.
//!
//! Linked statically, a few functions that are called once, if ever, bring a quarter of a megabyte
//! with them: printf(3), scanf(3), character sets, catalogs of messages, the names of hosts. They are
//! defined here instead, and the linker, which takes the first definition that it meets (`-z
//! muldefs`), leaves the library's out. fork(2) pays for every page of its parent's program.

use libc::{c_char, c_int, pthread_attr_t, pthread_t};

/// Translates a message of the library's: it stays as it is. The library's own would look for
/// catalogs and convert between character sets.
#[unsafe(no_mangle)]
extern "C" fn __dcgettext(_domain: *const c_char, words: *const c_char, _: c_int) -> *const c_char {
    words
}

/// Where a thread's stack lies: nobody says so. The library's own reads `/proc/self/maps` by
/// scanf(3); std asks it once, to word a stack overflow, which ends the program in any case.
#[unsafe(no_mangle)]
extern "C" fn pthread_getattr_np(_thread: pthread_t, _attributes: *mut pthread_attr_t) -> c_int {
    libc::ENOSYS
}

/// Ends the program whose library found itself in the wrong. The library's own would print where,
/// by printf(3), which brings wide characters and numbers of 128 bits with it.
#[unsafe(no_mangle)]
extern "C" fn __assert_fail(_: *const c_char, _: *const c_char, _: u32, _: *const c_char) -> ! {
    std::process::abort()
}

/// Finds a function of a shared library, of which this program has none: std goes on without.
#[unsafe(no_mangle)]
extern "C" fn dlsym(_library: *mut libc::c_void, _name: *const c_char) -> *mut libc::c_void {
    std::ptr::null_mut()
}

/// Reads how names of hosts are looked up. Nobody looks one up here; each thread has room for it.
#[unsafe(no_mangle)]
extern "C" fn __res_vinit(_state: *mut libc::c_void, _read: c_int) -> c_int {
    -1
}

/// Closes what looked up names of hosts: see [`__res_vinit`].
#[unsafe(no_mangle)]
extern "C" fn __res_iclose(_state: *mut libc::c_void, _free: bool) {}

/// Names a thread: nobody reads it. The library's own words a path by sprintf(3).
#[unsafe(no_mangle)]
extern "C" fn pthread_setname_np(_thread: pthread_t, _name: *const c_char) -> c_int {
    0
}
