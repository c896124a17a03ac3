//! The page of other suites.

use super::{Counts, Row, SUBJECTS, Suite};

const INTRODUCTION: &str = "\
# Other suites

The benchmarks of other suites for operating systems, and the case of oscost that answers the same
question. `make docs` makes this page of the files in `docs/reference/peers`; do not edit it.

A row has the name that the suite prints or takes, what the benchmark asks for, and a selector of
cases: `oscost run SELECTOR` measures them. If its size is not a point of a case, the nearest point
is named. The remark says what is different in the case; what the benchmark is about, if that is not
the operating system; or why no case answers it. The suites measure by other methods, so their
figures and those of oscost are near each other at best.
";

/// The whole page.
pub(super) fn page(suites: &[Suite]) -> String {
    let sections: String = suites.iter().map(section).collect();
    format!("{INTRODUCTION}\n{}\n{}{sections}", summary(suites), subjects())
}

/// How many rows of each suite have a case.
fn summary(suites: &[Suite]) -> String {
    const HEAD: &str = "\
| suite | version | rows | the system | with a case | missing | other things | with a case |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
";
    let entry = |name: &str, version: &str, counts: &Counts| {
        format!(
            "| {name} | {version} | {} | {} | {} | {} | {} | {} |\n",
            counts.rows(),
            counts.about_system,
            counts.about_system_with_case,
            counts.missing(),
            counts.about_others,
            counts.about_others_with_case
        )
    };
    let lines: String = suites
        .iter()
        .map(|suite| {
            let name = format!("[{}](#{})", suite.name, anchor(&suite.name));
            entry(&name, &suite.version, &Counts::of(&suite.rows))
        })
        .collect();
    let all = Counts::of(suites.iter().flat_map(|suite| &suite.rows));
    format!(
        "{HEAD}{lines}{}\nOf the {} that are about the operating system {} have a case: {}. \
         Of all {}, {}: {}.\n",
        entry("all", "", &all),
        all.about_system,
        all.about_system_with_case,
        percentage(all.about_system_with_case, all.about_system),
        all.rows(),
        all.with_case(),
        percentage(all.with_case(), all.rows())
    )
}

/// Rounded down: a page that says 95 % has them.
fn percentage(part: usize, whole: usize) -> String {
    let per_mille = part * 1000 / whole;
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

/// As GitHub and mdbook make it of a heading.
fn anchor(heading: &str) -> String {
    heading.to_lowercase().replace(' ', "-")
}

/// What benchmarks are about that need no case.
fn subjects() -> String {
    let lines = SUBJECTS.iter().map(|it| format!("| {} | {} |\n", it.name, it.means));
    format!("| about | that is |\n| --- | --- |\n{}", lines.collect::<String>())
}

fn section(suite: &Suite) -> String {
    let Suite { name, version, source, scope, rows } = suite;
    let lines: String = rows.iter().map(line).collect();
    format!(
        "\n## {name}\n\n<{source}>, {version}: {scope}.\n\n\
         | benchmark | asks for | case | remark |\n| --- | --- | --- | --- |\n{lines}"
    )
}

fn line(row: &Row) -> String {
    let case = row.case.as_ref().map(|case| format!("`{case}`")).unwrap_or_default();
    let remarks = [
        row.differs.as_ref().map(|differs| format!("the case: {differs}")),
        row.about.as_ref().map(|about| format!("about: {about}")),
        row.missing.as_ref().map(|missing| format!("missing: {missing}")),
    ];
    let remark = remarks.into_iter().flatten().collect::<Vec<_>>().join("; ");
    format!("| `{}` | {} | {case} | {remark} |\n", row.name, row.asks)
}
