//! `--at ssh:HOST`: what works locally works on a remote host.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Stdio;

use crate::hosts::{Hosts, Kind, Ran, address, files_below, row, until};

/// One case in six repetitions, as JSON, at host 2.
const AT_2: [&str; 6] = ["run", "syscall/getppid:via=raw", "--quick", "--json", "-", "--at"];

fn at_2() -> Vec<String> {
    let at = format!("ssh:{}", address(2));
    AT_2.iter().map(|&word| word.to_owned()).chain([at]).collect()
}

fn words(owned: &[String]) -> Vec<&str> {
    owned.iter().map(String::as_str).collect()
}

#[test]
fn a_remote_run_has_the_form_of_a_local_one_and_the_worker_is_copied_once() {
    let Some(hosts) = Hosts::some(2) else { return };
    let at = format!("ssh:{}", address(2));
    let record = hosts.oscost(&words(&at_2())).exits(0).json();
    let measured = row(&record, "syscall/getppid:via=raw");
    assert_eq!(measured["outcome"], "measured", "{measured}");
    assert_eq!(measured["target"]["text"], at.as_str());
    assert_eq!(measured["target"]["host"], at.as_str());
    assert_eq!(measured["target"]["machine"], "m0");
    assert_eq!(
        measured["calls"]["per_op"]["getppid"], 1.0,
        "calls are counted on the remote host as well"
    );
    assert_eq!(record["machines"].as_array().unwrap().len(), 1);
    let put = files_below(&hosts.host_folder(2).join("home"));
    let [worker] = &put[..] else { panic!("not one worker, but {put:?}") };
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(worker), mode(worker.parent().unwrap())), (0o700, 0o700));
    let which = fs::metadata(worker).unwrap().ino();
    hosts.oscost(&words(&at_2())).exits(0);
    assert_eq!(fs::metadata(worker).unwrap().ino(), which, "it was copied again");
    hosts.nothing_is_left();

    // An incomplete copy is replaced instead of being run.
    fs::write(worker, "#!/bin/sh\necho oops\n").unwrap();
    hosts.oscost(&words(&at_2())).exits(0);
    assert!(fs::metadata(worker).unwrap().len() > 1_000_000, "the broken copy is still there");
    hosts.nothing_is_left();
}

#[test]
fn machine_doctor_and_explain_work_on_a_remote_host() {
    let Some(hosts) = Hosts::some(2) else { return };
    let at = format!("ssh:{}", address(2));
    let machine = hosts.oscost(&["machine", "--json", "--at", &at]).exits(0).json();
    assert!(machine["os"]["release"].is_string(), "{machine}");
    let doctor = hosts.oscost(&["doctor", "--json", "--at", &at]).exits(0).json();
    assert!(doctor["class"].is_string(), "{doctor}");
    let output = hosts.oscost(&["explain", "syscall/getppid", "--at", &at]).exits(0).stdout;
    assert!(output.contains("1 kernel entry per op"), "{output}");
    hosts.nothing_is_left();
}

#[test]
fn a_command_is_billed_where_it_runs_by_a_tracer_and_the_prices_of_that_machine() {
    let Some(hosts) = Hosts::some(2) else { return };
    let at = format!("ssh:{}", address(2));
    // Here is no such folder.
    let folder = hosts.host_folder(2).join("home");
    let script = format!("cat /dev/null; test \"$HOME\" = {}", folder.display());
    let options = ["bill", "--at", &at, "--trials", "6", "--price-seconds", "10", "--json", "-"];
    let bill =
        |more: &[&str]| hosts.oscost(&[&options[..], more, &["--", "sh", "-c", &script]].concat());
    let record = bill(&["--label", "there"]).exits(0).json();
    hosts.nothing_is_left();
    assert_eq!(record["host"], at.as_str(), "{record}");
    if record["counted"].is_null() {
        return eprintln!("not tested: {}", record["not_counted"]);
    }
    assert_eq!(record["counted"]["counter"], "ptrace");
    let why = record["counted"]["counter_reason"].as_str().unwrap();
    assert!(why.contains("this machine alone"), "{why}");
    assert_eq!(record["counted"]["calls"]["execs"], 2, "the shell and cat");
    assert!(record["charged"]["ns"].as_f64().unwrap() > 0.0, "it was priced there: {record}");
    let runs = record["prices"]["runs"].as_array().unwrap();
    let run =
        hosts.oscost(&["runs", "export", runs[0]["id"].as_str().unwrap(), "-"]).exits(0).json();
    assert_eq!(run["results"][0]["target"]["host"], at.as_str());
    let shown = hosts.oscost(&["report", "@there"]).exits(0).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(&format!(" at {at}; 6 trials, 95 % intervals")), "{shown}");
    for (more, words) in [
        (&["--counter", "ebpf"][..], "cannot count by eBPF at"),
        (&["--stdin", "/etc/passwd"], "that is on this machine"),
    ] {
        bill(more).exits(2).stderr_contains(&[words]);
    }
    let missing = ["--", "no-such-program"];
    let ran = hosts.oscost(&[&options[..], &missing].concat()).exits(3);
    assert!(ran.stderr.contains("no-such-program"), "{}", ran.stderr);
    hosts.nothing_is_left();
}

#[test]
fn the_measuring_machine_allows_one_run_at_a_time() {
    let Some(hosts) = Hosts::some(3) else { return };
    let at = format!("ssh:{}", address(2));
    let long = ["run", "syscall", "--precision", "0.001", "--no-store", "--at", &at];
    let mut first = hosts.tool(3, &long);
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the first run has the lock", || {
        let unix = fs::read_to_string(format!("/proc/{}/net/unix", hosts.sshd(2))).unwrap();
        unix.contains("@oscost.run")
    });
    let refused = hosts.oscost(&[&words(&at_2())[..], &["--no-wait"]].concat()).exits(3);
    let refused = refused.stderr_contains(&["cannot measure: process", "is measuring at ssh:"]);
    assert!(refused.stdout.is_empty());
    let output = hosts.oscost(&["machine", "--at", &at]).exits(0).stdout;
    let output = output.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.contains("is measuring on"), "{output}");
    // The waiting run gets the machine when the first one has ended.
    let mut second = hosts.tool(1, &words(&at_2()));
    let second = second.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the second run has connected", || hosts.processes(2).len() > 2);
    // `ip netns exec` and its shell have executed the tool: it has the same process id.
    first.kill().unwrap();
    first.wait().unwrap();
    Ran::of_child(second).exits(0);
    hosts.nothing_is_left();
}

#[test]
fn a_login_that_prints_and_another_shell_do_not_matter() {
    let noisy = Kind {
        sshd: "ForceCommand echo Welcome; echo oscost-x run Linux x; exec bash -c \
               \"$SSH_ORIGINAL_COMMAND\"",
        ..Kind::default()
    };
    let Some(hosts) = Hosts::like(&[Kind::default(), noisy]) else { return };
    hosts.oscost(&words(&at_2())).exits(0);
    hosts.nothing_is_left();
}

#[test]
fn a_home_without_space_makes_it_use_the_temporary_folder() {
    for before in [
        "mount -t tmpfs -o size=512k none \"$1/home\"",
        "mount -t tmpfs -o ro none \"$1/home\"",
        "mount -t tmpfs -o noexec none \"$1/home\"",
    ] {
        let full = Kind { before, ..Kind::default() };
        let Some(hosts) = Hosts::like(&[Kind::default(), full]) else { return };
        hosts.oscost(&words(&at_2())).exits(0);
        until("its processes are gone", || hosts.processes(2).is_empty());
        let folder = hosts.host_folder(2).join("tmp/oscost-0");
        let put = files_below(&folder);
        assert!(put.len() == 1 && put[0].starts_with(&folder), "{before}: {put:?}");
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let home = hosts.host_folder(2).join("home");
        let inside = format!("/proc/{}/root{}", hosts.sshd(2), home.display());
        assert_eq!(files_below(inside.as_ref()), Vec::<std::path::PathBuf>::new(), "{before}");
    }
}

#[test]
fn a_machine_without_proc_is_measured_without_what_proc_reports() {
    let bare = Kind { before: "umount -l /proc", ..Kind::default() };
    let Some(hosts) = Hosts::like(&[Kind::default(), bare]) else { return };
    hosts.oscost(&words(&at_2())).exits(0);
    hosts.nothing_is_left();
}

#[test]
fn an_unprivileged_remote_user_suffices() {
    let ordinary = Kind {
        before: "sed 's,^nobody:.*,nobody:x:65534:65534::/:/bin/sh,' /etc/passwd > \"$1/passwd\"; \
                 mount --bind \"$1/passwd\" /etc/passwd; chmod 755 \"$1\" \"$1/..\"; \
                 chown 65534:65534 \"$1/home\" \"$1/tmp\"",
        ..Kind::default()
    };
    let Some(hosts) = Hosts::like(&[Kind::default(), ordinary]) else { return };
    let at = format!("ssh:nobody@{}", address(2));
    let record = hosts.oscost(&[&AT_2[..], &[&at]].concat()).exits(0).json();
    assert_eq!(row(&record, "syscall/getppid:via=raw")["outcome"], "measured");
    let put = files_below(&hosts.host_folder(2).join("home"));
    assert_eq!(fs::metadata(&put[0]).unwrap().uid(), 65_534, "it ran as another user");
    hosts.nothing_is_left();
}
