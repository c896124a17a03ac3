//! Acts of one process: scheduling and credentials.

use super::super::acts::Act;
use super::super::tools::Argument;
use super::forms::{RAW, call};

pub(super) const ACTS: &[Act] = &[
    call("sched/getaffinity", "affinity_get", &["8192 CPUs", RAW]),
    call("sched/affinity:to=same", "affinity_set", &["the mask that it has", RAW]),
    Act {
        c_loop: ("affinity_move", Argument::OtherCpu),
        ..call("sched/affinity:to=other-and-back", "", &["and back to its own"])
    },
    call("sched/setscheduler", "policy_both", &["SCHED_BATCH", "SCHED_OTHER"]),
    call("sched/priority:act=get", "priority_get", &["the one in force", RAW]),
    call("sched/priority:act=set", "priority_set", &["the one in force", RAW]),
    call("sched/timer-slack:act=get", "slack_get", &["the value in force", RAW]),
    call("sched/timer-slack:act=set", "slack_set", &["the value in force", RAW]),
    call("security/capget", "capabilities_get", &["calling thread", RAW]),
    call("security/capset", "capabilities_set", &["the calling thread has already", RAW]),
    call("security/setresuid", "user_set", &["the calling thread has already", RAW]),
    call("security/no-new-privs:act=get", "no_new_privs_get", &["PR_GET_NO_NEW_PRIVS", RAW]),
];
