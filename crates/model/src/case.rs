//! Cases: a benchmark at one point, and its text form.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::point::{MAX_AXES, Point, Value};

/// A benchmark at one point, written `family/name:axis=value,axis=value`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Case {
    /// The benchmark's id, `family/kebab-name`.
    pub benchmark: String,
    /// One value for each of its axes.
    pub point: Point,
}

impl Case {
    /// The benchmark `id` at `point`.
    pub fn new(id: impl Into<String>, point: Point) -> Self {
        Self { benchmark: id.into(), point }
    }

    /// Parses `family/name:axis=value,...`; the axes are not checked against a definition.
    pub fn parse(text: &str) -> Option<Case> {
        let (benchmark, axes) = match text.split_once(':') {
            Some((benchmark, axes)) => (benchmark, Some(axes)),
            None => (text, None),
        };
        let mut point = Point::none();
        for pair in axes.iter().flat_map(|axes| axes.split(',')) {
            let (axis, value) = pair.split_once('=')?;
            let is_known = point.get(axis).is_some() || point.iter().count() == MAX_AXES;
            if axis.is_empty() || value.is_empty() || is_known {
                return None;
            }
            point = point.with(axis, Value::parse(value));
        }
        is_benchmark_id(benchmark).then(|| Case::new(benchmark, point))
    }
}

/// Whether `text` is a benchmark's id: `family/kebab-name`, in lower-case letters and digits.
pub fn is_benchmark_id(text: &str) -> bool {
    let kebab = |word: &str| {
        word.split('-').all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
    };
    text.split_once('/').is_some_and(|(family, name)| kebab(family) && kebab(name))
}

impl fmt::Display for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.benchmark)?;
        if !self.point.is_empty() {
            write!(out, ":{}", self.point)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_text_form_reads_back() {
        for text in ["timer/nothing", "pipe/round-trip:size=4096,peer_cpu=same"] {
            assert_eq!(Case::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn malformed_cases_are_rejected() {
        for text in
            ["", "syscall", "a/b:", "a/b:x", "a/b:x=", "a/b:=1", "A/b", "a/b:x=1,x=2", "a//b"]
        {
            assert_eq!(Case::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,60}") {
            if let Some(case) = Case::parse(&text) {
                prop_assert_eq!(Case::parse(&case.to_string()), Some(case));
            }
        }
    }
}
