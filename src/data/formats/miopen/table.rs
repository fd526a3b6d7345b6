//! Layers of models as a table: comma-separated values under a line of names, one row a layer.

use crate::formats::miopen::convolution::{Convolution, MOST, SIZES, place_of};
use crate::formats::miopen::layer::Layer;
use seqtune_kernel::error::{Error, Result};

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

/// Names of columns in others' tables, in lower case and without `_`, and ours: both of an axis where one number stands for rows and columns.
const NAMES: [(&str, &[&str]); 24] = [
    ("n batch batchsize", &["N"]),
    ("c inchannels", &["C"]),
    ("h inh height", &["H"]),
    ("w inw width", &["W"]),
    ("k outchannels", &["K"]),
    ("fh r filh filterh kernelh", &["R"]),
    ("fw s filw filterw kernelw", &["S"]),
    ("filter kernel filtersize kernelsize", &["R", "S"]),
    ("ph padh paddingh", &["pad_h"]),
    ("pw padw paddingw", &["pad_w"]),
    ("pad padding", &["pad_h", "pad_w"]),
    ("sh strideh hstride convstrideh", &["stride_h"]),
    ("sw stridew wstride convstridew", &["stride_w"]),
    ("stride", &["stride_h", "stride_w"]),
    ("dh dilationh", &["dilation_h"]),
    ("dw dilationw", &["dilation_w"]),
    ("dilation", &["dilation_h", "dilation_w"]),
    ("g groups groupcount", &["groups"]),
    ("direction", &["direction"]),
    ("dtype", &["dtype"]),
    ("layout", &["layout"]),
    // which rows are convolutions
    ("op", &[]),
    // what layers are called and how often they are there
    ("name layer model network id", &[]),
    ("count occurrences", &[]),
];

/// Sizes that a table must have.
const NEEDED: [&str; 7] = ["N", "C", "H", "W", "K", "R", "S"];

/// Checks whether a line names columns.
pub(crate) fn is_head(line: &str) -> bool {
    let names: Vec<&str> = line.split(',').filter_map(ours).flatten().copied().collect();
    line.split(',').count() >= 4 && names.contains(&"N") && names.contains(&"K")
}

/// The fields that a column of this name sets; `None` where the name is unknown.
fn ours(name: &str) -> Option<&'static [&'static str]> {
    let plain = name.trim().to_lowercase().replace('_', "");
    NAMES.iter().find(|(theirs, _)| theirs.split(' ').any(|known| known == plain)).map(|(_, ours)| *ours)
}

/// A line with its index in the file.
#[derive(Clone, Copy)]
pub(crate) struct NumberedLine<'t> {
    pub(crate) at: usize,
    pub(crate) line: &'t str,
}

/// What is given the index of each line, with its convolutions or what is wrong with it.
pub(crate) type Each<'e> = &'e mut dyn FnMut(usize, Result<Vec<Convolution>>) -> Result<()>;

/// Gives the convolutions of a table's rows, each with its line's index, under the line of names. A column `op` may name other operations than `conv`,
/// whose rows are passed over.
///
/// # Errors
/// [`Error::Input`] where a column is missing, unknown or there twice, and those of `each`.
pub(crate) fn convolutions_of_table(head: &str, rows: &[NumberedLine], unsaid: &Unsaid, each: Each) -> Result<()> {
    let mut columns: Vec<&[&str]> = Vec::new();
    for name in head.split(',') {
        let Some(fields) = ours(name) else {
            return Err(Error::Input(format!(
                "the table's column `{}` is unknown; name it as docs/integrations/miopen.md has it, or leave it out",
                name.trim()
            )));
        };
        if let Some(twice) = fields.iter().find(|field| columns.iter().any(|others| others.contains(field))) {
            return Err(Error::Input(format!("the table has two columns for {twice}; its first line names {head}")));
        }
        columns.push(fields);
    }
    let op = head.split(',').position(|name| name.trim() == "op");
    if let Some(missing) = NEEDED.iter().find(|name| !columns.iter().any(|fields| fields.contains(*name))) {
        return Err(Error::Input(format!("the table has no column for {missing}; its first line names {head}")));
    }
    for NumberedLine { at, line } in rows {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if op.is_some_and(|op| cells.get(op).is_some_and(|name| *name != "conv")) {
            continue;
        }
        each(*at, of_row(&columns, &cells, unsaid))?;
    }
    Ok(())
}

fn of_row(columns: &[&[&str]], cells: &[&str], unsaid: &Unsaid) -> Result<Vec<Convolution>> {
    if cells.len() != columns.len() {
        return Err(Error::Input(format!("has {} cells, not {} as the first line", cells.len(), columns.len())));
    }
    let mut sizes = SIZES.map(|name| u32::from(!name.starts_with("pad")));
    let (mut directions, mut dtypes, mut layout) = (unsaid.directions.clone(), unsaid.dtypes.clone(), &*unsaid.layout);
    let fields = columns.iter().zip(cells).flat_map(|(fields, cell)| fields.iter().map(move |field| (*field, *cell)));
    for (field, cell) in fields {
        match field {
            "direction" => directions = vec![cell.to_string()],
            "dtype" => dtypes = vec![cell.to_string()],
            "layout" => layout = cell,
            name => {
                let number = cell.parse().ok().filter(|n| *n <= MOST);
                let wrong = || Error::Input(format!("{name} `{cell}` is not a number up to {MOST}"));
                if let Some(at) = place_of(name) {
                    sizes[at] = number.ok_or_else(wrong)?;
                }
            }
        }
    }
    let mut all = Vec::new();
    for dtype in dtypes {
        let layer = Layer { dimensions: 2, dtype, layout: layout.into(), sizes };
        for direction in &directions {
            all.push(layer.in_direction(direction)?);
        }
    }
    all.iter().try_for_each(Convolution::check)?;
    Ok(all)
}
