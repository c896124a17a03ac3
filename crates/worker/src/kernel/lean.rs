//! What the program that is shipped leaves out of the C library, and of what comes with a compiler.
//!
//! Linked statically, a few functions that are called once, if ever, bring more than half a megabyte
//! with them: printf(3), scanf(3), character sets, catalogs of messages, the names of hosts, and what
//! reads debug information, of which a stripped program has none. They are defined here instead, and
//! the linker, which takes the first definition that it meets (`-z muldefs`), leaves the library's
//! out. fork(2) pays for every page of its parent's program.

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

/// Guards the converters of wide streams: fclose(3) takes it for those, and no stream here is wide.
/// The library's own stands beside all character sets, message catalogs and the loader of shared
/// libraries.
#[unsafe(no_mangle)]
static __gconv_lock: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// Lets go of a converter: see [`__gconv_lock`].
#[unsafe(no_mangle)]
extern "C" fn __gconv_release_step(_step: *mut libc::c_void) {}

/// Counts calls between shared libraries, of which there are none: `LD_PROFILE` asks for it.
#[unsafe(no_mangle)]
extern "C" fn _dl_start_profile() {}

/// Counts one: see [`_dl_start_profile`].
#[unsafe(no_mangle)]
extern "C" fn _dl_mcount(_from: usize, _to: usize) {}

/// Prints to a stream: only malloc(3) would, before it ends a program whose memory is broken.
#[unsafe(no_mangle)]
extern "C" fn fprintf(_stream: *mut libc::FILE, _format: *const c_char) -> c_int {
    0
}

/// Prints into memory: only strerror_r(3) does, the number of an error that has no words. Rust's own
/// text ends with it in any case.
#[unsafe(no_mangle)]
extern "C" fn __snprintf(into: *mut c_char, size: usize, _format: *const c_char) -> c_int {
    if size > 0 {
        // SAFETY: there is room for `size` bytes, which are at least one.
        unsafe { into.write(0) };
    }
    0
}

/// The converters between bytes and wide characters, of which there are none: two lists of steps,
/// each a number and an address.
#[unsafe(no_mangle)]
static __wcsmbs_gconv_fcts_c: [usize; 4] = [0; 4];

/// Finds the converters of a locale: see [`__wcsmbs_gconv_fcts_c`].
#[unsafe(no_mangle)]
extern "C" fn __wcsmbs_load_conv(_category: *mut libc::c_void) {}

/// Hands out converters: see [`__wcsmbs_gconv_fcts_c`].
#[unsafe(no_mangle)]
extern "C" fn __wcsmbs_clone_conv(_into: *mut libc::c_void) {}

/// Finds converters by their names: there are none.
#[unsafe(no_mangle)]
extern "C" fn __wcsmbs_named_conv(_into: *mut libc::c_void, _name: *const c_char) -> c_int {
    1
}

/// Walks up the stack for std, which would word it after a panic (`RUST_BACKTRACE`): nobody is there.
/// The compiler's own goes by tables that are left out (no-unwinding.ld), and without them it ends the
/// program amid those words. Since nothing is ever found, link-time optimisation leaves out all that
/// would name it: 185 KiB that read debug information.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Backtrace(_each: *const libc::c_void, _with: *mut libc::c_void) -> c_int {
    const END_OF_STACK: c_int = 5;
    END_OF_STACK
}
