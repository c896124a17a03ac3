//! The colours of a page.

use std::collections::BTreeSet;

use crate::report::render::html::script::STYLE;

/// The contrast of two colours, by the Web Content Accessibility Guidelines.
fn contrast(one: &str, other: &str) -> f64 {
    let light = |colour: &str| {
        let part = |at: usize| {
            let level = u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
            let level = f64::from(level) / 255.0;
            if level <= 0.04045 { level / 12.92 } else { ((level + 0.055) / 1.055).powf(2.4) }
        };
        0.05 + 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    };
    let (one, other) = (light(one), light(other));
    one.max(other) / one.min(other)
}

#[test]
fn text_and_charts_have_enough_contrast_in_light_and_dark() {
    let themes = STYLE.split(":root").skip(1).filter(|it| it.contains("--paper: "));
    let mut grounds = BTreeSet::new();
    for theme in themes {
        let colour = |name: &str| {
            let rest = theme.split_once(&format!("--{name}: ")).unwrap().1;
            rest.split_once(';').unwrap().0
        };
        grounds.insert(colour("paper"));
        for ground in ["paper", "band"].map(colour) {
            for ink in ["ink", "soft", "link", "bad", "fair", "good", "plain"] {
                let found = contrast(colour(ink), ground);
                assert!(found >= 4.5, "{ink} on {ground}: {found}");
            }
        }
        for drawn in (0..8).map(|number| colour(&format!("c{number}"))) {
            let found = contrast(drawn, colour("paper"));
            assert!(found >= 3.0, "{drawn} on {}: {found}", colour("paper"));
        }
        // The figures of heat maps, on the colours of their cells.
        let of_cells = [
            ("m0", "on-far"),
            ("m8", "on-far"),
            ("m2", "on-near"),
            ("m3", "on-near"),
            ("m5", "on-near"),
            ("m6", "on-near"),
            ("mn", "on-near"),
        ];
        let inks = of_cells.map(|(cell, ink)| (cell, colour(ink)));
        for (cell, ink) in inks.into_iter().chain(["m1", "m7"].map(|cell| (cell, "#000000"))) {
            let found = contrast(ink, colour(cell));
            assert!(found >= 4.5, "{ink} on {cell}: {found}");
        }
        // Nothing is pressed on paper.
        if !theme.contains("#000000") {
            let found = contrast(colour("edge"), colour("band"));
            assert!(found >= 3.0, "{found}");
        }
    }
    assert_eq!(grounds.len(), 2);
}
