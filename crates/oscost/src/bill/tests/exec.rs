//! What an execve(2) pays beyond that of a small process.

use super::*;

#[test]
fn an_exec_pays_the_bytes_of_its_arguments_and_its_environment() {
    let line = |bytes: u64, ns: f64| row(&format!("process/exec-environment:bytes={bytes}"), ns);
    let exec = || {
        vec![
            row("process/fork-exec:link=loader", 900_000.0),
            row("process/fork-exit:touched_mib=0,peer_cpu=same", 300_000.0),
        ]
    };
    // Half a nanosecond a byte.
    let lines = vec![line(0, 90_000.0), line(4_096, 92_048.0), line(65_536, 122_768.0)];
    let of = |rows: Vec<Row>, bytes: Option<u64>| {
        let moved = bytes.map_or(0, |bytes| 2 * bytes);
        let found = charges(rows, vec![form("execve dynamic", bytes, 2, moved)], Faults::default());
        amount(&found, "execve dynamic").map(f64::round)
    };
    let all = || [exec(), lines.clone()].concat();
    assert_eq!(of(all(), Some(8_192)), Some(2.0 * (600_000.0 + 4_096.0)));
    // Older counters tell no bytes, and without the line they are not priced.
    assert_eq!(of(all(), None), Some(2.0 * 600_000.0));
    assert_eq!(of(exec(), Some(8_192)), Some(2.0 * 600_000.0));
}
