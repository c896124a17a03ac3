//! The batch script: plain, and of constants only.

use std::path::Path;

use oscost_model::fleet::{FleetLauncher, FleetPlan};

use crate::app::error::UsageError;

/// The exit status of a task that does not see the fleet's folder.
pub(in crate::app::fleet) const NO_FOLDER: i32 = 72;
/// The exit status of a task whose node has no oscost.
pub(in crate::app::fleet) const NO_PROGRAM: i32 = 73;

/// What a script is made of.
pub(in crate::app::fleet) struct BatchScript<'a> {
    pub(in crate::app::fleet) plan: &'a FleetPlan,
    /// The folder of the fleet, on every node.
    pub(in crate::app::fleet) folder: &'a Path,
    /// The tool, on every node.
    pub(in crate::app::fleet) program: &'a Path,
    /// Whether a task has its node for itself.
    pub(in crate::app::fleet) exclusive: bool,
    /// The time limit of a task, if the options have none.
    pub(in crate::app::fleet) minutes: u32,
}

impl BatchScript<'_> {
    /// The text of the script. `$1` is the number of the task whose index in the array is 0.
    pub(in crate::app::fleet) fn text(&self) -> anyhow::Result<String> {
        let none = Vec::new();
        let options = match &self.plan.launcher {
            FleetLauncher::Slurm { options } => options,
            FleetLauncher::Ssh => &none,
        };
        let mut lines = vec!["#!/bin/sh".to_owned()];
        let fixed = ["nodes=1", "ntasks=1", "chdir=/", "output=/dev/null", "requeue"];
        lines.extend(fixed.map(|option| format!("#SBATCH --{option}")));
        lines.extend(self.exclusive.then(|| "#SBATCH --exclusive".to_owned()));
        lines.extend(options.iter().map(|option| format!("#SBATCH --{option}")));
        if !options.iter().any(|option| option.starts_with("time=")) {
            lines.push(format!("#SBATCH --time={}", self.minutes));
        }
        let (folder, program) = (quoted(self.folder)?, quoted(self.program)?);
        lines.push(format!(
            "# Fleet {}, plan {}: one task measures one node.\n\
             task=$(( $1 + ${{SLURM_ARRAY_TASK_ID:-0}} ))\n\
             folder={folder}\n\
             program={program}\n\
             cd \"$folder/logs\" || exit {NO_FOLDER}\n\
             exec >> \"$task.out\" 2>&1 < /dev/null || exit {NO_FOLDER}\n\
             if ! [ -x \"$program\" ]; then\n    \
                 echo \"error: there is no program $program on this node\"\n    \
                 exit {NO_PROGRAM}\n\
             fi\n\
             exec \"$program\" fleet visit --task \"$task\" -- \"$folder\"",
            self.plan.fleet, self.plan.id
        ));
        Ok(lines.join("\n") + "\n")
    }
}

/// A path in single quotes, which a shell takes as it is.
fn quoted(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
    let text = text.ok_or_else(|| {
        UsageError::with_hint(
            &format!("cannot name {} in a batch script", path.display()),
            "its path must be UTF-8 without control characters",
        )
    })?;
    Ok(format!("'{}'", text.replace('\'', "'\\''")))
}

/// The time limit of a task that is expected to take so many seconds: it may wait for another run.
pub(in crate::app::fleet) fn time_limit_minutes(task_s: f64) -> u32 {
    const SLACK_MINUTES: f64 = 10.0;
    (SLACK_MINUTES + 4.0 * task_s / 60.0).ceil() as u32
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::app::fleet::test_plan::plan;

    fn script(folder: &Path, program: &Path, options: &[&str]) -> String {
        let options = options.iter().map(|it| (*it).to_owned()).collect();
        let plan = plan(2, 1, FleetLauncher::Slurm { options });
        let exclusive = true;
        BatchScript { plan: &plan, folder, program, exclusive, minutes: 12 }.text().unwrap()
    }

    #[test]
    fn a_script_has_the_options_of_the_plan_and_a_time_limit() {
        let text = script(Path::new("/f"), Path::new("/o"), &["partition=debug"]);
        for line in ["--partition=debug", "--exclusive", "--time=12", "--requeue", "--chdir=/"] {
            assert!(text.contains(&format!("\n#SBATCH {line}\n")), "{text}");
        }
        let limited = script(Path::new("/f"), Path::new("/o"), &["time=5"]);
        assert_eq!(limited.matches("--time=").count(), 1, "{limited}");
        assert_eq!(time_limit_minutes(30.0), 12);
    }

    #[test]
    fn a_task_visits_its_own_number_and_any_path_is_one_word() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("it's $(a) \"fleet\"");
        std::fs::create_dir_all(folder.join("logs")).unwrap();
        let file = above.path().join("visit.sbatch");
        let run = |program: &str| {
            std::fs::write(&file, script(&folder, Path::new(program), &[])).unwrap();
            let mut shell = Command::new("sh");
            shell.arg(&file).arg("5").env("SLURM_ARRAY_TASK_ID", "2");
            shell.status().unwrap().code()
        };
        assert_eq!(run("/bin/echo"), Some(0));
        let said = std::fs::read_to_string(folder.join("logs/7.out")).unwrap();
        assert_eq!(said, format!("fleet visit --task 7 -- {}\n", folder.display()));
        assert_eq!(run("/no/such/program"), Some(NO_PROGRAM));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(run("/bin/echo"), Some(NO_FOLDER));
    }

    #[test]
    fn a_path_with_a_control_character_is_refused() {
        let plan = plan(1, 1, FleetLauncher::Ssh);
        let (folder, program) = (Path::new("/a\nb"), Path::new("/o"));
        let script = BatchScript { plan: &plan, folder, program, exclusive: false, minutes: 1 };
        assert!(script.text().unwrap_err().to_string().contains("cannot name"));
    }
}
