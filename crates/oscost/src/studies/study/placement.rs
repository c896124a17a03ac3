//! Where the two sides of a row of a study run.

/// Where the two sides of a row run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Where the study says, or the row has one side.
    #[default]
    Stated,
    /// The study does not say: on one CPU. Another row has them on two.
    OneCpu,
    /// The study does not say: on two CPUs. Another row has them on one.
    TwoCpus,
}

impl Placement {
    /// Both placements of a row whose study does not state one.
    pub const BOTH: [Placement; 2] = [Placement::OneCpu, Placement::TwoCpus];

    /// What a row's name ends with.
    pub fn suffix(self) -> &'static str {
        match self {
            Placement::Stated => "",
            Placement::OneCpu => " (1 CPU)",
            Placement::TwoCpus => " (2 CPUs)",
        }
    }

    /// The placement as part of a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Placement::Stated => "where the study says",
            Placement::OneCpu => "on one CPU",
            Placement::TwoCpus => "on two CPUs",
        }
    }

    /// The point of a case's axis.
    pub fn point(self) -> Option<&'static str> {
        match self {
            Placement::Stated => None,
            Placement::OneCpu => Some("peer_cpu=same"),
            Placement::TwoCpus => Some("peer_cpu=other"),
        }
    }

    /// A case, or a row's key, in this placement; `None` if it has no such axis.
    pub fn of_case(self, case: &str) -> Option<String> {
        let Some(point) = self.point() else { return Some(case.to_owned()) };
        let found = Placement::BOTH.iter().filter_map(|it| it.point()).find(|it| case.contains(it));
        found.map(|found| case.replacen(found, point, 1))
    }
}
