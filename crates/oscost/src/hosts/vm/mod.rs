//! A machine of our own: a kernel booted under QEMU, with the worker as its first process and nothing
//! else on it.
//!
//! Under an emulator that counts instructions such a machine repeats itself to the last one, as long
//! as nothing reaches it from outside: so it is given all its orders in its memory, and what it says
//! is read from a file. Where a processor runs it, it takes orders like any other supervisor.

mod emulator;
mod image;
mod initrd;
mod scripted_vm;
mod session;
mod vm_spec;

pub use emulator::Emulator;
pub use image::{
    AvailablePackage, FetchError, FetchedKernel, ImageError, Kernel, LocalKernel, LocalKernels,
};
pub use scripted_vm::ScriptedVm;
pub use session::VmSession;
pub use vm_spec::{Accel, VmSpec, VmSpecError};

use std::time::Duration;

/// A machine that has not said hello by then never will: it takes 4 to 7 s of a CPU, and several
/// times as long where that is shared. On a slower one OSCOST_BOOT_SECONDS says how long.
const BOOT_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a machine may take to say hello.
pub fn boot_timeout() -> Duration {
    let asked = std::env::var("OSCOST_BOOT_SECONDS").ok().and_then(|text| text.parse().ok());
    asked.filter(|&seconds| seconds > 0).map_or(BOOT_TIMEOUT, Duration::from_secs)
}

/// What a kernel must have.
const KERNEL_REQUIREMENTS: &str = "the kernel must be for x86-64 and have, built in: a serial console \
                     (CONFIG_SERIAL_8250_CONSOLE), an initramfs (CONFIG_BLK_DEV_INITRD), ELF \
                     programs, devtmpfs, proc and sysfs (docs/PLACES.md)";
