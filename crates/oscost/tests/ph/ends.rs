//! How the monitor ends: by the user's wish, by a kill of any of its processes; and what its folder
//! looks like then.

use std::os::unix::process::CommandExt;
use std::process::Output;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::*;

/// The tool with a folder of profiles.
fn oscost(data: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oscost"));
    command.args(words).env("XDG_DATA_HOME", data);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(i32::try_from(number).unwrap())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], b"\n", &output.stderr].concat()).into_owned()
}

/// Waits until a process says this line on a stream.
fn hears(stream: impl std::io::Read, line: &str) {
    let mut lines = BufReader::new(stream).lines();
    assert!(lines.any(|it| it.unwrap() == line), "it never says `{line}`");
}

/// All that descends from a process.
fn descendants(of: u32) -> Vec<u32> {
    let own = children(of);
    own.iter().flat_map(|child| descendants(*child)).chain(own.iter().copied()).collect()
}

fn is_there(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

#[test]
fn a_wish_to_end_keeps_the_profiles_ends_the_command_and_detaches() {
    let Some(_alone) = alone() else { return };
    // A key of the terminal meets all processes of the group, kill(1) the tool alone.
    for (verb, signal, status, of_group) in [
        ("train", Signal::SIGINT, 130, true),
        ("train", Signal::SIGTERM, 143, false),
        ("watch", Signal::SIGINT, 130, false),
        ("watch", Signal::SIGTERM, 143, true),
    ] {
        let data = data();
        let command = ["ph", verb, "--", "/bin/sh", "-c", "echo up; while :; do sleep 0.01; done"];
        let mut tool = oscost(data.path(), &command).process_group(0).spawn().unwrap();
        hears(tool.stdout.as_mut().unwrap(), "up");
        let processes = descendants(tool.id());
        assert!(processes.len() >= 2 && attached() >= 3, "the holder and the command");
        let to = pid(tool.id());
        kill(if of_group { Pid::from_raw(-to.as_raw()) } else { to }, signal).unwrap();
        let ended = tool.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(status), "{verb} {signal}: {}", text(&ended));
        let said = text(&ended);
        assert!(said.contains(" calls, 0 anomalies"), "{said}");
        wait_for("they have ended", || !processes.iter().any(|it| is_there(*it)));
        wait_for("no program is attached", || attached() == 0);
        assert!(of(&profiles(&data), "/bin/sh").calls > 10, "what was learnt is kept");
    }
}

#[test]
fn a_watch_over_all_processes_ends_by_a_key_and_keeps_what_it_learnt() {
    let Some(_alone) = alone() else { return };
    let data = data();
    let mut tool = oscost(data.path(), &["ph", "watch", "--json"]).spawn().unwrap();
    hears(tool.stderr.as_mut().unwrap(), "monitoring all processes; Ctrl-C ends it");
    Command::new("/bin/sh").args(["-c", ":"]).status().unwrap();
    kill(pid(tool.id()), Signal::SIGINT).unwrap();
    let ended = tool.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", text(&ended));
    wait_for("no program is attached", || attached() == 0);
    assert!(of(&profiles(&data), "/bin/sh").calls > 0);
}

/// A tool whose command is delayed for longer than a test takes; the holder, and who is stopped.
fn with_a_stopped(env: &Tool, data: &TempDir) -> (Child, u32, Vec<u32>) {
    let mut shell = Shell::start();
    train(env, data, &mut shell);
    shell.end();
    let script = format!("{} /bin/sh -c :; echo over", env.called);
    let words = ["ph", "watch", "--delay-factor=1000", "--", "/bin/sh", "-c", &script];
    // It shares this test's group: in one that is orphaned the kernel ends whoever is stopped.
    let tool = oscost(data.path(), &words).spawn().unwrap();
    wait_for("it is stopped", || !stopped(&descendants(tool.id())).is_empty());
    let holder = started_with("monitor", tool.id()).unwrap();
    let processes = stopped(&descendants(tool.id()));
    (tool, holder, processes)
}

/// That the one that was stopped goes on and its command comes to its end, and that the monitor is
/// gone.
fn all_goes_on(tool: &mut Child, was_stopped: &[u32]) {
    let mut said = BufReader::new(tool.stdout.take().unwrap()).lines();
    assert!(said.any(|it| it.unwrap() == "over"), "the command goes on");
    assert!(stopped(was_stopped).is_empty());
    wait_for("no program is attached", || attached() == 0);
}

/// It ends by itself, and tells why.
fn fails(tool: Child, why: &str) {
    let ended = tool.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{}", text(&ended));
    assert!(text(&ended).contains(why), "{}", text(&ended));
}

#[test]
fn a_tool_that_is_killed_leaves_nobody_stopped_and_its_profiles_are_kept() {
    let Some(_alone) = alone() else { return };
    let Some(env) = tool("env") else { return };
    let data = data();
    let (mut tool, holder, processes) = with_a_stopped(&env, &data);
    tool.kill().unwrap();
    all_goes_on(&mut tool, &processes);
    wait_for("the holder has ended", || !is_there(holder));
    assert_eq!(of(&profiles(&data), &env.file).anomalies, 1, "the anomaly is kept");
    tool.wait().unwrap();
}

#[test]
fn a_holder_that_is_killed_leaves_nobody_stopped_and_the_tool_says_so() {
    let Some(_alone) = alone() else { return };
    let Some(env) = tool("env") else { return };
    let data = data();
    let (mut tool, holder, processes) = with_a_stopped(&env, &data);
    kill(pid(holder), Signal::SIGKILL).unwrap();
    all_goes_on(&mut tool, &processes);
    fails(tool, "the monitor process ended too early");
    assert_eq!(of(&profiles(&data), &env.file).anomalies, 0, "the old one stays");
}

/// What descends from a process and was started with this word.
fn started_with(word: &str, of: u32) -> Option<u32> {
    let has = |it: &u32| {
        let words = fs::read(format!("/proc/{it}/cmdline")).unwrap_or_default();
        words.split(|&byte| byte == 0).any(|it| it == word.as_bytes())
    };
    descendants(of).into_iter().find(has)
}

#[test]
fn a_run_under_the_monitor_leaves_nobody_stopped_whichever_process_of_it_is_killed() {
    let Some(_alone) = alone() else { return };
    let Some(ls) = tool("ls") else { return };
    let (data, mut shell) = (data(), Shell::start());
    train(&ls, &data, &mut shell);
    shell.end();
    for killed in ["run", "supervise", "monitor"] {
        let words = ["run", "--treat", "ph+trained+respond", "--no-store", "syscall", "switch"];
        let mut tool = oscost(data.path(), &words).stdout(Stdio::null()).spawn().unwrap();
        wait_for("the monitor is attached", || attached() >= 3);
        // What it does now it has not been seen to do: each call is delayed twice as long. Where it
        // comes to its end, the monitor was not there all the time.
        let begin = || {
            let mut command = Command::new(&ls.called);
            command.args(["-l", "/", "/proc/self"]).stdout(Stdio::null()).spawn().unwrap()
        };
        let mut delayed = begin();
        wait_for("it is stopped for long", || {
            if delayed.try_wait().unwrap().is_some() {
                delayed = begin();
            }
            (0..50).all(|_| {
                sleep(Duration::from_millis(10));
                stopped(&[delayed.id()]).len() == 1
            })
        });
        let process = match killed {
            "run" => tool.id(),
            word => started_with(word, tool.id()).unwrap(),
        };
        kill(pid(process), Signal::SIGKILL).unwrap();
        wait_for("it goes on to its end", || delayed.try_wait().unwrap().is_some());
        // A run whose holder is gone says so, row by row, and ends by itself.
        tool.wait().unwrap();
        wait_for("no program is attached", || attached() == 0);
    }
}

#[test]
fn without_its_guard_a_holder_stops_nobody_any_longer_and_ends() {
    let Some(_alone) = alone() else { return };
    let Some(env) = tool("env") else { return };
    let data = data();
    let (mut tool, holder, processes) = with_a_stopped(&env, &data);
    let guard = children(holder);
    assert_eq!(guard.len(), 1, "{guard:?}");
    kill(pid(guard[0]), Signal::SIGKILL).unwrap();
    all_goes_on(&mut tool, &processes);
    fails(tool, "the cleanup process ended");
    assert_eq!(of(&profiles(&data), &env.file).anomalies, 1, "what was learnt is kept");
}

#[test]
fn an_anomaly_is_a_line_of_json_with_its_process_its_pair_and_its_counts() {
    let Some(_alone) = alone() else { return };
    let Some(env) = tool("env") else { return };
    let (data, mut shell) = (data(), Shell::start());
    train(&env, &data, &mut shell);
    shell.end();
    let script = format!("{0} /bin/sh -c :; {0} /bin/sh -c :", env.called);
    let words = ["ph", "watch", "--json", "--", "/bin/sh", "-c", &script];
    let ended = oscost(data.path(), &words).output().unwrap();
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
fn a_damaged_file_of_the_folder_stops_no_monitor_and_is_told_and_set_aside() {
    let Some(_alone) = alone() else { return };
    let (data, mut shell) = (data(), Shell::start());
    Monitor::start(data.path(), &shell, &[]).end();
    let (folder, inode) = (data.path().join("oscost/ph"), fs::metadata("/bin/sh").unwrap().ino());
    let mut runs = |name: &str| {
        let mut monitor = Monitor::start(data.path(), &shell, &[]);
        shell.run("(:)");
        drop(monitor.input.take());
        let mut notes = Vec::new();
        while let Some(said) = monitor.next() {
            match said {
                MonitorEvent::Note { text } => notes.push(text),
                MonitorEvent::Missing { why } => panic!("{name}: {why}"),
                _ => {}
            }
        }
        notes
    };
    assert!(runs("a folder without damage").is_empty());
    let names = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name());
    let mut names = names.map(|it| it.into_string().unwrap());
    let name = names.find(|it| it.ends_with(&format!("-{inode}.profile"))).unwrap();
    let other = folder.join("5-6.profile");
    for damaged in [&folder.join(&name), &other] {
        fs::write(damaged, "oscost ph profile 1\narch x").unwrap();
    }
    let notes = runs("two damaged files");
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes.iter().any(|it| it.contains("5-6.profile is not a valid profile: line 2")));
    assert!(notes[2].ends_with(&format!("{name}.refused")), "{notes:?}");
    let kept = |path: PathBuf| fs::read_to_string(path).unwrap();
    assert_eq!(kept(folder.join(format!("{name}.refused"))), "oscost ph profile 1\narch x");
    assert_eq!(kept(other), "oscost ph profile 1\narch x", "its executable was not seen");
    assert!(of(&profiles(&data), "/bin/sh").calls > 0, "it is learnt anew");
    assert_eq!(runs("one damaged file is left").len(), 1);
    shell.end();
}
