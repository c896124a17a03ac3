//! Half a round trip beside one way, in words.

use oscost_model::record::Row;
use oscost_model::unit::Unit;

use super::figures::{per_cent, rough};
use super::plain;
use crate::estimate::{Halves, Likeness, OneWay, halves};

/// A paragraph for each round trip of which both ways are among the rows.
pub(super) fn lines<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<String> {
    halves(rows).iter().map(line).collect()
}

fn line(of: &Halves) -> String {
    let ns = |value: f64| rough(value, Unit::NsPerOp);
    let verdict = match of.likeness() {
        _ if of.unclaimable => {
            "inconclusive, since too much time was lost for figures of single shots".to_owned()
        }
        Likeness::Equivalent => "equivalent: within 3 %, there and back".to_owned(),
        Likeness::Different => {
            let ways = [("there", of.there), ("back", of.back)];
            let differ = ways.iter().filter(|(_, way)| way.likeness == Likeness::Different);
            let differ: Vec<String> = differ.map(|(name, way)| apart(name, way)).collect();
            format!("not equivalent: {}", differ.join(", "))
        }
        Likeness::Inconclusive => {
            format!("inconclusive: {}, {}", apart("there", &of.there), apart("back", &of.back))
        }
    };
    format!(
        "half a round trip: {}: {} there, {} back, half is {}: {verdict}",
        plain(&of.case),
        ns(of.there.figure.median),
        ns(of.back.figure.median),
        ns(of.half.median),
    )
}

/// How far one way is from the half, and how far that reaches.
fn apart(name: &str, way: &OneWay) -> String {
    let pct = |ratio: f64| {
        let sign = if ratio < 1.0 { "-" } else { "+" };
        format!("{sign}{}", per_cent(100.0 * (ratio - 1.0).abs()))
    };
    let [low, high] = way.ratio.ci95;
    format!("{name} {} ({} .. {})", pct(way.ratio.median), pct(low), pct(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Figure;

    fn of(there: f64, back: f64, likeness: [Likeness; 2]) -> Halves {
        let way = |median: f64, likeness| {
            let ratio = median / 2_000.0;
            OneWay {
                figure: Figure { median, ci95: [median, median] },
                ratio: Figure { median: ratio, ci95: [ratio - 0.01, ratio + 0.01] },
                likeness,
            }
        };
        Halves {
            case: "pipe/round-trip:by=pipe,size=64,peer_cpu=same".into(),
            half: Figure { median: 2_000.0, ci95: [1_990.0, 2_010.0] },
            there: way(there, likeness[0]),
            back: way(back, likeness[1]),
            unclaimable: false,
        }
    }

    #[test]
    fn the_verdict_is_in_words_and_says_what_it_stands_on() {
        let equivalent = of(2_000.0, 2_020.0, [Likeness::Equivalent; 2]);
        assert_eq!(
            line(&equivalent),
            "half a round trip: pipe/round-trip:by=pipe,size=64,peer_cpu=same: 2.00 us there, \
             2.02 us back, half is 2.00 us: equivalent: within 3 %, there and back"
        );
        let not = of(2_000.0, 2_400.0, [Likeness::Equivalent, Likeness::Different]);
        assert!(
            line(&not).ends_with("not equivalent: back +20 % (+19 % .. +21 %)"),
            "{}",
            line(&not)
        );
        let unknown = of(2_000.0, 1_980.0, [Likeness::Equivalent, Likeness::Inconclusive]);
        assert!(line(&unknown).contains("inconclusive: there +0.0 %"), "{}", line(&unknown));
        let lost = Halves { unclaimable: true, ..equivalent };
        assert!(line(&lost).contains("too much time was lost"), "{}", line(&lost));
    }
}
