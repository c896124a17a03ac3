//! The tables, their versions, and what is asked of SQLite.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::Cause;
use super::file::PATIENCE;

/// "oscs": tells the store from the databases of other programs, which also start at version 1.
const APPLICATION: i64 = 0x6f73_6373;

/// What makes version n + 1 of a store of version n. A line that was released never changes.
///
/// `run` is what a listing shows. It follows from the entries and is written with them, so that
/// a listing reads no journal. `record` is null for a run that was measured here; it stands last
/// because a large value pushes what follows it out of reach. Entries come back in the order of
/// `key`: SQLite gives a new row a key above all others of its table. So do predictions, whose key
/// is the number that they are named by.
///
/// `summary`, `stand` and `figure` are what a history asks of a run, so that it reads no journal
/// either; a run without a line in `summary` has none yet, and one whose `rules` are of another
/// number than this program's has none that it could use. `word` has each of their texts once:
/// thousands of runs name the same cases. Figures lie together by their run, with which they come
/// and go; a history reads them all.
const MIGRATIONS: [&str; 3] = [
    "
    CREATE TABLE run (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        started TEXT NOT NULL,
        ended TEXT,
        complete INTEGER NOT NULL,
        label TEXT,
        command TEXT NOT NULL,
        rows_asked INTEGER,
        workers INTEGER NOT NULL,
        record TEXT
    ) STRICT;
    CREATE TABLE entry (
        key INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
        body TEXT NOT NULL,
        samples BLOB
    ) STRICT;
    CREATE INDEX entry_of_run ON entry (run);
",
    "
    CREATE TABLE prediction (
        key INTEGER PRIMARY KEY,
        made TEXT NOT NULL,
        of_case TEXT NOT NULL,
        estimate TEXT,
        hardware TEXT,
        software TEXT,
        below TEXT
    ) STRICT;
",
    "
    CREATE TABLE word (
        key INTEGER PRIMARY KEY,
        text TEXT NOT NULL UNIQUE
    ) STRICT;
    CREATE TABLE summary (
        run INTEGER PRIMARY KEY REFERENCES run (key) ON DELETE CASCADE,
        rules INTEGER NOT NULL,
        tool INTEGER NOT NULL,
        worker INTEGER NOT NULL,
        catalog INTEGER NOT NULL,
        link INTEGER NOT NULL,
        peer INTEGER,
        clock_drifted INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE stand (
        run INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
        at INTEGER NOT NULL,
        machine INTEGER NOT NULL,
        kernel INTEGER NOT NULL,
        release INTEGER,
        build_id INTEGER,
        microcode INTEGER,
        command_line INTEGER,
        mitigations INTEGER,
        modules INTEGER,
        tracers INTEGER,
        clock INTEGER,
        class INTEGER,
        PRIMARY KEY (run, at)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE figure (
        run INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
        at INTEGER NOT NULL,
        of_case INTEGER NOT NULL,
        target INTEGER NOT NULL,
        machine INTEGER,
        peer INTEGER,
        cpu INTEGER,
        rev INTEGER NOT NULL,
        unit INTEGER NOT NULL,
        mode INTEGER,
        subject INTEGER,
        file INTEGER,
        monitor INTEGER,
        flags INTEGER NOT NULL,
        median REAL NOT NULL,
        low REAL,
        high REAL,
        PRIMARY KEY (run, at)
    ) STRICT, WITHOUT ROWID;
",
];

/// The newest version that this program knows.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Brings a database that was just opened to the newest version, or refuses it untouched.
pub(super) fn prepare(conn: &mut Connection) -> Result<(), Cause> {
    let begun = Instant::now();
    loop {
        // SQLite waits for other processes by itself, but not where two of them turn a new file
        // to WAL at once: one is refused on the spot, to keep both from waiting for each other.
        match try_prepare(conn) {
            Err(Cause::Locked) if begun.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(10));
            }
            done => return done,
        }
    }
}

fn try_prepare(conn: &mut Connection) -> Result<(), Cause> {
    let found = version(&conn.transaction()?)?;
    if found == 0 {
        // Only a database without a table takes this: freed pages are kept, to be given back.
        conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    // WAL: readers and the writer do not wait for each other, and a commit appends to one file.
    // File systems that cannot do it stay as they are, and everything works one at a time.
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))?;
    // A commit survives the death of any process. That of the machine may cost the last commits,
    // never the file; in exchange an append between two workers does not wait for the disk.
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    conn.pragma_update(None, "foreign_keys", true)?;
    if found == VERSION {
        return Ok(());
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let found = version(&tx)?;
    for migration in MIGRATIONS.iter().skip(found as usize) {
        tx.execute_batch(migration)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION)?;
    tx.pragma_update(None, "user_version", VERSION)?;
    Ok(tx.commit()?)
}

/// The version of a database; 0 when it is empty. It asks three questions, hence a transaction:
/// another process may be making the tables.
fn version(tx: &Transaction<'_>) -> Result<i64, Cause> {
    let pragma = |name| tx.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = tx.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, version) {
        (0, 0) if tables == 0 => Ok(0),
        (APPLICATION, 1..=VERSION) => Ok(version),
        (APPLICATION, found) if found > VERSION => Err(Cause::Newer { found, known: VERSION }),
        _ => Err(Cause::NotAStore("the file is the database of another program")),
    }
}
