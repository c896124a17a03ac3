//! Kernel images: resolving a name to a file, and checking that it is a bootable kernel.
//!
//! Files, packages and names are untrusted. They are read up to a bound, checked before anything is
//! booted, and quoted in messages without control characters.

mod apt;
mod command;
mod debian_package;
mod error;
mod header;
mod kernel;
mod local_kernels;

pub use apt::{AvailablePackage, FetchError, FetchedKernel};
pub use error::ImageError;
pub use kernel::Kernel;
pub use local_kernels::{LocalKernel, LocalKernels};

#[cfg(test)]
mod tests;
