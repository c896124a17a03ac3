//! What the program that is shipped leaves out of the C library.
//!
//! Linked statically, a few functions that are called once, if ever, bring a quarter of a megabyte
//! with them: printf(3), scanf(3), character sets, catalogs of messages, the names of hosts. They are
//! defined here instead, and the linker, which takes the first definition that it meets (`-z
//! muldefs`), leaves the library's out. fork(2) pays for every page of its parent's program.

use std::sync::atomic::{AtomicI32, AtomicUsize};

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

/// What the library holds while it loads a character set, which it has no name for: fclose(3) looks
/// whether a stream has one. With it come all character sets, and printf(3).
#[unsafe(no_mangle)]
static __gconv_lock: AtomicI32 = AtomicI32::new(0);

/// Lets go of a stream's character set: see [`__gconv_lock`].
#[unsafe(no_mangle)]
extern "C" fn __gconv_release_step(_step: *mut libc::c_void) {}

/// Prints to a stream: the library's allocator can tell of itself that way, and nobody asks it to.
#[unsafe(no_mangle)]
extern "C" fn fprintf(_stream: *mut libc::FILE, _format: *const c_char) -> c_int {
    -1
}

/// An error's words. The library's own prints the number of one that it has no words for, by
/// printf(3).
#[cfg(target_env = "gnu")]
#[unsafe(no_mangle)]
extern "C" fn __strerror_r(error: c_int, _: *mut c_char, _: usize) -> *const c_char {
    /// As many as Linux has; the library's own list has no length that all of its versions know.
    const ERRORS: usize = 134;
    unsafe extern "C" {
        static _sys_errlist_internal: [*const c_char; ERRORS];
    }
    let at = usize::try_from(error).unwrap_or(ERRORS);
    // SAFETY: the list is the library's, of constant strings, and is never written to.
    let words = unsafe { _sys_errlist_internal.get(at).copied() };
    words.filter(|words| !words.is_null()).unwrap_or(c"Unknown error".as_ptr())
}

/// What the C locale converts wide characters by: see [`__gconv_lock`]. There are none here.
#[unsafe(no_mangle)]
static __wcsmbs_gconv_fcts_c: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

/// Finds how a stream of wide characters is converted, or one whose character set was named as it
/// was opened: there is no such stream.
#[unsafe(no_mangle)]
extern "C" fn __wcsmbs_clone_conv(_into: *mut libc::c_void) {}

/// See [`__wcsmbs_clone_conv`].
#[unsafe(no_mangle)]
extern "C" fn __wcsmbs_named_conv(_into: *mut libc::c_void, _name: *const c_char) -> c_int {
    -1
}

/// See [`__wcsmbs_clone_conv`].
#[unsafe(no_mangle)]
extern "C" fn __wcsmbs_load_conv(_locale: *mut libc::c_void) {}

/// Ends the program whose library has reached beyond a table. The library's own prints by how much.
#[unsafe(no_mangle)]
extern "C" fn __libc_dynarray_at_failure(_size: usize, _index: usize) -> ! {
    std::process::abort()
}
