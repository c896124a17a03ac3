//! Figures of runs: what a history asks of a thousand of them, without their journals.
//!
//! They follow from a run's record, which this room cannot make: whoever has made it hands them in.
//! A run can be without them, since it was kept by an older oscost or since writing them failed; it
//! is told which runs are, and they can be handed in later. They say by which rules they were made:
//! those of other rules are as good as none.

use std::collections::{BTreeMap, HashMap};

use oscost_model::unit::Unit;
use oscost_model::worker::Mode;
use rusqlite::{CachedStatement, Connection, Transaction, params};
use serde::de::value::{Error as NoWord, StrDeserializer};
use serde::{Deserialize, Serialize};

use super::Store;
use super::error::{Cause, StoreError};
use super::write::transaction;

/// What a history asks of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The number of the rules by which it was made of the record.
    pub rules: u32,
    /// The version of the tool.
    pub tool: String,
    /// Content hash of the worker.
    pub worker: String,
    /// Content hash of the worker's catalog.
    pub catalog: String,
    /// How the worker is linked.
    pub link: String,
    /// How its other end was reached, where that stood on a machine of its own.
    pub peer: Option<String>,
    /// Whether the clock's rate changed during the run.
    pub clock_drifted: bool,
    /// The machines that it was measured on.
    pub stands: Vec<Stand>,
    /// One figure for each row that was measured.
    pub figures: Vec<Figure>,
}

/// A machine as it was in one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stand {
    /// The class of the machine, in whatever words.
    pub machine: String,
    /// The class of its kernel.
    pub kernel: String,
    /// The kernel's release.
    pub release: Option<String>,
    /// The build id of its image.
    pub build_id: Option<String>,
    /// The processor's microcode.
    pub microcode: Option<String>,
    /// What its kernel was told at its start.
    pub command_line: Option<String>,
    /// What the kernel does against faults of the processor.
    pub mitigations: Option<String>,
    /// The security modules.
    pub modules: Option<String>,
    /// What was attached to it.
    pub tracers: Option<String>,
    /// The clock that was read there.
    pub clock: Option<String>,
    /// How quiet it was: `clean`, `noisy` or `very_noisy`.
    pub class: Option<String>,
}

/// What a row of a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The case.
    pub case: String,
    /// The place, as it is typed.
    pub target: String,
    /// Which of the run's machines it was measured on; `None` where the record names none.
    pub machine: Option<usize>,
    /// Which of them its other end stood on; `None` where that was the same one.
    pub peer: Option<usize>,
    /// The CPU that its workers were pinned to.
    pub cpu: Option<u32>,
    /// The revision of the benchmark.
    pub rev: u32,
    /// What it is counted in.
    pub unit: Unit,
    /// How it was timed.
    pub mode: Option<Mode>,
    /// What tells the program that was measured from others of its name; `None` where it has none.
    pub subject: Option<String>,
    /// What the file lay on that its ops worked on.
    pub file: Option<String>,
    /// The states of the profile that it was monitored by.
    pub monitor: Option<String>,
    /// The row's marks.
    pub flags: Vec<String>,
    /// The figure.
    pub median: f64,
    /// Its interval.
    pub interval: Option<[f64; 2]>,
}

/// A run that has no figures yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The run's id.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// Whether it came as a record from elsewhere.
    pub imported: bool,
}

/// A run with what a history asks of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The run's id.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// Whether it came as a record from elsewhere.
    pub imported: bool,
    /// The rest.
    pub summary: Summary,
}

impl Store {
    /// Keeps the figures of a run, in place of those that it may have.
    pub fn summarise(&mut self, id: &str, summary: &Summary) -> Result<(), StoreError> {
        summarise(&mut self.conn, id, summary)
            .map_err(|cause| self.error(format!("keep the figures of run {id} in"), cause))
    }

    /// The runs that have no figures by these rules although they ended, the oldest first.
    ///
    /// One that did not end goes on, or was killed: what it is to say of its rows it has not said.
    pub fn without_figures(&self, rules: u32) -> Result<Vec<Lacking>, StoreError> {
        without_figures(&self.conn, rules)
            .map_err(|cause| self.error("look for figures in".to_owned(), cause))
    }

    /// Forgets the figures that were made by other rules, at once: to find the words that nobody
    /// needs any more takes a look at every figure, which is too much for each run.
    pub fn forget_others(&mut self, rules: u32) -> Result<(), StoreError> {
        forget_others(&mut self.conn, rules)
            .map_err(|cause| self.error("forget old figures of".to_owned(), cause))
    }

    /// How many runs did not end.
    pub fn unended(&self) -> Result<usize, StoreError> {
        let sql = "SELECT count(*) FROM run WHERE ended IS NULL";
        let found = self.conn.query_row(sql, [], |row| row.get::<_, i64>(0));
        let found = found.map(|count| count as usize).map_err(Cause::from);
        found.map_err(|cause| self.error("count the runs of".to_owned(), cause))
    }

    /// The cases that any figure is of, in their order.
    pub fn cases(&self) -> Result<Vec<String>, StoreError> {
        cases(&self.conn).map_err(|cause| self.error("list the cases of".to_owned(), cause))
    }

    /// All runs that have figures by these rules, the oldest first, each with those of its figures
    /// that are of one of these cases.
    pub fn figures(
        &self,
        rules: u32,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<Kept>, StoreError> {
        figures(&self.conn, rules, wanted)
            .map_err(|cause| self.error("read the figures of".to_owned(), cause))
    }
}

fn cases(conn: &Connection) -> Result<Vec<String>, Cause> {
    let mut statement = conn
        .prepare("SELECT text FROM word WHERE key IN (SELECT of_case FROM figure) ORDER BY text")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn without_figures(conn: &Connection, rules: u32) -> Result<Vec<Lacking>, Cause> {
    let mut statement = conn.prepare(
        "SELECT id, started, record IS NOT NULL FROM run WHERE ended IS NOT NULL
         AND key NOT IN (SELECT run FROM summary WHERE rules = ?1) ORDER BY started, id",
    )?;
    let rows = statement.query_map([rules], |row| {
        Ok(Lacking { id: row.get(0)?, started: row.get(1)?, imported: row.get(2)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn forget_others(conn: &mut Connection, rules: u32) -> Result<(), Cause> {
    let others = "SELECT run FROM summary WHERE rules != ?1";
    if !conn.prepare(others)?.exists([rules])? {
        return Ok(());
    }
    let tx = transaction(conn)?;
    for table in ["figure", "stand"] {
        tx.execute(&format!("DELETE FROM {table} WHERE run IN ({others})"), [rules])?;
    }
    tx.execute("DELETE FROM summary WHERE rules != ?1", [rules])?;
    forget_words(&tx)?;
    Ok(tx.commit()?)
}

/// Deletes the words that nothing says any more.
pub(super) fn forget_words(tx: &Transaction<'_>) -> Result<(), Cause> {
    let said = [
        ("summary", &["tool", "worker", "catalog", "link", "peer"][..]),
        (
            "stand",
            &[
                "machine",
                "kernel",
                "release",
                "build_id",
                "microcode",
                "command_line",
                "mitigations",
                "modules",
                "tracers",
                "clock",
                "class",
            ],
        ),
        ("figure", &["of_case", "target", "unit", "mode", "subject", "file", "monitor", "flags"]),
    ];
    let said = said.into_iter().flat_map(|(table, columns)| {
        columns.iter().map(move |it| format!("SELECT {it} FROM {table} WHERE {it} IS NOT NULL"))
    });
    let said: Vec<String> = said.collect();
    tx.execute(&format!("DELETE FROM word WHERE key NOT IN ({})", said.join(" UNION ")), [])?;
    Ok(())
}

/// The keys of words, each looked up once.
struct Words<'a> {
    insert: CachedStatement<'a>,
    select: CachedStatement<'a>,
    known: HashMap<String, i64>,
}

impl<'a> Words<'a> {
    fn of(tx: &'a Transaction<'_>) -> Result<Self, Cause> {
        Ok(Self {
            insert: tx
                .prepare_cached("INSERT INTO word (text) VALUES (?1) ON CONFLICT DO NOTHING")?,
            select: tx.prepare_cached("SELECT key FROM word WHERE text = ?1")?,
            known: HashMap::new(),
        })
    }

    fn key(&mut self, text: &str) -> Result<i64, Cause> {
        if let Some(&key) = self.known.get(text) {
            return Ok(key);
        }
        self.insert.execute([text])?;
        let key = self.select.query_row([text], |row| row.get(0))?;
        self.known.insert(text.to_owned(), key);
        Ok(key)
    }

    fn some(&mut self, text: Option<&String>) -> Result<Option<i64>, Cause> {
        text.map(|text| self.key(text)).transpose()
    }
}

fn summarise(conn: &mut Connection, id: &str, summary: &Summary) -> Result<(), Cause> {
    let tx = transaction(conn)?;
    let key = tx.query_row("SELECT key FROM run WHERE id = ?1", [id], |row| row.get::<_, i64>(0));
    let run = match key {
        Err(rusqlite::Error::QueryReturnedNoRows) => return Err(Cause::NoRun),
        other => other?,
    };
    let mut before = 0;
    for table in ["figure", "stand", "summary"] {
        before += tx.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [run])?;
    }
    insert(&tx, run, summary)?;
    if before > 0 {
        forget_words(&tx)?;
    }
    Ok(tx.commit()?)
}

fn insert(tx: &Transaction<'_>, run: i64, summary: &Summary) -> Result<(), Cause> {
    let mut words = Words::of(tx)?;
    let Summary { rules, tool, worker, catalog, link, peer, clock_drifted, stands, figures } =
        summary;
    let [tool, worker, catalog, link] = [tool, worker, catalog, link].map(|text| words.key(text));
    let peer = words.some(peer.as_ref())?;
    tx.prepare_cached(
        "INSERT INTO summary (run, rules, tool, worker, catalog, link, peer, clock_drifted)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute((run, rules, tool?, worker?, catalog?, link?, peer, clock_drifted))?;
    let mut statement = tx.prepare_cached(
        "INSERT INTO stand (run, at, machine, kernel, release, build_id, microcode, command_line,
                            mitigations, modules, tracers, clock, class)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    for (at, stand) in stands.iter().enumerate() {
        statement.execute((
            run,
            at as i64,
            words.key(&stand.machine)?,
            words.key(&stand.kernel)?,
            words.some(stand.release.as_ref())?,
            words.some(stand.build_id.as_ref())?,
            words.some(stand.microcode.as_ref())?,
            words.some(stand.command_line.as_ref())?,
            words.some(stand.mitigations.as_ref())?,
            words.some(stand.modules.as_ref())?,
            words.some(stand.tracers.as_ref())?,
            words.some(stand.clock.as_ref())?,
            words.some(stand.class.as_ref())?,
        ))?;
    }
    let mut statement = tx.prepare_cached(
        "INSERT INTO figure (run, at, of_case, target, machine, peer, rev, unit, mode, flags, median,
                             low, high, cpu, subject, file, monitor)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    )?;
    for (at, figure) in figures.iter().enumerate() {
        // SQLite has no NaN: it would be a null where none may be.
        let numbers = figure.interval.iter().flatten().chain([&figure.median]);
        if !numbers.into_iter().all(|number| number.is_finite()) {
            let why = format!("the figure of {} is no number", figure.case);
            return Err(Cause::Unkeepable(why));
        }
        statement.execute(params![
            run,
            at as i64,
            words.key(&figure.case)?,
            words.key(&figure.target)?,
            figure.machine.map(|at| at as i64),
            figure.peer.map(|at| at as i64),
            figure.rev,
            words.key(&spelt(figure.unit)?)?,
            figure.mode.map(|mode| words.key(&spelt(mode)?)).transpose()?,
            words.key(&figure.flags.join(SEPARATOR))?,
            figure.median,
            figure.interval.map(|[low, _]| low),
            figure.interval.map(|[_, high]| high),
            figure.cpu,
            words.some(figure.subject.as_ref())?,
            words.some(figure.file.as_ref())?,
            words.some(figure.monitor.as_ref())?,
        ])?;
    }
    Ok(())
}

/// A word of the record's, as the record spells it.
fn spelt(word: impl Serialize) -> Result<String, Cause> {
    let text = serde_json::to_value(word).ok().and_then(|it| it.as_str().map(str::to_owned));
    text.ok_or_else(|| Cause::Unkeepable("a word has no spelling".to_owned()))
}

/// The word that is spelt so; `None` of one that this program does not know.
fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    T::deserialize(StrDeserializer::<NoWord>::new(text)).ok()
}

/// No flag of ours has one within. One of a stranger's record comes back as two, and is unknown
/// either way.
const SEPARATOR: &str = " ";

fn figures(
    conn: &Connection,
    rules: u32,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<Kept>, Cause> {
    // One transaction: another process may delete a run between the questions.
    let tx = conn.unchecked_transaction()?;
    let mut statement = tx.prepare("SELECT key, text FROM word")?;
    let words: HashMap<i64, String> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, rusqlite::Error>>()?;
    let word = |key: i64| {
        let found = words.get(&key).cloned();
        found.ok_or_else(|| Cause::Damaged(format!("it has no word {key}")))
    };
    let some = |key: Option<i64>| key.map(word).transpose();

    let mut order = Vec::new();
    let mut kept: BTreeMap<i64, Kept> = BTreeMap::new();
    let mut statement = tx.prepare(
        "SELECT run, id, started, record IS NOT NULL, tool, worker, catalog, link, peer, clock_drifted
         FROM summary JOIN run ON run.key = summary.run
         WHERE rules = ?1 AND ended IS NOT NULL ORDER BY started, id",
    )?;
    let mut rows = statement.query([rules])?;
    while let Some(row) = rows.next()? {
        let summary = Summary {
            rules,
            tool: word(row.get(4)?)?,
            worker: word(row.get(5)?)?,
            catalog: word(row.get(6)?)?,
            link: word(row.get(7)?)?,
            peer: some(row.get(8)?)?,
            clock_drifted: row.get(9)?,
            ..Summary::default()
        };
        let (id, started, imported) = (row.get(1)?, row.get(2)?, row.get(3)?);
        order.push(row.get(0)?);
        kept.insert(row.get(0)?, Kept { id, started, imported, summary });
    }
    let mut statement = tx.prepare(
        "SELECT run, machine, kernel, release, build_id, microcode, command_line, mitigations,
                modules, tracers, clock, class
         FROM stand ORDER BY run, at",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(of) = kept.get_mut(&row.get(0)?) {
            of.summary.stands.push(Stand {
                machine: word(row.get(1)?)?,
                kernel: word(row.get(2)?)?,
                release: some(row.get(3)?)?,
                build_id: some(row.get(4)?)?,
                microcode: some(row.get(5)?)?,
                command_line: some(row.get(6)?)?,
                mitigations: some(row.get(7)?)?,
                modules: some(row.get(8)?)?,
                tracers: some(row.get(9)?)?,
                clock: some(row.get(10)?)?,
                class: some(row.get(11)?)?,
            });
        }
    }
    let wanted: HashMap<i64, bool> = words.iter().map(|(&key, text)| (key, wanted(text))).collect();
    let mut statement = tx.prepare(
        "SELECT run, of_case, target, machine, peer, rev, unit, mode, flags, median, low, high,
                cpu, subject, file, monitor
         FROM figure ORDER BY run, at",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let case: i64 = row.get(1)?;
        if !wanted.get(&case).copied().unwrap_or(false) {
            continue;
        }
        if let Some(of) = kept.get_mut(&row.get(0)?) {
            let (low, high): (Option<f64>, Option<f64>) = (row.get(10)?, row.get(11)?);
            let flags = word(row.get(8)?)?;
            // A newer oscost may have kept the figure, in a unit or a mode of which this one knows
            // nothing.
            let Some(unit) = read(&word(row.get(6)?)?) else { continue };
            let mode = match some(row.get(7)?)? {
                None => None,
                Some(text) => match read(&text) {
                    None => continue,
                    known => known,
                },
            };
            of.summary.figures.push(Figure {
                case: word(case)?,
                target: word(row.get(2)?)?,
                machine: row.get::<_, Option<i64>>(3)?.map(|at| at as usize),
                peer: row.get::<_, Option<i64>>(4)?.map(|at| at as usize),
                cpu: row.get(12)?,
                rev: row.get(5)?,
                unit,
                mode,
                subject: some(row.get(13)?)?,
                file: some(row.get(14)?)?,
                monitor: some(row.get(15)?)?,
                flags: flags.split_terminator(SEPARATOR).map(str::to_owned).collect(),
                median: row.get(9)?,
                interval: low.zip(high).map(|(low, high)| [low, high]),
            });
        }
    }
    Ok(order.into_iter().filter_map(|key| kept.remove(&key)).collect())
}
