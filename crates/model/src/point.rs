//! Points: which value each axis of a benchmark has.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One value of an axis: a number in the axis's unit, or a word.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Value {
    /// A number, in the unit of its axis.
    Number(u64),
    /// One of the axis's words.
    Word(String),
}

impl Value {
    /// Parses a value: digits are a number, optionally with the suffix `Ki`, `Mi` or `Gi`.
    pub fn parse(text: &str) -> Value {
        let (digits, factor) = match text {
            _ if text.ends_with("Ki") => (&text[..text.len() - 2], 1 << 10),
            _ if text.ends_with("Mi") => (&text[..text.len() - 2], 1 << 20),
            _ if text.ends_with("Gi") => (&text[..text.len() - 2], 1 << 30),
            _ => (text, 1u64),
        };
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)) {
            Some(number) if plain => Value::Number(number),
            _ => Value::Word(text.to_owned()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(out, "{number}"),
            Value::Word(word) => out.write_str(word),
        }
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Number(number)
    }
}

impl From<&str> for Value {
    fn from(word: &str) -> Self {
        Value::Word(word.to_owned())
    }
}

/// The maximum number of axes of a point. No benchmark has ten, and a command has as many
/// parameters as someone typed.
pub const MAX_AXES: usize = 64;

/// One value for each axis, in the order in which the definition names its axes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(with = "std::collections::BTreeMap<String, Value>", inline)
)]
pub struct Point(Vec<(String, Value)>);

impl Point {
    /// The point of a benchmark without axes.
    pub fn none() -> Self {
        Self::default()
    }

    /// Appends an axis.
    #[must_use]
    pub fn with(mut self, axis: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.push((axis.into(), value.into()));
        self
    }

    /// The value of an axis, if the point has that axis.
    pub fn get(&self, axis: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| name == axis).map(|(_, value)| value)
    }

    /// The axes and their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(axis, value)| (axis.as_str(), value))
    }

    /// Whether every axis of `part` has the same value in this point; true for an empty `part`.
    pub fn includes(&self, part: &Point) -> bool {
        part.iter().all(|(axis, value)| self.get(axis) == Some(value))
    }

    /// Whether the point has no axes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Point {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (axis, value)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(out, "{comma}{axis}={value}")?;
        }
        Ok(())
    }
}

impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (axis, value) in &self.0 {
            map.serialize_entry(axis, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Axes;
        impl<'de> Visitor<'de> for Axes {
            type Value = Point;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object of axes and their values")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Point, M::Error> {
                let mut point = Point::none();
                while let Some((axis, value)) = map.next_entry::<String, Value>()? {
                    if point.0.len() == MAX_AXES {
                        return Err(serde::de::Error::custom(format!(
                            "a point has more than {MAX_AXES} axes"
                        )));
                    }
                    if point.get(&axis).is_some() {
                        return Err(serde::de::Error::custom(format!(
                            "axis `{axis}` occurs twice"
                        )));
                    }
                    point.0.push((axis, value));
                }
                Ok(point)
            }
        }
        deserializer.deserialize_map(Axes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_keeps_its_order_through_json() {
        let point = Point::none().with("size", 4096).with("peer_cpu", "same");
        assert_eq!(point.to_string(), "size=4096,peer_cpu=same");
        let text = serde_json::to_string(&point).unwrap();
        assert_eq!(text, r#"{"size":4096,"peer_cpu":"same"}"#);
        assert_eq!(serde_json::from_str::<Point>(&text).unwrap(), point);
    }

    #[test]
    fn a_duplicate_axis_is_rejected_and_so_are_too_many() {
        assert!(serde_json::from_str::<Point>(r#"{"a":1,"a":2}"#).is_err());
        let point = |axes: usize| {
            let point = (0..axes).fold(Point::none(), |point, at| point.with(format!("a{at}"), 1));
            serde_json::from_str::<Point>(&serde_json::to_string(&point).unwrap())
        };
        assert!(point(MAX_AXES).is_ok());
        assert!(point(MAX_AXES + 1).is_err());
    }

    #[test]
    fn sizes_may_be_typed_with_binary_multiples() {
        assert_eq!(Value::parse("64Ki"), Value::Number(65_536));
        assert_eq!(Value::parse("4096"), Value::Number(4_096));
        assert_eq!(Value::parse("Ki"), Value::from("Ki"));
        assert_eq!(Value::parse("+5"), Value::from("+5"));
        assert_eq!(Value::parse("99999999999Gi"), Value::from("99999999999Gi"));
    }
}
