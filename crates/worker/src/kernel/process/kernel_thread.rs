//! Kernel threads on demand: a private network device whose packets a kernel thread polls.
//!
//! The kernel creates its threads through process 2, kthreadd. One of the few ways for a program to
//! request one is `threaded` (Linux 5.12): writing 1 there gives each packet queue of a network
//! device (NAPI) a kernel thread, by the same `kthread_run` that a kernel module would call. The
//! device is a veth pair in its own network namespace, which goes with the descriptors that hold
//! it; no other process sees it, and no packet passes through it.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::kernel::Errno;
use crate::kernel::net::device::{self, Devices};

/// The device, in its own namespace.
const DEVICE: &str = device::PAIR[0];

/// A network device whose kernel thread can be created and removed.
pub struct KernelThread {
    /// `threaded` of the device.
    threaded: File,
    /// Of the device's namespace, to set the device up and down.
    devices: Devices,
}

impl KernelThread {
    /// Creates the device. It needs root, otherwise EPERM.
    pub fn prepare() -> Result<Self, Errno> {
        let home = Namespace::enter_new()?;
        let made = Self::prepare_here();
        home.restore()?;
        made
    }

    /// Creates everything in the thread's current namespace.
    fn prepare_here() -> Result<Self, Errno> {
        let devices = Devices::here()?;
        device::make_pair()?;
        // Without generic receive offload a veth has no NAPI queue to poll.
        devices.set_gro(DEVICE)?;
        let threaded = open_threaded()?;
        devices.set_up(DEVICE, true)?;
        Ok(Self { threaded, devices })
    }

    /// Creates the device's kernel thread: the write returns when the thread has run.
    #[inline(always)]
    pub fn create(&self) -> Result<(), Errno> {
        self.write(b"1")
    }

    /// Removes the thread. Kernels before 6.17 stop it only when its queue is removed, which
    /// happens when the device is set down.
    #[inline(never)]
    pub fn remove(&self) -> Result<(), Errno> {
        self.write(b"0")?;
        self.devices.set_up(DEVICE, false)?;
        self.devices.set_up(DEVICE, true)
    }

    /// Whether the device has its thread, as the kernel reports it.
    #[inline(never)]
    pub fn exists(&self) -> Result<bool, Errno> {
        let mut text = [0; 1];
        self.threaded.read_exact_at(&mut text, 0)?;
        Ok(text == *b"1")
    }

    #[inline(always)]
    fn write(&self, digit: &[u8; 1]) -> Result<(), Errno> {
        // SAFETY: one byte is read, which is there.
        let written =
            unsafe { libc::pwrite(self.threaded.as_raw_fd(), digit.as_ptr().cast(), 1, 0) };
        Errno::check(written).map(drop)
    }
}

/// The network namespace that the thread was in, to return to.
struct Namespace(OwnedFd);

impl Namespace {
    /// Moves the calling thread into a fresh network namespace.
    fn enter_new() -> Result<Self, Errno> {
        let home = File::open("/proc/thread-self/ns/net")?;
        // SAFETY: only the namespace of this thread is affected, and no descriptor.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
        Ok(Self(home.into()))
    }

    fn restore(self) -> Result<(), Errno> {
        Ok(move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))?)
    }
}

/// Opens the device's `threaded` through a detached sysfs mount (Linux 5.2), which shows the
/// thread's network namespace.
fn open_threaded() -> Result<File, Errno> {
    let context = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    let path = "devices/virtual/net/oscost0/threaded";
    Ok(openat(&mount, path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::{self, spawn, usage};

    /// How often the calling thread went to sleep in `act`.
    fn sleeps(act: impl FnOnce()) -> u64 {
        let before = usage::thread().unwrap().voluntary_switches;
        act();
        usage::thread().unwrap().voluntary_switches - before
    }

    /// How often kthreadd has gone to sleep; `None` where it cannot be seen.
    fn kthreadd_sleeps() -> Option<u64> {
        let status = std::fs::read_to_string("/proc/2/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.filter(|_| status.contains("kthreadd"))?.trim().parse().ok()
    }

    #[test]
    fn a_kernel_thread_puts_its_maker_to_sleep_and_a_fork_does_not() {
        let device = match KernelThread::prepare() {
            Ok(device) => device,
            Err(error) => return eprintln!("cannot run here: {error}"),
        };
        let mut slept = 0;
        for _ in 0..9 {
            device.remove().unwrap();
            assert_eq!(device.exists(), Ok(false));
            let before = kthreadd_sleeps();
            slept += u32::from(sleeps(|| device.create().unwrap()) >= 1);
            assert_eq!(device.exists(), Ok(true));
            // It has gone to sleep again a moment after it made the thread.
            let worked = || kthreadd_sleeps() > before;
            assert!(
                before.is_none() || (0..1_000).any(|_| holds_within_1_ms(worked)),
                "{before:?}"
            );
        }
        // If kthreadd preempts the caller before it waits, the thread is already there: that
        // happens on a machine that is busy with other tests.
        assert!(slept >= 5, "it slept in {slept} of 9");
        // Other tests' threads may hold the memory of this process for a moment.
        let forked = || {
            let mut child = Err(Errno::ECHILD);
            let slept = sleeps(|| child = process::fork(|| 0));
            spawn::reap(child.unwrap()).unwrap();
            slept
        };
        assert!((0..99).any(|_| forked() == 0));
    }

    fn holds_within_1_ms(condition: impl Fn() -> bool) -> bool {
        condition() || {
            std::thread::sleep(std::time::Duration::from_millis(1));
            false
        }
    }

    #[test]
    fn making_the_device_leaves_the_thread_in_its_own_namespace() {
        let namespace = || std::fs::read_link("/proc/thread-self/ns/net").unwrap();
        let before = namespace();
        // Refused or not.
        let _device = KernelThread::prepare();
        assert_eq!(namespace(), before);
    }
}
