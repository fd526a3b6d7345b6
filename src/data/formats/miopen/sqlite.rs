//! Performance databases in SQLite form.

use crate::formats::miopen::convolution::{Convolution, FLAT, FLAT_DEPTH, sizes_of};
use crate::formats::miopen::rows::{Row, Rows};
use rusqlite::{Connection, MAIN_DB, types::ValueRef};
use seqtune_predict::error::{Error, Result, input};

/// First bytes of every SQLite file.
pub const MAGIC: &[u8] = b"SQLite format 3\0";

const QUERY: &str = "SELECT solver, params, direction, data_type, layout, \
    batchsize, in_channels, in_h, in_w, out_channels, fil_h, fil_w, pad_h, pad_w, conv_stride_h, conv_stride_w, \
    dilation_h, dilation_w, group_count, in_d, fil_d, pad_d, conv_stride_d, dilation_d, spatial_dim, bias \
    FROM perf_db LEFT JOIN config ON perf_db.config = config.id ORDER BY perf_db.id";

/// Reads all rows, in the order of their ids; those of which a column is missing or of the wrong type are counted.
///
/// # Errors
/// [`Error::Input`] where the database is damaged or has other tables.
pub fn read(bytes: &[u8]) -> Result<Rows> {
    let failed =
        |e: rusqlite::Error| Error::Input(format!("is a damaged or foreign SQLite database ({e}); fetch it again"));
    let mut connection = Connection::open_in_memory().map_err(failed)?;
    connection.deserialize_read_exact(MAIN_DB, bytes, bytes.len(), true).map_err(failed)?;
    let check: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if check != "ok" {
        return input(format!("the SQLite database is damaged ({}); fetch it again", check.replace('\n', " ")));
    }
    let mut statement = connection.prepare(QUERY).map_err(failed)?;
    let mut found = statement.query([]).map_err(failed)?;
    let mut all = Rows::default();
    while let Some(row) = found.next().map_err(failed)? {
        let number = all.rows.len() + all.bad.rows() + 1;
        if number > MOST_ROWS {
            return input(format!("has more than {MOST_ROWS} rows, so it is no database of MIOpen"));
        }
        match read_row(row) {
            Ok(row) => all.rows.push(row),
            Err(reason) => all.bad.add(&reason, &format!("row {number} of perf_db")),
        }
    }
    Ok(all)
}

/// Rows of a database at most: the real ones have 300,000.
const MOST_ROWS: usize = 20_000_000;

/// A row, or what is wrong with it.
fn read_row(row: &rusqlite::Row) -> std::result::Result<Row, String> {
    let column = |i: usize| row.as_ref().column_name(i).unwrap_or("?");
    let fault = |i: usize| format!("its {} is missing or of the wrong type", column(i));
    let text = |i: usize| match row.get_ref(i) {
        Ok(ValueRef::Text(text)) => std::str::from_utf8(text).map_err(|_| fault(i)),
        _ => Err(fault(i)),
    };
    let size = |i: usize| match row.get_ref(i) {
        Ok(ValueRef::Integer(x)) => u32::try_from(x).map_err(|_| format!("its {} is `{x}`", column(i))),
        _ => Err(fault(i)),
    };
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
    Ok(Row {
        solver: text(0)?.into(),
        params: text(1)?.into(),
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
