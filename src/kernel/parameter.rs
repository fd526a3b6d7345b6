//! A knob of a kernel.

/// One knob.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Name, as in expressions and in the source.
    pub name: String,
    /// Values that it may take; a choice is an index of these. Of a parameter with labels they count from 0.
    pub values: Vec<i64>,
    /// Names of the values, where they have some.
    pub labels: Vec<String>,
    /// What templates write for each value, where it is not its label or number.
    pub texts: Vec<String>,
    /// Index of the default value.
    pub default: usize,
    /// Index of the value with which the program is what it was before there was the parameter, where that is stated.
    pub before: Option<usize>,
    /// Meaning in words.
    pub meaning: String,
}

impl Parameter {
    /// A value as users write it: its label, or its number.
    pub fn show(&self, choice: usize) -> String {
        self.labels.get(choice).cloned().unwrap_or_else(|| self.values[choice].to_string())
    }

    /// All values as users write them.
    pub fn value_texts(&self) -> Vec<String> {
        (0..self.values.len()).map(|choice| self.show(choice)).collect()
    }

    /// Index of the value that is written so.
    pub fn choice(&self, text: &str) -> Option<usize> {
        match self.labels.is_empty() {
            true => text.parse::<i64>().ok().and_then(|value| self.values.iter().position(|x| *x == value)),
            false => self.labels.iter().position(|label| label == text),
        }
    }

    /// What templates write for a value.
    pub(crate) fn text_of_value(&self, value: f64) -> String {
        let Some(at) = self.values.iter().position(|known| *known as f64 == value) else { return value.to_string() };
        self.texts.get(at).cloned().unwrap_or_else(|| self.show(at))
    }

    /// All values for JSON.
    pub fn all_json(&self) -> Vec<serde_json::Value> {
        (0..self.values.len()).map(|choice| self.json(choice)).collect()
    }

    /// A value for JSON: its number, or its label.
    pub fn json(&self, choice: usize) -> serde_json::Value {
        match self.labels.get(choice) {
            Some(label) => label.clone().into(),
            None => self.values[choice].into(),
        }
    }
}
