//! The table of rooms in docs/explanation/ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};

const HEADER: &str = "| room | is for | may import |\n";
const ALL_OF_WORKER: &str = "all of the worker";
const ALL_OF_TOOL: &str = "all of the tool but main, cli and report";
/// What [`ALL_OF_TOOL`] leaves out.
const LEFT_OUT: [&str; 3] = ["main", "cli", "report"];

/// What each room may import; `*` is every room.
pub(crate) type Imports = BTreeMap<String, BTreeSet<String>>;

/// The rooms of both programs; the crates that they share are among those of the tool.
#[derive(Debug, Default)]
pub(crate) struct PageTables {
    pub(crate) tool: Imports,
    pub(crate) worker: Imports,
}

/// A line of the table.
struct Line<'a> {
    is_of_worker: bool,
    rooms: Vec<&'a str>,
    imports: &'a str,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Self {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let &[rooms, _, imports] = &cells[..] else { panic!("not three cells: {line}") };
        let of_worker = rooms.strip_prefix("worker: ");
        let names = of_worker.unwrap_or(rooms).split(", ");
        let rooms = names.map(|name| name.trim_matches('`')).collect();
        Self { is_of_worker: of_worker.is_some(), rooms, imports }
    }
}

/// The tables of a page.
pub(crate) fn tables(page: &str) -> PageTables {
    let (_, rest) = page.split_once(HEADER).unwrap();
    let lines = rest.lines().skip(1).take_while(|line| line.starts_with('|'));
    let lines: Vec<Line<'_>> = lines.map(Line::of).collect();
    let of_tool = lines.iter().filter(|line| !line.is_of_worker);
    let all_of_tool: BTreeSet<&str> = of_tool.flat_map(|line| line.rooms.clone()).collect();
    let mut tables = PageTables::default();
    for Line { is_of_worker, rooms, imports } in lines {
        for room in rooms {
            let allowed: BTreeSet<&str> = match imports {
                "nothing" => BTreeSet::new(),
                ALL_OF_WORKER => BTreeSet::from(["*"]),
                ALL_OF_TOOL => {
                    let is_in = |it: &&str| *it != room && !LEFT_OUT.contains(it);
                    all_of_tool.iter().copied().filter(is_in).collect()
                }
                names => names.split(", ").collect(),
            };
            let allowed = allowed.into_iter().map(str::to_owned).collect();
            let table = if is_of_worker { &mut tables.worker } else { &mut tables.tool };
            let before = table.insert(room.to_owned(), allowed);
            assert!(before.is_none(), "`{room}` has two lines");
        }
    }
    tables
}
