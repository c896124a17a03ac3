//! The studies that come with oscost.

use super::parser;
use super::study::Study;

/// The names of the built-in studies, and their files.
const EMBEDDED: &[(&str, &str)] = &[
    ("sunos-1999", include_str!("../../../../studies/sunos-1999.toml")),
    ("ph-2000", include_str!("../../../../studies/ph-2000.toml")),
    ("cs161-syscalls", include_str!("../../../../studies/cs161-syscalls.toml")),
    ("cse221-2014", include_str!("../../../../studies/cse221-2014.toml")),
    ("cs736-2019", include_str!("../../../../studies/cs736-2019.toml")),
    ("lmbench-1996", include_str!("../../../../studies/lmbench-1996.toml")),
    ("xen-2003", include_str!("../../../../studies/xen-2003.toml")),
    ("lebench-2019", include_str!("../../../../studies/lebench-2019.toml")),
    ("lebench-2019-mitigations", include_str!("../../../../studies/lebench-2019-mitigations.toml")),
];

/// The names of the studies that come with oscost.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    EMBEDDED.iter().map(|(name, _)| *name)
}

/// The built-in study of that name. A test parses all of them.
pub fn find_built_in(name: &str) -> Option<Study> {
    let (_, text) = EMBEDDED.iter().find(|(built_in, _)| *built_in == name)?;
    parser::parse(text.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::study::{Placement, RequestedCase, TableRow};

    #[test]
    fn every_built_in_study_parses_and_measures_cases_of_the_catalog() {
        let catalog = oscost_worker::benchmarks::data();
        for name in built_in_names() {
            let (_, text) = EMBEDDED.iter().find(|(built_in, _)| *built_in == name).unwrap();
            let study = parser::parse(text.as_bytes()).unwrap_or_else(|it| panic!("{name}: {it}"));
            assert_eq!(study.id, name);
            assert!(text.is_ascii());
            for RequestedCase { case, line, .. } in study.requested_cases() {
                let parsed = oscost_model::case::Case::parse(case).unwrap();
                // Those of programs are checked against their files by tests of the command line.
                if parsed.benchmark.starts_with("workload/") {
                    continue;
                }
                let definition = catalog.get(&parsed.benchmark);
                let definition = definition.unwrap_or_else(|| panic!("line {line}: {case}"));
                for (axis, value) in parsed.point.iter() {
                    let axis = definition.axis(axis);
                    assert!(axis.is_some_and(|axis| axis.has_point(value)), "{case}");
                }
            }
        }
        assert_eq!(find_built_in("no-such"), None);
    }

    /// What two rows of one published row differ in.
    fn without_placement(row: &TableRow) -> (&str, String) {
        let case = row.case().unwrap_or_default();
        (row.published_name(), case.replace("peer_cpu=same", "").replace("peer_cpu=other", ""))
    }

    #[test]
    fn each_row_without_a_placement_is_measured_in_both() {
        let mut pairs = 0;
        for study in built_in_names().filter_map(find_built_in) {
            for table in &study.tables {
                let in_placement = |placement: Placement| -> Vec<&TableRow> {
                    table.rows.iter().filter(|row| row.placement == placement).collect()
                };
                let [one, two] = Placement::BOTH.map(in_placement);
                assert_eq!(one.len(), two.len(), "{}: {}", study.id, table.name);
                for row in one {
                    let others = two.iter().filter(|it| {
                        without_placement(it) == without_placement(row)
                            && it.case().is_some_and(|case| case.contains("peer_cpu=other"))
                    });
                    assert!(row.case().is_some_and(|case| case.contains("peer_cpu=same")));
                    assert_eq!(others.count(), 1, "{}: {}", study.id, row.name);
                    pairs += 1;
                }
            }
        }
        assert!(pairs >= 2 + 54, "{pairs}");
    }

    #[test]
    fn cs736_states_no_placement_on_its_own_host() {
        let study = find_built_in("cs736-2019").unwrap();
        let has_axis = |row: &&TableRow| row.case().is_some_and(|case| case.contains("peer_cpu="));
        let mut rows = 0;
        for row in study.rows().filter(has_axis).filter(|row| !row.peer) {
            assert_ne!(row.placement, Placement::Stated, "{}: {:?}", row.name, row.case());
            rows += 1;
        }
        // Latency and rate of pipes, TCP and UDP, in nine sizes, on one CPU and on two.
        assert_eq!(rows, 2 * 3 * 9 * 2);
    }

    #[test]
    fn claims_have_the_figures_that_their_texts_print() {
        for (name, expected) in [
            ("sunos-1999", vec!["2-4 ns", "1000 ns"]),
            ("ph-2000", vec!["~4.7 us", "4%", "~10%"]),
            ("cs161-syscalls", vec![">2x", "5ms (select 0.1ms)", "<10,000 connections", "~77%"]),
            ("cse221-2014", vec!["1 cycle", "4-6 cycles", "4-6 cycles"]),
            (
                "cs736-2019",
                // Pipes, TCP on one host and between two, UDP on one host and between two.
                [
                    &["4-6 us", "3x", "3x", "3x", "12000-13000 MBps"][..],
                    &["3-5 us", "2-4x", "2-4x", "2-4x", "256 bytes"],
                    &["3-5 us", "2-4x", "2-4x", "2-4x", "1KB"],
                ]
                .concat(),
            ),
        ] {
            let study = find_built_in(name).unwrap();
            let printed = study.claims.iter().filter_map(|claim| claim.published.as_ref());
            let printed: Vec<&str> = printed.map(|it| it.text.as_str()).collect();
            assert_eq!(printed, expected, "{name}");
        }
    }

    #[test]
    fn table_1_of_cse221_is_whole() {
        let study = find_built_in("cse221-2014").unwrap();
        let published: Vec<&str> = study.machine.iter().map(|it| it.published.as_str()).collect();
        let expected = [
            "Intel Core 2 Duo Processor P8600",
            "64 bit",
            "0.417ns (2.4GHz frequency)",
            "32KB per core, 8-way set associative, 64-byte line size",
            "32KB per core, 8-way set associative, 64-byte line size",
            "3072KB, 12-way set associative, 64-byte line size",
            "1066 MHz",
            "Seagate Momentus 5400.6 SATA model ST9500325AS",
            "500GB",
            "8 Mbytes",
            "5400",
            "4",
            "2",
            "14ms typical",
            "30ms",
            "5.6ms",
            "1ms typical",
            "300 Mbytes/s max",
            "dual channel (symmetric), each 1024 MBytes",
            "DDR3 PC3-10700 667 MHz",
            "64 bit per channel",
            "Intel Wifi Link 5100",
            "300Mbps",
            "Ubuntu 12.04.4 LTS",
            "GNU/Linux 3.8.0-35-generic i686",
        ];
        assert_eq!(published, expected);
    }

    #[test]
    fn the_tables_of_ph_2000_are_as_published() {
        let study = find_built_in("ph-2000").unwrap();
        let printed: Vec<Vec<&str>> = study
            .tables
            .iter()
            .flat_map(|table| &table.rows)
            .filter(|row| row.published[0].is_some())
            .map(|row| {
                let figures = row.published.iter().flatten().map(|it| it.text.as_str());
                std::iter::once(row.name.as_str()).chain(figures).collect()
            })
            .collect();
        assert_eq!(
            printed,
            [
                ["getpid", "1.1577 (0.00000)", "5.8898 (0.00025)"],
                ["getrusage", "1.9145 (0.00000)", "6.6137 (0.00138)"],
                ["gettimeofday", "1.6703 (0.00184)", "6.3779 (0.00112)"],
                ["sigaction", "2.5609 (0.00010)", "7.2928 (0.01029)"],
                ["write", "1.4135 (0.00187)", "6.1637 (0.00075)"],
                ["null", "408.80 (00.618)", "2497.90 (40.923)"],
                ["simple", "2396.24 (11.124)", "8206.62 (11.795)"],
                ["/bin/sh", "9385.66 (26.761)", "18223.96 (26.777)"],
                ["kernel build, real", "702.47 (0.07)", "727.44 (0.29)"],
                ["kernel build, user", "669.35 (0.60)", "673.67 (0.55)"],
                ["kernel build, sys", "33.00 (0.61)", "53.60 (0.70)"],
                ["find / -print, real", "5.68 (0.58)", "6.24 (0.54)"],
                ["find / -print, user", "1.61 (0.09)", "1.59 (0.09)"],
                ["find / -print, sys", "3.27 (0.09)", "3.90 (0.17)"],
                ["Quake 2, demo1 (fps)", "22.89 (0.03)", "22.87 (0.05)"],
                ["Quake 2, demo2 (fps)", "23.30 (0.00)", "23.30 (0.00)"],
            ]
        );
        let Some([standard, ph]) = &study.columns else { panic!("{study:?}") };
        assert_eq!([&*standard.name, &*standard.target], ["Standard", "local"]);
        assert_eq!([&*ph.name, &*ph.target], ["pH", "ph"]);
        assert_eq!(study.protocol.runs, 10);
    }
}
