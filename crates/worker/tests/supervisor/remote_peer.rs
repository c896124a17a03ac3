//! Two sessions, as on two machines: one serves, the other measures. And the machine lock.

use std::io::{Read, Write};
use std::net::TcpStream;

use oscost_model::protocol::{Event, Order};
use oscost_model::worker::{Mode, RemoteEnd, Task, WorkerSpec};

use crate::common::{Session, failure_reason, plan, spec, until, wait_until_gone};

const CASE: &str = "socket/round-trip:by=tcp,size=64,peer_cpu=other";
const TOKEN: &str = "000102030405060708090a0b0c0d0e0f";

fn serving(case: &str, bind: &str, token: &str) -> Box<WorkerSpec> {
    let task = Task::Serve { bind: bind.to_owned(), token: token.to_owned() };
    Box::new(spec(case, task))
}

/// Starts a server; returns its address.
fn start_server(session: &mut Session, id: u64) -> String {
    session.send(&Order::Serve { id, spec: serving(CASE, "127.0.0.1", TOKEN) });
    match session.event() {
        Event::Ready { id: of, addr: Some(addr), .. } if of == id => addr,
        other => panic!("no server is ready: {other:?}"),
    }
}

#[test]
fn a_worker_is_served_by_another_session_and_unauthorised_connections_are_counted() {
    let (mut peer, mut workers) = (Session::start(), Session::start());
    let addr = start_server(&mut peer, 1);
    let mut unauthorised = TcpStream::connect(&addr).unwrap();
    unauthorised.write_all(&[7; 16]).unwrap();
    assert!(
        !matches!(unauthorised.read(&mut [0]), Ok(1..)),
        "a connection without the token was admitted"
    );
    let mut worker = spec(CASE, Task::Measure(plan(Mode::B, 100, &[1], 21)));
    worker.remote_end = Some(RemoteEnd { addr, token: TOKEN.to_owned() });
    match workers.measured(5, worker, 21) {
        Event::Sampled { samples, .. } => assert_eq!(samples.len(), 21),
        other => panic!("nothing was measured: {other:?}"),
    }
    match peer.event() {
        Event::Served { id: 1, unauthorised_connections: 1 } => {}
        other => panic!("one unauthorised connection was made: {other:?}"),
    }
    wait_until_gone(&peer, "the peer");
}

#[test]
fn a_stopped_server_exits_at_once() {
    let mut peer = Session::start();
    let addr = start_server(&mut peer, 1);
    peer.send(&Order::Stop { id: 1 });
    until("its port is closed", || TcpStream::connect(&addr).is_err());
    wait_until_gone(&peer, "the peer");
    peer.check_responsive(2);
}

#[test]
fn a_spec_that_cannot_be_served_is_refused_with_a_reason() {
    let mut peer = Session::start();
    for (id, (case, bind, token, words)) in [
        ("timer/nothing", "127.0.0.1", TOKEN, "no peer that could run on another machine"),
        (CASE, "nowhere", TOKEN, "cannot parse the address"),
        (CASE, "127.0.0.1", "short", "cannot parse the address"),
        // An address for documentation: no machine has it.
        (CASE, "192.0.2.1", TOKEN, "listen at 192.0.2.1"),
    ]
    .into_iter()
    .enumerate()
    {
        peer.send(&Order::Serve { id: id as u64, spec: serving(case, bind, token) });
        let reason = failure_reason(peer.event());
        assert!(reason.contains(words), "{case} at {bind}: {reason}");
    }
    peer.check_responsive(9);
}

#[test]
fn a_worker_without_its_remote_peer_suggests_a_firewall() {
    let mut workers = Session::start();
    let mut lost = spec(CASE, Task::Measure(plan(Mode::B, 100, &[1], 21)));
    lost.remote_end = Some(RemoteEnd { addr: "127.0.0.1:1".to_owned(), token: TOKEN.to_owned() });
    workers.measure(1, lost);
    let reason = failure_reason(workers.event());
    assert!(reason.contains("a firewall may block it"), "{reason}");
}

#[test]
fn only_one_session_at_a_time_holds_the_machine() {
    let (mut one, mut other) = (Session::start(), Session::start());
    one.send(&Order::Lock { id: 1, wait: false });
    match one.event() {
        Event::Ready { id: 1, pid, .. } => assert_eq!(pid, one.pid()),
        Event::Busy { id: 1, holder: by } => {
            eprintln!("not tested: {by} is measuring on this machine");
            return;
        }
        other => panic!("the machine was not locked: {other:?}"),
    }
    other.send(&Order::Lock { id: 2, wait: true });
    match other.event() {
        Event::Busy { id: 2, holder: by } => {
            assert!(by.starts_with(&format!("process {} ", one.pid())))
        }
        other => panic!("the machine was locked twice: {other:?}"),
    }
    one.send(&Order::Stop { id: 1 });
    match other.event() {
        Event::Ready { id: 2, .. } => {}
        // Another run was faster.
        Event::Busy { id: 2, holder: by } => eprintln!("not tested to its end: {by} was next"),
        other => panic!("the lock was not released: {other:?}"),
    }
}
