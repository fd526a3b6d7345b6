//! Reads expressions:
//!
//! ```text
//! expr    = or ;  or = and { "or" and } ;  and = not { "and" not } ;  not = "not" not | compare
//! compare = sum [ ("==" | "!=" | "<=" | ">=" | "<" | ">") sum ]
//! sum     = product { ("+" | "-") product } ;  product = unary { ("*" | "/" | "//" | "%") unary }
//! unary   = "-" unary | atom
//! atom    = number | name | name "(" expr { "," expr } ")" | "(" expr ")"
//! ```

use crate::error::{Result, input, quote};
use crate::expressions::{Binary, Expr, Unary};
use crate::limits::DEPTH;

impl Expr {
    /// Parses `text`; `resolve` gives the meaning of a name (a slot, a number, or a definition to inline).
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where the text is no expression, or a name is unknown.
    pub fn parse(text: &str, resolve: &dyn Fn(&str) -> Option<Expr>) -> Result<Expr> {
        let whole = || {
            let mut parser = Parser { tokens: tokenize(text)?, at: 0, depth: 0, resolve };
            let expr = parser.or()?;
            match parser.tokens.get(parser.at) {
                None => Ok(expr),
                Some(t) => input(format!("did not expect {t}")),
            }
        };
        whole().map_err(|e| e.at_place(format!("`{}`", quote(text))))
    }

    /// The names in `text` that stand for a value.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) where it holds what is no part of an expression.
    pub(crate) fn names(text: &str) -> Result<Vec<String>> {
        let tokens = tokenize(text).map_err(|e| e.at_place(format!("`{}`", quote(text))))?;
        let name = |token| if let ExprToken::Name(name) = token { Some(name) } else { None };
        Ok(tokens.into_iter().filter_map(name).collect())
    }
}

#[derive(Clone, Debug, PartialEq)]
enum ExprToken {
    Number(f64),
    Name(String),
    Sign(&'static str),
}

impl std::fmt::Display for ExprToken {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            ExprToken::Number(x) => write!(f, "the number {x}"),
            ExprToken::Name(name) => write!(f, "the name `{}`", quote(name)),
            ExprToken::Sign(sign) => write!(f, "`{sign}`"),
        }
    }
}

const SIGNS: [&str; 16] = ["==", "!=", "<=", ">=", "//", "<", ">", "+", "-", "*", "/", "%", "(", ")", ",", "="];

fn tokenize(text: &str) -> Result<Vec<ExprToken>> {
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
                Ok(x) => tokens.push(ExprToken::Number(x)),
                Err(_) => return input(format!("`{}` is not a number", quote(&rest[..length]))),
            }
        } else if c.is_ascii_alphabetic() || c == '_' {
            length = word_end(&|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
            tokens.push(ExprToken::Name(rest[..length].to_string()));
        } else if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            length = sign.len();
            tokens.push(ExprToken::Sign(sign));
        } else {
            return input(format!("did not expect `{}`", quote(&c.to_string())));
        }
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

struct Parser<'a> {
    tokens: Vec<ExprToken>,
    at: usize,
    /// Parentheses, functions and signs that are open.
    depth: usize,
    resolve: &'a dyn Fn(&str) -> Option<Expr>,
}

/// What a chain is made of.
#[derive(Clone, Copy, PartialEq)]
enum Chain {
    Sums,
    Products,
}

impl Parser<'_> {
    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(ExprToken::Sign(s)) if *s == sign);
        self.at += found as usize;
        found
    }

    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(ExprToken::Name(s)) if s == word);
        self.at += found as usize;
        found
    }

    /// What `inside` reads, one level deeper.
    fn deeper(&mut self, inside: impl FnOnce(&mut Self) -> Result<Expr>) -> Result<Expr> {
        self.depth += 1;
        if self.depth > DEPTH {
            return input(format!("is nested deeper than {DEPTH}"));
        }
        let read = inside(self);
        self.depth -= 1;
        read
    }

    fn or(&mut self) -> Result<Expr> {
        let mut left = self.and()?;
        while self.word("or") {
            left = Expr::binary(Binary::Or, left, &self.and()?)?;
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expr> {
        let mut left = self.not()?;
        while self.word("and") {
            left = Expr::binary(Binary::And, left, &self.not()?)?;
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expr> {
        if self.word("not") {
            return Expr::unary(Unary::Not, self.deeper(Self::not)?);
        }
        let left = self.chain(Chain::Sums)?;
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
                return Expr::binary(op, left, &self.chain(Chain::Sums)?);
            }
        }
        Ok(left)
    }

    /// A left-associative chain of sums or products.
    fn chain(&mut self, of: Chain) -> Result<Expr> {
        let sums = [("+", Binary::Add), ("-", Binary::Sub)];
        let products = [("*", Binary::Mul), ("//", Binary::FloorDiv), ("/", Binary::Div), ("%", Binary::Mod)];
        let ops = if of == Chain::Sums { &sums[..] } else { &products };
        let operand = |p: &mut Self| if of == Chain::Sums { p.chain(Chain::Products) } else { p.unary() };
        let mut left = operand(self)?;
        'next: loop {
            for (sign, op) in ops {
                if self.sign(sign) {
                    left = Expr::binary(*op, left, &operand(self)?)?;
                    continue 'next;
                }
            }
            return Ok(left);
        }
    }

    fn unary(&mut self) -> Result<Expr> {
        if self.sign("-") {
            return Expr::unary(Unary::Neg, self.deeper(Self::unary)?);
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Expr> {
        if self.sign("(") {
            let inner = self.deeper(Self::or)?;
            return if self.sign(")") { Ok(inner) } else { input("a `)` is missing") };
        }
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        match token {
            Some(ExprToken::Number(x)) => Ok(Expr::number(x)),
            Some(ExprToken::Name(name)) if self.sign("(") => self.deeper(|parser| parser.call(&name)),
            Some(ExprToken::Name(name)) => match (self.resolve)(&name) {
                Some(expr) => Ok(expr),
                None => input(format!("the name `{}` is unknown", quote(&name))),
            },
            _ => input("a value is missing"),
        }
    }

    fn call(&mut self, name: &str) -> Result<Expr> {
        let mut args = vec![self.or()?];
        while self.sign(",") {
            args.push(self.or()?);
        }
        if !self.sign(")") {
            return input(format!("a `)` is missing after `{}(`", quote(name)));
        }
        let unary = |op, [a]: [Expr; 1]| Expr::unary(op, a);
        let binary = |op, [a, b]: [Expr; 2]| Expr::binary(op, a, &b);
        let select = |[c, a, b]: [Expr; 3]| Expr::select(c, &a, &b);
        let one = |args: Vec<Expr>, op| args.try_into().map(|args| unary(op, args)).ok();
        let two = |args: Vec<Expr>, op| args.try_into().map(|args| binary(op, args)).ok();
        let made = match name {
            "abs" => one(args, Unary::Abs),
            "floor" => one(args, Unary::Floor),
            "ceil" => one(args, Unary::Ceil),
            "log2" => one(args, Unary::Log2),
            "sqrt" => one(args, Unary::Sqrt),
            "min" => two(args, Binary::Min),
            "max" => two(args, Binary::Max),
            "cdiv" => two(args, Binary::CeilDiv),
            "pow" => two(args, Binary::Pow),
            "if" => args.try_into().map(select).ok(),
            _ => None,
        };
        made.unwrap_or_else(|| input(format!("there is no function `{}` with these arguments", quote(name))))
    }
}
