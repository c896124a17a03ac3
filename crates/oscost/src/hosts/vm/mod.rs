//! Virtual machines: a kernel booted under QEMU with the worker as its first and only process.
//!
//! Under an emulator that counts instructions, such a machine repeats itself to the last instruction
//! as long as it has no input. So it gets all its orders in its initramfs, and its events are read
//! from a file. Under KVM it takes orders like any other supervisor.

mod emulator;
mod image;
mod initrd;
mod scripted_vm;
mod session;
mod vm_spec;

pub use emulator::{Emulator, VmSetup};
pub use image::{
    AvailablePackage, FetchError, FetchedKernel, ImageError, Kernel, LocalKernel, LocalKernels,
};
pub use scripted_vm::ScriptedVm;
pub use session::VmSession;
pub use vm_spec::{Accel, VmSpec, VmSpecError};

use std::time::Duration;

/// The default time limit of a boot, which takes 4 to 7 s of CPU time, and several times as long on
/// a shared CPU.
const BOOT_TIMEOUT: Duration = Duration::from_secs(120);

/// The time limit of a boot; `OSCOST_BOOT_SECONDS` sets it.
pub fn boot_timeout() -> Duration {
    let seconds = std::env::var("OSCOST_BOOT_SECONDS").ok().and_then(|text| text.parse().ok());
    seconds.filter(|&seconds| seconds > 0).map_or(BOOT_TIMEOUT, Duration::from_secs)
}

/// The requirements of a kernel.
const KERNEL_REQUIREMENTS: &str = "the kernel must be for x86-64 with these built in: a serial \
                                   console (CONFIG_SERIAL_8250_CONSOLE), an initramfs \
                                   (CONFIG_BLK_DEV_INITRD), ELF programs, devtmpfs, proc and sysfs \
                                   (docs/reference/TARGETS.md)";
