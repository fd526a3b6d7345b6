//! An evaluator of kernel.toml that shares no code with the program's: what docs/reference/kernel-toml.md says of constraints, written down once
//! more, by recursion over the text.

use std::collections::BTreeMap;

/// Constraints of a kernel as its files state them, with everything that they may name.
pub struct Rules {
    constraints: Vec<String>,
    defines: BTreeMap<String, String>,
    /// Labels of the fields that are choices.
    labels: BTreeMap<String, Vec<String>>,
}

impl Rules {
    /// Reads a kernel's file and its base.
    pub fn new(texts: &[&str]) -> Rules {
        let (mut constraints, mut defines, mut labels) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        let text = |value: &toml::Value| value.as_str().unwrap().to_string();
        for file in texts.iter().map(|text| text.parse::<toml::Table>().unwrap()) {
            let list = |key: &str| file.get(key).and_then(|list| list.as_array()).cloned().unwrap_or_default();
            constraints.extend(list("constraint").iter().map(|c| text(&c["expr"])));
            for (name, expr) in file.get("define").and_then(|d| d.as_table()).into_iter().flatten() {
                defines.insert(name.clone(), text(expr));
            }
            for field in list("field") {
                if let Some(of) = field.get("labels").and_then(|l| l.as_array()) {
                    labels.insert(text(&field["name"]), of.iter().map(text).collect());
                }
            }
        }
        Rules { constraints, defines, labels }
    }

    /// The first constraint that is broken by a problem and a config written as `name=value,...` on a device of these limits. A constraint
    /// that names a limit that is not known does not count.
    pub fn broken(&self, problem: &str, config: &str, limits: &BTreeMap<String, Option<f64>>) -> Option<&str> {
        let mut env: BTreeMap<String, Option<f64>> = limits.clone();
        for pair in problem.split(',').chain(config.split(',')) {
            let (name, value) = pair.split_once('=').unwrap();
            match self.labels.get(name) {
                Some(labels) => {
                    let is = |label: &String| (format!("{name}.{label}"), Some((label == value) as u8 as f64));
                    env.extend(labels.iter().map(is));
                }
                None => drop(env.insert(name.into(), Some(value.parse().unwrap()))),
            }
        }
        let holds = |text: &&String| Parser::new(text, &env, &self.defines).value().is_none_or(|value| value == 1.0);
        self.constraints.iter().find(|text| !holds(text)).map(String::as_str)
    }
}

/// Evaluates while it reads; `None` is a value that rests on an unknown limit.
struct Parser<'a> {
    words: Vec<String>,
    at: usize,
    env: &'a BTreeMap<String, Option<f64>>,
    defines: &'a BTreeMap<String, String>,
}

type Value = Option<f64>;
type Comparison = fn(f64, f64) -> bool;

impl<'a> Parser<'a> {
    fn new(text: &str, env: &'a BTreeMap<String, Option<f64>>, defines: &'a BTreeMap<String, String>) -> Parser<'a> {
        let (chars, mut words, mut at) = (text.chars().collect::<Vec<_>>(), Vec::new(), 0);
        while at < chars.len() {
            let begin = at;
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            match chars[at] {
                c if c.is_whitespace() => at += 1,
                c if is_word(c) => {
                    while at < chars.len() && is_word(chars[at]) {
                        let is_exponent = chars[begin].is_ascii_digit() && chars[at] == 'e';
                        at += 1 + (is_exponent && chars.get(at + 1) == Some(&'-')) as usize;
                    }
                }
                _ => {
                    let pair: String = chars[at..chars.len().min(at + 2)].iter().collect();
                    at += if ["==", "!=", "<=", ">=", "//"].contains(&pair.as_str()) { 2 } else { 1 };
                }
            }
            let word: String = chars[begin..at].iter().collect();
            if !word.trim().is_empty() {
                words.push(word);
            }
        }
        Parser { words, at: 0, env, defines }
    }

    fn value(mut self) -> Value {
        let value = self.or();
        assert_eq!(self.at, self.words.len(), "{:?}", self.words);
        value
    }

    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at).is_some_and(|next| next == word);
        self.at += is_next as usize;
        is_next
    }

    fn or(&mut self) -> Value {
        let mut left = self.and();
        while self.takes("or") {
            let right = self.and();
            left = both(left, right, |a, b| truth(a != 0.0 || b != 0.0));
        }
        left
    }

    fn and(&mut self) -> Value {
        let mut left = self.not();
        while self.takes("and") {
            let right = self.not();
            left = both(left, right, |a, b| truth(a != 0.0 && b != 0.0));
        }
        left
    }

    fn not(&mut self) -> Value {
        match self.takes("not") {
            true => self.not().map(|a| truth(a == 0.0)),
            false => self.compare(),
        }
    }

    fn compare(&mut self) -> Value {
        let left = self.sum();
        let of: [(&str, Comparison); 6] = [
            ("==", |a, b| a == b),
            ("!=", |a, b| a != b),
            ("<=", |a, b| a <= b),
            (">=", |a, b| a >= b),
            ("<", |a, b| a < b),
            (">", |a, b| a > b),
        ];
        match of.into_iter().find(|(word, _)| self.takes(word)) {
            Some((_, holds)) => {
                let right = self.sum();
                both(left, right, |a, b| truth(holds(a, b)))
            }
            None => left,
        }
    }

    fn sum(&mut self) -> Value {
        let mut left = self.product();
        loop {
            if self.takes("+") {
                left = both(left, self.product(), |a, b| a + b);
            } else if self.takes("-") {
                left = both(left, self.product(), |a, b| a - b);
            } else {
                return left;
            }
        }
    }

    fn product(&mut self) -> Value {
        let mut left = self.unary();
        loop {
            if self.takes("*") {
                left = both(left, self.unary(), |a, b| a * b);
            } else if self.takes("//") {
                left = both(left, self.unary(), |a, b| whole(a, b, |a, b| a.div_euclid(b)));
            } else if self.takes("/") {
                left = both(left, self.unary(), |a, b| a / b);
            } else if self.takes("%") {
                left = both(left, self.unary(), |a, b| whole(a, b, |a, b| a.rem_euclid(b)));
            } else {
                return left;
            }
        }
    }

    fn unary(&mut self) -> Value {
        match self.takes("-") {
            true => self.unary().map(|a| -a),
            false => self.atom(),
        }
    }

    fn atom(&mut self) -> Value {
        let word = self.words[self.at].clone();
        self.at += 1;
        if word == "(" {
            let inner = self.or();
            assert!(self.takes(")"));
            return inner;
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return Some(word.parse().unwrap());
        }
        if !self.takes("(") {
            return match self.defines.get(&word) {
                Some(text) => Parser::new(text, self.env, self.defines).value(),
                None => *self.env.get(&word).unwrap_or_else(|| panic!("`{word}` is unknown")),
            };
        }
        let mut of = vec![self.or()];
        while self.takes(",") {
            of.push(self.or());
        }
        assert!(self.takes(")"));
        call(&word, &of)
    }
}

fn call(name: &str, of: &[Value]) -> Value {
    let of: Vec<f64> = of.iter().copied().collect::<Option<_>>()?;
    Some(match (name, &of[..]) {
        // of a number and NaN the number
        ("min", [a, b]) if a.is_nan() || b < a => *b,
        ("min", [a, _]) => *a,
        ("max", [a, b]) if a.is_nan() || b > a => *b,
        ("max", [a, _]) => *a,
        ("cdiv", [a, b]) => whole(*a, *b, |a, b| -(-a).div_euclid(b)),
        ("pow", [a, b]) => a.powf(*b),
        ("if", [c, a, b]) => {
            if *c != 0.0 {
                *a
            } else {
                *b
            }
        }
        ("abs", [a]) => a.abs(),
        ("floor", [a]) => a.floor(),
        ("ceil", [a]) => a.ceil(),
        ("log2", [a]) => a.log2(),
        ("sqrt", [a]) => a.sqrt(),
        other => panic!("{other:?}"),
    })
}

fn both(a: Value, b: Value, f: impl Fn(f64, f64) -> f64) -> Value {
    Some(f(a?, b?))
}

fn truth(holds: bool) -> f64 {
    holds as u8 as f64
}

fn whole(a: f64, b: f64, f: impl Fn(i128, i128) -> i128) -> f64 {
    match a.is_nan() || b.is_nan() || b.trunc() == 0.0 {
        true => f64::NAN,
        false => f(a.trunc() as i128, b.trunc() as i128) as f64,
    }
}
