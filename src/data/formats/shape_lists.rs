//! Shapes that people list: comma-separated values below a line of names, or `name=value` pairs in each line.

/// A field with its value, as a text has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedField {
    /// Name of the field.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl NamedField {
    /// A field, without blanks around its name and value.
    pub fn new(name: &str, value: &str) -> NamedField {
        NamedField { name: name.trim().into(), value: value.trim().into() }
    }
}

/// How a text lists shapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeList<'t> {
    /// Names of the columns, where the first line has names alone.
    columns: Option<Vec<&'t str>>,
}

impl<'t> ShapeList<'t> {
    /// By the first line of a text.
    pub fn from_text(text: &'t str) -> ShapeList<'t> {
        let names: Vec<&str> = text.lines().next().unwrap_or_default().split(',').map(str::trim).collect();
        let is_name = |name: &&str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        ShapeList { columns: (names.len() > 1 && names.iter().all(is_name)).then_some(names) }
    }

    /// The shape of a line, the `at`th from 0; `None` of a line that has none.
    pub fn shape(&self, at: usize, line: &str) -> Option<Vec<NamedField>> {
        let line = line.trim();
        match &self.columns {
            Some(_) if at == 0 || line.is_empty() => None,
            Some(names) => {
                Some(names.iter().zip(line.split(',')).map(|(name, value)| NamedField::new(name, value)).collect())
            }
            None if is_pairs(line) => {
                let pairs = line.split(',').filter_map(|part| part.split_once('='));
                Some(pairs.map(|(name, value)| NamedField::new(name, value)).collect())
            }
            None => None,
        }
    }
}

/// Whether a line has pairs of names and values alone.
fn is_pairs(line: &str) -> bool {
    !line.starts_with('#')
        && line.split(',').all(|part| part.split_once('=').is_some_and(|(name, _)| !name.trim().contains(' ')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(text: &str) -> Vec<String> {
        let list = ShapeList::from_text(text);
        let write = |shape: Vec<NamedField>| {
            shape.iter().map(|field| format!("{}={}", field.name, field.value)).collect::<Vec<_>>().join(",")
        };
        text.lines().enumerate().filter_map(|(at, line)| list.shape(at, line)).map(write).collect()
    }

    #[test]
    fn shapes_are_read_below_names_and_from_pairs() {
        assert_eq!(shapes("M,N,K\n1, 2, 3\n\n4,5,6\n"), ["M=1,N=2,K=3", "M=4,N=5,K=6"]);
        assert_eq!(shapes("# M=9\nM=1, N=2\nno shape\nINFO x y=1\n"), ["M=1,N=2"]);
        assert!(shapes("").is_empty());
    }
}
