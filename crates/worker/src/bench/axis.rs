//! The parameters of a benchmark and their values.

use oscost_model::definition;
use oscost_model::point::Value;

/// A parameter of a benchmark.
#[derive(Clone, Copy)]
pub struct Axis {
    /// Its name.
    pub name: &'static str,
    /// What it sets, in one line.
    pub sets: &'static str,
    /// All its points.
    pub points: Points,
    /// The points that are measured if none is selected.
    pub default_points: Points,
}

impl Axis {
    pub(super) fn data(&self) -> definition::Axis {
        definition::Axis {
            name: self.name.to_owned(),
            sets: self.sets.to_owned(),
            points: match self.default_points {
                // The implied point of a numeric axis is a word before its numbers.
                Points::Implied(_) if !matches!(self.points, Points::Words(_)) => {
                    [self.default_points.data(), self.points.data()].concat()
                }
                _ => self.points.data(),
            },
            default_points: self.default_points.data(),
            implied: match self.default_points {
                Points::Implied(word) => Some(Value::from(word)),
                _ => None,
            },
            price_list_points: match self.default_points {
                Points::WithPriceList { price_list, .. } => price_list.data(),
                _ => Vec::new(),
            },
            thorough_points: match self.default_points {
                Points::WithThorough { thorough, .. } => thorough.data(),
                _ => Vec::new(),
            },
            range: match self.points {
                Points::Range { min, max, .. }
                | Points::Items(_, &Points::Range { min, max, .. }) => Some((min, max)),
                _ => None,
            },
            item: match self.points {
                Points::Items(one, _) => one.to_owned(),
                _ => String::new(),
            },
        }
    }
}

/// Values of an axis.
#[derive(Clone, Copy)]
pub enum Points {
    /// Words.
    Words(&'static [&'static str]),
    /// Numbers, ascending, in the unit of the axis.
    Numbers(&'static [u64]),
    /// As default points: this word alone, which names of cases leave out. For an axis that is
    /// added to an existing benchmark: cases that were measured before keep their names.
    Implied(&'static str),
    /// As default points: these, of which only some are in the price list.
    WithPriceList {
        /// All default points.
        points: &'static Points,
        /// Those in the price list.
        price_list: &'static Points,
    },
    /// As default points: these, and others with `--thorough`.
    WithThorough {
        /// Those of a normal run.
        points: &'static Points,
        /// Those of a thorough run.
        thorough: &'static Points,
    },
    /// As the points of an axis: any number within a range.
    Range {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
        /// The points that represent the range.
        points: &'static [u64],
    },
    /// As the points of an axis: these, and the noun for one of what the numbers count. Sentences
    /// such as "per further descriptor" use it instead of the name of the axis.
    Items(&'static str, &'static Points),
}

impl Points {
    fn data(self) -> Vec<Value> {
        match self {
            Points::Words(words) => words.iter().map(|&word| Value::from(word)).collect(),
            Points::Numbers(numbers) => numbers.iter().map(|&number| Value::from(number)).collect(),
            Points::Implied(word) => vec![Value::from(word)],
            Points::WithPriceList { points, .. } | Points::WithThorough { points, .. } => {
                points.data()
            }
            Points::Range { points, .. } => Points::Numbers(points).data(),
            Points::Items(_, points) => points.data(),
        }
    }
}
