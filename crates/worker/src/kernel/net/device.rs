//! Network devices of a network namespace: the ioctls of netdevice(7), and veth pairs by
//! rtnetlink(7).

use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

use crate::kernel::Errno;

/// The loopback device, which every network namespace has.
pub(in crate::kernel) const LOOPBACK: &str = "lo";

/// The devices of [`make_pair`].
pub(in crate::kernel) const PAIR: [&str; 2] = ["oscost0", "oscost1"];

/// The devices of the network namespace in which this value was made, by a socket that stays in it.
pub(in crate::kernel) struct Devices {
    socket: OwnedFd,
}

impl Devices {
    /// Those of the calling thread's namespace.
    pub(in crate::kernel) fn here() -> Result<Self, Errno> {
        let socket =
            socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        Ok(Self { socket })
    }

    /// Sets a device up or down.
    pub(in crate::kernel) fn set_up(&self, device: &str, on: bool) -> Result<(), Errno> {
        let flags = if on { libc::IFF_UP as libc::c_short } else { 0 };
        let mut request = request_about(device);
        request.ifr_ifru.ifru_flags = flags;
        self.ioctl(libc::SIOCSIFFLAGS, &mut request)
    }

    /// Sets the most bytes of a packet.
    pub(in crate::kernel) fn set_mtu(&self, device: &str, bytes: i32) -> Result<(), Errno> {
        let mut request = request_about(device);
        request.ifr_ifru.ifru_mtu = bytes;
        self.ioctl(libc::SIOCSIFMTU, &mut request)
    }

    /// Gives a device an address of IPv4, with the prefix of its class.
    pub(in crate::kernel) fn set_address(
        &self,
        device: &str,
        address: Ipv4Addr,
    ) -> Result<(), Errno> {
        let family = libc::AF_INET as libc::sa_family_t;
        let mut given = libc::sockaddr { sa_family: family, sa_data: [0; 14] };
        // Behind a port of two bytes.
        for (to, from) in given.sa_data[2..6].iter_mut().zip(address.octets()) {
            *to = from as libc::c_char;
        }
        let mut request = request_about(device);
        request.ifr_ifru.ifru_addr = given;
        self.ioctl(libc::SIOCSIFADDR, &mut request)
    }

    /// Switches generic receive offload on: ETHTOOL_SGRO of ethtool(8)'s ioctl.
    pub(in crate::kernel) fn set_gro(&self, device: &str) -> Result<(), Errno> {
        const SIOCETHTOOL: libc::c_ulong = 0x8946;
        const ETHTOOL_SGRO: u32 = 0x2c;
        let mut value = [ETHTOOL_SGRO, 1];
        let mut request = request_about(device);
        request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
        self.ioctl(SIOCETHTOOL, &mut request)
    }

    fn ioctl(&self, request_code: libc::c_ulong, request: &mut libc::ifreq) -> Result<(), Errno> {
        // SAFETY: the request is of the type that `request_code` takes, and what it points to
        // outlives the call.
        Errno::check(unsafe {
            libc::ioctl(self.socket.as_raw_fd(), request_code as _, &raw mut *request)
        })
        .map(drop)
    }
}

/// A struct ifreq (netdevice(7)) that names a device.
fn request_about(device: &str) -> libc::ifreq {
    // SAFETY: all-zero bits are a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // All but the last byte, which ends the name.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room].iter_mut().zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    request
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

/// Creates a pair in the calling thread's namespace: [`PAIR`].
pub(in crate::kernel) fn make_pair() -> Result<(), Errno> {
    send_request(&NEW_PAIR)
}

/// RTM_NEWLINK that moves the second device of [`PAIR`] to the namespace of a descriptor. As above.
#[cfg(target_endian = "little")]
#[rustfmt::skip]
const MOVE: [u8; 52] = [
    // struct nlmsghdr: 52 bytes, RTM_NEWLINK, NLM_F_REQUEST | ACK.
    52, 0, 0, 0, 16, 0, 0x05, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    // struct ifinfomsg: no number, since the name says which.
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    // IFLA_IFNAME,
    12, 0, 3, 0, b'o', b's', b'c', b'o', b's', b't', b'1', 0,
    // IFLA_NET_NS_FD, whose descriptor is filled in.
    8, 0, 28, 0, 0, 0, 0, 0,
];

/// Moves the second device of [`PAIR`] from the calling thread's namespace to that of a descriptor.
/// It is down afterwards, and has no address.
pub(in crate::kernel) fn move_second_to(namespace: &impl AsRawFd) -> Result<(), Errno> {
    let mut message = MOVE;
    if let Some(descriptor) = message.last_chunk_mut() {
        *descriptor = namespace.as_raw_fd().to_le_bytes();
    }
    send_request(&message)
}

/// Sends a request to the calling thread's namespace, and returns what the kernel says to it.
fn send_request(request: &[u8]) -> Result<(), Errno> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    send(&socket, request, SendFlags::empty())?;
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

    /// The names of the pair, as the kernel takes them.
    fn names() -> [Vec<u8>; 2] {
        PAIR.map(|name| format!("{name}\0").into_bytes())
    }

    #[test]
    fn the_message_asks_for_a_pair_of_devices_by_their_names() {
        assert_eq!(NEW_PAIR[..4], 128u32.to_le_bytes());
        let one: &[u8] = &[1, 0, 0, 0];
        let [first, second] = names();
        let outer = attributes(&NEW_PAIR[32..]);
        assert_eq!(outer[..3], [(3, &first[..]), (31, one), (32, one)]);
        let (kind, link) = outer[3];
        assert_eq!((kind, outer.len()), (18, 4));
        let link = attributes(link);
        assert_eq!(link[0], (1, &b"veth\0"[..]));
        let peer = attributes(link[1].1)[0].1;
        assert_eq!(attributes(&peer[16..]), [(3, &second[..]), (31, one), (32, one)]);
    }

    #[test]
    fn the_message_moves_the_second_device_and_ends_with_the_descriptor() {
        assert_eq!(MOVE[..4], 52u32.to_le_bytes());
        let [_, second] = names();
        assert_eq!(attributes(&MOVE[32..]), [(3, &second[..]), (28, &[0u8; 4][..])]);
    }

    #[test]
    fn a_request_names_its_device_and_ends_the_name() {
        let name = |device| request_about(device).ifr_name.map(|byte| byte as u8);
        assert_eq!(name("lo")[..3], *b"lo\0");
        assert_eq!(name("a-name-that-is-too-long")[15], 0);
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let devices = Devices::here().unwrap();
        // Forbidden, or not there.
        assert!(devices.set_mtu("oscost-no", 1_500).is_err());
    }
}
