//! Performance databases in SQLite form.

use crate::formats::miopen::convolution::{Convolution, FLAT, FLAT_DEPTH, sizes_of};
use crate::formats::miopen::rows::{Row, Rows, check_solver};
use rusqlite::{Connection, MAIN_DB, OptionalExtension, types::ValueRef};
use seqtune_kernel::error::{Error, Result, input, io};
use seqtune_kernel::files::write_whole;
use std::path::Path;
use tempfile::TempDir;

/// First bytes of every SQLite file.
pub const MAGIC: &[u8] = b"SQLite format 3\0";

const COLUMNS: &str = "solver, params, direction, data_type, layout, \
    batchsize, in_channels, in_h, in_w, out_channels, fil_h, fil_w, pad_h, pad_w, conv_stride_h, conv_stride_w, \
    dilation_h, dilation_w, group_count, in_d, fil_d, pad_d, conv_stride_d, dilation_d, spatial_dim, bias";

const TABLES: &str = "FROM perf_db LEFT JOIN config ON perf_db.config = config.id ORDER BY perf_db.id";

/// Bytes of the header that say whether a database is written through a log (2) or not (1).
const MODES: std::ops::Range<usize> = 18..20;

/// Whether a database is written through a log, which then stands beside it.
pub fn has_log(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) && bytes.get(MODES).is_some_and(|modes| modes.contains(&2))
}

fn sqlite_error(e: rusqlite::Error) -> Error {
    Error::Input(format!("is a damaged or foreign SQLite database ({e}); fetch it again"))
}

/// A connection to a copy of a database: nothing is written beside the user's file.
struct Copied {
    // closed before its folder is removed
    connection: Connection,
    _folder: Option<TempDir>,
}

impl Copied {
    /// A copy in memory; where there is a log, in a folder of its own, so that SQLite can put both together.
    fn new(bytes: &[u8], log: Option<&[u8]>) -> Result<Copied> {
        let Some(log) = log else {
            let mut connection = Connection::open_in_memory().map_err(sqlite_error)?;
            let mut plain = Vec::new();
            let from = if has_log(bytes) {
                plain.extend_from_slice(bytes);
                plain[MODES].fill(1);
                &plain[..]
            } else {
                bytes
            };
            connection.deserialize_read_exact(MAIN_DB, from, from.len(), true).map_err(sqlite_error)?;
            return Ok(Copied { connection, _folder: None });
        };
        let folder = tempfile::tempdir().map_err(io(Path::new("a temporary folder")))?;
        let path = folder.path().join("copy.db");
        write_whole(&path, bytes)?;
        write_whole(&folder.path().join("copy.db-wal"), log)?;
        Ok(Copied { connection: Connection::open(&path).map_err(sqlite_error)?, _folder: Some(folder) })
    }

    /// Refuses what is damaged, and what is no table: a view may have rows without end.
    fn check(&self) -> Result<()> {
        let check: String =
            self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(sqlite_error)?;
        if check != "ok" {
            return input(format!("the SQLite database is damaged ({}); fetch it again", check.replace('\n', " ")));
        }
        for table in ["perf_db", "config"] {
            let select = "SELECT type, coalesce(sql, '') FROM sqlite_master WHERE lower(name) = ?1 AND type IN ('table', 'view')";
            let read = |row: &rusqlite::Row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
            let found = self.connection.query_row(select, [table], read).optional().map_err(sqlite_error)?;
            let is_table =
                |(kind, sql): &(String, String)| kind == "table" && sql.to_uppercase().starts_with("CREATE TABLE");
            match found {
                Some(found) if is_table(&found) => {}
                Some(_) => {
                    return input(format!(
                        "is no performance database of MIOpen: its {table} is no table, but a view or of a module"
                    ));
                }
                None => return input(format!("is no performance database of MIOpen: it has no table {table}")),
            }
        }
        Ok(())
    }

    /// Whether `perf_db` tells each row's device: databases of several devices do.
    fn has_devices(&self) -> Result<bool> {
        let select = "SELECT count(*) FROM pragma_table_info('perf_db') WHERE name IN ('arch', 'num_cu')";
        let count: i64 = self.connection.query_row(select, [], |row| row.get(0)).map_err(sqlite_error)?;
        Ok(count == 2)
    }
}

/// Reads all rows, in the order of their ids; those of which a column is missing or of the wrong type are counted. `log` is what stood in the
/// database's log.
///
/// # Errors
/// [`Error::Input`] where the database is damaged or has other tables.
pub fn read(bytes: &[u8], log: Option<&[u8]>) -> Result<Rows> {
    let copied = Copied::new(bytes, log)?;
    copied.check()?;
    let more = if copied.has_devices()? { ", perf_db.arch, perf_db.num_cu" } else { "" };
    let connection = &copied.connection;
    // a row of perf_db has one config
    let count: i64 =
        connection.query_row("SELECT count(*) FROM perf_db", [], |row| row.get(0)).map_err(sqlite_error)?;
    let most = usize::try_from(count).unwrap_or(0).min(MOST_ROWS);
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS}{more} {TABLES}")).map_err(sqlite_error)?;
    let mut found = statement.query([]).map_err(sqlite_error)?;
    let mut all = Rows::default();
    while let Some(row) = found.next().map_err(sqlite_error)? {
        let number = all.rows.len() + all.bad.rows() + 1;
        if number > most {
            return input(format!(
                "has more than {most} rows, or several configs of one id: it is no database of MIOpen"
            ));
        }
        match read_row(row, !more.is_empty()) {
            Ok(row) => all.rows.push(row),
            Err(reason) => all.bad.add(&reason, &format!("row {number} of perf_db")),
        }
    }
    Ok(all)
}

/// Rows of a database at most: the real ones have 300,000.
const MOST_ROWS: usize = 20_000_000;

/// A row, or what is wrong with it.
fn read_row(row: &rusqlite::Row, has_device: bool) -> std::result::Result<Row, String> {
    let column = |i: usize| row.as_ref().column_name(i).unwrap_or("?");
    let fault = |i: usize| format!("its {} is missing or of the wrong type", column(i));
    let text = |i: usize| match row.get_ref(i) {
        Ok(ValueRef::Text(text)) => std::str::from_utf8(text).map_err(|_| fault(i)),
        _ => Err(fault(i)),
    };
    // tools that copy a table may write 64 as a text or as 64.0
    let size = |i: usize| match row.get_ref(i) {
        Ok(ValueRef::Integer(x)) => u32::try_from(x).map_err(|_| format!("its {} is `{x}`", column(i))),
        Ok(ValueRef::Real(x)) if x == x as u32 as f64 => Ok(x as u32),
        Ok(ValueRef::Text(text)) => {
            let text = std::str::from_utf8(text).map_err(|_| fault(i))?.trim();
            text.strip_suffix(".0").unwrap_or(text).parse().map_err(|_| fault(i))
        }
        _ => Err(fault(i)),
    };
    if matches!((row.get_ref(2), row.get_ref(24)), (Ok(ValueRef::Null), Ok(ValueRef::Null))) {
        return Err("the row of config that it names is missing".into());
    }
    let dimensions = size(24)?;
    let mut sizes = sizes_of([0; FLAT], FLAT_DEPTH);
    // what an image of two dimensions says of its depth says nothing
    let told = if dimensions == 3 { sizes.len() } else { FLAT };
    for (i, value) in sizes.iter_mut().take(told).enumerate() {
        *value = size(5 + i)?;
    }
    let beyond = match (dimensions, size(25)?) {
        (2 | 3, 0) => String::new(),
        (2 | 3, _) => "a bias".into(),
        _ => format!("{dimensions} dimensions"),
    };
    let solver = text(0)?;
    check_solver(solver)?;
    Ok(Row {
        // keys are unique there
        is_hidden: false,
        solver: solver.into(),
        params: text(1)?.into(),
        of: if has_device { Some((text(26)?.into(), size(27)?)) } else { None },
        convolution: Convolution {
            direction: text(2)?.into(),
            dtype: text(3)?.into(),
            layout: text(4)?.into(),
            dimensions,
            sizes,
            output: None,
            beyond,
        },
    })
}
