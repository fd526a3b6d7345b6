//! The expression language of `kernel.toml`: constraints, launch geometry, lengths, counts and features.
//!
//! Every value is an `f64`; true is 1 and false is 0. Names stand for slots of one flat environment
//! (parameters, problem fields, device limits). An expression is parsed once into a tree, then
//! specialised for a problem and a device (everything known is folded away) and compiled to postfix code.
//!
//! ```text
//! expr    = or ;  or = and { "or" and } ;  and = not { "and" not } ;  not = "not" not | compare
//! compare = sum [ ("==" | "!=" | "<=" | ">=" | "<" | ">") sum ]
//! sum     = product { ("+" | "-") product } ;  product = unary { ("*" | "/" | "//" | "%") unary }
//! unary   = "-" unary | atom
//! atom    = number | name | name "(" expr { "," expr } ")" | "(" expr ")"
//! ```
//!
//! `//` and `%` round down, on whole numbers. Functions: `min max cdiv pow if abs floor ceil log2 sqrt`.

use crate::error::{Result, input};

/// A unary operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unary {
    Neg,
    Not,
    Abs,
    Floor,
    Ceil,
    Log2,
    Sqrt,
}

/// A binary operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    CeilDiv,
    Pow,
    Min,
    Max,
    Eq,
    Ne,
    Le,
    Ge,
    Lt,
    Gt,
    And,
    Or,
}

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    Number(f64),
    Slot(usize),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
}

impl Unary {
    fn apply(self, a: f64) -> f64 {
        match self {
            Unary::Neg => -a,
            Unary::Not => (a == 0.0) as u8 as f64,
            Unary::Abs => a.abs(),
            Unary::Floor => a.floor(),
            Unary::Ceil => a.ceil(),
            Unary::Log2 => a.log2(),
            Unary::Sqrt => a.sqrt(),
        }
    }
}

/// Whole-number operation; NaN where the divisor is 0.
fn whole(a: f64, b: f64, f: impl Fn(i64, i64) -> i64) -> f64 {
    let (a, b) = (a as i64, b as i64);
    if b == 0 { f64::NAN } else { f(a, b) as f64 }
}

impl Binary {
    fn apply(self, a: f64, b: f64) -> f64 {
        let truth = |t: bool| t as u8 as f64;
        match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::FloorDiv => whole(a, b, i64::div_euclid),
            Binary::Mod => whole(a, b, i64::rem_euclid),
            Binary::CeilDiv => whole(a, b, |a, b| -((-a).div_euclid(b))),
            Binary::Pow => a.powf(b),
            Binary::Min => a.min(b),
            Binary::Max => a.max(b),
            Binary::Eq => truth(a == b),
            Binary::Ne => truth(a != b),
            Binary::Le => truth(a <= b),
            Binary::Ge => truth(a >= b),
            Binary::Lt => truth(a < b),
            Binary::Gt => truth(a > b),
            Binary::And => truth(a != 0.0 && b != 0.0),
            Binary::Or => truth(a != 0.0 || b != 0.0),
        }
    }
}

impl Expr {
    /// Parses `text`; `resolve` gives the meaning of a name (a slot, a number, or a definition to inline).
    pub fn parse(text: &str, resolve: &dyn Fn(&str) -> Option<Expr>) -> Result<Expr> {
        let mut parser = Parser { tokens: tokenize(text)?, at: 0, text, resolve };
        let expr = parser.or()?;
        match parser.tokens.get(parser.at) {
            None => Ok(expr),
            Some(t) => input(format!("`{text}`: did not expect {t:?}")),
        }
    }

    /// Value in an environment of slots.
    pub fn eval(&self, env: &[f64]) -> f64 {
        match self {
            Expr::Number(x) => *x,
            Expr::Slot(s) => env[*s],
            Expr::Unary(op, a) => op.apply(a.eval(env)),
            Expr::Binary(op, a, b) => op.apply(a.eval(env), b.eval(env)),
            Expr::If(c, a, b) => {
                if c.eval(env) != 0.0 {
                    a.eval(env)
                } else {
                    b.eval(env)
                }
            }
        }
    }

    /// Calls `visit` with each slot that the expression names.
    pub fn slots(&self, visit: &mut dyn FnMut(usize)) {
        match self {
            Expr::Number(_) => {}
            Expr::Slot(s) => visit(*s),
            Expr::Unary(_, a) => a.slots(visit),
            Expr::Binary(_, a, b) => {
                a.slots(visit);
                b.slots(visit);
            }
            Expr::If(c, a, b) => {
                c.slots(visit);
                a.slots(visit);
                b.slots(visit);
            }
        }
    }

    /// Replaces every slot from `first_known` on by its value and folds what became constant.
    pub fn specialise(&self, env: &[f64], first_known: usize) -> Expr {
        match self {
            Expr::Number(x) => Expr::Number(*x),
            Expr::Slot(s) if *s >= first_known => Expr::Number(env[*s]),
            Expr::Slot(s) => Expr::Slot(*s),
            Expr::Unary(op, a) => match a.specialise(env, first_known) {
                Expr::Number(x) => Expr::Number(op.apply(x)),
                a => Expr::Unary(*op, Box::new(a)),
            },
            Expr::Binary(op, a, b) => {
                match (op, a.specialise(env, first_known), b.specialise(env, first_known)) {
                    (op, Expr::Number(x), Expr::Number(y)) => Expr::Number(op.apply(x, y)),
                    // what one side already decides, so that a rule of one data type costs nothing for another
                    (Binary::And, Expr::Number(0.0), _) | (Binary::And, _, Expr::Number(0.0)) => Expr::Number(0.0),
                    (Binary::Or, Expr::Number(x), _) | (Binary::Or, _, Expr::Number(x)) if x != 0.0 => {
                        Expr::Number(1.0)
                    }
                    (op, a, b) => Expr::Binary(*op, Box::new(a), Box::new(b)),
                }
            }
            Expr::If(c, a, b) => match c.specialise(env, first_known) {
                Expr::Number(x) if x != 0.0 => a.specialise(env, first_known),
                Expr::Number(_) => b.specialise(env, first_known),
                c => Expr::If(
                    Box::new(c),
                    Box::new(a.specialise(env, first_known)),
                    Box::new(b.specialise(env, first_known)),
                ),
            },
        }
    }

    /// Compiles to postfix code, about ten times faster to evaluate than the tree.
    pub fn compile(&self) -> Code {
        let mut ops = Vec::new();
        emit(self, &mut ops);
        let (mut depth, mut deepest) = (0usize, 0usize);
        for op in &ops {
            match op {
                Op::Number(_) | Op::Slot(_) => depth += 1,
                Op::Unary(_) => {}
                Op::Binary(_) => depth -= 1,
                Op::Select => depth -= 2,
            }
            deepest = deepest.max(depth);
        }
        if deepest > STACK { Code::Tree(self.clone()) } else { Code::Postfix(ops) }
    }
}

const STACK: usize = 16;

/// A compiled expression.
#[derive(Clone, Debug)]
pub enum Code {
    Postfix(Vec<Op>),
    /// An expression nested deeper than the fixed stack.
    Tree(Expr),
}

/// One step of postfix code.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Number(f64),
    Slot(u32),
    Unary(Unary),
    Binary(Binary),
    Select,
}

fn emit(expr: &Expr, ops: &mut Vec<Op>) {
    match expr {
        Expr::Number(x) => ops.push(Op::Number(*x)),
        Expr::Slot(s) => ops.push(Op::Slot(*s as u32)),
        Expr::Unary(op, a) => {
            emit(a, ops);
            ops.push(Op::Unary(*op));
        }
        Expr::Binary(op, a, b) => {
            emit(a, ops);
            emit(b, ops);
            ops.push(Op::Binary(*op));
        }
        Expr::If(c, a, b) => {
            emit(c, ops);
            emit(a, ops);
            emit(b, ops);
            ops.push(Op::Select);
        }
    }
}

impl Code {
    /// Value in an environment of slots.
    pub fn eval(&self, env: &[f64]) -> f64 {
        let ops = match self {
            Code::Postfix(ops) => ops,
            Code::Tree(expr) => return expr.eval(env),
        };
        let mut stack = [0.0; STACK];
        let mut top = 0;
        for op in ops {
            match *op {
                Op::Number(x) => {
                    stack[top] = x;
                    top += 1;
                }
                Op::Slot(s) => {
                    stack[top] = env[s as usize];
                    top += 1;
                }
                Op::Unary(op) => stack[top - 1] = op.apply(stack[top - 1]),
                Op::Binary(op) => {
                    top -= 1;
                    stack[top - 1] = op.apply(stack[top - 1], stack[top]);
                }
                Op::Select => {
                    top -= 2;
                    stack[top - 1] = if stack[top - 1] != 0.0 { stack[top] } else { stack[top + 1] };
                }
            }
        }
        stack[0]
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

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let resolve = |name: &str| match name {
            "x" => Some(Expr::Slot(0)),
            "y" => Some(Expr::Slot(1)),
            _ => None,
        };
        let expr = Expr::parse(text, &resolve).unwrap();
        let env = [7.0, 2.0];
        let tree = expr.eval(&env);
        assert_eq!(expr.compile().eval(&env).to_bits(), tree.to_bits(), "postfix code agrees with the tree");
        assert_eq!(expr.specialise(&env, 1).eval(&env).to_bits(), tree.to_bits(), "folding keeps the value");
        tree
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("10 - 4 - 3", 3.0),
            ("x // y * y + x % y", 7.0),
            ("-x + 10", 3.0),
            ("x / y", 3.5),
            ("x == 7 and not y == 3", 1.0),
            ("x < 3 or y >= 2", 1.0),
            ("cdiv(x, y) + max(x, y) + min(x, y)", 13.0),
            ("if(x > y, log2(8), sqrt(16))", 3.0),
            ("pow(y, 10)", 1024.0),
            ("2 * (3 + 4)", 14.0),
            ("5e-1 - 2.5e-1", 0.25),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn division_by_zero_breaks_a_constraint_instead_of_the_program() {
        assert!(value("x % (y - 2)").is_nan());
        assert_eq!(value("x % (y - 2) == 0"), 0.0);
    }

    #[test]
    fn a_wrong_expression_is_named_with_its_fault() {
        for (text, fault) in [
            ("x +", "a value is missing"),
            ("z * 2", "the name `z` is unknown"),
            ("(x", "a `)` is missing"),
            ("min(x)", "no function `min`"),
            ("x $ y", "did not expect `$`"),
            ("x y", "did not expect"),
        ] {
            let resolve = |name: &str| (name != "z").then_some(Expr::Number(1.0));
            let error = Expr::parse(text, &resolve).unwrap_err().to_string();
            assert!(error.contains(fault), "{text}: {error}");
        }
    }
}
