//! The formula of a column of a study's table: half of a round trip, the ratio to another row, the
//! calls of a million ops.

use oscost_model::untrusted_text::display_text;

/// The maximum depth of brackets: the parser and the evaluation recurse for each.
const MAX_DEPTH: usize = 8;
/// The maximum length of a formula; those of papers are short.
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
    /// The counted system calls of an op of the row.
    Calls,
    /// Two formulas joined by an operator.
    Joined(Box<Formula>, Operator, Box<Formula>),
}

/// An operator between two formulas.
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

/// The values of a formula's variables.
pub trait Variables {
    /// The figure of the row itself.
    fn own_figure(&self) -> Option<f64>;
    /// The figure of another row of the table.
    fn row(&self, name: &str) -> Option<f64>;
    /// The system calls of an op.
    fn calls(&self) -> Option<f64>;
}

impl Formula {
    /// Parses a formula.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            format!(
                "`{}` is not a formula: {why}; an example is `100 * this / \"row\"`",
                display_text(text, 60)
            )
        };
        if text.len() > MAX_CHARS {
            return Err(wrong("it is too long"));
        }
        let mut reader = Reader { rest: text.trim(), depth: 0 };
        let formula = reader.sum().map_err(wrong)?;
        if !reader.rest.is_empty() {
            return Err(wrong("it continues after its end"));
        }
        formula.degree().map_err(wrong)?;
        Ok(formula)
    }

    /// The number of figures that are its factors: 1 for a time in nanoseconds, 0 for a ratio. Both
    /// operands of a sum must have the same degree.
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

    /// Whether it is the row's own figure, unchanged.
    pub fn is_own_figure(&self) -> bool {
        *self == Formula::This
    }

    /// Whether it contains a figure that was timed.
    pub fn has_figures(&self) -> bool {
        match self {
            Formula::This | Formula::Row(_) => true,
            Formula::Joined(left, _, right) => left.has_figures() || right.has_figures(),
            Formula::Number(_) | Formula::Calls => false,
        }
    }

    /// Whether it contains a number of system calls.
    pub fn has_calls(&self) -> bool {
        match self {
            Formula::Calls => true,
            Formula::Joined(left, _, right) => left.has_calls() || right.has_calls(),
            Formula::Number(_) | Formula::This | Formula::Row(_) => false,
        }
    }

    /// The number of calls of an op for which its value is `value`, if it contains only calls: one,
    /// for a million calls and the thirty of a start-up. `None` if that is not known.
    pub fn calls_of(&self, value: f64) -> Option<f64> {
        struct CallCount(f64);
        impl Variables for CallCount {
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
        let [none, one, two] = [0.0, 1.0, 2.0].map(|calls| self.value(&CallCount(calls)));
        let (none, each) = (none?, one? - none?);
        // Only if each call adds the same.
        let is_line = (two? - none - 2.0 * each).abs() <= 1e-9 * each.abs();
        (is_line && each != 0.0).then(|| (value - none) / each)
    }

    /// The factor of the row's own figure, if it is only multiplied: a million for the total of a
    /// million ops.
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

    /// The names of the rows that it refers to.
    pub fn rows(&self) -> Vec<&str> {
        match self {
            Formula::Row(name) => vec![name],
            Formula::Joined(left, _, right) => [left.rows(), right.rows()].concat(),
            Formula::Number(_) | Formula::This | Formula::Calls => vec![],
        }
    }

    /// Its value; `None` if a variable is not known or the result is not finite.
    pub fn value(&self, variables: &dyn Variables) -> Option<f64> {
        let value = match self {
            Formula::Number(number) => *number,
            Formula::This => variables.own_figure()?,
            Formula::Row(name) => variables.row(name)?,
            Formula::Calls => variables.calls()?,
            Formula::Joined(left, operator, right) => {
                let (left, right) = (left.value(variables)?, right.value(variables)?);
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
    depth: usize,
}

impl Reader<'_> {
    /// Consumes one of these signs, if it is next.
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
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err("its brackets are nested too deeply");
            }
            let inside = self.sum()?;
            self.depth -= 1;
            self.accept(&[(')', ())]).ok_or("a bracket is not closed")?;
            return Ok(inside);
        }
        if self.accept(&[('"', ())]).is_some() {
            let (name, rest) =
                self.rest.split_once('"').ok_or("the quotes of a name are not closed")?;
            self.rest = rest.trim_start();
            return Ok(Formula::Row(name.to_owned()));
        }
        let end = |is: fn(char) -> bool, text: &str| text.find(|c| !is(c)).unwrap_or(text.len());
        let word = &self.rest[..end(|c| c.is_ascii_alphabetic(), self.rest)];
        if !word.is_empty() {
            self.rest = self.rest[word.len()..].trim_start();
            return match word {
                "this" => Ok(Formula::This),
                "calls" => Ok(Formula::Calls),
                _ => Err("a word is none of `this`, `calls` and a name in quotes"),
            };
        }
        let digits = &self.rest[..end(|c| c.is_ascii_digit() || c == '.', self.rest)];
        let number = digits.parse().map_err(|_| "a number or a name is missing")?;
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
    fn formulas_of_papers_are_parsed_and_computed() {
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
        let factor = |text: &str| Formula::parse(text).unwrap().own_figure_factor();
        assert_eq!([factor("this / 2"), factor("1000 * this")], [Some(0.5), Some(1_000.0)]);
        let calls = |text: &str, value| Formula::parse(text).unwrap().calls_of(value);
        assert_eq!(calls("calls * 1000000 + 30", 2_000_030.0), Some(2.0));
        assert_eq!([calls("calls * calls", 4.0), calls("this", 1.0), calls("30", 30.0)], [None; 3]);
        assert_eq!([factor("this / \"a\""), factor("this - \"a\""), factor("calls")], [None; 3]);
        assert_eq!(Formula::parse("this / (1 - 1)").unwrap().value(&Table), None);
        assert_eq!(Formula::parse("this / \"a\" * \"b\"").unwrap().rows(), ["a", "b"]);
    }

    #[test]
    fn an_invalid_formula_is_refused_with_the_reason() {
        for (text, why) in [
            ("", "missing"),
            ("this +", "missing"),
            ("this that", "continues after its end"),
            ("that", "is none of"),
            ("(this", "is not closed"),
            ("\"this", "quotes of a name are not closed"),
            ("this + 1", "cannot be added"),
            ("1..2", "missing"),
            (&"(".repeat(40), "nested too deeply"),
            (&"1+".repeat(80), "too long"),
        ] {
            let error = Formula::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC{0,40}|[-+*/()a-z0-9.\" ]{0,40}") {
            if let Ok(formula) = Formula::parse(&text) {
                prop_assert!(formula.degree().is_ok());
                let _ = formula.value(&Table);
            }
        }
    }
}
