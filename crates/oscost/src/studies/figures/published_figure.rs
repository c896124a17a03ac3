//! Published figures: the text as published, and its numbers.

use oscost_model::untrusted_text::display_text;

use super::bound::Bound;

/// A published figure: its text and its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedFigure {
    /// The text as published: the figure, optionally followed by something in brackets.
    pub text: String,
    /// The lower end of a range, or the figure itself.
    pub low: f64,
    /// The upper end of a range, or the figure itself.
    pub high: f64,
    /// Whether it is a bound or approximate: preceded by `<`, `>` or `~`.
    pub is_bound: bool,
    /// The number of its decimals.
    pub decimals: usize,
    /// The number of decimals of its deviation; `None` if none was published.
    pub deviation_decimals: Option<usize>,
}

impl PublishedFigure {
    /// The figure; `None` for a range or a bound.
    pub fn single(&self) -> Option<f64> {
        (self.low == self.high && !self.is_bound).then_some(self.low)
    }

    /// Its meaning as a prediction: a bound, a range, or a value.
    pub fn bound(&self) -> Bound {
        match self.text.chars().next() {
            Some('<') => Bound::Below(self.high),
            Some('>') => Bound::Above(self.low),
            _ if self.low < self.high => Bound::Range(self.low, self.high),
            _ => Bound::Value(self.low),
        }
    }

    /// Parses a figure of at most `max_chars` characters: `1.1577 (0.00025)`, `1,888.95`, `4-6`,
    /// `<25 (10.4 ns)`, `15.9x`; `None` for `-`.
    pub fn parse(text: &str, max_chars: usize) -> Result<Option<Self>, String> {
        if text == "-" {
            return Ok(None);
        }
        let why = || {
            let forms = "1.23, 1,234.5, 1.23 (0.04), 4-6, <5, 2.5x, or -";
            format!("`{}` is not a figure: {forms}", display_text(text, 30))
        };
        if text.len() > max_chars {
            return Err(format!("a figure has at most {max_chars} characters"));
        }
        if !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(why());
        }
        let (figure, brackets) = match text.split_once(" (") {
            Some((figure, rest)) => (figure, Some(rest.strip_suffix(')').ok_or_else(why)?)),
            None => (text, None),
        };
        let unbound = figure.trim_start_matches(['<', '>', '~']);
        let is_bound = unbound.len() < figure.len();
        let end = unbound
            .find(|c: char| !matches!(c, '0'..='9' | '.' | ',' | '-'))
            .unwrap_or(unbound.len());
        let (digits, unit) = unbound.trim_start().split_at_checked(end).ok_or_else(why)?;
        let is_unit = |c: char| c.is_ascii_alphabetic() || matches!(c, ' ' | '/' | '%');
        if figure.len() - unbound.len() > 1 || !unit.chars().all(is_unit) {
            return Err(why());
        }
        let (low, high) = digits.split_once('-').unwrap_or((digits, digits));
        let (Number { value: low, decimals }, Number { value: high, .. }) =
            (number(low).ok_or_else(why)?, number(high).ok_or_else(why)?);
        if !(0.0 < low && low <= high) {
            return Err(why());
        }
        let deviation_decimals = brackets.and_then(number).map(|it| it.decimals);
        let text = text.to_owned();
        Ok(Some(Self { text, low, high, is_bound, decimals, deviation_decimals }))
    }
}

/// A number, and how many decimals it has.
struct Number {
    value: f64,
    decimals: usize,
}

/// Parses digits with at most one point, and with commas between thousands.
fn number(text: &str) -> Option<Number> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let has_groups = whole.contains(',');
    let grouped = digits(first)
        && (!has_groups || first.len() <= 3)
        && groups.all(|group| group.len() == 3 && digits(group));
    let decimals = if text.contains('.') { fraction.len() } else { 0 };
    let value = text.replace(',', "");
    let is_number = grouped && digits(fraction);
    is_number.then(|| Some(Number { value: value.parse().ok()?, decimals })).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> PublishedFigure {
        PublishedFigure::parse(text, 24).unwrap().unwrap()
    }

    #[test]
    fn figures_of_papers_are_parsed() {
        for (text, single, decimals, deviation) in [
            ("00.618", Some(0.618), 3, None),
            ("1.1577 (0.00025)", Some(1.1577), 4, Some(5)),
            ("1,888.95", Some(1_888.95), 2, None),
            ("1,024,000", Some(1_024_000.0), 0, None),
            ("71582.43 (0.0286 ms)", Some(71_582.43), 2, None),
            ("0.001770s", Some(0.001_77), 6, None),
            ("15.9x", Some(15.9), 1, None),
            ("365 ns", Some(365.0), 0, None),
            ("<25 (10.4 ns)", None, 0, None),
            ("~3.3", None, 1, None),
            ("12000-13000", None, 0, None),
        ] {
            let it = read(text);
            assert_eq!(
                (it.single(), it.decimals, it.deviation_decimals),
                (single, decimals, deviation),
                "{text}"
            );
            assert_eq!(it.text, text);
        }
        let range = read("4-6 us");
        assert_eq!((range.low, range.high, range.is_bound), (4.0, 6.0, false));
        assert_eq!(PublishedFigure::parse("-", 24), Ok(None));
    }

    #[test]
    fn a_prediction_is_a_bound_a_range_or_a_value() {
        let bounds = ["<25 (10.4 ns)", ">25", "4-6", "5 (2.0 ns)"].map(|text| read(text).bound());
        let expected =
            [Bound::Below(25.0), Bound::Above(25.0), Bound::Range(4.0, 6.0), Bound::Value(5.0)];
        assert_eq!(bounds, expected);
    }

    #[test]
    fn an_invalid_figure_is_refused() {
        for text in [
            "",
            "0.6.18",
            "-0.6",
            "1.0 (0.1",
            "0.000",
            "6-4",
            "1,23",
            "1234,567",
            "<<5",
            "fast",
            "5!",
            "1e3 4",
            "5 \u{202e}",
        ] {
            assert!(PublishedFigure::parse(text, 24).is_err(), "{text:?}");
        }
        assert!(
            PublishedFigure::parse("1234567890 (12345.6)", 18)
                .unwrap_err()
                .contains("18 characters")
        );
    }

    proptest! {
        #[test]
        fn a_figure_keeps_its_text(whole in 1u32..100_000, fraction in 0u32..1_000) {
            let text = format!("{whole}.{fraction:03} (00.{fraction:03})");
            let published = read(&text);
            prop_assert_eq!(&published.text, &text);
            prop_assert_eq!((published.decimals, published.deviation_decimals), (3, Some(3)));
            let number = format!("{whole}.{fraction:03}").parse::<f64>().unwrap();
            prop_assert_eq!(published.single(), Some(number));
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC{0,24}|[-0-9.,<>~x()% ]{0,24}") {
            if let Ok(Some(it)) = PublishedFigure::parse(&text, 24) {
                prop_assert!(it.low > 0.0 && it.low <= it.high && it.high.is_finite());
            }
        }
    }
}
