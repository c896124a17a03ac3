//! Logins by ssh that flood, hang or control the terminal: a script stands in for ssh. The tool ends
//! within its limits, says why, and leaves nothing.

use crate::attack::{Effort, make};
use crate::line::Line;

/// The tool with a login that does this, without single quotes. A minute is the limit of a login.
macro_rules! by_login {
    ($script:literal) => {
        concat!(
            "printf '%s\\n' '#!/bin/sh' '",
            $script,
            "' > \"$FILES/ssh\"; chmod 755 \"$FILES/ssh\"\n",
            "export OSCOST_SSH=\"$FILES/ssh\"; exec timeout 100 \"$0\" \"$@\""
        )
    };
}

/// What needs a login, and nothing else.
const LOGIN: Line = Line {
    arguments: &["machine", "--at", "ssh:host"],
    statuses: &[3],
    stderr: &["cannot reach `ssh:host`", "hint: "],
    ..Line::DEFAULT
};
const SLOW: Line = Line { effort: Effort::Long, stderr: &["no reply within", "hint: "], ..LOGIN };

const LINES: &[Line] = &[
    Line {
        name: "a login that floods its output",
        script: by_login!("exec yes hello"),
        stderr: &["its login prints too much", "hint: "],
        ..LOGIN
    },
    Line {
        name: "a login that floods its messages",
        script: by_login!("exec yes hello >&2"),
        effort: Effort::Long,
        ..LOGIN
    },
    Line {
        name: "a login that sends a megabyte without a line",
        script: by_login!("head -c 1000000 /dev/zero | tr \"\\0\" x"),
        ..LOGIN
    },
    Line {
        name: "a login that controls the terminal",
        script: by_login!("printf \"\\033[2J\\033]0;x\\007\" >&2; exit 1"),
        ..LOGIN
    },
    Line { name: "a login that ends at once", script: by_login!("exit 255"), ..LOGIN },
    Line { name: "a login that is killed", script: by_login!("kill -9 $$"), ..LOGIN },
    Line { name: "a login that is silent", script: by_login!("exec sleep 1000"), ..SLOW },
    Line { name: "a login that stops itself", script: by_login!("kill -STOP $$"), ..SLOW },
    Line {
        name: "a login that ignores what asks it to end",
        script: by_login!("trap \"\" TERM; cat > /dev/null; while :; do sleep 1; done"),
        ..SLOW
    },
];

#[test]
fn a_login_that_hangs_or_floods_is_ended_with_the_reason() {
    make("logins", LINES.iter().map(|line| line.attack()));
}
