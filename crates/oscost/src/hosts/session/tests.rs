//! Children that hang, flood their output, or end early.

use super::*;

#[test]
fn text_of_another_program_is_one_line_without_control_characters() {
    let shown = printable("one\r\n\n two\u{1b}[2J\u{202e}three\n");
    assert_eq!(shown, "one; two\\u{1b}[2J\\u{202e}three");
}

#[test]
fn a_child_that_reads_nothing_times_out() {
    let interrupt = Interrupt::listen().unwrap();
    let mut command = Command::new("sleep");
    let mut session = PipeSession::start(command.arg("60"), &interrupt).unwrap();
    let timeout = Duration::from_millis(100);
    let written = session.write(&vec![b'x'; 1 << 20], timeout);
    assert!(matches!(written, Err(HostError::TimedOut(_))), "{written:?}");
    let line = session.read_line(timeout);
    assert!(matches!(line, Err(HostError::TimedOut(_))), "{line:?}");
    session.child.kill().unwrap();
}

#[test]
fn a_child_is_told_the_end_of_its_input_and_is_terminated_if_it_goes_on() {
    let interrupt = Interrupt::listen().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let marks = ["input", "signal"].map(|name| folder.path().join(name));
    let script =
        "cat > /dev/null; : > \"$0\"; trap 'kill $!; : > \"$1\"; exit' TERM; sleep 1000 & wait";
    let mut command = Command::new("sh");
    command.args(["-c", script]).args(&marks);
    let mut session = PipeSession::start(&mut command, &interrupt).unwrap();
    session.terminate_within(STDERR_TIMEOUT);
    drop(session);
    assert!(marks.iter().all(|mark| mark.exists()));
}

#[test]
fn a_child_that_floods_is_not_read_for_ever() {
    let interrupt = Interrupt::listen().unwrap();
    // It reads nothing, so that an order cannot be written either.
    let mut session = PipeSession::start(&mut Command::new("yes"), &interrupt).unwrap();
    let written = session.write(&vec![b'x'; 1 << 20], Duration::from_secs(600));
    assert!(matches!(written, Err(HostError::InvalidMessage(_))), "{written:?}");
    session.terminate_within(STDERR_TIMEOUT);
}

#[test]
fn a_child_that_has_much_to_write_at_its_end_is_not_killed_for_it() {
    let interrupt = Interrupt::listen().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ended");
    let script = "cat > /dev/null; head -c 1000000 /dev/zero; \
                  head -c 1000000 /dev/zero >&2; : > \"$0\"";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(&mark).stderr(Stdio::piped());
    PipeSession::start(&mut command, &interrupt).unwrap().end();
    assert!(mark.exists());
}

#[test]
fn a_supervisor_that_was_ended_from_outside_is_told_as_such() {
    let interrupt = Interrupt::listen().unwrap();
    // By a signal that no process survives, and as a supervisor exits that was asked to end.
    for (script, signal) in [("kill -KILL $$", "SIGKILL"), ("exit 143", "SIGTERM")] {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let mut session = PipeSession::start(&mut command, &interrupt).unwrap();
        let error = session.next_event(Duration::from_secs(20)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the worker process was ended by {signal}\n  hint: what was measured by then \
                 is not lost; run it again for the rest"
            )
        );
    }
}

#[test]
fn the_end_of_a_child_has_its_status_and_standard_error() {
    let interrupt = Interrupt::listen().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "echo hello; echo failure >&2; exit 7"]).stderr(Stdio::piped());
    let mut session = PipeSession::start(&mut command, &interrupt).unwrap();
    let timeout = Duration::from_secs(20);
    assert_eq!(session.read_line(timeout).unwrap(), Some(b"hello\n".to_vec()));
    assert_eq!(session.read_line(timeout).unwrap(), None);
    let end = session.wait_for_end();
    assert_eq!(end.status.map(end_text).unwrap(), "ended with exit status 7");
    assert_eq!(end.stderr, "failure");
}
