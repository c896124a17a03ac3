//! Studies themselves: their list, and the claims of all with what runs say of them.

use oscost_model::record::{Machine, Record};
use serde::Serialize;

use crate::report::text::{plain, plain_paragraph};
use crate::report::view::document::{Answer, Block, Cell, Item, Section, TableRow, View};
use crate::report::view::study::claims::{verdict_over_runs, verdict_style};
use crate::report::view::study::evidence::evidence;
use crate::report::view::study::published::{command, records};
use crate::studies::Study;
use crate::studies::claims::judgement::{IntervalBasis, JudgedClaim};
use crate::studies::claims::verdict::Verdict;
use crate::studies::comparison::single_target::compare_single_target;
use crate::studies::comparison::two_targets::compare_two_targets;

/// The studies that come with oscost.
pub fn list(studies: &[Study]) -> View {
    let row = |study: &Study| {
        let duration = study.expected_duration.map(|it| {
            format!("takes {}, {} with --quick", time(it.seconds), time(it.quick_seconds))
        });
        let size = [
            Some(format!("{} rows", study.rows().count())),
            Some(format!("{} claims", study.claims.len())),
            duration,
        ];
        let size = size.into_iter().flatten().collect::<Vec<_>>().join("; ");
        TableRow::of(vec![
            Cell::text(plain(&format!("{} ({}): {}", study.id, study.year, study.title))),
            Cell::text(size),
            Cell::text(command(study, &study.id)),
        ])
    };
    let rows = studies.iter().map(row).collect();
    let table = records(String::new(), rows, Vec::new());
    let title = "Studies".to_owned();
    let sections = vec![Section { blocks: vec![table], ..Section::default() }];
    View { title, sections, ..View::default() }
}

/// A study in a list for programs.
#[derive(Serialize)]
struct ListedStudy<'a> {
    id: &'a str,
    year: u16,
    title: &'a str,
    rows: usize,
    claims: usize,
    /// How long it takes to measure it again; null if its file does not say so.
    seconds: Option<u32>,
    quick_seconds: Option<u32>,
    /// The command that measures it again.
    command: String,
}

impl<'a> From<&'a Study> for ListedStudy<'a> {
    fn from(study: &'a Study) -> Self {
        Self {
            id: &study.id,
            year: study.year,
            title: &study.title,
            rows: study.rows().count(),
            claims: study.claims.len(),
            seconds: study.expected_duration.map(|it| it.seconds),
            quick_seconds: study.expected_duration.map(|it| it.quick_seconds),
            command: command(study, &study.id),
        }
    }
}

#[derive(Serialize)]
struct StudyDocument<'a> {
    schema: &'static str,
    studies: Vec<ListedStudy<'a>>,
}

/// The studies as one JSON object (`oscost.studies/1`).
pub fn list_json(studies: &[Study]) -> Result<String, serde_json::Error> {
    let studies = studies.iter().map(ListedStudy::from).collect();
    let document = StudyDocument { schema: "oscost.studies/1", studies };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// The claims of a study in a list for programs.
#[derive(Serialize)]
struct ListedClaims<'a> {
    id: &'a str,
    /// The command that measures it again.
    command: String,
    /// The last run of it here; null if there is none.
    run: Option<&'a str>,
    started: Option<&'a str>,
    complete: Option<bool>,
    claims: Vec<ListedClaim<'a>>,
}

#[derive(Serialize)]
struct ListedClaim<'a> {
    statement: &'a str,
    location: &'a str,
    verdict: &'static str,
    /// Why it is no other verdict; null where the figures show it.
    reason: Option<String>,
    /// How many runs the verdict rests on.
    runs: usize,
    /// The figure that decides and what is required of it, in words; null where there is none.
    evidence: Option<String>,
    /// What its intervals contain: `rounds` of this run alone, what its `rows` vary by between runs, or
    /// what several `runs` differ by; null without such intervals.
    interval: Option<&'static str>,
}

impl<'a> From<&LastRun<'a>> for ListedClaims<'a> {
    fn from(&LastRun { study, record, earlier }: &LastRun<'a>) -> Self {
        let judged = record.map(|record| judged(study, record, earlier)).unwrap_or_default();
        let claim = |it: JudgedClaim<'a>| ListedClaim {
            statement: &it.claim.statement,
            location: &it.claim.location,
            verdict: it.verdict.text(),
            reason: it.verdict.reason(),
            runs: it.runs,
            evidence: evidence(study, &it).map(|text| plain_paragraph(&text)),
            interval: it.interval_basis.map(IntervalBasis::name),
        };
        Self {
            id: &study.id,
            command: command(study, &study.id),
            run: record.map(|it| it.id.as_str()),
            started: record.map(|it| it.started.as_str()),
            complete: record.map(|it| it.complete),
            claims: judged.into_iter().map(claim).collect(),
        }
    }
}

#[derive(Serialize)]
struct ClaimsDocument<'a> {
    schema: &'static str,
    studies: Vec<ListedClaims<'a>>,
}

/// The claims of all studies with their verdicts as one JSON object (`oscost.claims/1`).
pub fn claims_json(studies: &[LastRun<'_>]) -> Result<String, serde_json::Error> {
    let studies = studies.iter().map(ListedClaims::from).collect();
    let document = ClaimsDocument { schema: "oscost.claims/1", studies };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

fn time(seconds: u32) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        _ => format!("{} min", seconds.div_ceil(60)),
    }
}

/// A study, and the last run of it.
#[derive(Clone, Copy)]
pub struct LastRun<'a> {
    /// The study.
    pub study: &'a Study,
    /// Its last run; `None` if it was not measured here.
    pub record: Option<&'a Record>,
    /// Earlier runs of it on the same system, which add to the verdicts.
    pub earlier: &'a [Record],
}

/// The verdicts on a study's claims.
#[derive(Default, PartialEq, Eq)]
pub(in crate::report::view) struct Tally {
    holds: usize,
    does_not_hold: usize,
    no_difference: usize,
    depend_on_placement: usize,
    undecided: usize,
    not_measured: usize,
}

impl Tally {
    pub(in crate::report::view) fn of(judged: &[JudgedClaim<'_>]) -> Self {
        let count = |is: fn(&Verdict) -> bool| judged.iter().filter(|it| is(&it.verdict)).count();
        Self {
            holds: count(|verdict| *verdict == Verdict::Holds),
            does_not_hold: count(|verdict| *verdict == Verdict::DoesNotHold),
            no_difference: count(|verdict| *verdict == Verdict::NoDifference),
            depend_on_placement: count(|verdict| matches!(verdict, Verdict::DependsOnPlacement(_))),
            undecided: count(Verdict::is_undecided),
            not_measured: count(|verdict| matches!(verdict, Verdict::NotMeasured(_))),
        }
    }

    pub(in crate::report::view) fn text(&self) -> String {
        if *self == Self::default() {
            return "no claims are made".to_owned();
        }
        let verb = |count, one, several| if count == 1 { one } else { several };
        let no_difference = match self.no_difference {
            0 => String::new(),
            1 => ", of 1 there is no difference".to_owned(),
            many => format!(", of {many} there is no difference"),
        };
        let placement = match self.depend_on_placement {
            0 => String::new(),
            1 => ", 1 depends on the placement".to_owned(),
            many => format!(", {many} depend on the placement"),
        };
        let not_measured = match self.not_measured {
            0 => String::new(),
            count => format!(", {count} not measured"),
        };
        format!(
            "{} {}, {} {} not hold{no_difference}{placement}, {} undecided{not_measured}",
            self.holds,
            verb(self.holds, "holds", "hold"),
            self.does_not_hold,
            verb(self.does_not_hold, "does", "do"),
            self.undecided
        )
    }
}

/// The claims of a study, judged by a run and by earlier ones.
fn judged<'a>(study: &'a Study, record: &'a Record, earlier: &[Record]) -> Vec<JudgedClaim<'a>> {
    match compare_two_targets(study, record) {
        Some(comparison) => comparison.claims,
        None => compare_single_target(study, record, earlier).claims,
    }
}

/// The day of a run, its profile, and its targets if they are not those of the study.
pub(super) fn run_date(study: &Study, record: &Record) -> String {
    let day = record.started.get(..10).unwrap_or(&record.started);
    let incomplete = if record.complete { "" } else { ", cut short" };
    let targets = other_targets(study, record).map(|targets| format!(", {targets}"));
    format!("{day}, {}{incomplete}{}", record.settings.profile, targets.unwrap_or_default())
}

/// The targets of a run; `None` if they are those of the study.
fn other_targets(study: &Study, record: &Record) -> Option<String> {
    match &study.columns {
        None => {
            let target = &record.results.first()?.target.text;
            (target != "local").then(|| format!("at {target}"))
        }
        Some(columns) => {
            let targets = compare_two_targets(study, record)?.targets;
            let of_study = columns.each_ref().map(|column| Some(column.target.as_str()));
            let [base, new] = targets.map(|target| target.unwrap_or("no target"));
            (targets != of_study).then(|| format!("{new} against {base}"))
        }
    }
}

/// The claims of all studies with their verdicts.
pub fn claims(studies: &[LastRun<'_>]) -> View {
    let section = |&LastRun { study, record, earlier }: &LastRun<'_>| {
        let Some(record) = record else {
            let again = command(study, &study.id);
            let text = format!("{}: not measured here; {again}", study.id);
            return Section { blocks: vec![Block::Text(plain(&text))], ..Section::default() };
        };
        let judged = judged(study, record, earlier);
        let tally = Tally::of(&judged).text();
        let title = plain(&format!("{} ({}): {tally}", study.id, run_date(study, record)));
        let claim = |it: &JudgedClaim<'_>| {
            let verdict = verdict_over_runs(&it.verdict, it.runs);
            let evidence = evidence(study, it).map(|it| format!(" ({it})")).unwrap_or_default();
            let text = format!("{verdict}: {}{evidence}", it.claim.statement);
            Item::from(plain_paragraph(&text)).with_style(verdict_style(&it.verdict))
        };
        let show = Item::from(format!("all figures: oscost runs show {}", plain(&record.id)));
        let blocks = Block::list(judged.iter().map(claim).chain([show])).into_iter().collect();
        Section { title, blocks, ..Section::default() }
    };
    let sections: Vec<Section> = studies.iter().map(section).collect();
    let is_measured = studies.iter().any(|it| it.record.is_some());
    let next = is_measured.then(|| {
        "Next: `oscost run --study NAME` adds a run: the claims of one target are judged by up to ten \
         earlier ones too."
            .to_owned()
    });
    let answer = Answer { next: next.into_iter().collect(), ..Answer::default() };
    let title = "Claims of the studies".to_owned();
    View { title, answer: Some(answer), sections, ..View::default() }
}

/// The processor and the kernel of a run.
pub(super) fn machine(record: &Record) -> String {
    describe(record.machines.first())
}

/// The processor and the kernel of a machine.
pub(super) fn describe(machine: Option<&Machine>) -> String {
    let cpu = machine.and_then(|it| it.cpu.model_name.clone());
    let kernel = machine.and_then(|it| it.os.release.clone()).map(|it| format!("Linux {it}"));
    let guest = machine.and_then(|it| it.virtualization.clone()).filter(|kind| kind != "none");
    let guest = guest.map(|kind| format!("a {kind} guest"));
    let parts: Vec<String> = [cpu, guest, kernel].into_iter().flatten().collect();
    if parts.is_empty() { "an unknown machine".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests;
