use oscost_model::fleet::FleetLauncher;
use serde_json::json;

use super::*;
use crate::app::fleet::test_plan::plan;

fn parsed(jobs: &Value) -> SlurmTasks {
    let plan = plan(8, 1, FleetLauncher::Slurm { options: vec![], exclusive: None });
    let answer = json!({"meta": {}, "errors": [], "jobs": jobs}).to_string();
    slurm_tasks_in(&plan, answer.as_bytes(), |_| true).unwrap()
}

fn name(first: u32) -> String {
    job_name(&plan(8, 1, FleetLauncher::Ssh), first)
}

#[test]
fn the_shapes_of_slurm_22_are_read() {
    let tasks = parsed(&json!([
        {"name": "other", "job_id": 1, "array_job_id": 0, "array_task_id": null,
         "job_state": "RUNNING", "nodes": "n1"},
        {"name": name(0), "job_id": 10, "array_job_id": 10, "array_task_id": null,
         "array_task_string": "0-1,5%3", "job_state": "PENDING", "state_reason": "JobHeldUser",
         "nodes": "", "required_nodes": "", "exit_code": 0},
        {"name": name(0), "job_id": 11, "array_job_id": 10, "array_task_id": 2,
         "array_task_string": "", "job_state": "RUNNING", "state_reason": "None",
         "nodes": "n4", "required_nodes": "n4", "exit_code": 0},
        {"name": name(6), "job_id": 12, "array_job_id": 0, "array_task_id": null,
         "job_state": "FAILED", "state_reason": "NonZeroExitCode", "nodes": "n2",
         "exit_code": 18432},
    ]));
    assert_eq!(tasks.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 5, 6]);
    assert!([0, 1, 5].iter().all(|task| tasks[task].is_held()));
    assert_eq!(tasks[&5].job, "10_5");
    let running = &tasks[&2];
    assert!(running.is_running() && running.is_active() && !running.is_held());
    assert_eq!((running.node.as_deref(), running.required.as_str()), (Some("n4"), "n4"));
    assert_eq!(running.reason, "");
    assert_eq!((tasks[&6].exit, tasks[&6].job.as_str()), (Some(72), "12"));
    assert!(!tasks[&6].is_active());
}

#[test]
fn the_shapes_of_newer_versions_and_of_the_accounting_are_read() {
    let tasks = parsed(&json!([
        {"name": name(0), "job_id": {"set": true, "number": 31},
         "array_job_id": {"set": true, "number": 30}, "array_task_id": {"set": true, "number": 3},
         "job_state": ["PENDING"], "state_reason": "BeginTime", "required_nodes": "n1",
         "exit_code": {"return_code": {"set": true, "number": 0}}},
        {"name": name(0), "job_id": {"set": true, "number": 40},
         "array_job_id": {"set": false, "number": 0}, "array_task_id": {"set": false, "number": 0},
         "job_state": ["COMPLETED"]},
        {"name": name(4), "job_id": 51, "array": {"job_id": 50, "task_id": 1, "task": ""},
         "state": {"current": "TIMEOUT", "reason": "None"}, "nodes": "n7",
         "exit_code": {"status": "ERROR", "return_code": 1}},
    ]));
    assert_eq!((tasks[&3].state.as_str(), tasks[&3].job.as_str()), ("PENDING", "30_3"));
    assert_eq!(tasks[&0].job, "40");
    assert_eq!((tasks[&5].state.as_str(), tasks[&5].exit), ("TIMEOUT", Some(1)));
}

#[test]
fn of_several_jobs_of_a_task_the_active_one_counts_or_the_last() {
    let job = |id: u64, state: &str| json!({"name": name(0), "job_id": id, "array_job_id": 0, "job_state": state});
    let state = |jobs: Value| parsed(&jobs)[&0].state.clone();
    assert_eq!(state(json!([job(1, "PENDING"), job(2, "FAILED")])), "PENDING");
    assert_eq!(state(json!([job(3, "TIMEOUT"), job(2, "FAILED")])), "TIMEOUT");
    assert_eq!(state(json!([job(1, "FAILED"), job(2, "CANCELLED")])), "CANCELLED");
}

#[test]
fn what_is_no_answer_is_an_error_and_what_is_strange_is_skipped() {
    let plan = plan(2, 1, FleetLauncher::Ssh);
    let parse = |json: &[u8]| slurm_tasks_in(&plan, json, |_| true);
    assert!(parse(b"squeue: x").unwrap_err().contains("no JSON"));
    assert!(parse(b"{}").unwrap_err().contains("no list of jobs"));
    assert_eq!(parse(br#"{"jobs": []}"#).unwrap(), SlurmTasks::new());
    let unreachable = json!({"jobs": [], "errors": [{"description": "Failed while looking for jobs",
                             "error": "Unspecified error", "source": "slurm_load_jobs"}]});
    let why = parse(unreachable.to_string().as_bytes()).unwrap_err();
    assert_eq!(why, "Failed while looking for jobs: Unspecified error");
    let strange = parsed(&json!([
        {"name": 7}, {"name": name(99), "job_id": 1, "array_job_id": 0},
        {"name": format!("{}x", name(0))},
        {"name": name(0), "array_job_id": 5, "array_task_string": "0-99999999999,x,-,3-1,6"},
    ]));
    assert_eq!(strange.keys().copied().collect::<Vec<_>>(), [6]);
    assert_eq!(indices("0-6:3,9%2", 20), [0, 3, 6, 9]);
    assert_eq!(indices("0-6:3,9%2", 6), [0, 3], "the plan has no more tasks");
    assert_eq!(indices("0-4000000000,0-4000000000", 3), [0, 1, 2]);
}

#[test]
fn a_long_list_of_waiting_tasks_is_read_to_its_end() {
    let plan = plan(1_000, 1, FleetLauncher::Slurm { options: vec![], exclusive: None });
    let odd: Vec<String> = (0..300).map(|number| (2 * number + 1).to_string()).collect();
    let name = job_name(&plan, 0);
    let jobs = json!({"jobs": [{"name": name, "job_id": 10, "array_job_id": 10,
                      "array_task_string": odd.join(","), "job_state": "PENDING"}]});
    let tasks = slurm_tasks_in(&plan, jobs.to_string().as_bytes(), |_| true).unwrap();
    assert_eq!(tasks.len(), 300);
    assert!(tasks.keys().all(|task| task % 2 == 1));
    assert_eq!(tasks[&599].job, "10_599");
}

#[test]
fn a_job_of_a_stranger_is_none_of_the_fleet_whatever_its_name_is() {
    let plan = plan(2, 1, FleetLauncher::Ssh);
    let job = |id: u64, user: Value| {
        json!({"name": name_of(&plan), "job_id": id, "array_job_id": 0, "user_id": user,
               "job_state": "RUNNING"})
    };
    let own = |jobs: Value| {
        let json = json!({"jobs": jobs}).to_string();
        let is_own = |job: JobIdentity| job.user == Some(1000);
        slurm_tasks_in(&plan, json.as_bytes(), is_own).unwrap()
    };
    let found = own(json!([job(7, json!(1000)), job(8, json!(1001)), job(9, Value::Null)]));
    assert_eq!(found[&0].job, "7");
    let newer = json!({"set": true, "number": 1000});
    assert_eq!(own(json!([job(7, newer)]))[&0].job, "7");
    assert!(own(json!([job(8, json!(1001))])).is_empty());
}

fn name_of(plan: &FleetPlan) -> String {
    job_name(plan, 0)
}

#[test]
fn a_job_in_a_state_that_is_not_known_may_still_measure() {
    let job = |state: &str| json!([{"name": name(0), "job_id": 1, "array_job_id": 0, "job_state": state}]);
    let is_active = |state: &str| parsed(&job(state))[&0].is_active();
    for state in ["PENDING", "REQUEUED", "RUNNING", "COMPLETING", "RESIZING", "UPDATE_DB", ""] {
        assert!(is_active(state), "{state}");
    }
    for state in ENDED {
        assert!(!is_active(state), "{state}");
    }
    let unknown = &parsed(&job("EXPEDITING"))[&0];
    assert!(unknown.is_running() && !unknown.is_pending());
}
