//! Whether prices are those of a machine as it is now.

use std::time::Duration;

use oscost_model::record::Machine;

/// Prices change within a day by what else the machine, or its host, does.
const MAX_AGE: Duration = Duration::from_secs(24 * 3_600);
/// More mitigations than these are not named.
const MAX_NAMED: usize = 3;

/// Why prices that were measured on one machine may not be those of another one, or of the same one
/// now; empty if nothing speaks against them. Their age is `None` if it is not known.
pub fn differences(priced: &Machine, now: &Machine, age: Option<Duration>) -> Vec<String> {
    let mut found = Vec::new();
    let known = |text: &Option<String>| text.clone().unwrap_or("unknown".to_owned());
    if priced.cpu.model_name != now.cpu.model_name {
        found.push(format!("the processor was {}", known(&priced.cpu.model_name)));
    }
    if priced.os.release != now.os.release {
        let [then, now] = [&priced.os.release, &now.os.release].map(known);
        found.push(format!("the kernel was {then}, and is {now}"));
    }
    let all = priced.mitigations.keys().chain(now.mitigations.keys());
    let mut changed: Vec<&str> = all
        .filter(|name| priced.mitigations.get(*name) != now.mitigations.get(*name))
        .map(String::as_str)
        .collect();
    changed.sort_unstable();
    changed.dedup();
    if !changed.is_empty() {
        let more = if changed.len() > MAX_NAMED { ", ..." } else { "" };
        changed.truncate(MAX_NAMED);
        found.push(format!("mitigations differ: {}{more}", changed.join(", ")));
    }
    if let Some(age) = age.filter(|age| *age > MAX_AGE) {
        found.push(format!("they are {:.1} days old", age.as_secs_f64() / MAX_AGE.as_secs_f64()));
    }
    found
}
