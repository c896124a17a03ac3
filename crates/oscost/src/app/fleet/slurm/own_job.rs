//! What Slurm says of the job that this process is a task of.

use anyhow::Context;

use super::programs::ask;

/// The variable that has the id of the job.
const JOB_ID: &str = "SLURM_JOB_ID";

/// Whether the job has its node alone: by its own request, or by that of its partition.
pub(in crate::app::fleet) fn has_node_alone() -> anyhow::Result<bool> {
    let job = std::env::var(JOB_ID).unwrap_or_default();
    let is_id = !job.is_empty() && job.bytes().all(|byte| byte.is_ascii_digit());
    anyhow::ensure!(is_id, "{JOB_ID} is not the id of a job");
    let words = ["--oneliner", "show", "job", job.as_str()].map(str::to_owned);
    let text = ask("scontrol", &words)?.text("read this job")?;
    is_alone(&text).context("`scontrol show job` does not say it")
}

/// By the line of a job. `NO` is a job that shares no resource; `OK` is one that was not asked, and
/// shares the node where its CPUs are not all the node has.
fn is_alone(line: &str) -> Option<bool> {
    let mut words = line.split_whitespace();
    let value = words.find_map(|word| word.strip_prefix("OverSubscribe="))?;
    match value {
        "NO" => Some(true),
        "OK" | "YES" | "USER" | "MCS" | "TOPO" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_shares_nothing_has_its_node_alone() {
        let line = |value: &str| {
            format!(
                "JobId=7 ArrayJobId=7 JobName=x-OverSubscribe=NO OverSubscribe={value} Nice=0\n"
            )
        };
        assert_eq!(is_alone(&line("NO")), Some(true));
        for shared in ["OK", "YES", "USER", "MCS"] {
            assert_eq!(is_alone(&line(shared)), Some(false), "{shared}");
        }
        assert_eq!([line("(null)"), "JobId=7".to_owned()].map(|it| is_alone(&it)), [None; 2]);
    }
}
