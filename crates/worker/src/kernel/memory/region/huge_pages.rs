//! A process without transparent huge pages.

use rustix::thread::disable_transparent_huge_pages;

use crate::kernel::Errno;

/// While it lives, the process gets no transparent huge pages.
pub struct HugePagesDisabled(());

impl HugePagesDisabled {
    /// Disables them. A kernel without huge pages has none to disable.
    pub fn new() -> Result<Self, Errno> {
        match disable_transparent_huge_pages(true) {
            Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(Self(())),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for HugePagesDisabled {
    fn drop(&mut self) {
        // Errors cannot be reported from here; disabling succeeded, so enabling does.
        let _ = disable_transparent_huge_pages(false);
    }
}
