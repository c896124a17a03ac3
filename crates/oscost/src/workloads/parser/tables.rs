//! Axes and figures, and whether what stands in different places of a file agrees.

use std::collections::BTreeMap;

use oscost_model::point::{Point, Value};
use oscost_model::program::{Figure, FigureSource, is_standard_metric};
use oscost_model::unit::Unit;
use toml::Spanned;

use super::raw::{RawAxis, RawFigure, RawSpec};
use super::{MAX_NAME_CHARS, MAX_TEXT_CHARS, ParseError, Reader, few_words};
use crate::workloads::figures::pattern;
use crate::workloads::quoting::display_text;
use crate::workloads::{ConditionalFigure, Folder, Spec, WorkloadAxis};

const MAX_FIGURES: usize = 16;
/// Cases are the product of their axes' points.
const MAX_AXES: usize = 4;
const MAX_POINTS: usize = 32;
const MAX_PATTERN_CHARS: usize = 400;
/// Names that mean something in every word.
pub(in crate::workloads) const PLACEHOLDERS: [&str; 3] = ["cpus", "cache", "here"];

impl Reader<'_> {
    /// A name of a metric or an axis: lower-case, and fit for the text of a case.
    fn name(&self, raw: &Spanned<String>, what: &str) -> Result<String, ParseError> {
        let name = self.words(raw, what, MAX_NAME_CHARS)?;
        let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let all = name.bytes().all(|byte| letter(byte) || matches!(byte, b'-' | b'_'));
        if all && name.starts_with(|first: char| first.is_ascii_lowercase()) {
            return Ok(name);
        }
        Err(self.refused(raw, format!("{what} is lower-case letters, digits and dashes")))
    }

    pub(super) fn axes(&self, raw: &[RawAxis]) -> Result<Vec<WorkloadAxis>, ParseError> {
        self.bounded("axes", raw, MAX_AXES)?;
        let mut axes: Vec<WorkloadAxis> = Vec::new();
        for raw in raw {
            let axis = self.axis(raw)?;
            if PLACEHOLDERS.contains(&axis.name.as_str()) {
                let why = format!("`{{{}}}` has a meaning already", axis.name);
                return Err(self.refused(&raw.name, why));
            }
            if axes.iter().any(|it| it.name == axis.name) {
                return Err(self.refused(&raw.name, "an axis stands twice"));
            }
            axes.push(axis);
        }
        Ok(axes)
    }

    fn axis(&self, raw: &RawAxis) -> Result<WorkloadAxis, ParseError> {
        let name = self.name(&raw.name, "an axis's name")?;
        let points = self.points(&raw.points)?;
        let usual = match &raw.default {
            None => points.clone(),
            Some(raw) => {
                let usual = self.points(raw)?;
                if !usual.iter().all(|point| points.contains(point)) {
                    return Err(self.refused(raw, "a usual point is one of the axis's points"));
                }
                usual
            }
        };
        let mut words = BTreeMap::new();
        for (point, raw) in &raw.words {
            if !points.iter().any(|it| it.to_string() == *point) {
                let why = format!("`{}` is no point of its axis", display_text(point, 40));
                return Err(self.refused(raw, why));
            }
            few_words(raw.as_ref()).map_err(|why| self.refused(raw, why))?;
            words.insert(point.clone(), raw.as_ref().clone());
        }
        if !words.is_empty() && words.len() != points.len() {
            return Err(self.refused(&raw.name, "an axis has words for all of its points, or none"));
        }
        let sets = self.words(&raw.sets, "what an axis sets", MAX_TEXT_CHARS)?;
        Ok(WorkloadAxis { name, sets, points, usual, words })
    }

    fn points(&self, raw: &Spanned<Vec<Value>>) -> Result<Vec<Value>, ParseError> {
        let points = raw.as_ref();
        if !(1..=MAX_POINTS).contains(&points.len()) {
            return Err(self.refused(raw, format!("an axis has 1 to {MAX_POINTS} points")));
        }
        let letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.+".contains(letter);
        for (index, point) in points.iter().enumerate() {
            let text = point.to_string();
            let plain = (1..=MAX_NAME_CHARS).contains(&text.len()) && text.chars().all(letter);
            // What is typed must mean it again: a word `4Ki` would be read as a number.
            if !plain || Value::parse(&text) != *point {
                let why = format!("`{}` is no point: a number, or a word", display_text(&text, 40));
                return Err(self.refused(raw, why));
            }
            if points.iter().take(index).any(|it| it == point) {
                return Err(self.refused(raw, "a point stands twice"));
            }
        }
        Ok(points.clone())
    }

    pub(super) fn figures(
        &self,
        raw: &[RawFigure],
        axes: &[WorkloadAxis],
    ) -> Result<Vec<ConditionalFigure>, ParseError> {
        self.bounded("figures", raw, MAX_FIGURES)?;
        let mut figures: Vec<ConditionalFigure> = Vec::new();
        for raw in raw {
            let name = self.name(&raw.name, "a figure's name")?;
            if is_standard_metric(&name) {
                let why = format!("every workload has a metric `{name}` already");
                return Err(self.refused(&raw.name, why));
            }
            if figures.iter().any(|it| it.figure.name == name) {
                return Err(self.refused(&raw.name, "a figure stands twice"));
            }
            let unit = *raw.unit.as_ref();
            let found = self.found(raw, unit)?;
            let mut when = Point::none();
            for (axis, value) in &raw.when {
                let of = axes.iter().find(|it| it.name == *axis);
                if !of.is_some_and(|of| of.points.contains(value)) {
                    return Err(self.refused(&raw.name, "`when` names points of the axes"));
                }
                when = when.with(axis.clone(), value.clone());
            }
            figures.push(ConditionalFigure { figure: Figure { name, unit, source: found }, when });
        }
        Ok(figures)
    }

    fn found(&self, raw: &RawFigure, unit: Unit) -> Result<FigureSource, ParseError> {
        match (&raw.pattern, &raw.per) {
            (Some(text), None) if text.as_ref().chars().count() > MAX_PATTERN_CHARS => {
                let why = format!("a pattern has at most {MAX_PATTERN_CHARS} letters");
                Err(self.refused(text, why))
            }
            (Some(text), None) => {
                pattern(text.as_ref()).map_err(|why| self.refused(text, why))?;
                Ok(FigureSource::Pattern(text.as_ref().clone()))
            }
            (None, Some(per)) => match unit {
                Unit::Seconds | Unit::NsPerOp | Unit::OpsPerSecond => Ok(FigureSource::PerLine),
                _ => Err(self.refused(per, "what a line takes is told in s, ns/op or op/s")),
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
            Some(_) => Err(self.refused(raw, "the primary figure is there at every point")),
            None => Err(self.refused(raw, "the primary figure is `real`, or one of the figures")),
        }
    }

    /// Whether what stands in different places agrees.
    pub(super) fn agrees(&self, raw: &RawSpec, spec: &Spec) -> Result<(), ParseError> {
        let words: Vec<&String> = spec.words().collect();
        let within = |text: &str| {
            words.iter().copied().chain(spec.variables.values()).any(|word| word.contains(text))
        };
        for (axis, raw) in spec.axes.iter().zip(&raw.axes) {
            let placeholder = format!("{{{}}}", axis.name);
            if !within(&placeholder) {
                let why = format!("no word has `{placeholder}`: all points would be the same");
                return Err(self.refused(&raw.name, why));
            }
            let more = |word: &&String| word.contains(&placeholder) && **word != placeholder;
            if !axis.words.is_empty() && words.iter().any(more) {
                let why = format!("`{placeholder}` has words of its own, and stands alone");
                return Err(self.refused(&raw.name, why));
            }
        }
        if (spec.folder == Folder::Cache || within("{cache}")) && spec.prepare.is_none() {
            let why = "a cache folder is filled by [prepare], and there is none";
            return Err(self.refused(&raw.command, why));
        }
        Ok(())
    }
}

impl Spec {
    /// All words of commands that placeholders are replaced in, but those of the preparation.
    fn words(&self) -> impl Iterator<Item = &String> {
        let beside = self.companion.iter().flat_map(|beside| &beside.command);
        let around = self.before.iter().chain(&self.after).flatten();
        self.command.iter().chain(beside).chain(around)
    }
}
