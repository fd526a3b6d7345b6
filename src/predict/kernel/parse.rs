//! Reads expressions:
//!
//! ```text
//! expr    = or ;  or = and { "or" and } ;  and = not { "and" not } ;  not = "not" not | compare
//! compare = sum [ ("==" | "!=" | "<=" | ">=" | "<" | ">") sum ]
//! sum     = product { ("+" | "-") product } ;  product = unary { ("*" | "/" | "//" | "%") unary }
//! unary   = "-" unary | atom
//! atom    = number | name | name "(" expr { "," expr } ")" | "(" expr ")"
//! ```

use crate::error::{Result, input};
use crate::kernel::expr::{Binary, Expr, Unary};

impl Expr {
    /// Parses `text`; `resolve` gives the meaning of a name (a slot, a number, or a definition to inline).
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where the text is no expression, or a name is unknown.
    pub fn parse(text: &str, resolve: &dyn Fn(&str) -> Option<Expr>) -> Result<Expr> {
        let mut parser = Parser { tokens: tokenize(text)?, at: 0, text, resolve };
        let expr = parser.or()?;
        match parser.tokens.get(parser.at) {
            None => Ok(expr),
            Some(t) => input(format!("`{text}`: did not expect {t:?}")),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Name(String),
    Sign(&'static str),
}

const SIGNS: [&str; 16] = ["==", "!=", "<=", ">=", "//", "<", ">", "+", "-", "*", "/", "%", "(", ")", ",", "="];

fn tokenize(text: &str) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let word_end = |f: &dyn Fn(char) -> bool| rest.find(|c| !f(c)).unwrap_or(rest.len());
        let length;
        if c.is_ascii_digit() {
            let mantissa = word_end(&|c| c.is_ascii_digit() || c == '.');
            let exponent = rest[mantissa..].strip_prefix('e').map_or(0, |e| {
                let sign = e.starts_with('-') as usize;
                1 + sign + e[sign..].find(|c: char| !c.is_ascii_digit()).unwrap_or(e.len() - sign)
            });
            length = mantissa + exponent;
            match rest[..length].parse() {
                Ok(x) => tokens.push(Token::Number(x)),
                Err(_) => return input(format!("`{text}`: `{}` is not a number", &rest[..length])),
            }
        } else if c.is_ascii_alphabetic() || c == '_' {
            length = word_end(&|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
            tokens.push(Token::Name(rest[..length].to_string()));
        } else if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            length = sign.len();
            tokens.push(Token::Sign(sign));
        } else {
            return input(format!("`{text}`: did not expect `{c}`"));
        }
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

struct Parser<'a> {
    tokens: Vec<Token>,
    at: usize,
    text: &'a str,
    resolve: &'a dyn Fn(&str) -> Option<Expr>,
}

impl Parser<'_> {
    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Sign(s)) if *s == sign);
        self.at += found as usize;
        found
    }

    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Name(s)) if s == word);
        self.at += found as usize;
        found
    }

    fn or(&mut self) -> Result<Expr> {
        let mut left = self.and()?;
        while self.word("or") {
            left = binary(Binary::Or, left, self.and()?);
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expr> {
        let mut left = self.not()?;
        while self.word("and") {
            left = binary(Binary::And, left, self.not()?);
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expr> {
        if self.word("not") {
            return Ok(Expr::Unary(Unary::Not, Box::new(self.not()?)));
        }
        let left = self.chain(&[("+", Binary::Add), ("-", Binary::Sub)])?;
        let compare = [
            ("==", Binary::Eq),
            ("!=", Binary::Ne),
            ("<=", Binary::Le),
            (">=", Binary::Ge),
            ("<", Binary::Lt),
            (">", Binary::Gt),
        ];
        for (sign, op) in compare {
            if self.sign(sign) {
                return Ok(binary(op, left, self.chain(&[("+", Binary::Add), ("-", Binary::Sub)])?));
            }
        }
        Ok(left)
    }

    /// A left-associative chain of sums, or of products where the first operator is one.
    fn chain(&mut self, ops: &[(&str, Binary)]) -> Result<Expr> {
        let products = [("*", Binary::Mul), ("//", Binary::FloorDiv), ("/", Binary::Div), ("%", Binary::Mod)];
        let is_sum = ops[0].0 == "+";
        let operand = |p: &mut Self| if is_sum { p.chain(&products) } else { p.unary() };
        let mut left = operand(self)?;
        'next: loop {
            for (sign, op) in ops {
                if self.sign(sign) {
                    left = binary(*op, left, operand(self)?);
                    continue 'next;
                }
            }
            return Ok(left);
        }
    }

    fn unary(&mut self) -> Result<Expr> {
        if self.sign("-") {
            return Ok(Expr::Unary(Unary::Neg, Box::new(self.unary()?)));
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Expr> {
        if self.sign("(") {
            let inner = self.or()?;
            return if self.sign(")") { Ok(inner) } else { input(format!("`{}`: a `)` is missing", self.text)) };
        }
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        match token {
            Some(Token::Number(x)) => Ok(Expr::Number(x)),
            Some(Token::Name(name)) if self.sign("(") => self.call(&name),
            Some(Token::Name(name)) => match (self.resolve)(&name) {
                Some(expr) => Ok(expr),
                None => input(format!("`{}`: the name `{name}` is unknown", self.text)),
            },
            _ => input(format!("`{}`: a value is missing", self.text)),
        }
    }

    fn call(&mut self, name: &str) -> Result<Expr> {
        let mut args = vec![self.or()?];
        while self.sign(",") {
            args.push(self.or()?);
        }
        if !self.sign(")") {
            return input(format!("`{}`: a `)` is missing after `{name}(`", self.text));
        }
        let mut args = args.into_iter();
        let (a, b, c, more) = (args.next(), args.next(), args.next(), args.next());
        let unary = |op| a.clone().map(|a| Expr::Unary(op, Box::new(a)));
        let two = |op| Some(binary(op, a.clone()?, b.clone()?));
        let made = match (name, b.is_some(), c.is_some()) {
            ("abs", false, false) => unary(Unary::Abs),
            ("floor", false, false) => unary(Unary::Floor),
            ("ceil", false, false) => unary(Unary::Ceil),
            ("log2", false, false) => unary(Unary::Log2),
            ("sqrt", false, false) => unary(Unary::Sqrt),
            ("min", true, false) => two(Binary::Min),
            ("max", true, false) => two(Binary::Max),
            ("cdiv", true, false) => two(Binary::CeilDiv),
            ("pow", true, false) => two(Binary::Pow),
            ("if", true, true) => match (a, b, c) {
                (Some(c), Some(a), Some(b)) => Some(Expr::If(Box::new(c), Box::new(a), Box::new(b))),
                _ => None,
            },
            _ => None,
        };
        match made {
            Some(expr) if more.is_none() => Ok(expr),
            _ => input(format!("`{}`: there is no function `{name}` with these arguments", self.text)),
        }
    }
}

fn binary(op: Binary, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}
