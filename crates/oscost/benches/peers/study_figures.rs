//! oscost's figures by a study's method, one row at a time: a study file of that row alone.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use oscost_model::study_method::{ClockCost, Statistic, StudyMethod, TimingScope};
use serde_json::Value;
use tempfile::TempDir;

use super::study_programs::Placement;
use super::study_rows::{Comparison, Reading};

/// The CPUs that both sides may use.
#[derive(Clone, Copy)]
pub(super) struct Cpus {
    pub(super) cpu: u32,
    pub(super) other_cpu: Option<u32>,
}

impl Cpus {
    /// Where a case has its ends.
    pub(super) fn placement(self, case: &str) -> anyhow::Result<Placement> {
        let peer_cpu = match case.contains("peer_cpu=other") {
            true => self.other_cpu.context("there is no other CPU")?,
            false => self.cpu,
        };
        Ok(Placement { cpu: self.cpu, peer_cpu })
    }
}

/// Runs of oscost.
pub(super) struct StudyFigures {
    folder: TempDir,
    cpus: Cpus,
}

impl StudyFigures {
    pub(super) fn new(cpus: Cpus) -> anyhow::Result<Self> {
        Ok(Self { folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?, cpus })
    }

    /// Measures a row afresh: nanoseconds of an op, or of a byte.
    pub(super) fn measure(&self, it: &Comparison) -> anyhow::Result<f64> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oscost"));
        command.args(["run", "--quick", "--no-store", "--json", "-"]);
        command.args(["--cpu", &self.cpus.cpu.to_string()]);
        if let Some(other) = self.cpus.other_cpu {
            command.args(["--peer-cpu", &other.to_string()]);
        }
        match it.reading {
            Reading::StudyMethod(method) => {
                command.arg("--study").arg(self.study_of_row(it, method)?)
            }
            Reading::Median | Reading::Mean => command.arg(&it.case),
        };
        let output = command.output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "oscost run: {}: {}", output.status, error.trim());
        row_figure(&serde_json::from_slice(&output.stdout)?, it)
    }

    /// Writes a study that has this row alone.
    fn study_of_row(&self, it: &Comparison, method: StudyMethod) -> anyhow::Result<PathBuf> {
        let path = self.folder.path().join("row.toml");
        let StudyMethod { iterations, experiments, .. } = method;
        let timed = match method.timed {
            TimingScope::Each => "each",
            TimingScope::Together => "together",
        };
        let statistic = match method.statistic {
            Statistic::Mean => "mean",
            Statistic::MeanAndDeviation => "mean-and-deviation",
            Statistic::Minimum => "minimum",
        };
        let overhead = match method.clock {
            ClockCost::Included => "included",
            ClockCost::Subtracted => "subtracted",
        };
        let text = format!(
            "id = \"row\"\ntitle = \"row\"\nauthors = [\"not given\"]\nyear = 2000\n\
             source = \"row\"\nmeasured-on = \"row\"\n\
             [protocol]\noriginal = \"row\"\nreplication = \"row\"\ntimed = \"{timed}\"\n\
             iterations = {iterations}\nexperiments = {experiments}\n\
             statistic = \"{statistic}\"\noverhead = \"{overhead}\"\n\
             [[table]]\nname = \"row\"\ntitle = \"row\"\nunit = \"ns\"\n\
             [[table.row]]\nname = \"row\"\ncase = \"{}\"\n",
            it.case
        );
        fs::write(&path, text)?;
        Ok(path)
    }
}

/// The figure of the row in a record.
fn row_figure(record: &Value, it: &Comparison) -> anyhow::Result<f64> {
    let rows = record["results"].as_array().context("a record without results")?;
    let row = rows.iter().find(|row| row["case"] == it.case);
    let row = row.with_context(|| format!("not measured: {}", it.case))?;
    let figure = match it.reading {
        Reading::StudyMethod(_) => &row["study_method"]["value"],
        Reading::Median => &row["estimate"]["median"],
        Reading::Mean => &row["estimate"]["mean"],
    };
    let reasons = || format!("{} {} {}", row["outcome"], row["reason"], row["study_method"]);
    let figure = figure.as_f64().with_context(reasons)?;
    Ok(if row["unit"] == "B/s" { 1e9 / figure } else { figure })
}
