//! Convolutions as people write them: command lines of MIOpenDriver, as MIOpen's logs and scripts have them, database keys,
//! name=value pairs.

use crate::bad_rows::BadRows;
use crate::formats::miopen::convolution::{Convolution, FLAT_DEPTH, LAYOUTS, MOST, SIZES, place_of, sizes_of};
use crate::formats::miopen::layer::Layer;
use crate::formats::miopen::table::{Each, NumberedLine, Unsaid, convolutions_of_table, is_head};
use seqtune_kernel::error::{Error, Result, quote};
use std::collections::{HashMap, HashSet};

/// An option's short and long name, and its default.
const OPTIONS: [(&str, &str, u32); 20] = [
    ("-n", "--batchsize", 100),
    ("-c", "--in_channels", 3),
    ("-H", "--in_h", 32),
    ("-W", "--in_w", 32),
    ("-k", "--out_channels", 32),
    ("-y", "--fil_h", 3),
    ("-x", "--fil_w", 3),
    ("-p", "--pad_h", 0),
    ("-q", "--pad_w", 0),
    ("-u", "--conv_stride_h", 1),
    ("-v", "--conv_stride_w", 1),
    ("-l", "--dilation_h", 1),
    ("-j", "--dilation_w", 1),
    ("-g", "--group_count", 1),
    ("-F", "--forw", 0),
    ("-!", "--in_d", 32),
    ("-@", "--fil_d", 3),
    ("-$", "--pad_d", 0),
    ("-#", "--conv_stride_d", 1),
    ("-^", "--dilation_d", 1),
];

/// Options that leave the convolution as it is: what is printed, timed, checked or read from files. Each takes a value.
const SILENT: [(&str, &str); 22] = [
    ("-i", "--iter"),
    ("-V", "--verify"),
    ("-C", "--verification_cache"),
    ("-t", "--time"),
    ("-w", "--wall"),
    ("-s", "--search"),
    ("-P", "--printconv"),
    ("-o", "--dump_output"),
    ("-d", "--in_data"),
    ("-e", "--weights"),
    ("-b", "--bias"),
    ("-a", "--in_bias"),
    ("-D", "--dout_data"),
    ("-S", "--solution"),
    ("-G", "--gpualloc"),
    ("-Y", "--trans_output_pad_h"),
    ("-X", "--trans_output_pad_w"),
    ("-%", "--trans_output_pad_d"),
    ("-N", "--init_output_nan"),
    ("-&", "--tuning_policy"),
    ("-A", "--gpubuffer_check"),
    ("-Q", "--use_hip_graph"),
];

/// Options of which one value alone is described.
const FIXED: [(&str, &str, &str); 9] = [
    ("-m", "--mode", "conv"),
    ("-z", "--pad_mode", "default"),
    ("-r", "--pad_val", "0"),
    ("-Z", "--tensor_vect", "0"),
    ("-L", "--vector_length", "1"),
    ("-U", "--in_cast_type", "-1"),
    ("-R", "--wei_cast_type", "-1"),
    ("-T", "--out_cast_type", "-1"),
    ("-M", "--math_type", "1"),
];

/// Options of the layouts of input, filter and output.
const LAYOUT_OPTIONS: [(&str, &str); 3] = [("-I", "--in_layout"), ("-f", "--fil_layout"), ("-O", "--out_layout")];

/// The options of a command line.
struct DriverOptions<'a> {
    values: [u32; OPTIONS.len()],
    dimensions: u32,
    layout: &'a str,
}

/// What the shell takes of a line, behind a command.
const OF_SHELLS: [&str; 8] = ["|", "||", "&", "&&", ";", "2>&1", ">", ">>"];

/// The words of a command, without what logs and scripts write around them: quotation marks, what the shell takes, a comma at the end.
fn words_of(line: &str) -> Vec<&str> {
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`' | ',' | '[' | ']');
    let words = line.split_whitespace().map(|word| word.trim_matches(is_quote)).filter(|word| !word.is_empty());
    words.take_while(|word| !OF_SHELLS.contains(word)).collect()
}

/// Checks whether a word is the driver's name, with or without a folder.
fn is_driver(word: &str) -> bool {
    let name = word.rsplit(['/', '\\', ':', ']']).next().unwrap_or_default();
    name == "MIOpenDriver" || name.eq_ignore_ascii_case("MIOpenDriver.exe")
}

/// The convolutions that `MIOpenDriver conv… options` stands for: one per direction that `-F` asks for (1 forward, 2 backward
/// data, 4 backward weights, 0 all, or a sum). Options that do not change the convolution are passed over.
///
/// # Errors
/// [`Error::Input`] where the line is no such command, or describes another kind of convolution.
pub fn convolutions_of_command(line: &str) -> Result<Vec<Convolution>> {
    let bad = |what: String| Error::Input(format!("`{line}`: {what}"));
    let words = words_of(line);
    let Some(at) = words.iter().position(|word| is_driver(word)) else {
        return Err(bad("is no MIOpenDriver command line".into()));
    };
    let dtype = match words.get(at + 1).copied() {
        Some("conv" | "convfp32") => "FP32",
        Some("convfp16") => "FP16",
        Some("convbfp16") => "BF16",
        Some("convint8") => "INT8",
        other => return Err(bad(format!("`{}` is not conv, convfp16, convbfp16 or convint8", other.unwrap_or("")))),
    };
    let DriverOptions { values, dimensions, layout } = options(&words[at + 2..]).map_err(bad)?;
    let [n, c, h, w, k, r, s, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, groups, directions, depth @ ..] =
        values;
    let depth = if dimensions == 3 { depth } else { FLAT_DEPTH };
    let flat = [n, c, h, w, k, r, s, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, groups];
    let layer = Layer { dimensions, dtype: dtype.into(), layout: layout.into(), sizes: sizes_of(flat, depth) };
    if directions > 7 {
        return Err(bad(format!(
            "-F {directions} names no direction: 1 forward, 2 backward data, 4 weights, 0 all, or sums"
        )));
    }
    let convolution = |direction: &str| layer.in_direction(direction).map_err(|e| bad(e.to_string()));
    let asked = |(_, bit): &(&str, u32)| directions == 0 || directions & bit != 0;
    [("F", 1), ("B", 2), ("W", 4)].into_iter().filter(asked).map(|(d, _)| convolution(d)).collect()
}

/// Reads the options behind the driver's name; the sentence where one cannot be read.
fn options<'a>(words: &[&'a str]) -> std::result::Result<DriverOptions<'a>, String> {
    let mut values = OPTIONS.map(|(_, _, default)| default);
    let (mut layouts, mut dimensions) = ([None; 3], 2);
    let (mut rest, mut seen) = (words.iter(), HashMap::new());
    while let Some(word) = rest.next() {
        // both `--in_h 32` and `--in_h=32`
        let (name, joined) = word.split_once('=').map_or((*word, None), |(n, v)| (n, Some(v)));
        let is = |(short, long): (&str, &str)| short == name || long == name;
        let fixed = FIXED.iter().find(|(short, long, _)| is((short, long)));
        let size = OPTIONS.iter().position(|(short, long, _)| is((short, long)));
        let layout = LAYOUT_OPTIONS.iter().position(|names| is(*names));
        let dimension = is(("-_", "--spatial_dim"));
        if fixed.is_none() && size.is_none() && layout.is_none() && !dimension && !SILENT.into_iter().any(is) {
            return Err(format!("`{name}` is not an option of MIOpenDriver"));
        }
        let Some(text) = joined.or_else(|| rest.next().copied()) else {
            return Err(format!("{name} has no value"));
        };
        let known = size.map_or(name, |at| OPTIONS[at].1);
        if seen.insert(known, text).is_some_and(|before| before != text) {
            return Err(format!("{name} is given twice"));
        }
        if let Some(at) = size {
            let number = text.parse().ok().filter(|n| *n <= MOST);
            values[at] = number.ok_or_else(|| format!("{name} `{text}` is not a number up to {MOST}"))?;
        } else if let Some(at) = layout {
            layouts[at] = Some(text);
        } else if dimension {
            let number = text.parse().ok().filter(|n| (2..=3).contains(n));
            dimensions = number.ok_or("only 2 or 3 dimensions are described")?;
        } else if let Some((_, _, only)) = fixed.filter(|(_, _, only)| *only != text) {
            return Err(format!("{name} {text} is not described, only {only}"));
        }
    }
    let known = LAYOUTS[usize::from(dimensions == 3)];
    let layout = layouts[0].unwrap_or(known[0]);
    if !known.contains(&layout) {
        return Err(format!("layout `{layout}` is not {} or {}", known[0], known[1]));
    }
    match layouts.into_iter().flatten().find(|other| *other != layout) {
        Some(other) => Err(format!("layouts {layout} and {other} in one convolution are not described")),
        None => Ok(DriverOptions { values, dimensions, layout }),
    }
}

/// What is read of lines.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// Their convolutions, in order.
    pub convolutions: Vec<Convolution>,
    /// Lines that are no convolution which is described.
    pub left_out: BadRows,
    /// Number of lines.
    pub lines: usize,
}

/// The convolutions of lines in any of the notations, or of a table whose first line names its columns; empty lines and `#` comments
/// are skipped. `unsaid` is for tables.
///
/// # Errors
/// [`Error::Input`] with the number of the line that is no convolution.
pub fn convolutions_of_lines(text: &str, unsaid: &Unsaid) -> Result<Vec<Convolution>> {
    let mut all = Vec::new();
    each_line(text, unsaid, &mut |at, found| {
        all.extend(found.map_err(|e| e.at_place(format!("line {}", at + 1)))?);
        Ok(())
    })?;
    Ok(all)
}

/// As [`convolutions_of_lines`], without the lines that are no convolution: these are counted.
///
/// # Errors
/// [`Error::Input`] where no line is a convolution, with the first of them, or where a table's columns are wrong.
pub fn readable_lines(text: &str, unsaid: &Unsaid) -> Result<Lines> {
    let (mut found, mut first) = (Lines::default(), None);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    each_line(text, unsaid, &mut |at, line| {
        found.lines += 1;
        match line {
            Ok(convolutions) => found.convolutions.extend(convolutions),
            Err(e) => {
                let (place, line, what) = (format!("line {}", at + 1), lines[at], e.to_string());
                // the line belongs to the example
                let reason = what.strip_prefix(&format!("`{line}`: ")).unwrap_or(&what);
                found.left_out.add(reason, &format!("{place}: `{}`", quote(line)));
                first.get_or_insert(e.at_place(place));
            }
        }
        Ok(())
    })?;
    match first.filter(|_| found.convolutions.is_empty()) {
        Some(e) => Err(e),
        None => Ok(found),
    }
}

/// Gives each line's index and convolutions, or what is wrong with it.
fn each_line(text: &str, unsaid: &Unsaid, each: Each) -> Result<()> {
    let lines = text.lines().enumerate().map(|(at, line)| NumberedLine { at, line: line.trim() });
    let is_said = |numbered: &NumberedLine| !numbered.line.is_empty() && !numbered.line.starts_with('#');
    let lines: Vec<NumberedLine> = lines.filter(is_said).collect();
    if let Some((head, rows)) = lines.split_first().filter(|(head, _)| is_head(head.line)) {
        return convolutions_of_table(head.line, rows, unsaid, each);
    }
    for NumberedLine { at: i, line } in lines {
        let found = if line.contains("MIOpenDriver") {
            convolutions_of_command(line)
        } else if line.contains('=') && line.split(',').all(|pair| pair.contains('=')) && !line.contains(':') {
            of_pairs(line).map(|c| vec![c])
        } else {
            // the key of a database's line, with or without what follows it
            Convolution::parse(line.split('=').next().unwrap_or_default()).map(|c| vec![c])
        };
        each(i, found.and_then(|found| found.iter().try_for_each(Convolution::check).map(|()| found)))?;
    }
    Ok(())
}

/// `direction=F,N=…`, kernel-side as in a problem.
fn of_pairs(line: &str) -> Result<Convolution> {
    let bad = |what: String| Error::Input(format!("`{line}`: {what}"));
    let (mut direction, mut dtype, mut layout) = (None, "FP32".to_string(), None);
    let dimensions = if line.split(',').any(|pair| pair.trim_start().starts_with("D=")) { 3 } else { 2 };
    let mut sizes = SIZES.map(|name| match name {
        name if name.starts_with("pad") => Some(0),
        name if name.starts_with("stride") || name.starts_with("dilation") || name == "groups" => Some(1),
        "D" | "T" if dimensions == 2 => Some(1),
        _ => None,
    });
    let mut seen = HashSet::new();
    for pair in line.split(',') {
        let (name, value) = pair.split_once('=').map_or((pair, ""), |(n, v)| (n.trim(), v.trim()));
        if !seen.insert(name) {
            return Err(bad(format!("{name} is given twice")));
        }
        match name {
            "direction" => direction = Some(value.to_string()),
            "dtype" => dtype = value.into(),
            "layout" => layout = Some(value.to_string()),
            _ => match place_of(name) {
                Some(i) => sizes[i] = Some(value.parse().map_err(|_| bad(format!("{name}={value} is not a number")))?),
                None => return Err(bad(format!("there is no field `{name}`"))),
            },
        }
    }
    let missing = SIZES.iter().zip(&sizes).find(|(_, s)| s.is_none()).map(|(name, _)| *name);
    match (direction, missing) {
        (None, _) => Err(bad("direction= is missing (F, B or W)".into())),
        (_, Some(name)) => Err(bad(format!("{name}= is missing"))),
        (Some(direction), None) => {
            let sizes = sizes.map(|s| s.unwrap_or(0));
            let layout = layout.unwrap_or_else(|| LAYOUTS[usize::from(dimensions == 3)][0].into());
            let convolution =
                Convolution { direction, dtype, layout, dimensions, sizes, output: None, beyond: String::new() };
            convolution.check_fit()?;
            Ok(Convolution { output: Some(convolution.smallest_output()), ..convolution })
        }
    }
}
