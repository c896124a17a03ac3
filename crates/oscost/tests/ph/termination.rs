//! The end of a monitor: by a signal to the tool, or when one of its processes is killed; and the
//! state of its directory of profiles afterwards.

use std::os::unix::process::CommandExt;
use std::process::Output;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::*;

/// The tool with a data directory.
fn oscost(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oscost"));
    command.args(arguments).env("XDG_DATA_HOME", data);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(i32::try_from(number).unwrap())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], b"\n", &output.stderr].concat()).into_owned()
}

/// Waits for a line in a stream.
fn wait_for_line(stream: impl std::io::Read, line: &str) {
    let mut lines = BufReader::new(stream).lines();
    assert!(lines.any(|it| it.unwrap() == line), "the line never appears: {line}");
}

/// All descendants of a process.
fn descendants(pid: u32) -> Vec<u32> {
    let own = children(pid);
    own.iter().flat_map(|child| descendants(*child)).chain(own.iter().copied()).collect()
}

fn exists(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

#[test]
fn a_signal_saves_the_profiles_ends_the_command_and_detaches() {
    let Some(_lock) = lock_monitor() else { return };
    // A terminal signals all processes of the group, kill(1) only the tool.
    for (verb, signal, status, to_group) in [
        ("train", Signal::SIGINT, 130, true),
        ("train", Signal::SIGTERM, 143, false),
        ("watch", Signal::SIGINT, 130, false),
        ("watch", Signal::SIGTERM, 143, true),
    ] {
        let data = data();
        let command = ["ph", verb, "--", "/bin/sh", "-c", "echo up; while :; do sleep 0.01; done"];
        let mut tool = oscost(data.path(), &command).process_group(0).spawn().unwrap();
        wait_for_line(tool.stdout.as_mut().unwrap(), "up");
        let processes = descendants(tool.id());
        assert!(
            processes.len() >= 2 && program_count() >= 3,
            "the monitor process and the command"
        );
        let to = pid(tool.id());
        kill(if to_group { Pid::from_raw(-to.as_raw()) } else { to }, signal).unwrap();
        let ended = tool.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(status), "{verb} {signal}: {}", text(&ended));
        let output = text(&ended);
        assert!(output.contains(" calls, 0 anomalies"), "{output}");
        wait_for("the processes have ended", || !processes.iter().any(|it| exists(*it)));
        wait_for("the programs are detached", || program_count() == 0);
        assert!(profile_of(&profiles(&data), "/bin/sh").calls > 10, "the profile is saved");
    }
}

#[test]
fn a_watch_of_all_processes_ends_by_sigint_and_saves_the_profiles() {
    let Some(_lock) = lock_monitor() else { return };
    let data = data();
    let mut tool = oscost(data.path(), &["ph", "watch", "--json"]).spawn().unwrap();
    wait_for_line(tool.stderr.as_mut().unwrap(), "monitoring all processes; Ctrl-C ends it");
    Command::new("/bin/sh").args(["-c", ":"]).status().unwrap();
    kill(pid(tool.id()), Signal::SIGINT).unwrap();
    let ended = tool.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", text(&ended));
    wait_for("the programs are detached", || program_count() == 0);
    assert!(profile_of(&profiles(&data), "/bin/sh").calls > 0);
}

/// A tool whose command is delayed for longer than a test takes.
struct DelayedTool {
    tool: Child,
    monitor_pid: u32,
    stopped_pids: Vec<u32>,
}

fn delayed_tool(env: &Tool, data: &TempDir) -> DelayedTool {
    let mut shell = Shell::start();
    train(env, data, &mut shell);
    shell.end();
    let script = format!("{} /bin/sh -c :; echo completed", env.path);
    let arguments = ["ph", "watch", "--delay-factor=1000", "--", "/bin/sh", "-c", &script];
    // In the process group of this test: the kernel sends SIGHUP to an orphaned group with stopped
    // processes.
    let tool = oscost(data.path(), &arguments).spawn().unwrap();
    wait_for("the process is stopped", || !stopped(&descendants(tool.id())).is_empty());
    let monitor_pid = descendant_with_argument(tool.id(), "monitor").unwrap();
    let stopped_pids = stopped(&descendants(tool.id()));
    DelayedTool { tool, monitor_pid, stopped_pids }
}

/// Waits until the stopped processes have continued, the command has completed, and the programs
/// are detached.
fn wait_until_continued(delayed: &mut DelayedTool) {
    let mut lines = BufReader::new(delayed.tool.stdout.take().unwrap()).lines();
    assert!(lines.any(|it| it.unwrap() == "completed"), "the command continues");
    assert!(stopped(&delayed.stopped_pids).is_empty());
    wait_for("the programs are detached", || program_count() == 0);
}

/// Waits until the tool fails with this reason.
fn wait_for_failure(tool: Child, why: &str) {
    let ended = tool.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{}", text(&ended));
    assert!(text(&ended).contains(why), "{}", text(&ended));
}

#[test]
fn a_killed_tool_leaves_no_process_stopped_and_the_profiles_are_saved() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(env) = tool("env") else { return };
    let data = data();
    let mut delayed = delayed_tool(&env, &data);
    delayed.tool.kill().unwrap();
    wait_until_continued(&mut delayed);
    wait_for("the monitor process has ended", || !exists(delayed.monitor_pid));
    assert_eq!(profile_of(&profiles(&data), &env.file).anomalies, 1, "the anomaly is saved");
    delayed.tool.wait().unwrap();
}

#[test]
fn a_killed_monitor_process_leaves_no_process_stopped_and_is_reported() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(env) = tool("env") else { return };
    let data = data();
    let mut delayed = delayed_tool(&env, &data);
    kill(pid(delayed.monitor_pid), Signal::SIGKILL).unwrap();
    wait_until_continued(&mut delayed);
    wait_for_failure(delayed.tool, "the monitor process ended too early");
    assert_eq!(profile_of(&profiles(&data), &env.file).anomalies, 0, "the old profile is kept");
}

/// The descendant of a process that was started with this argument.
fn descendant_with_argument(ancestor: u32, argument: &str) -> Option<u32> {
    let has_argument = |pid: &u32| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.split(|&byte| byte == 0).any(|it| it == argument.as_bytes())
    };
    descendants(ancestor).into_iter().find(has_argument)
}

#[test]
fn a_killed_process_of_a_run_under_the_monitor_leaves_no_process_stopped() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(ls) = tool("ls") else { return };
    let (data, mut shell) = (data(), Shell::start());
    train(&ls, &data, &mut shell);
    shell.end();
    for killed in ["run", "supervise", "monitor"] {
        // Long enough to kill a process of it, and no longer: it goes on to its end where another one
        // than the tool is killed.
        let options = ["run", "--treat", "ph+trained+respond", "--no-store", "--budget", "20"];
        let arguments = [&options[..], &["syscall", "switch"]].concat();
        let mut tool = oscost(data.path(), &arguments).stdout(Stdio::null()).spawn().unwrap();
        wait_for("the monitor is attached", || program_count() >= 3);
        // These calls are not in its profile, so each delay is twice as long as the last. If it
        // completes, the monitor was not attached all the time, and it is started again.
        let start = || {
            let mut command = Command::new(&ls.path);
            command.args(["-l", "/", "/proc/self"]).stdout(Stdio::null()).spawn().unwrap()
        };
        let mut delayed = start();
        wait_for("the process is stopped for long", || {
            if delayed.try_wait().unwrap().is_some() {
                delayed = start();
            }
            (0..50).all(|_| {
                sleep(Duration::from_millis(10));
                stopped(&[delayed.id()]).len() == 1
            })
        });
        let process = match killed {
            "run" => tool.id(),
            argument => descendant_with_argument(tool.id(), argument).unwrap(),
        };
        kill(pid(process), Signal::SIGKILL).unwrap();
        wait_for("the process completes", || delayed.try_wait().unwrap().is_some());
        // A run without its monitor process reports that for each row, and ends.
        tool.wait().unwrap();
        wait_for("the programs are detached", || program_count() == 0);
    }
}

#[test]
fn a_monitor_process_without_its_cleanup_process_stops_no_process_and_ends() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(env) = tool("env") else { return };
    let data = data();
    let mut delayed = delayed_tool(&env, &data);
    let cleanup = children(delayed.monitor_pid);
    assert_eq!(cleanup.len(), 1, "{cleanup:?}");
    kill(pid(cleanup[0]), Signal::SIGKILL).unwrap();
    wait_until_continued(&mut delayed);
    wait_for_failure(delayed.tool, "the cleanup process ended");
    assert_eq!(profile_of(&profiles(&data), &env.file).anomalies, 1, "the profile is saved");
}

#[test]
fn an_anomaly_is_a_line_of_json_with_its_process_pair_and_counts() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(env) = tool("env") else { return };
    let (data, mut shell) = (data(), Shell::start());
    train(&env, &data, &mut shell);
    shell.end();
    let script = format!("{0} /bin/sh -c :; {0} /bin/sh -c :", env.path);
    let arguments = ["ph", "watch", "--json", "--", "/bin/sh", "-c", &script];
    let ended = oscost(data.path(), &arguments).output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", text(&ended));
    let printed = String::from_utf8(ended.stdout).unwrap();
    let lines: Vec<serde_json::Value> =
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{printed}");
    for (number, line) in (1..).zip(&lines) {
        assert_eq!(line["schema"], "oscost.ph-anomaly/1");
        assert_eq!(line["executable"], env.file.as_str());
        assert_eq!(line["current"], serde_json::json!({"number": EXECVE, "name": "execve"}));
        assert!(line["previous"]["name"].is_string() && line["previous"]["number"].is_u64());
        assert_eq!((&line["position"], &line["locality"]), (&1.into(), &1.into()), "{line}");
        assert_eq!(line["anomalies"], number);
        assert!(line["pid"].as_u64().is_some_and(|pid| pid > 1), "{line}");
        assert_eq!(line.as_object().map(serde_json::Map::len), Some(9), "{line}");
    }
}

#[test]
fn a_damaged_profile_is_reported_and_renamed_and_the_monitor_runs() {
    let Some(_lock) = lock_monitor() else { return };
    let (data, mut shell) = (data(), Shell::start());
    Monitor::start(data.path(), &shell, &[]).end();
    let (folder, inode) = (data.path().join("oscost/ph"), fs::metadata("/bin/sh").unwrap().ino());
    let mut notes_of_run = |name: &str| {
        let mut monitor = Monitor::start(data.path(), &shell, &[]);
        shell.run("(:)");
        drop(monitor.input.take());
        let mut notes = Vec::new();
        while let Some(event) = monitor.next() {
            match event {
                MonitorEvent::Note { text } => notes.push(text),
                MonitorEvent::Missing { reason } => panic!("{name}: {reason}"),
                _ => {}
            }
        }
        notes
    };
    assert!(notes_of_run("a folder without damage").is_empty());
    let names = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name());
    let mut names = names.map(|it| it.into_string().unwrap());
    let name = names.find(|it| it.ends_with(&format!("-{inode}.profile"))).unwrap();
    let other = folder.join("5-6.profile");
    for damaged in [&folder.join(&name), &other] {
        fs::write(damaged, "oscost ph profile 1\narch x").unwrap();
    }
    let notes = notes_of_run("two damaged files");
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes.iter().any(|it| it.contains("5-6.profile is not a valid profile: line 2")));
    assert!(notes[2].ends_with(&format!("{name}.refused")), "{notes:?}");
    let kept = |path: PathBuf| fs::read_to_string(path).unwrap();
    assert_eq!(kept(folder.join(format!("{name}.refused"))), "oscost ph profile 1\narch x");
    assert_eq!(kept(other), "oscost ph profile 1\narch x", "its executable made no calls");
    assert!(profile_of(&profiles(&data), "/bin/sh").calls > 0, "it is learned again");
    assert_eq!(notes_of_run("one damaged file is left").len(), 1);
    shell.end();
}
