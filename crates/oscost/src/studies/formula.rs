//! What stands in a column of a study's table, as a formula of what was measured: half of a round
//! trip, how many times as dear as another row, the calls of a million ops.

use oscost_model::untrusted::display_text;

/// A formula nests no deeper: each bracket is a step down the stack of whoever reads it.
const MAX_DEPTH: usize = 8;
/// The longest one; papers divide by two.
const MAX_CHARS: usize = 120;

/// A formula.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// A number.
    Number(f64),
    /// The figure of the row itself.
    This,
    /// The figure of another row of the table, by its name.
    Row(String),
    /// The system calls that an op of the row was counted to make.
    Calls,
    /// Two formulas, joined.
    Joined(Box<Formula>, Operator, Box<Formula>),
}

/// What joins two formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
}

/// What a formula is told of.
pub trait Variables {
    /// The figure of the row itself.
    fn own_figure(&self) -> Option<f64>;
    /// The figure of another row of the table.
    fn row(&self, name: &str) -> Option<f64>;
    /// The system calls of an op.
    fn calls(&self) -> Option<f64>;
}

impl Formula {
    /// Reads one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            format!(
                "`{}` is no formula: {why}; such as `100 * this / \"row\"`",
                display_text(text, 60)
            )
        };
        if text.len() > MAX_CHARS {
            return Err(wrong("it is too long"));
        }
        let mut reader = Reader { rest: text.trim(), deep: 0 };
        let formula = reader.sum().map_err(wrong)?;
        if !reader.rest.is_empty() {
            return Err(wrong("it goes on where it could end"));
        }
        formula.degree().map_err(wrong)?;
        Ok(formula)
    }

    /// How often a figure stands in it as a factor: a time in nanoseconds has 1, a ratio 0. What is
    /// added must have as many on both sides.
    pub fn degree(&self) -> Result<i32, &'static str> {
        Ok(match self {
            Formula::Number(_) | Formula::Calls => 0,
            Formula::This | Formula::Row(_) => 1,
            Formula::Joined(left, operator, right) => {
                let (left, right) = (left.degree()?, right.degree()?);
                match operator {
                    Operator::Times => left + right,
                    Operator::Over => left - right,
                    Operator::Plus | Operator::Minus if left == right => left,
                    Operator::Plus | Operator::Minus => {
                        return Err("a figure and a number cannot be added");
                    }
                }
            }
        })
    }

    /// Whether it is the row's own figure, as it is.
    pub fn is_own_figure(&self) -> bool {
        *self == Formula::This
    }

    /// Whether anything that was timed stands in it.
    pub fn has_figures(&self) -> bool {
        match self {
            Formula::This | Formula::Row(_) => true,
            Formula::Joined(left, _, right) => left.has_figures() || right.has_figures(),
            Formula::Number(_) | Formula::Calls => false,
        }
    }

    /// How many calls an op makes, where it comes to `value`, and nothing but calls stand in it: of
    /// a million calls and the thirty of a start-up one. `None` where that is not known.
    pub fn calls_of(&self, value: f64) -> Option<f64> {
        struct Made(f64);
        impl Variables for Made {
            fn own_figure(&self) -> Option<f64> {
                None
            }
            fn row(&self, _: &str) -> Option<f64> {
                None
            }
            fn calls(&self) -> Option<f64> {
                Some(self.0)
            }
        }
        let [none, one, two] = [0.0, 1.0, 2.0].map(|calls| self.value(&Made(calls)));
        let (none, each) = (none?, one? - none?);
        // Only where each call adds the same.
        let is_line = (two? - none - 2.0 * each).abs() <= 1e-9 * each.abs();
        (is_line && each != 0.0).then(|| (value - none) / each)
    }

    /// What the row's own figure is multiplied by, where nothing else is done with it: of a total of
    /// a million ops a million.
    pub fn own_figure_factor(&self) -> Option<f64> {
        struct One;
        impl Variables for One {
            fn own_figure(&self) -> Option<f64> {
                Some(1.0)
            }
            fn row(&self, _: &str) -> Option<f64> {
                None
            }
            fn calls(&self) -> Option<f64> {
                None
            }
        }
        (self.degree() == Ok(1)).then(|| self.value(&One)).flatten()
    }

    /// The rows that it names.
    pub fn rows(&self) -> Vec<&str> {
        match self {
            Formula::Row(name) => vec![name],
            Formula::Joined(left, _, right) => [left.rows(), right.rows()].concat(),
            Formula::Number(_) | Formula::This | Formula::Calls => vec![],
        }
    }

    /// What it comes to; `None` where something in it is not known, or the result is no number.
    pub fn value(&self, known: &dyn Variables) -> Option<f64> {
        let value = match self {
            Formula::Number(number) => *number,
            Formula::This => known.own_figure()?,
            Formula::Row(name) => known.row(name)?,
            Formula::Calls => known.calls()?,
            Formula::Joined(left, operator, right) => {
                let (left, right) = (left.value(known)?, right.value(known)?);
                match operator {
                    Operator::Plus => left + right,
                    Operator::Minus => left - right,
                    Operator::Times => left * right,
                    Operator::Over => left / right,
                }
            }
        };
        value.is_finite().then_some(value)
    }
}

struct Reader<'a> {
    rest: &'a str,
    deep: usize,
}

impl Reader<'_> {
    /// Whether one of these stands next; it is passed over.
    fn accept<T: Copy>(&mut self, signs: &[(char, T)]) -> Option<T> {
        let (sign, what) = signs.iter().find(|(sign, _)| self.rest.starts_with(*sign))?;
        self.rest = self.rest[sign.len_utf8()..].trim_start();
        Some(*what)
    }

    fn sum(&mut self) -> Result<Formula, &'static str> {
        let mut left = self.product()?;
        while let Some(operator) = self.accept(&[('+', Operator::Plus), ('-', Operator::Minus)]) {
            left = Formula::Joined(Box::new(left), operator, Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Formula, &'static str> {
        let mut left = self.atom()?;
        while let Some(operator) = self.accept(&[('*', Operator::Times), ('/', Operator::Over)]) {
            left = Formula::Joined(Box::new(left), operator, Box::new(self.atom()?));
        }
        Ok(left)
    }

    fn atom(&mut self) -> Result<Formula, &'static str> {
        if self.accept(&[('(', ())]).is_some() {
            self.deep += 1;
            if self.deep > MAX_DEPTH {
                return Err("it has brackets in brackets in brackets");
            }
            let inside = self.sum()?;
            self.deep -= 1;
            self.accept(&[(')', ())]).ok_or("a bracket stays open")?;
            return Ok(inside);
        }
        if self.accept(&[('"', ())]).is_some() {
            let (name, rest) = self.rest.split_once('"').ok_or("a name stays open")?;
            self.rest = rest.trim_start();
            return Ok(Formula::Row(name.to_owned()));
        }
        let end = |is: fn(char) -> bool, text: &str| {
            text.find(|letter| !is(letter)).unwrap_or(text.len())
        };
        let word = &self.rest[..end(|letter| letter.is_ascii_alphabetic(), self.rest)];
        if !word.is_empty() {
            self.rest = self.rest[word.len()..].trim_start();
            return match word {
                "this" => Ok(Formula::This),
                "calls" => Ok(Formula::Calls),
                _ => Err("a word in it is neither `this` nor `calls`, nor a name in quotes"),
            };
        }
        let digits =
            &self.rest[..end(|letter| letter.is_ascii_digit() || letter == '.', self.rest)];
        let number = digits.parse().map_err(|_| "a number or a name is missing in it")?;
        self.rest = self.rest[digits.len()..].trim_start();
        Ok(Formula::Number(number))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Table;

    impl Variables for Table {
        fn own_figure(&self) -> Option<f64> {
            Some(12.0)
        }
        fn row(&self, name: &str) -> Option<f64> {
            (name == "the other").then_some(4.0)
        }
        fn calls(&self) -> Option<f64> {
            Some(1.0)
        }
    }

    #[test]
    fn what_papers_derive_is_derived() {
        for (text, value, degree) in [
            ("this", 12.0, 1),
            ("this / 2", 6.0, 1),
            ("this/\"the other\"", 3.0, 0),
            ("100 * (this - \"the other\") / \"the other\"", 200.0, 0),
            ("calls * 1000000 + 30", 1_000_030.0, 0),
            ("this - \"the other\" - \"the other\"", 4.0, 1),
            ("2 + 3 * 4", 14.0, 0),
        ] {
            let formula = Formula::parse(text).unwrap();
            assert_eq!((formula.value(&Table), formula.degree()), (Some(value), Ok(degree)));
        }
        assert_eq!(Formula::parse("this / \"none\"").unwrap().value(&Table), None);
        let per = |text: &str| Formula::parse(text).unwrap().own_figure_factor();
        assert_eq!([per("this / 2"), per("1000 * this")], [Some(0.5), Some(1_000.0)]);
        let calls = |text: &str, value| Formula::parse(text).unwrap().calls_of(value);
        assert_eq!(calls("calls * 1000000 + 30", 2_000_030.0), Some(2.0));
        assert_eq!([calls("calls * calls", 4.0), calls("this", 1.0), calls("30", 30.0)], [None; 3]);
        assert_eq!([per("this / \"a\""), per("this - \"a\""), per("calls")], [None; 3]);
        assert_eq!(Formula::parse("this / (1 - 1)").unwrap().value(&Table), None);
        assert_eq!(Formula::parse("this / \"a\" * \"b\"").unwrap().rows(), ["a", "b"]);
    }

    #[test]
    fn what_is_no_formula_is_refused_with_the_reason() {
        for (text, why) in [
            ("", "missing"),
            ("this +", "missing"),
            ("this that", "goes on"),
            ("that", "neither"),
            ("(this", "stays open"),
            ("\"this", "name stays open"),
            ("this + 1", "cannot be added"),
            ("1..2", "missing"),
            (&"(".repeat(40), "brackets in brackets"),
            (&"1+".repeat(80), "too long"),
        ] {
            let said = Formula::parse(text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    proptest! {
        #[test]
        fn whatever_stands_there_is_read_or_refused(text in "\\PC{0,40}|[-+*/()a-z0-9.\" ]{0,40}") {
            if let Ok(formula) = Formula::parse(&text) {
                prop_assert!(formula.degree().is_ok());
                let _ = formula.value(&Table);
            }
        }
    }
}
