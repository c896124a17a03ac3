//! The schema of the database, its version, and the settings of SQLite.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::store::error::Cause;
use crate::store::lock_wait::retry_while_locked;

/// "oscs": distinguishes the store from databases of other programs.
const APPLICATION: i64 = 0x6f73_6373;

/// The schema.
///
/// `run` is the listing. It follows from the entries and is written with them, so that a listing
/// reads no journal. `record` is null for a run that was measured here, and empty for one whose
/// record is in `imported`; older imports have theirs in it. It is the last column, since a large
/// value slows down the columns behind it. Entries are ordered by `key`: SQLite gives a new row a key
/// above all others of its table. So are predictions, whose key is also their number.
///
/// `summary`, `machine_state` and `figure` hold what a history needs of a run, so that it reads no
/// journal either. A run without a row in `summary` has not been summarised yet, and one with
/// another number of `rules` than this program's is summarised again. `text` holds each of their
/// texts once: thousands of runs name the same cases. Figures are clustered by run, since they are
/// inserted and deleted with it; a history reads all of them.
const SCHEMA: &str = "
    CREATE TABLE run (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        started TEXT NOT NULL,
        ended TEXT,
        complete INTEGER NOT NULL,
        label TEXT,
        command TEXT NOT NULL,
        rows_requested INTEGER,
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
    CREATE TABLE prediction (
        key INTEGER PRIMARY KEY,
        made_at TEXT NOT NULL,
        of_case TEXT NOT NULL,
        estimate TEXT,
        hardware TEXT,
        software TEXT,
        below TEXT
    ) STRICT;
    CREATE TABLE text (
        key INTEGER PRIMARY KEY,
        value TEXT NOT NULL UNIQUE
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
    CREATE TABLE machine_state (
        run INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
        position INTEGER NOT NULL,
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
        PRIMARY KEY (run, position)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE figure (
        run INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
        position INTEGER NOT NULL,
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
        PRIMARY KEY (run, position)
    ) STRICT, WITHOUT ROWID;
";

/// What is said of a run as a whole, beside its summary. An older store gets this table with its
/// next summary. That is no other version: nothing that other programs read refers to it, and a run
/// that they delete is deleted here, too.
const RUN_STATE: &str = "
    CREATE TABLE IF NOT EXISTS run_state (
        run INTEGER PRIMARY KEY REFERENCES run (key) ON DELETE CASCADE,
        flags TEXT NOT NULL,
        lost_pct REAL
    ) STRICT;
";

/// What the processor counted of the ops of a figure, and the boots of a run's machines, within which
/// counts can be compared. An older store gets these tables as it gets `run_state`. The positions
/// are those in `figure` and `machine_state`; the columns of a quantity are its median and the ends
/// of its interval. Boots are no texts of `text`: an older program would delete those that it finds
/// unused.
const COUNTED: &str = "
    CREATE TABLE IF NOT EXISTS counted_figure (
        run INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        inherited INTEGER NOT NULL,
        insn REAL, insn_low REAL, insn_high REAL,
        insn_user REAL, insn_user_low REAL, insn_user_high REAL,
        insn_kernel REAL, insn_kernel_low REAL, insn_kernel_high REAL,
        cpi REAL, cpi_low REAL, cpi_high REAL,
        ghz REAL, ghz_low REAL, ghz_high REAL,
        time_ns REAL,
        running_ns REAL,
        counted_time_ratio REAL,
        PRIMARY KEY (run, position)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS machine_boot (
        run INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        boot TEXT NOT NULL,
        PRIMARY KEY (run, position)
    ) STRICT, WITHOUT ROWID;
";

/// The further metrics of programs; the position is that in `figure`. An older store gets this table as
/// it gets `run_state`, and a summary of that time has no metrics. Their names are no texts of `text`, as
/// boots are none.
const METRICS: &str = "
    CREATE TABLE IF NOT EXISTS metric_figure (
        run INTEGER NOT NULL REFERENCES run (key) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        metric TEXT NOT NULL,
        median REAL NOT NULL,
        low REAL,
        high REAL,
        PRIMARY KEY (run, position, metric)
    ) STRICT, WITHOUT ROWID;
";

/// Creates the tables of summaries that an older store lacks.
pub(in crate::store) fn create_later_summary_tables(tx: &Transaction<'_>) -> Result<(), Cause> {
    tx.execute_batch(RUN_STATE)?;
    tx.execute_batch(COUNTED)?;
    Ok(tx.execute_batch(METRICS)?)
}

/// Whether this store has the table of metrics.
pub(in crate::store) fn has_metrics(conn: &Connection) -> Result<bool, Cause> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'metric_figure'";
    Ok(conn.prepare(sql)?.exists([])?)
}

/// Whether this store has the tables of what was counted.
pub(in crate::store) fn has_counts(conn: &Connection) -> Result<bool, Cause> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'counted_figure'";
    Ok(conn.prepare(sql)?.exists([])?)
}

/// Whether this store has that table.
pub(in crate::store) fn has_run_state(conn: &Connection) -> Result<bool, Cause> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'run_state'";
    Ok(conn.prepare(sql)?.exists([])?)
}

/// The bills, each whole as JSON; what the list shows of it is in columns of its own. A store gets
/// this table with its first bill. That is no other version either: programs that do not know it
/// pass it over, and what they do to runs concerns no bill. `bill` is the last column, since a large
/// value slows down the columns behind it.
const BILLS: &str = "
    CREATE TABLE IF NOT EXISTS bill (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        started TEXT NOT NULL,
        ended TEXT NOT NULL,
        label TEXT,
        program TEXT NOT NULL,
        pid INTEGER,
        processor TEXT,
        system_ns REAL NOT NULL,
        imported INTEGER NOT NULL,
        bill TEXT NOT NULL
    ) STRICT;
";

/// Creates the table of bills, if this store lacks it.
pub(in crate::store) fn create_bills(tx: &Transaction<'_>) -> Result<(), Cause> {
    Ok(tx.execute_batch(BILLS)?)
}

/// Whether this store has that table.
pub(in crate::store) fn has_bills(conn: &Connection) -> Result<bool, Cause> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'bill'";
    Ok(conn.prepare(sql)?.exists([])?)
}

/// Imported records, packed, with the visit of a fleet's node that each of them is. `record` of
/// their runs is empty. A store gets this table with its next import, and is of the current version
/// then: older programs would take such a run for a damaged one. `record` is the last column, since
/// a large value slows down the columns behind it.
const IMPORTED: &str = "
    CREATE TABLE IF NOT EXISTS imported (
        run INTEGER PRIMARY KEY REFERENCES run (key) ON DELETE CASCADE,
        fleet TEXT,
        plan TEXT,
        task INTEGER,
        node TEXT,
        record BLOB NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS imported_of_visit ON imported (fleet, plan, task)
        WHERE fleet IS NOT NULL;
";

/// Creates the table of imported records, if this store lacks it.
pub(in crate::store) fn create_imported(tx: &Transaction<'_>) -> Result<(), Cause> {
    tx.execute_batch(IMPORTED)?;
    mark_as_current(tx)
}

/// Whether this store has that table.
pub(in crate::store) fn has_imported(conn: &Connection) -> Result<bool, Cause> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'imported'";
    Ok(conn.prepare(sql)?.exists([])?)
}

/// The version of the schema, raised whenever the schema or the meaning of stored data changes. A
/// store is only opened by a program that knows all that it may have: version 7 has runs without
/// raw batches, version 8 packed imports.
pub(in crate::store) const VERSION: i64 = 8;

/// The oldest version that is read. Such a store keeps its version, and is open to programs of that
/// time, until something is written that they do not know.
const OLDEST_VERSION: i64 = 6;

/// Creates the schema in a new database, or refuses one of another version without changing it.
pub(in crate::store) fn prepare(conn: &mut Connection) -> Result<(), Cause> {
    // SQLite waits for locks, except if two processes switch a new file to WAL at once: one of them
    // fails immediately, to avoid a deadlock.
    retry_while_locked(|| try_prepare(conn))
}

/// Checks that a database has the schema, without writing anything.
pub(in crate::store) fn check(conn: &Connection) -> Result<(), Cause> {
    match version(&conn.unchecked_transaction()?)? {
        0 => Err(Cause::NotAStore("the file is empty")),
        _ => Ok(()),
    }
}

fn try_prepare(conn: &mut Connection) -> Result<(), Cause> {
    let found = version(&conn.transaction()?)?;
    if found == 0 {
        // Can only be set before the first table: freed pages can be returned to the file system.
        conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    // WAL: readers and the writer do not wait for each other, and a commit appends to one file.
    // File systems that do not support it keep the old journal mode, with one user at a time.
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))?;
    // A commit survives the death of any process. A crash of the machine may lose the last commits,
    // but never the file; in exchange an append between two workers does not wait for the disk.
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    conn.pragma_update(None, "foreign_keys", true)?;
    if found != 0 {
        return Ok(());
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have created it meanwhile.
    if version(&tx)? != 0 {
        return Ok(());
    }
    tx.execute_batch(SCHEMA)?;
    create_later_summary_tables(&tx)?;
    tx.execute_batch(IMPORTED)?;
    tx.pragma_update(None, "application_id", APPLICATION)?;
    tx.pragma_update(None, "user_version", VERSION)?;
    Ok(tx.commit()?)
}

/// Marks a store in which this transaction puts what only programs of the current version know.
pub(in crate::store) fn mark_as_current(tx: &Transaction<'_>) -> Result<(), Cause> {
    if version(tx)? != VERSION {
        tx.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(())
}

/// The version of a database; 0 if it is empty. It needs a transaction, since it makes three
/// queries and another process may create the tables meanwhile.
fn version(tx: &Transaction<'_>) -> Result<i64, Cause> {
    let pragma = |name| tx.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = tx.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, version) {
        (0, 0) if tables == 0 => Ok(0),
        (APPLICATION, OLDEST_VERSION..=VERSION) => Ok(version),
        (APPLICATION, found) => {
            Err(Cause::OtherVersion { found, oldest: OLDEST_VERSION, newest: VERSION })
        }
        _ => Err(Cause::NotAStore("the file is the database of another program")),
    }
}
