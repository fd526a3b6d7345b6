//! Layers of models as a table: comma-separated values under a line of names, one row a layer.

use crate::formats::miopen::convolution::{Convolution, MOST, SIZES, place_of};
use crate::formats::miopen::layer::Layer;
use seqtune_predict::error::{Error, Result};

/// What the rows of a table do not say.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsaid {
    /// Directions of every row: `F`, `B`, `W`.
    pub directions: Vec<String>,
    /// Data types of every row.
    pub dtypes: Vec<String>,
    /// Layout of every row.
    pub layout: String,
}

impl Default for Unsaid {
    /// What a MIOpenDriver command without options does.
    fn default() -> Self {
        let all = ["F", "B", "W"].map(String::from).to_vec();
        Unsaid { directions: all, dtypes: vec!["FP32".into()], layout: "NCHW".into() }
    }
}

/// Names of columns in others' tables, in lower case and without `_`, and ours.
const NAMES: [(&str, &str); 38] = [
    ("n", "N"),
    ("batch", "N"),
    ("batchsize", "N"),
    ("c", "C"),
    ("inchannels", "C"),
    ("h", "H"),
    ("inh", "H"),
    ("w", "W"),
    ("inw", "W"),
    ("k", "K"),
    ("outchannels", "K"),
    ("fh", "R"),
    ("r", "R"),
    ("filh", "R"),
    ("filterh", "R"),
    ("fw", "S"),
    ("s", "S"),
    ("filw", "S"),
    ("filterw", "S"),
    ("ph", "pad_h"),
    ("padh", "pad_h"),
    ("pw", "pad_w"),
    ("padw", "pad_w"),
    ("sh", "stride_h"),
    ("strideh", "stride_h"),
    ("hstride", "stride_h"),
    ("sw", "stride_w"),
    ("stridew", "stride_w"),
    ("wstride", "stride_w"),
    ("dh", "dilation_h"),
    ("dilationh", "dilation_h"),
    ("dw", "dilation_w"),
    ("dilationw", "dilation_w"),
    ("g", "groups"),
    ("groups", "groups"),
    ("direction", "direction"),
    ("dtype", "dtype"),
    ("layout", "layout"),
];

/// Sizes that a table must have.
const NEEDED: [&str; 7] = ["N", "C", "H", "W", "K", "R", "S"];

/// Checks whether a line names columns.
pub(crate) fn is_head(line: &str) -> bool {
    let names: Vec<Option<&str>> = line.split(',').map(ours).collect();
    names.len() >= NEEDED.len() && names.contains(&Some("N")) && names.contains(&Some("K"))
}

fn ours(name: &str) -> Option<&'static str> {
    let plain = name.trim().to_lowercase().replace('_', "");
    NAMES.iter().find(|(theirs, _)| *theirs == plain).map(|(_, ours)| *ours)
}

/// The convolutions of a table's rows, each with its line's index, under the line of names. A column `op` may name other operations than `conv`, whose rows are passed over; other columns of
/// unknown names are too.
///
/// # Errors
/// [`Error::Input`] where a column is missing, with the number of the line where a row is no layer.
pub(crate) fn convolutions_of_table(head: &str, rows: &[(usize, &str)], unsaid: &Unsaid) -> Result<Vec<Convolution>> {
    let columns: Vec<Option<&str>> = head.split(',').map(ours).collect();
    let op = head.split(',').position(|name| name.trim() == "op");
    if let Some(missing) = NEEDED.iter().find(|name| !columns.contains(&Some(**name))) {
        return Err(Error::Input(format!("the table has no column for {missing}; its first line names {head}")));
    }
    let mut all = Vec::new();
    for (at, line) in rows {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if op.is_some_and(|op| cells.get(op).is_some_and(|name| *name != "conv")) {
            continue;
        }
        all.extend(of_row(&columns, &cells, unsaid).map_err(|e| e.at(format!("line {}", at + 1)))?);
    }
    Ok(all)
}

fn of_row(columns: &[Option<&str>], cells: &[&str], unsaid: &Unsaid) -> Result<Vec<Convolution>> {
    if cells.len() != columns.len() {
        return Err(Error::Input(format!("has {} cells, not {} as the first line", cells.len(), columns.len())));
    }
    let mut sizes = SIZES.map(|name| u32::from(!name.starts_with("pad")));
    let (mut directions, mut dtypes, mut layout) = (unsaid.directions.clone(), unsaid.dtypes.clone(), &*unsaid.layout);
    for (column, cell) in columns.iter().zip(cells) {
        match column {
            Some("direction") => directions = vec![cell.to_string()],
            Some("dtype") => dtypes = vec![cell.to_string()],
            Some("layout") => layout = cell,
            Some(name) => {
                let number = cell.parse().ok().filter(|n| *n <= MOST);
                let wrong = || Error::Input(format!("{name} `{cell}` is not a number up to {MOST}"));
                if let Some(at) = place_of(name) {
                    sizes[at] = number.ok_or_else(wrong)?;
                }
            }
            None => {}
        }
    }
    let mut all = Vec::new();
    for dtype in dtypes {
        let layer = Layer { dimensions: 2, dtype, layout: layout.into(), sizes };
        for direction in &directions {
            let room = || Error::Input("the filter does not fit into the padded image".into());
            all.push(layer.in_direction(direction).ok_or_else(room)?);
        }
    }
    all.iter().try_for_each(Convolution::check)?;
    Ok(all)
}
