//! Each further instruction of a filter is found in the counts.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Ran, Sandbox, rows};
use crate::machines::{Kernel, in_own_namespaces};

/// Calls that no worker makes. The filter tests each of them before the measured call, with one
/// instruction per call.
const OTHERS: [&str; 8] = [
    "swapon",
    "swapoff",
    "acct",
    "quotactl",
    "init_module",
    "delete_module",
    "kexec_load",
    "reboot",
];
const MORE: [usize; 4] = [1, 2, 3, 8];

/// A profile that loads an argument of getppid(2), so that the kernel must run its filter each time
/// and cannot cache the result, after `more` further instructions.
fn profile(more: usize) -> Value {
    let never = json!([{ "index": 0, "value": 0xfeed_face_cafe_beef_u64, "op": "SCMP_CMP_EQ" }]);
    let looks = json!({ "names": ["getppid"], "action": "SCMP_ACT_ERRNO", "args": never });
    let before = json!({ "names": &OTHERS[..more], "action": "SCMP_ACT_ERRNO" });
    json!({ "defaultAction": "SCMP_ACT_ALLOW", "syscalls": [before, looks] })
}

#[test]
#[ignore = "five boots, half a minute of two CPUs: make test-live"]
fn each_further_instruction_of_a_filter_is_found() {
    let Some(kernel) = Kernel::of_all() else { return };
    let sandbox = Sandbox::new();
    let target = |more: usize| {
        let file = sandbox.file(&format!("{more}.json"));
        fs::write(&file, profile(more).to_string()).unwrap();
        format!("seccomp={}@{}", file.display(), kernel.target(""))
    };
    let (base, news) = (target(0), MORE.map(target));
    let mut requested = vec!["ab", "--quick", "--base", &base];
    requested.extend(news.iter().flat_map(|new| ["--new", new.as_str()]));
    requested.extend(["syscall/getppid:via=raw", "--json", "-"]);
    let record = Ran::of(&mut in_own_namespaces(&sandbox, &requested)).exits(0).json();
    let all = record["comparisons"].as_array().unwrap();
    let requested = |it: &&Value| it["case"] == "syscall/getppid:via=raw";
    let found: Vec<&Value> = all.iter().filter(requested).collect();
    assert_eq!(found.len(), MORE.len());
    let mut before = 0.0;
    for (more, it) in MORE.into_iter().zip(found) {
        assert_eq!(it["verdict"], "slower", "{more}: {it}");
        let added = it["added"]["value"].as_f64().unwrap();
        // An instruction of the filter compiles to at least one of the processor.
        assert!(added > before && added >= more as f64, "{more} more: {added}, after {before}");
        assert_eq!(it["added"]["ci95"], json!([added, added]));
        before = added;
    }
    // A case without a call is unaffected.
    let nothing = all.iter().filter(|it| it["case"] == "timer/nothing");
    assert!(nothing.clone().count() == MORE.len() && !rows(&record).is_empty());
    for it in nothing {
        assert_eq!(it["verdict"], "equivalent", "{it}");
    }
    sandbox.nothing_is_left();
}
