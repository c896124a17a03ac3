//! An untrusted Debian package of a kernel (ar, tar, gzip, xz, zstd): it is refused with a reason, or
//! its image is bounded.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::files::input_copy::InputCopy;
use oscost::hosts::vm::Kernel;

/// A packed file may be thousands of times as long when it is unpacked.
const UNPACKED_TIMES: usize = 1_000;
/// The largest image that is read.
const MAX_IMAGE_BYTES: usize = 256 << 20;

fuzz_target!(|bytes: &[u8]| in_time(bytes.len() * UNPACKED_TIMES, || check(bytes)));

fn check(bytes: &[u8]) {
    // Random bytes rarely begin as an archive.
    let package = [b"!<arch>\n", bytes.strip_prefix(b"!<arch>\n").unwrap_or(bytes)].concat();
    let file = InputCopy::of(&package[..], u64::MAX).expect("a file in memory");
    match Kernel::find(&file.path()) {
        Ok(kernel) => {
            assert!(!kernel.image.is_empty() && kernel.image.len() <= MAX_IMAGE_BYTES);
            assert!(!kernel.version.contains(char::is_control), "{:?}", kernel.version);
        }
        Err(error) => {
            let text = error.to_string();
            let is_control = |letter: char| letter.is_control() && letter != '\n';
            assert!(text.len() < 2_000 && !text.contains(is_control), "{text:?}");
        }
    }
}
