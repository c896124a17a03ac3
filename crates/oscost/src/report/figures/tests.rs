use super::*;

#[test]
fn yes_and_no_are_words_and_a_mixture_is_a_share() {
    let shown = |value: f64| Style::of(value, Unit::YesOrNo).with_unit(value);
    assert_eq!([shown(1.0), shown(0.0), shown(0.25)], ["yes", "no", "0.250"]);
    assert_eq!(rough(1.0, Unit::YesOrNo), "yes");
}

#[test]
fn figures_keep_four_digits_and_a_unit_that_fits() {
    let shown = |value: f64| Style::of(value, Unit::NsPerOp).with_unit(value);
    assert_eq!(shown(127.5104), "127.5 ns");
    assert_eq!(shown(2_105.77), "2.106 us");
    assert_eq!(shown(0.000_061_4), "0.061 ps");
    assert_eq!(shown(0.104), "0.104 ns");
    assert_eq!(shown(0.0), "0.000 ns");
    assert_eq!(shown(-0.25), "-0.250 ns");
    assert_eq!(shown(23.1658), "23.17 ns");
    assert_eq!(shown(3.2e9), "3.200 s");
    assert_eq!(Style::of(2.5e9, Unit::BytesPerSecond).with_unit(2.5e9), "2.500 GB/s");
}

#[test]
fn instructions_keep_every_digit() {
    let shown = |value: f64| Style::of(value, Unit::InstructionsPerOp).with_unit(value);
    let whole = [324.0, 12_925.0, 123_456_789.0, 0.0, -208.0].map(shown);
    assert_eq!(whole, ["324 insn", "12,925 insn", "123,456,789 insn", "0 insn", "-208 insn"]);
    let parts = [324.5, 1.0 / 3.0, 0.000_123_45, -0.000_000_99].map(shown);
    assert_eq!(parts, ["324.5 insn", "0.3333 insn", "0.00012 insn", "-0.00000099 insn"]);
    assert_eq!(rough(12_925.0, Unit::InstructionsPerOp), "12,925 insn");
    assert_eq!(shown(-3_765.375), "-3,765.375 insn");
    assert_eq!(thousands_apart("+1275.50"), "+1,275.50");
    assert_eq!(half(0.0, 324.0, Unit::InstructionsPerOp), "0 insn");
}

#[test]
fn numbers_of_things_have_their_thousands_apart() {
    let shown = [0.0, 7.0, 999.0, 1_000.0, 68_725.0, 1_234_567.0].map(with_thousands);
    assert_eq!(shown, ["0", "7", "999", "1,000", "68,725", "1,234,567"]);
    assert_eq!([9.25, 9.75, 10.4, 185_005.53].map(occurrences), ["9.25", "9.75", "10", "185,006"]);
    let odd = [1_000.5, -1_000.0, -100.25, f64::NAN, f64::INFINITY].map(with_thousands);
    assert_eq!(odd, ["1,000.50", "-1,000", "-100.25", "NaN", "inf"]);
}

#[test]
fn counts_in_sentences_have_three_or_four_digits_and_ranges_contain_their_ends() {
    let shown = [427_542.0, 11_394.312_5, 1_234.6, 324.4, 12.0, 3.894_65, 0.25].map(rough_count);
    assert_eq!(shown, ["427,500", "11,390", "1,235", "324", "12", "3.89", "0.25"]);
    let signed = [-208.0, -20_750.4, 0.0, -0.0, 9_999.7].map(rough_count);
    assert_eq!(signed, ["-208", "-20,750", "0", "0", "10,000"]);
    assert_eq!(rough_range([427_542.0, 429_344.0]), ["427,500", "429,400"]);
    assert_eq!(rough_range([-4.386_7, 4.386_7]), ["-4.39", "4.39"]);
    assert_eq!(rough_count(f64::INFINITY), "inf");
}

#[test]
fn bounds_have_the_unit_and_the_decimals_of_their_figure() {
    let style = Style::of(998.0, Unit::NsPerOp);
    assert_eq!(style.number(1_002.4), "1002.4");
    assert_eq!([style.number(-0.04), style.number(-0.06)], ["0.0", "-0.1"]);
}

#[test]
fn an_interval_has_the_unit_of_its_figure_unless_that_gives_it_many_digits() {
    let shown = |value: f64, ends: [f64; 2]| interval(value, ends, Unit::NsPerOp);
    assert_eq!(shown(848e3, [835_100.0, 873_600.0]), "[835 .. 874]");
    assert_eq!(shown(0.0, [0.0, 930_214.286]), "[0 .. 930 us]");
    assert_eq!(shown(0.0, [0.0, 0.0]), "[0 .. 0]");
    assert_eq!(shown(0.0, [-12.0, 50.0]), "[-12.0 .. 50.0]");
    assert_eq!(shown(1.5, [-2e6, 0.0]), "[-2.00 .. 0 ms]");
    assert_eq!(shown(1.5, [0.0, 9_000.0]), "[0 .. 9,000]");
    assert_eq!(shown(1.5, [1.0, f64::INFINITY]), "[1.00 .. inf]");
    assert_eq!(shown(30.1e6, [-1_000.0, 30.24e6]), "[0.00 .. 30.2]");
    let of_seconds = interval(0.0, [0.0, 930.214_286e-6], Unit::Seconds);
    assert_eq!((of_seconds.as_str(), &*rough(-0.0, Unit::Seconds)), ("[0 .. 930 us]", "0 ns"));
}

#[test]
fn rough_figures_ratios_and_shares_have_two_or_three_digits() {
    let shown = |value: f64| rough(value, Unit::NsPerOp);
    assert_eq!([shown(1.079), shown(23.21), shown(245.6)], ["1.08 ns", "23.2 ns", "246 ns"]);
    assert_eq!([shown(99.96), shown(2_025.0)], ["100 ns", "2.02 us"]);
    let added = [24_113.0, -51.0, 0.0].map(|value| rough_added(value, Unit::NsPerOp));
    assert_eq!(added, ["+24.1 us", "-51.0 ns", "0 ns"]);
    let round = [0.5, 20.0, 1_000.0, 5e7].map(|value| short(value, Unit::NsPerOp));
    assert_eq!(round, ["0.5 ns", "20 ns", "1 us", "50 ms"]);
    let halves = [(0.3, 21.0), (0.000_4, 0.2), (12.0, 2_000.0), (0.0, 9.0)];
    let halves = halves.map(|(half_width, value)| half(half_width, value, Unit::NsPerOp));
    assert_eq!(halves, ["0.3 ns", "0.0004 ns", "0.01 us", "0.00 ns"]);
    let ratios = [0.0, 0.000_21, 0.0091, 0.187, 1.04, 16.5, 187.4].map(times);
    assert_eq!(ratios, ["0.00", "2e-4", "0.009", "0.19", "1.0", "16", "187"]);
    let large = [1_875.4, 38_321.0, 999_400.0, 999_600.0, 8_429_112.0, 2.5e9, 1e13].map(times);
    assert_eq!(large[..4], ["1880", "38300", "999000", "1.0 million"]);
    assert_eq!(large[4..], ["8.4 million", "2.5 billion", "1e13"]);
    let shares = [0.04, 9.94, 9.96, 999.0, 17_895.0].map(per_cent);
    assert_eq!(shares, ["0.0 %", "9.9 %", "10 %", "999 %", ">999 %"]);
}
