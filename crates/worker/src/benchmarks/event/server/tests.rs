//! Properties of the HTTP server: exact answers to any input, and nothing left behind.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Command, Stdio};

use oscost_model::case::Case;
use oscost_model::seed::Seed;

use super::super::super::tests::context;
use super::super::tests::open_resources;
use super::connections::Server;
use super::http::{self, COMMON_REQUEST, MAX_HEAD_BYTES, Persistence, Status};
use super::{ACTIVE, SERVER};
use crate::bench::Work;
use crate::kernel::Errno;
use crate::kernel::event::io_uring::Ring;
use crate::kernel::event::readiness::WaitLimit;
use crate::kernel::ipc::context_switch::sched_yield;
use crate::kernel::process::limits;
use crate::kernel::process::{children, in_own_process, kill};

const METHODS: [&str; 4] = ["select", "poll", "epoll", "io-uring"];

/// The methods that this kernel supports.
fn methods() -> impl Iterator<Item = &'static str> {
    METHODS.into_iter().filter(|&method| method != "io-uring" || Ring::new(1).is_ok())
}

fn status(text: &str) -> Option<Status> {
    http::parse_first(text.as_bytes()).map(|request| request.status)
}

#[test]
fn heads_are_read_strictly() {
    let host = "Host: a\r\n\r\n";
    for (text, right) in [
        (format!("GET / HTTP/1.1\r\n{host}"), Status::Ok),
        (format!("\r\n\r\nGET / HTTP/1.1\r\n{host}"), Status::Ok),
        (format!("GET /?a=b HTTP/1.1\r\n{host}"), Status::Ok),
        (format!("GET http://a/ HTTP/1.1\r\n{host}"), Status::Ok),
        (format!("GET http://a HTTP/1.1\r\n{host}"), Status::Ok),
        (format!("HEAD / HTTP/1.1\r\nAccept:\t*/*\r\n{host}"), Status::Ok),
        (format!("GET / HTTP/1.1\r\nContent-Length: 0\r\n{host}"), Status::Ok),
        ("GET / HTTP/1.0\r\n\r\n".to_owned(), Status::Ok),
        (format!("GET /x HTTP/1.1\r\n{host}"), Status::NotFound),
        (format!("GET /../etc HTTP/1.1\r\n{host}"), Status::NotFound),
        (format!("DELETE / HTTP/1.1\r\n{host}"), Status::NotImplemented),
        (format!("OPTIONS * HTTP/1.1\r\n{host}"), Status::NotImplemented),
        (format!("GET / HTTP/2.0\r\n{host}"), Status::VersionNotSupported),
        (format!("POST / HTTP/1.1\r\nContent-Length: 3\r\n{host}"), Status::ContentTooLarge),
        (
            format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n{host}"),
            Status::NotImplemented,
        ),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), Status::BadRequest),
        (format!("GET / HTTP/1.1\r\nHost: b\r\n{host}"), Status::BadRequest),
        (format!("GET  / HTTP/1.1\r\n{host}"), Status::BadRequest),
        (format!("GET / HTTP/1.1 \r\n{host}"), Status::BadRequest),
        (format!("GET x HTTP/1.1\r\n{host}"), Status::BadRequest),
        (format!("GET / http/1.1\r\n{host}"), Status::BadRequest),
        (format!("G@T / HTTP/1.1\r\n{host}"), Status::BadRequest),
        (format!("GET / HTTP/1.1\r\nA : b\r\n{host}"), Status::BadRequest),
        (format!("GET / HTTP/1.1\r\n folded\r\n{host}"), Status::BadRequest),
        (format!("GET / HTTP/1.1\r\nno colon\r\n{host}"), Status::BadRequest),
        (format!("GET / HTTP/1.1\r\nA: \u{1}\r\n{host}"), Status::BadRequest),
        (format!("GET / HTTP/1.1\r\r\n{host}"), Status::BadRequest),
        (format!("GET / HTTP/1.1\n{host}"), Status::BadRequest),
        (format!("GET / HTTP/1.1\r\nContent-Length: -1\r\n{host}"), Status::BadRequest),
        (
            format!("GET / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 1\r\n{host}"),
            Status::BadRequest,
        ),
        ("\u{16}\u{3}\u{1}".to_owned(), Status::BadRequest),
        (format!("GET /{} HTTP/1.1\r\n{host}", "x".repeat(MAX_HEAD_BYTES)), Status::HeadTooLarge),
        ("A".repeat(MAX_HEAD_BYTES), Status::HeadTooLarge),
    ] {
        assert_eq!(status(&text), Some(right), "{text:?}");
    }
}

#[test]
fn every_prefix_of_a_request_is_incomplete() {
    for text in
        [COMMON_REQUEST, b"\r\nHEAD /x?y HTTP/1.0\r\nA: b\r\nConnection: keep-alive\r\n\r\n"]
    {
        for part in 0..text.len() {
            assert_eq!(http::parse_first(&text[..part]), None, "{:?}", text[..part].escape_ascii());
        }
        let more = [text, b"GET"].concat();
        assert_eq!(http::parse_first(&more).unwrap().bytes, text.len());
    }
}

#[test]
fn a_connection_stays_or_ends_as_requested() {
    let then = |version: &str, connection: &str| {
        let text = format!("GET / HTTP/{version}\r\nHost: a\r\n{connection}\r\n");
        http::parse_first(text.as_bytes()).unwrap().persistence
    };
    assert_eq!(then("1.1", ""), Persistence::KeepAlive);
    assert_eq!(then("1.1", "Connection: close\r\n"), Persistence::Close);
    assert_eq!(then("1.1", "connection: x, CLOSE\r\n"), Persistence::Close);
    assert_eq!(then("1.0", ""), Persistence::Close);
    assert_eq!(then("1.0", "Connection: Keep-Alive\r\n"), Persistence::KeepAliveHttp10);
    let common_answer = http::parse_first(COMMON_REQUEST).unwrap();
    assert!(common_answer.is_common());
    assert_eq!(
        String::from_utf8(common_answer.answer()).unwrap(),
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nok\n"
    );
}

/// Almost valid requests, so that the parser gets far.
fn nonsense(seed: &mut Seed) -> Vec<u8> {
    const PARTS: [&[u8]; 12] = [
        b"GET / HTTP/1.1\r\n",
        b"Host: a\r\n",
        b"\r\n",
        b"\r",
        b"\n",
        b"Content-Length: 99999999999999999999\r\n",
        b"Connection: close\r\n",
        b": \r\n",
        b"http://",
        b"\0\xff\x80",
        b"  ",
        b"HEAD /? HTTP/1.0\r\n\r\n",
    ];
    let mut bytes = Vec::new();
    for _ in 0..seed.below(12) {
        bytes.extend_from_slice(PARTS[seed.below(PARTS.len() as u64) as usize]);
    }
    if !bytes.is_empty() && seed.below(2) == 0 {
        let at = seed.below(bytes.len() as u64) as usize;
        bytes[at] = seed.below(256) as u8;
    }
    bytes
}

#[test]
fn arbitrary_bytes_never_make_the_parser_fail_or_read_beyond_them() {
    let mut seed = Seed::new(6);
    for _ in 0..20_000 {
        let bytes = nonsense(&mut seed);
        if let Some(request) = http::parse_first(&bytes) {
            assert!((1..=bytes.len()).contains(&request.bytes), "{:?}", bytes.escape_ascii());
            assert!(request.answer().starts_with(b"HTTP/1.1 "));
        }
    }
}

/// What a client receives that sends these parts and then shuts down its sending side: until the
/// server closes the connection, or no more input arrives.
fn response(server: &mut Server, parts: &[&[u8]]) -> String {
    let mut client = TcpStream::connect(server.address()).unwrap();
    let (mut output, mut empty_reads) = (Vec::new(), 0);
    for part in parts {
        // A server that has closed the connection accepts no more.
        if client.write_all(part).is_err() {
            break;
        }
        (0..3).for_each(|_| server.run_once(WaitLimit::Immediate).unwrap());
    }
    client.shutdown(Shutdown::Write).unwrap_or_default();
    client.set_nonblocking(true).unwrap();
    while empty_reads < 10_000 {
        server.run_once(WaitLimit::Immediate).unwrap();
        let mut buffer = [0; 4_096];
        match client.read(&mut buffer) {
            Ok(0) => break,
            Ok(bytes) => output.extend_from_slice(&buffer[..bytes]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => empty_reads += 1,
            Err(error) => return format!("{error}"),
        }
        sched_yield().unwrap();
    }
    drop(client);
    while server.open_connections() > 0 {
        server.run_once(WaitLimit::Immediate).unwrap();
    }
    String::from_utf8(output).unwrap()
}

#[test]
fn every_method_answers_or_closes_on_partial_malformed_and_endless_heads() {
    in_own_process(|| {
        for method in methods() {
            let before = open_resources();
            let mut server = Server::new(method, 4).unwrap();
            let common_answer =
                String::from_utf8(http::parse_first(COMMON_REQUEST).unwrap().answer()).unwrap();
            let (one, other) = COMMON_REQUEST.split_at(7);
            assert_eq!(response(&mut server, &[one, other]), common_answer, "{method}");
            assert_eq!(
                response(&mut server, &[&[COMMON_REQUEST, COMMON_REQUEST, one].concat(), other]),
                common_answer.repeat(3)
            );
            let each: Vec<&[u8]> = COMMON_REQUEST.chunks(1).collect();
            assert_eq!(response(&mut server, &each), common_answer, "{method}");
            assert_eq!(response(&mut server, &[one]), "", "{method}: half of a request");
            assert_eq!(response(&mut server, &[]), "", "{method}: nothing");
            for bad in [&b"nonsense\r\n\r\n"[..], b"\0", b"GET / HTTP/1.1\n"] {
                let output = response(&mut server, &[bad]);
                assert!(output.starts_with("HTTP/1.1 400 "), "{method}: {output}");
                assert!(output.contains("Connection: close\r\n"), "{method}: {output}");
            }
            // More than is ever read, in parts: the answer still arrives.
            let long = vec![b'a'; 65_536];
            let parts: Vec<&[u8]> = (0..8).map(|_| &long[..]).collect();
            let output = response(&mut server, &parts);
            assert!(output.starts_with("HTTP/1.1 431 "), "{method}: {output}");
            let mut seed = Seed::new(7);
            for _ in 0..100 {
                let output = response(&mut server, &[&nonsense(&mut seed)]);
                assert!(output.is_empty() || output.starts_with("HTTP/1.1 "), "{method}: {output}");
            }
            drop(server);
            assert_eq!(open_resources(), before, "{method} leaves something behind");
        }
    });
}

#[test]
fn connections_beyond_the_limit_are_refused_and_slots_are_reused() {
    in_own_process(|| {
        for method in methods() {
            let mut server = Server::new(method, 2).unwrap();
            for round in 1..=3u64 {
                let clients: Vec<TcpStream> =
                    (0..3).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
                while server.counters.refused < round {
                    server.run_once(WaitLimit::Immediate).unwrap();
                }
                assert_eq!(server.open_connections(), 2, "{method}");
                drop(clients);
                while server.open_connections() > 0 {
                    server.run_once(WaitLimit::Immediate).unwrap();
                }
            }
        }
    });
}

/// The output of curl with these arguments and the server's address; `None` if curl is not
/// installed.
fn curl(server: &mut Server, arguments: &[&str], paths: &[&str]) -> Option<(bool, String)> {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--max-time", "20", "--noproxy", "*"]);
    command
        .args(arguments)
        .args(paths.iter().map(|path| format!("http://{}{path}", server.address())));
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            eprintln!("skipped: curl: {error}");
            return None;
        }
    };
    while child.try_wait().unwrap().is_none() {
        server.run_once(WaitLimit::Immediate).unwrap();
        sched_yield().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
}

/// The output of curl: after each page its status and the number of connections it opened.
fn curl_output(server: &mut Server, arguments: &[&str], paths: &[&str]) -> String {
    let count = ["--write-out", "%{http_code} %{num_connects},"];
    let (good, output) = curl(server, &[&count, arguments].concat(), paths).unwrap();
    assert!(good, "{arguments:?}: {output}");
    output
}

#[test]
fn curl_gets_the_expected_answers() {
    in_own_process(|| {
        for method in methods() {
            let server = &mut Server::new(method, 8).unwrap();
            let Some((good, output)) = curl(server, &["--include"], &["/"]) else { return };
            assert!(good, "{method}: {output}");
            assert_eq!(
                output,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nok\n"
            );
            // One connection for all, unless the request says otherwise.
            assert_eq!(
                curl_output(server, &[], &["/", "/", "/"]),
                "ok\n200 1,ok\n200 0,ok\n200 0,"
            );
            let close = ["--header", "Connection: close"];
            assert_eq!(curl_output(server, &close, &["/", "/"]), "ok\n200 1,ok\n200 1,");
            assert_eq!(curl_output(server, &["--http1.0"], &["/", "/"]), "ok\n200 1,ok\n200 1,");
            assert_eq!(curl_output(server, &[], &["/no"]), "404 Not Found\n404 1,");
            assert!(curl_output(server, &["--head"], &["/"]).ends_with("\r\n\r\n200 1,"));
            assert_eq!(
                curl_output(server, &["--data", "a=b"], &["/"]),
                "413 Content Too Large\n413 1,"
            );
            let long = format!("X: {}", "x".repeat(60_000));
            let output = curl_output(server, &["--header", &long], &["/"]);
            assert!(output.starts_with("431 "), "{method}: {output}");
            let odd = ["--request", "BREW"];
            assert_eq!(curl_output(server, &odd, &["/"]), "501 Not Implemented\n501 1,");
        }
    });
}

/// The work of a case of the benchmark.
fn work(point: &str) -> Result<Work, Errno> {
    let case = Case::parse(&format!("event/server:{point}")).unwrap();
    SERVER.work(&case.point, context())
}

#[test]
fn bursts_are_answered_with_churn_and_by_schedule_without_leaks() {
    in_own_process(|| {
        for method in methods() {
            for rest in ["churn=0,peer_cpu=same", "churn=1000,peer_cpu=same,load=5000"] {
                let before = open_resources();
                let mut work = work(&format!("method={method},idle=300,{rest}")).unwrap();
                assert_eq!(work.unavailable_reason(), None, "{method}");
                assert!(
                    open_resources().1 >= before.1 + 300 + ACTIVE,
                    "{method}: connections are missing"
                );
                for _ in 0..6 {
                    assert_eq!(work.run(1, 1), Ok(()), "{method} {rest}");
                    assert!(work.last_value().is_some_and(|figure| figure > 0));
                }
                let observation = work.channel_observation().unwrap();
                let requests = observation.requests.unwrap();
                assert_eq!(
                    (requests.answered, requests.other_clients),
                    (5 * 64, 0),
                    "{method} {rest}"
                );
                assert!(requests.p50_ns <= requests.p99_ns && requests.p99_ns.is_some());
                drop(work);
                assert_eq!(open_resources(), before, "{method} {rest}");
            }
        }
    });
}

#[test]
fn requests_of_other_clients_are_answered_but_not_counted() {
    in_own_process(|| {
        let case = Case::parse("event/server:method=epoll,idle=1,churn=0,peer_cpu=same").unwrap();
        let before = open_resources();
        let mut body = super::start_server(crate::bench::Params::new(
            &SERVER.definition().with_implied(&case.point),
            context(),
        ))
        .unwrap()
        .unwrap_or_else(|_| panic!("this machine lacks something"));
        let mut other = TcpStream::connect(body.server.address()).unwrap();
        other.write_all(&COMMON_REQUEST.repeat(3)).unwrap();
        let answered = body.server.counters.answered;
        body.burst().unwrap();
        assert_eq!(body.server.counters.answered, answered + 64);
        assert_eq!(body.server.counters.answered_others, 3);
        drop((body, other));
        assert_eq!(open_resources(), before);
    });
}

#[test]
fn a_burst_whose_load_was_killed_fails() {
    in_own_process(|| {
        for method in methods() {
            let mut work = work(&format!("method={method},idle=10,churn=0,peer_cpu=same")).unwrap();
            children().into_iter().for_each(kill);
            assert!(work.run(1, 1).is_err(), "{method}");
        }
    });
}

#[test]
fn a_limit_that_is_too_low_is_reported_with_the_command_that_raises_it() {
    in_own_process(|| {
        limits::lower_descriptor_limit(256).unwrap();
        let point = |idle: u32| format!("method=epoll,idle={idle},churn=0,peer_cpu=same");
        let unavailable_reason =
            |idle: u32| work(&point(idle)).unwrap().unavailable_reason().map(str::to_owned);
        assert_eq!(unavailable_reason(10), None);
        let words = unavailable_reason(1_000).unwrap();
        assert!(words.contains("prlimit") && words.contains("256"), "{words}");
    });
}
