//! Files of JSON that hold one list of rows: also cut off in the last of them, where whoever wrote it was stopped.

use crate::formats::json::{parts, with_nan_as};
use seqtune_kernel::error::{Error, Result, input};
use serde_json::{Map, Value};

/// A file: its members, and the rows of its list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Members but the list.
    pub members: Map<String, Value>,
    /// Rows that are whole.
    pub rows: Vec<Value>,
    /// Whether the file ends in a row, or before its end.
    pub is_cut: bool,
}

/// What is counted of a file that was cut off.
pub const CUT: &str = "the file is cut off there";

/// Reads a file whose rows are the list called `list`. Infinities are `null`, and what is no number is the text `NaN`.
///
/// # Errors
/// [`Error::Input`] where the text is no object of JSON that has the list.
pub fn read(text: &str, list: &str) -> Result<Listed> {
    if text.trim().is_empty() {
        return input("it is empty");
    }
    let plain = with_nan_as(text, "\"NaN\"");
    let lacks = || Error::Input(format!("it has no {list}"));
    match serde_json::from_str::<Value>(&plain) {
        Ok(Value::Object(mut members)) => match members.remove(list) {
            Some(Value::Array(rows)) => Ok(Listed { members, rows, is_cut: false }),
            _ => Err(lacks()),
        },
        Ok(_) => Err(lacks()),
        Err(e) => cut(&plain, list).ok_or_else(|| Error::Input(e.to_string())),
    }
}

/// What is whole of a file that was cut off in its list; `None` of any other text.
fn cut(text: &str, list: &str) -> Option<Listed> {
    let mut found = Listed { members: Map::new(), rows: Vec::new(), is_cut: true };
    let mut all = parts(text).ok()?;
    let last = all.pop().filter(|last| !last.is_whole && last.name == Some(list))?;
    for part in all {
        found.members.insert(part.name?.into(), serde_json::from_str(part.text).ok()?);
    }
    for row in parts(last.text).ok()?.iter().filter(|row| row.is_whole && row.name.is_none()) {
        found.rows.push(serde_json::from_str(row.text).ok()?);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_whole_are_kept_of_a_file_that_is_cut_off_in_its_list_and_of_no_other_text() {
        let text = r#"{"name": "a", "rows": [{"x": [1, 2]}, {"x": Infinity}, {"x": 3}]}"#;
        let whole = read(text, "rows").unwrap();
        assert_eq!((whole.rows.len(), whole.is_cut, &whole.members["name"]), (3, false, &Value::from("a")));
        assert!(whole.rows[1]["x"].is_null());
        for (end, rows) in [(text.len() - 2, 2), (text.len() - 4, 2), (text.find("Inf").unwrap(), 1), (24, 0)] {
            let cut = read(&text[..end], "rows").unwrap();
            assert_eq!((cut.rows.len(), cut.is_cut), (rows, true), "{}", &text[..end]);
        }
        for other in
            ["", "[1]", "{\"name\": \"a\"", "{\"name\": \"a\"}", "{\"rows\": 3}", "{\"rows\": [1, x, 2", "rows"]
        {
            assert!(read(other, "rows").is_err(), "{other}");
        }
    }
}
