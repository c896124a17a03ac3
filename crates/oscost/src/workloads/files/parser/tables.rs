//! Parsing axes and figures, and checking the consistency of a file.

use std::collections::BTreeMap;

use oscost_model::point::{Point, Value};
use oscost_model::program::{Figure, FigureSource, is_standard_metric};
use oscost_model::unit::Unit;
use toml::Spanned;

use super::raw::{RawAxis, RawFigure, RawSpec};
use super::{MAX_TEXT_CHARS, ParseError, Parser};
use crate::workloads::command::check_words;
use crate::workloads::figures::pattern;
use crate::workloads::files::built_in::MAX_NAME_CHARS;
use crate::workloads::files::quoting::display_text;
use crate::workloads::files::spec::{ConditionalFigure, Folder, Spec, WorkloadAxis};

const MAX_FIGURES: usize = 16;
/// The cases are the product of the points of the axes.
const MAX_AXES: usize = 4;
const MAX_POINTS: usize = 32;
const MAX_PATTERN_CHARS: usize = 400;
/// The units of what a program can print. Those of counts of the processor's events are oscost's own:
/// a figure in one of them would be compared as such a count.
const FIGURE_UNITS: [Unit; 7] = [
    Unit::Seconds,
    Unit::OpsPerSecond,
    Unit::BytesPerSecond,
    Unit::FramesPerSecond,
    Unit::Bytes,
    Unit::NsPerOp,
    Unit::TimesPerOp,
];
/// Placeholders that are not axes.
const PLACEHOLDERS: [&str; 3] = ["cpus", "cache", "here"];

impl Parser<'_> {
    /// The name of a metric or an axis: lower-case, and usable in the text of a case.
    fn name(&self, raw: &Spanned<String>, what: &str) -> Result<String, ParseError> {
        let name = self.line_of_text(raw, what, MAX_NAME_CHARS)?;
        let is_allowed = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
        };
        if name.bytes().all(is_allowed)
            && name.starts_with(|first: char| first.is_ascii_lowercase())
        {
            return Ok(name);
        }
        Err(self.refused(raw, format!("{what} consists of lower-case letters, digits and dashes")))
    }

    pub(super) fn axes(&self, raw: &[RawAxis]) -> Result<Vec<WorkloadAxis>, ParseError> {
        self.check_length("axes", raw, MAX_AXES)?;
        let mut axes: Vec<WorkloadAxis> = Vec::new();
        for raw in raw {
            let axis = self.axis(raw)?;
            if PLACEHOLDERS.contains(&axis.name.as_str()) {
                let why = format!("`{{{}}}` is a placeholder already", axis.name);
                return Err(self.refused(&raw.name, why));
            }
            if axes.iter().any(|it| it.name == axis.name) {
                return Err(self.refused(&raw.name, "this axis is defined twice"));
            }
            axes.push(axis);
        }
        Ok(axes)
    }

    fn axis(&self, raw: &RawAxis) -> Result<WorkloadAxis, ParseError> {
        let name = self.name(&raw.name, "an axis's name")?;
        let points = self.points(&raw.points)?;
        let default_points = match &raw.default {
            None => points.clone(),
            Some(raw) => {
                let default_points = self.points(raw)?;
                if !default_points.iter().all(|point| points.contains(point)) {
                    return Err(
                        self.refused(raw, "a default point is one of the points of the axis")
                    );
                }
                default_points
            }
        };
        let mut words = BTreeMap::new();
        for (point, raw) in &raw.words {
            if !points.iter().any(|it| it.to_string() == *point) {
                let why = format!("`{}` is not a point of its axis", display_text(point, 40));
                return Err(self.refused(raw, why));
            }
            check_words(raw.as_ref()).map_err(|why| self.refused(raw, why))?;
            words.insert(point.clone(), raw.as_ref().clone());
        }
        if !words.is_empty() && words.len() != points.len() {
            return Err(
                self.refused(&raw.name, "an axis has words for all its points, or for none")
            );
        }
        let sets = self.line_of_text(&raw.sets, "what an axis sets", MAX_TEXT_CHARS)?;
        Ok(WorkloadAxis { name, sets, points, default_points, words })
    }

    fn points(&self, raw: &Spanned<Vec<Value>>) -> Result<Vec<Value>, ParseError> {
        let points = raw.as_ref();
        if !(1..=MAX_POINTS).contains(&points.len()) {
            return Err(self.refused(raw, format!("an axis has 1 to {MAX_POINTS} points")));
        }
        let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.+".contains(letter);
        for (index, point) in points.iter().enumerate() {
            let text = point.to_string();
            let is_short = (1..=MAX_NAME_CHARS).contains(&text.len());
            // The text must be parsed as the same point: a word `4Ki` would become a number.
            if !is_short || !text.chars().all(is_allowed) || Value::parse(&text) != *point {
                let why = format!(
                    "`{}` is not a point, which is a number or a word",
                    display_text(&text, 40)
                );
                return Err(self.refused(raw, why));
            }
            if points.iter().take(index).any(|it| it == point) {
                return Err(self.refused(raw, "a point is listed twice"));
            }
        }
        Ok(points.clone())
    }

    pub(super) fn figures(
        &self,
        raw: &[RawFigure],
        axes: &[WorkloadAxis],
    ) -> Result<Vec<ConditionalFigure>, ParseError> {
        self.check_length("figures", raw, MAX_FIGURES)?;
        let mut figures: Vec<ConditionalFigure> = Vec::new();
        for raw in raw {
            let name = self.name(&raw.name, "a figure's name")?;
            if is_standard_metric(&name) {
                let why = format!("every workload has a metric `{name}` already");
                return Err(self.refused(&raw.name, why));
            }
            if figures.iter().any(|it| it.figure.name == name) {
                return Err(self.refused(&raw.name, "this figure is defined twice"));
            }
            let unit = *raw.unit.as_ref();
            if !FIGURE_UNITS.contains(&unit) {
                let units = FIGURE_UNITS.map(Unit::text).join(", ");
                let why = format!("`{}` is no unit of a figure: choose of {units}", unit.text());
                return Err(self.refused(&raw.unit, why));
            }
            let source = self.figure_source(raw, unit)?;
            let mut when = Point::none();
            for (axis, value) in &raw.when {
                let of = axes.iter().find(|it| it.name == *axis);
                if !of.is_some_and(|of| of.points.contains(value)) {
                    return Err(self.refused(&raw.name, "`when` has points of the axes"));
                }
                when = when.with(axis.clone(), value.clone());
            }
            figures.push(ConditionalFigure { figure: Figure { name, unit, source }, when });
        }
        Ok(figures)
    }

    fn figure_source(&self, raw: &RawFigure, unit: Unit) -> Result<FigureSource, ParseError> {
        match (&raw.pattern, &raw.per) {
            (Some(text), None) if text.as_ref().chars().count() > MAX_PATTERN_CHARS => {
                let why = format!("a pattern has at most {MAX_PATTERN_CHARS} characters");
                Err(self.refused(text, why))
            }
            (Some(text), None) => {
                pattern(text.as_ref()).map_err(|why| self.refused(text, why))?;
                Ok(FigureSource::Pattern(text.as_ref().clone()))
            }
            (None, Some(per)) => match unit {
                Unit::Seconds | Unit::NsPerOp | Unit::OpsPerSecond => Ok(FigureSource::PerLine),
                _ => Err(self.refused(per, "a figure per line has the unit s, ns/op or op/s")),
            },
            _ => Err(self.refused(&raw.name, "a figure has a pattern, or per = \"line\"")),
        }
    }

    pub(super) fn primary(
        &self,
        raw: Option<&Spanned<String>>,
        figures: &[ConditionalFigure],
    ) -> Result<String, ParseError> {
        let Some(raw) = raw else { return Ok("real".to_owned()) };
        let name = raw.as_ref();
        if name == "real" {
            return Ok(name.clone());
        }
        match figures.iter().find(|it| it.figure.name == *name) {
            Some(figure) if figure.when.is_empty() => Ok(name.clone()),
            Some(_) => Err(self.refused(raw, "the primary figure must exist at every point")),
            None => Err(self.refused(raw, "the primary figure is `real` or one of the figures")),
        }
    }

    /// Checks that the parts of a file agree.
    pub(super) fn check_consistency(&self, raw: &RawSpec, spec: &Spec) -> Result<(), ParseError> {
        let words: Vec<&String> = spec.words().collect();
        let is_used = |text: &str| {
            words.iter().copied().chain(spec.variables.values()).any(|word| word.contains(text))
        };
        for (axis, raw) in spec.axes.iter().zip(&raw.axes) {
            let placeholder = format!("{{{}}}", axis.name);
            if !is_used(&placeholder) {
                let why =
                    format!("no word contains `{placeholder}`, so all points would be the same");
                return Err(self.refused(&raw.name, why));
            }
            let is_part = |word: &&String| word.contains(&placeholder) && **word != placeholder;
            if !axis.words.is_empty() && words.iter().any(is_part) {
                let why =
                    format!("`{placeholder}` stands for words, so it must be a word of its own");
                return Err(self.refused(&raw.name, why));
            }
        }
        if (spec.folder == Folder::Cache || is_used("{cache}")) && spec.prepare.is_none() {
            let why = "a cache directory requires [prepare], which is missing";
            return Err(self.refused(&raw.command, why));
        }
        Ok(())
    }
}
