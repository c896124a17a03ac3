//! Failures of programs by their exit status, in the words of the worker.

use super::jobs::job::JobFailure;

/// Whether a failure is that of the program itself by its exit status: the reason begins with its
/// command. What is said of a command before or after it begins with that.
pub fn is_exit_status(reason: &str) -> bool {
    reason.starts_with('`') && reason.contains("` exited with status ")
}

/// The failure of a command, with the option that accepts its exit status, if it failed by that.
pub(super) fn with_option(failure: JobFailure) -> JobFailure {
    if !is_exit_status(&failure.reason) {
        return failure;
    }
    let reason = format!("{}; `--ignore-failure` accepts every exit status", failure.reason);
    JobFailure { reason, ..failure }
}

#[cfg(test)]
mod tests {
    use oscost_model::record::RowOutcome;

    use super::*;

    #[test]
    fn only_the_exit_status_of_the_program_itself_can_be_accepted() {
        let reason = |text: &str| with_option(JobFailure::new(RowOutcome::Failed, text)).reason;
        for text in ["`false` exited with status 1", "`ls x` exited with status 2: no such file"] {
            assert_eq!(
                reason(text),
                format!("{text}; `--ignore-failure` accepts every exit status")
            );
        }
        for text in [
            "command before it: `false` exited with status 1",
            "`sh -c x` was killed by SIGSEGV",
            "the worker exited without an answer, with status 1",
        ] {
            assert_eq!(reason(text), text);
        }
    }
}
