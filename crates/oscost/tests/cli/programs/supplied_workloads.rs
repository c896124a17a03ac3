//! The workloads that come with oscost.

use std::os::unix::fs::PermissionsExt;

use crate::common::{Ran, Sandbox, row};

/// Programs by these names, each a script of a shell, in a folder that is the whole path.
fn prepare_all(sandbox: &Sandbox, programs: &[(&str, &str)]) -> Ran {
    let folder = sandbox.folder("path");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, script) in programs {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    Ran::of(sandbox.command(&["workload", "prepare", "--all"]).env("PATH", folder))
}

#[test]
fn the_list_of_workloads_as_json_says_what_each_lacks() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["workload", "list", "--json"]);
    // Nothing is found in an empty path.
    let list = Ran::of(command.env("PATH", sandbox.folder("path"))).exits(0).json();
    assert_eq!(list["schema"], "oscost.workloads/1");
    let workloads = list["workloads"].as_array().unwrap();
    let of = |id: &str| workloads.iter().find(|it| it["id"] == id).unwrap();
    assert!(of("workload/tar")["question"].as_str().unwrap().ends_with('?'));
    assert!(!of("workload/tar")["lacks"].as_array().unwrap().is_empty(), "{list}");
    assert_eq!(of("workload/cs161")["lacks"], serde_json::json!([]));
}

#[test]
fn all_workloads_are_prepared_by_one_command_as_far_as_the_machine_allows() {
    let sandbox = Sandbox::new();
    let tools = [("sh", ""), ("tar", ""), ("gzip", "")];
    // A preparation that fails does not hide what came of the others.
    let broken = [&tools[..], &[("awk", "echo no space; exit 3")]].concat();
    let ran = prepare_all(&sandbox, &broken).exits(3).no_data();
    let ran = ran.stderr_contains("no space").stderr_contains("workload/tar: not prepared: ");
    let ran = ran.stderr_contains("ended with exit status: 3");
    let ran = ran.stderr_contains("workload/kernel-build: not ready: there is ");
    ran.stderr_contains("workload/cs161: ready, needs no preparation");
    // What the machine lacks is named with the packages that have it, and is no failure.
    let works = [("awk", "/bin/mkdir -p tree/19 && : > tree/19/49")];
    let ran = prepare_all(&sandbox, &works).exits(0).no_data();
    let ran = ran.stderr_contains("workload/tar: prepared in ");
    let ran = ran.stderr_contains("workload/kernel-build: not ready: there is ");
    let ran = ran.stderr_contains("hint: sudo apt-get install --no-install-recommends ");
    ran.stderr_contains(", then oscost workload prepare --all");
    prepare_all(&sandbox, &[]).exits(0).stderr_contains("workload/tar: already prepared, in ");
    let usage = |words: &[&str]| sandbox.oscost(&[&["workload", "prepare"], words].concat());
    usage(&["--all", "tar"]).exits(2).stderr_contains("cannot be used with");
    usage(&[]).exits(2).stderr_contains("<NAME>");
}

#[test]
fn the_programs_of_studies_run_check_themselves_and_leave_nothing() {
    let sandbox = Sandbox::new();
    let cases = [
        "workload/cs161:call=none",
        "workload/cs161:call=time",
        "workload/cs161:call=sbrk",
        "workload/cs161-kept-pid",
        "workload/cse221:act=loop",
        "workload/cse221-call:args=7",
        "workload/output:via=fwrite,size=8",
    ];
    let run = ["run", "--quick", "--calls", "--json", "-"];
    let record = sandbox.oscost(&[&run[..], &cases].concat()).exits(0).json();
    for case in cases {
        let row = row(&record, case);
        assert_eq!((&row["outcome"], &row["unit"]), (&"measured".into(), &"ns/op".into()), "{row}");
    }
    let calls = |case: &str| row(&record, case)["calls"]["per_op"].clone();
    // A dynamic program maps its libraries; its million calls are no system calls.
    for case in &cases[..4] {
        let calls = calls(case);
        assert!(calls["mmap"].as_f64().unwrap() >= 4.0, "{case}: {calls}");
        let sum: f64 = calls.as_object().unwrap().values().map(|it| it.as_f64().unwrap()).sum();
        assert!((10.0..200.0).contains(&sum), "{case}: {calls}");
    }
    // Once by the library that keeps it, once by the check of the program.
    assert_eq!(calls("workload/cs161-kept-pid")["getpid"], 2.0);
    // Of 500,000 records of 8 bytes, a buffer of some KiB at a time.
    let writes = calls("workload/output:via=fwrite,size=8")["write"].as_f64().unwrap();
    assert!((4.0..=4_000.0).contains(&writes), "{writes}");
    sandbox.nothing_is_left();
}
