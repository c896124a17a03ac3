//! Parses the protocol of a study, and the methods of its rows.

use oscost_model::study_method::{ClockCost, Statistic, StudyMethod, TimingScope};
use oscost_model::untrusted_text::ParseError;
use toml::Spanned;

use super::limits::{DEFAULT_RUNS, EXPERIMENTS, ITERATIONS, MAX_TEXT_CHARS, RUNS};
use super::raw::{self, RawStatistic};
use super::reader::Reader;
use crate::studies::study::Protocol;

/// The keys by which a row overrides the method of its protocol.
pub(super) struct MethodOverrides<'a> {
    pub(super) timed: &'a Option<Spanned<TimingScope>>,
    pub(super) iterations: &'a Option<Spanned<u64>>,
    pub(super) experiments: &'a Option<Spanned<u32>>,
    pub(super) statistic: Option<&'a Spanned<RawStatistic>>,
    pub(super) overhead: Option<ClockCost>,
}

impl Reader<'_> {
    pub(super) fn runs(&self, raw: &Spanned<usize>) -> Result<usize, ParseError> {
        let runs = *raw.as_ref();
        if RUNS.contains(&runs) {
            return Ok(runs);
        }
        Err(self.error(raw, format!("runs must be {} to {}", RUNS.start(), RUNS.end())))
    }

    pub(super) fn protocol(
        &self,
        raw: &raw::Protocol,
        compares: bool,
    ) -> Result<Protocol, ParseError> {
        let statistic = raw.statistic.as_ref();
        let study_method = match (compares, &raw.runs) {
            (true, None) => {
                let why = "a study with two columns needs `runs`";
                return Err(self.error(&raw.statistic, why));
            }
            (true, Some(_)) => {
                let alone = raw.timed.is_none()
                    && raw.iterations.is_none()
                    && raw.experiments.is_none()
                    && raw.overhead.is_none();
                if *statistic != RawStatistic::MeanAndDeviation || !alone {
                    let why = "a study with two columns needs `runs` and `statistic = \
                               \"mean-and-deviation\"`, and no other keys of a method";
                    return Err(self.error(&raw.statistic, why));
                }
                None
            }
            (false, _) => self.study_method(
                None,
                &MethodOverrides {
                    timed: &raw.timed,
                    iterations: &raw.iterations,
                    experiments: &raw.experiments,
                    statistic: Some(&raw.statistic),
                    overhead: raw.overhead,
                },
            )?,
        };
        Ok(Protocol {
            runs: raw.runs.as_ref().map_or(Ok(DEFAULT_RUNS), |it| self.runs(it))?,
            study_method,
            original: self.text_line(&raw.original, "the original method", MAX_TEXT_CHARS)?,
            replication: self.text_line(&raw.replication, "the replication", MAX_TEXT_CHARS)?,
        })
    }

    /// The method of a row: that of its protocol with the row's overrides.
    pub(super) fn study_method(
        &self,
        default: Option<StudyMethod>,
        raw: &MethodOverrides<'_>,
    ) -> Result<Option<StudyMethod>, ParseError> {
        let iterations = self.within(raw.iterations.as_ref(), &ITERATIONS, "iterations")?;
        let experiments = self.within(raw.experiments.as_ref(), &EXPERIMENTS, "experiments")?;
        let statistic = match raw.statistic.map(|it| *it.as_ref()) {
            None => None,
            Some(RawStatistic::None) => return Ok(None),
            Some(RawStatistic::Mean) => Some(Statistic::Mean),
            Some(RawStatistic::MeanAndDeviation) => Some(Statistic::MeanAndDeviation),
            Some(RawStatistic::Minimum) => Some(Statistic::Minimum),
        };
        let timed = raw.timed.as_ref().map(|it| *it.as_ref());
        let clock = raw.overhead;
        let study_method = match default {
            Some(default) => Some(StudyMethod {
                timed: timed.unwrap_or(default.timed),
                iterations: iterations.unwrap_or(default.iterations),
                experiments: experiments.unwrap_or(default.experiments),
                statistic: statistic.unwrap_or(default.statistic),
                clock: clock.unwrap_or(default.clock),
            }),
            None => match (timed, iterations, experiments, statistic, clock) {
                (None, None, None, None, None) => return Ok(None),
                (
                    Some(timed),
                    Some(iterations),
                    Some(experiments),
                    Some(statistic),
                    Some(clock),
                ) => Some(StudyMethod { timed, iterations, experiments, statistic, clock }),
                _ => None,
            },
        };
        let Some(study_method) = study_method else {
            let why = "a study method needs timed, iterations, experiments, statistic and overhead";
            let line = raw.statistic.map_or(1, |it| self.line(it.span().start));
            return Err(ParseError { line, reason: why.to_owned() });
        };
        Ok(Some(study_method))
    }
}
