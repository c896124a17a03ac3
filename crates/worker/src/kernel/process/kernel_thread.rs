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
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::kernel::Errno;

/// The device, in its own namespace; the other end of the pair is `oscost1`.
const DEVICE: &[u8] = b"oscost0\0";

/// A network device whose kernel thread can be created and removed.
pub struct KernelThread {
    /// `threaded` of the device.
    threaded: File,
    /// A socket in the device's namespace, to set the device up and down.
    socket: OwnedFd,
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
        let socket =
            socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        make_pair()?;
        // Without generic receive offload a veth has no NAPI queue to poll.
        set_gro(&socket)?;
        let threaded = open_threaded()?;
        let device = Self { threaded, socket };
        device.set_up(true)?;
        Ok(device)
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
        self.set_up(false)?;
        self.set_up(true)
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

    fn set_up(&self, on: bool) -> Result<(), Errno> {
        let flags = if on { libc::IFF_UP as libc::c_short } else { 0 };
        let mut request = interface_request();
        request.ifr_ifru.ifru_flags = flags;
        interface_ioctl(&self.socket, libc::SIOCSIFFLAGS, &mut request)
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

/// A struct ifreq (netdevice(7)) that names the device.
fn interface_request() -> libc::ifreq {
    // SAFETY: all-zero bits are a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(DEVICE) {
        *to = *from as libc::c_char;
    }
    request
}

fn interface_ioctl(
    socket: &OwnedFd,
    request_code: libc::Ioctl,
    request: &mut libc::ifreq,
) -> Result<(), Errno> {
    // SAFETY: the request is of the type that `request_code` takes, and what it points to outlives the
    // call.
    Errno::check(unsafe { libc::ioctl(socket.as_raw_fd(), request_code, &raw mut *request) })
        .map(drop)
}

/// Switches generic receive offload on: ETHTOOL_SGRO of ethtool(8)'s ioctl.
fn set_gro(socket: &OwnedFd) -> Result<(), Errno> {
    const SIOCETHTOOL: libc::Ioctl = 0x8946;
    const ETHTOOL_SGRO: u32 = 0x2c;
    let mut value = [ETHTOOL_SGRO, 1];
    let mut request = interface_request();
    request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
    interface_ioctl(socket, SIOCETHTOOL, &mut request)
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

/// RTM_NEWLINK of rtnetlink(7): a pair of veth devices, each with one queue either way. As bytes,
/// since every machine that oscost supports is little-endian.
#[cfg(target_endian = "little")]
#[rustfmt::skip]
const NEW_PAIR: [u8; 128] = [
    // struct nlmsghdr: 128 bytes, RTM_NEWLINK, NLM_F_REQUEST | ACK | EXCL | CREATE.
    128, 0, 0, 0, 16, 0, 0x05, 0x06, 0, 0, 0, 0, 0, 0, 0, 0,
    // struct ifinfomsg: any kind, no number of our choice, no flags.
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    // Attributes, each with its length and its kind before it: IFLA_IFNAME,
    12, 0, 3, 0, b'o', b's', b'c', b'o', b's', b't', b'0', 0,
    // IFLA_NUM_TX_QUEUES, IFLA_NUM_RX_QUEUES,
    8, 0, 31, 0, 1, 0, 0, 0, 8, 0, 32, 0, 1, 0, 0, 0,
    // IFLA_LINKINFO, and in it IFLA_INFO_KIND and IFLA_INFO_DATA,
    68, 0, 18, 0, 9, 0, 1, 0, b'v', b'e', b't', b'h', 0, 0, 0, 0, 52, 0, 2, 0,
    // and in that VETH_INFO_PEER: all of the above for the other end.
    48, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    12, 0, 3, 0, b'o', b's', b'c', b'o', b's', b't', b'1', 0,
    8, 0, 31, 0, 1, 0, 0, 0, 8, 0, 32, 0, 1, 0, 0, 0,
];

fn make_pair() -> Result<(), Errno> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    send(&socket, &NEW_PAIR, SendFlags::empty())?;
    // An answer is a header of 16 bytes, then 0 or a negative errno (NLMSG_ERROR).
    let mut answer = [0u8; 20];
    let (received, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    let error = answer.last_chunk().filter(|_| received == 20).ok_or(Errno::EPROTO)?;
    match i32::from_ne_bytes(*error) {
        0 => Ok(()),
        error => Err(Errno(-error)),
    }
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

    /// Walks attributes at their own lengths; returns kinds and contents.
    fn attributes(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
        let mut found = Vec::new();
        while let Some((head, _)) = bytes.split_first_chunk::<4>() {
            let len = usize::from(u16::from_le_bytes([head[0], head[1]]));
            found.push((u16::from_le_bytes([head[2], head[3]]), &bytes[4..len]));
            bytes = &bytes[len.next_multiple_of(4).min(bytes.len())..];
        }
        found
    }

    #[test]
    fn the_message_asks_for_a_pair_of_devices_by_their_names() {
        assert_eq!(NEW_PAIR[..4], 128u32.to_le_bytes());
        let one: &[u8] = &[1, 0, 0, 0];
        let outer = attributes(&NEW_PAIR[32..]);
        assert_eq!(outer[..3], [(3, DEVICE), (31, one), (32, one)]);
        let (kind, link) = outer[3];
        assert_eq!((kind, outer.len()), (18, 4));
        let link = attributes(link);
        assert_eq!(link[0], (1, &b"veth\0"[..]));
        let peer = attributes(link[1].1)[0].1;
        assert_eq!(attributes(&peer[16..]), [(3, &b"oscost1\0"[..]), (31, one), (32, one)]);
    }
}
