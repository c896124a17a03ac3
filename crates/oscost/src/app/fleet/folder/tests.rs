use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};

use oscost_model::fleet::FleetLauncher;
use tempfile::TempDir;

use super::*;
use crate::app::fleet::test_plan::plan;

fn fleet() -> (TempDir, FleetFolder) {
    let above = tempfile::tempdir().unwrap();
    let path = above.path().join("a fleet");
    let folder = FleetFolder::create(&path, plan(3, 1, FleetLauncher::Ssh), Some("#!/bin/sh\n"));
    (above, folder.unwrap())
}

fn failure(task: u32) -> TaskFailure {
    let (node, at) = ("n1".to_owned(), "2026-01-01T00:00:00Z".to_owned());
    TaskFailure { task, node, at, why: "it \u{1b}[1m failed".to_owned(), exit: Some(3) }
}

#[test]
fn a_folder_is_made_once_for_this_user_and_read_back() {
    let (_above, made) = fleet();
    let mode = made.path().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(FleetFolder::open(made.path()).unwrap().plan, made.plan);
    let error = FleetFolder::create(made.path(), made.plan.clone(), None).unwrap_err();
    assert!(error.to_string().contains("it has a fleet\n  hint: `--retry`"), "{error}");
}

#[test]
fn a_folder_with_something_else_in_it_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    check_new(folder.path()).unwrap();
    std::fs::write(folder.path().join("x"), "").unwrap();
    assert!(check_new(folder.path()).unwrap_err().to_string().contains("it is not empty"));
    let absent = FleetFolder::open(folder.path()).unwrap_err();
    assert!(absent.to_string().contains("it has no plan.json"), "{absent}");
}

#[test]
fn a_folder_that_others_may_change_is_not_worked_on_but_read() {
    let empty = tempfile::tempdir().unwrap();
    std::fs::set_permissions(empty.path(), Permissions::from_mode(0o777)).unwrap();
    let error = FleetFolder::create(empty.path(), plan(3, 1, FleetLauncher::Ssh), None);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("other users may write to it (mode 777)\n  hint: "), "{error}");
    assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0, "nothing is put there");
    let (_above, folder) = fleet();
    FleetFolder::open_own(folder.path()).unwrap();
    for name in ["", "records", "failures", "logs", "plan.json", "visit.sbatch"] {
        let path = folder.path().join(name);
        let before = path.metadata().unwrap().permissions();
        std::fs::set_permissions(&path, Permissions::from_mode(0o770)).unwrap();
        assert!(FleetFolder::open_own(folder.path()).is_err(), "{name}");
        FleetFolder::open(folder.path()).unwrap();
        std::fs::set_permissions(&path, before).unwrap();
    }
    FleetFolder::open_own(folder.path()).unwrap();
    let absent = FleetFolder::open_own(&folder.path().join("absent")).unwrap_err();
    assert!(absent.to_string().contains("it has no plan.json"), "{absent}");
}

#[test]
fn a_rejected_record_is_set_aside_and_a_task_s_lock_is_seen() {
    let (_above, folder) = fleet();
    folder.add_record(1, b"{}").unwrap();
    folder.set_record_aside(1).unwrap();
    assert!(!folder.has_record(1) && folder.recorded().unwrap().is_empty());
    assert!(folder.path().join("records/1.json.old").exists());
    assert!(folder.set_record_aside(1).is_err(), "there is none");
    assert!(!folder.is_task_locked(1));
    let _task = folder.lock_task(1).unwrap();
    assert!(folder.is_task_locked(1) && !folder.is_task_locked(2));
}

#[test]
fn records_are_whole_or_absent_and_have_names_of_tasks() {
    let (_above, folder) = fleet();
    folder.add_record(1, b"{}").unwrap();
    let records = folder.path().join("records");
    for stranger in ["2.json.tmp", ".tmp-0", "007.json", "9.json", "x.json", "-1.json"] {
        std::fs::write(records.join(stranger), "").unwrap();
    }
    symlink("1.json", records.join("2.json")).unwrap();
    assert_eq!(folder.recorded().unwrap().into_iter().collect::<Vec<_>>(), [1]);
    assert!(folder.has_record(1) && !folder.has_record(2) && !folder.has_record(0));
    // A disk that is full, or a folder that is gone, leaves nothing behind.
    std::fs::remove_dir_all(&records).unwrap();
    let error = folder.add_record(0, b"{}").unwrap_err();
    assert!(error.to_string().starts_with("cannot write "), "{error}");
}

#[test]
fn failures_are_read_as_one_line_and_what_is_none_says_so() {
    let (_above, folder) = fleet();
    folder.add_failure(&failure(2)).unwrap();
    let failures = folder.path().join("failures");
    let other = serde_json::to_vec(&failure(2)).unwrap();
    std::fs::write(failures.join("0.json"), other).unwrap();
    std::fs::write(failures.join("1.json"), vec![b' '; (64 << 10) + 1]).unwrap();
    let read = folder.failures().unwrap();
    let why: Vec<&str> = read.values().map(|it| it.why.as_str()).collect();
    let too_large = "its failure cannot be read: it has more than 65536 bytes";
    assert_eq!(why, ["its failure is that of another task", too_large, "it [1m failed"]);
    assert_eq!((read[&2].exit, read[&2].node.as_str()), (Some(3), folder.node(2)));
    std::fs::write(failures.join("0.json"), "{").unwrap();
    assert!(folder.failure(0).unwrap().why.contains("not the JSON"));
    assert_eq!(FleetFolder::planned(&failures, folder.plan.clone()).failure(0), None);
    std::fs::write(folder.log(2), "said").unwrap();
    [0, 1, 2].iter().for_each(|&task| folder.set_aside(task));
    assert!(folder.failures().unwrap().is_empty() && !folder.has_begun(2));
    assert_eq!(std::fs::read_to_string(folder.path().join("logs/2.out.old")).unwrap(), "said");
}

#[test]
fn jobs_are_added_line_by_line_and_a_line_that_was_cut_short_is_none() {
    let (_above, folder) = fleet();
    assert_eq!(folder.jobs().unwrap(), []);
    let job = |id: &str| SubmittedJob {
        job: id.to_owned(),
        first: 0,
        tasks: vec![0, 2],
        submitted: "2026-01-01T00:00:00Z".to_owned(),
    };
    folder.add_job(&job("12")).unwrap();
    let file = folder.path().join("jobs.jsonl");
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.push_str("{\"job\":\"13");
    std::fs::write(&file, text).unwrap();
    folder.add_job(&job("14")).unwrap();
    folder.add_job(&job("-x")).unwrap();
    assert_eq!(folder.jobs().unwrap(), [job("12"), job("14")]);
}

#[test]
fn one_process_at_a_time_works_on_a_fleet() {
    let (_above, folder) = fleet();
    let lock = folder.lock().unwrap();
    assert!(folder.is_locked());
    assert!(folder.lock().unwrap_err().to_string().contains("another oscost does"));
    drop(lock);
    assert!(!folder.is_locked());
    let _task = folder.lock_task(1).unwrap();
    assert!(folder.lock_task(1).is_err());
    folder.lock_task(2).unwrap();
}

#[test]
fn a_plan_of_another_kind_is_refused_with_the_reason() {
    let (_above, folder) = fleet();
    let file = folder.path().join("plan.json");
    let json = std::fs::read_to_string(&file).unwrap();
    for (from, to, words) in [
        ("oscost.fleet/1", "oscost.fleet/9", "its schema is not"),
        ("\"n2\"", "\"n 2\"", "not a name of a node"),
        ("{", "[", "cannot use the plan"),
    ] {
        std::fs::write(&file, json.replacen(from, to, 1)).unwrap();
        let error = FleetFolder::open(folder.path()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    std::fs::remove_file(&file).unwrap();
    symlink("visit.sbatch", &file).unwrap();
    let error = FleetFolder::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("cannot read"), "{error}");
}
