//! Half of a round trip compared with the one-way time, in words.

use oscost_model::one_way::{Equivalence, HalfRoundTrip, OneWay};
use oscost_model::unit::Unit;

use crate::report::figures::{per_cent, rough};
use crate::report::text::plain;

/// One round trip and both ways, as a paragraph.
pub(in crate::report::view) fn line(of: &HalfRoundTrip) -> String {
    let ns = |value: f64| rough(value, Unit::NsPerOp);
    let verdict = match of.verdict {
        _ if of.unreliable => {
            "inconclusive, since too much time was lost for figures of single shots".to_owned()
        }
        Equivalence::Equivalent => "equivalent: within 3 %, there and back".to_owned(),
        Equivalence::Different => {
            let ways = [("there", of.outbound), ("back", of.inbound)];
            let differ = ways.iter().filter(|(_, way)| way.verdict == Equivalence::Different);
            let differ: Vec<String> = differ.map(|(name, way)| apart(name, way)).collect();
            format!("not equivalent: {}", differ.join(", "))
        }
        Equivalence::Inconclusive => {
            format!(
                "inconclusive: {}, {}",
                apart("there", &of.outbound),
                apart("back", &of.inbound)
            )
        }
    };
    format!(
        "half a round trip: {}: {} there, {} back, half is {}: {verdict}",
        plain(&of.case),
        ns(of.outbound.figure.median),
        ns(of.inbound.figure.median),
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
    use oscost_model::one_way::Equivalence::{Different, Equivalent, Inconclusive};
    use oscost_model::one_way::Figure;

    use super::*;

    fn of(there: f64, back: f64, ways: [Equivalence; 2], verdict: Equivalence) -> HalfRoundTrip {
        let way = |median: f64, verdict| {
            let ratio = median / 2_000.0;
            OneWay {
                figure: Figure { median, ci95: [median, median] },
                ratio: Figure { median: ratio, ci95: [ratio - 0.01, ratio + 0.01] },
                verdict,
            }
        };
        HalfRoundTrip {
            case: "pipe/round-trip:by=pipe,size=64,peer_cpu=same".into(),
            half: Figure { median: 2_000.0, ci95: [1_990.0, 2_010.0] },
            outbound: way(there, ways[0]),
            inbound: way(back, ways[1]),
            unreliable: false,
            verdict,
        }
    }

    #[test]
    fn the_verdict_is_in_words_and_says_what_it_stands_on() {
        let equivalent = of(2_000.0, 2_020.0, [Equivalent; 2], Equivalent);
        assert_eq!(
            line(&equivalent),
            "half a round trip: pipe/round-trip:by=pipe,size=64,peer_cpu=same: 2.00 us there, \
             2.02 us back, half is 2.00 us: equivalent: within 3 %, there and back"
        );
        let not = of(2_000.0, 2_400.0, [Equivalent, Different], Different);
        assert!(
            line(&not).ends_with("not equivalent: back +20 % (+19 % .. +21 %)"),
            "{}",
            line(&not)
        );
        let unknown = of(2_000.0, 1_980.0, [Equivalent, Inconclusive], Inconclusive);
        assert!(line(&unknown).contains("inconclusive: there +0.0 %"), "{}", line(&unknown));
        let lost = HalfRoundTrip { unreliable: true, ..equivalent };
        assert!(line(&lost).contains("too much time was lost"), "{}", line(&lost));
    }
}
