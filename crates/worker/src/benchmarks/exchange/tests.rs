//! Properties of messages, by any mechanism.

use super::content::{Sender, checksum, fill_message};
use super::*;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::process::in_own_process;
use crate::kernel::time::stopwatch::Stopwatch;
use oscost_model::channel::ChannelObservation;

fn pipes() -> EndPair {
    let ((from_own, to_peer), (from_peer, to_own)) = (pipe().unwrap(), pipe().unwrap());
    let end = |to, from| Box::new(Stream::new(to, from, ChannelObservation::default()));
    EndPair { own: end(to_peer, from_peer), peer: end(to_own, from_own) }
}

fn channel() -> Channel {
    Channel::with_child(0, Stopwatch::Syscall, pipes()).unwrap()
}

#[test]
fn no_two_messages_are_alike_and_a_swapped_byte_changes_the_sum() {
    let mut sums = std::collections::BTreeSet::new();
    for size in [4, 7, 64, 4_096] {
        for number in 0..3 {
            for from in [Sender::Own, Sender::Peer] {
                let mut message = vec![0; size];
                fill_message(&mut message, number, from);
                assert!(sums.insert(checksum(&message)));
                message.swap(0, 1);
                assert!(message[0] == message[1] || sums.insert(checksum(&message)));
            }
        }
    }
}

#[test]
fn an_end_receives_no_fill_that_is_not_all_there_and_sends_none_before_the_last_is_received() {
    let EndPair { mut own, mut peer } = pipes();
    let wait = |_| Ok(());
    let (message, mut into) = ([7u8; 100], [0u8; 100]);
    own.send_fill(3, &message, &wait).unwrap();
    assert_eq!(own.bytes_in_transit(), Ok(300));
    assert_eq!(peer.bytes_to_receive(), Ok(300));
    assert_eq!(peer.receive_fill(4, &mut into, &wait).map(drop), Err(Errno::EPROTO));
    assert_eq!(own.send_fill(1, &message, &wait), Err(Errno::EPROTO));
    assert_eq!(peer.receive_fill(3, &mut into, &wait).map(|fill| fill.bytes), Ok(300));
    assert_eq!((into, peer.bytes_to_receive()), (message, Ok(0)));
    assert!(own.send_fill(1, &message, &wait).is_ok());
}

#[test]
fn messages_make_round_trips_whole_and_verified() {
    in_own_process(|| {
        for size in [1, 4, 4_096, 65_536, 524_288, 3 << 20] {
            let mut work = channel().round_trips(size, TripMode::Unlimited).unwrap();
            work.run(5, 2).unwrap();
            let observation = work.channel_observation().unwrap();
            assert!(observation.verified_messages >= 4, "{observation:?}");
            assert_eq!(observation.peer_cpu, Some(0));
            let mut work = channel().round_trips(size, TripMode::Announced).unwrap();
            work.prepare(10).unwrap();
            work.run(5, 2).unwrap();
            let mut work = channel().throughput(size, 1).unwrap();
            for messages in [0, 1, 9] {
                work.prepare(messages).unwrap();
                work.run(messages, 1).unwrap();
                work.verify().unwrap();
            }
            if size <= 65_536 {
                let mut work = channel().cpu_time(size, (65_536 / size).min(16)).unwrap();
                for _ in 0..3 {
                    work.run(1, 1).unwrap();
                    assert!(work.last_value().unwrap() > 0);
                }
            }
            for direction in [Direction::ToPeer, Direction::FromPeer] {
                let mut work = channel().one_way(size, direction, Stopwatch::Syscall).unwrap();
                for _ in 0..3 {
                    work.prepare(1).unwrap();
                    work.run(1, 1).unwrap();
                    assert!(work.last_value().unwrap() > 0);
                }
            }
        }
    });
}
