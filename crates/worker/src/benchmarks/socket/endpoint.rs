//! A connected socket at one end, and what the system reports of it.

use std::cell::Cell;
use std::fs::File;
use std::net::{IpAddr, TcpListener};

use crate::bench::ChannelObservation;
use crate::kernel::net::socket;
use crate::kernel::net::socket::SocketOption;

/// A socket that is connected to the other end's.
pub(super) struct Socket {
    pub(super) file: File,
    pub(super) transport: Transport,
    /// The listener of a local peer, on which no further connection is expected.
    pub(super) listener: Option<WatchedListener>,
}

/// The transport.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Unix,
    Tcp(IpAddr),
    Udp(IpAddr),
}

/// A listener on this machine, after the peer has connected.
pub(super) struct WatchedListener {
    pub(super) listener: TcpListener,
    pub(super) unauthorised: Cell<u64>,
}

impl WatchedListener {
    /// Counts and closes connections that have arrived since; returns the total.
    pub(super) fn count_unauthorised(&self) -> u64 {
        while self.listener.accept().is_ok() {
            self.unauthorised.set(self.unauthorised.get() + 1);
        }
        self.unauthorised.get()
    }
}

impl Socket {
    /// A UDP socket.
    pub(super) fn udp(file: File, here: IpAddr, listener: Option<WatchedListener>) -> Self {
        Self { file, transport: Transport::Udp(here), listener }
    }

    /// What the system reports about it now.
    pub(super) fn observation(&self) -> ChannelObservation {
        let option = |name| socket::get(&self.file, name).ok();
        let mtu = |here: IpAddr| {
            option(if here.is_ipv4() { SocketOption::Mtu } else { SocketOption::Mtu6 })
                .filter(|&mtu| mtu > 0)
        };
        ChannelObservation {
            send_buffer_bytes: option(SocketOption::SendBuffer),
            receive_buffer_bytes: option(SocketOption::ReceiveBuffer),
            mtu_bytes: match self.transport {
                Transport::Unix => None,
                Transport::Tcp(here) | Transport::Udp(here) => mtu(here),
            },
            segment_bytes: match self.transport {
                Transport::Tcp(_) => option(SocketOption::Segment),
                _ => None,
            },
            unauthorised_connections: self
                .listener
                .as_ref()
                .map_or(0, WatchedListener::count_unauthorised),
            ..ChannelObservation::default()
        }
    }
}
