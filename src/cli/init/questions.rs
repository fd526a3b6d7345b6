//! What `seqtune init` asks for at a terminal. Each answer is checked at once, as the whole is in the end, and asked for again with the reason.

use crate::cli::init::asked::Args;
use crate::cli::init::draft::{draft, source_of};
use crate::cli::signature::{Kind, Signature};
use seqtune_kernel::error::{Error, Result, input, printable};
use seqtune_kernel::limits::LINE;
use std::io::{BufRead, Read, Write};

/// Answers in a row that are refused: nobody types so many.
const PATIENCE: usize = 100;

/// Questions that go out, and answers that come in, a line each.
pub struct Dialogue<R, W> {
    answers: R,
    questions: W,
}

/// What an answer sets.
type Set<'a> = &'a dyn Fn(&mut Args, String);

impl<R: BufRead, W: Write> Dialogue<R, W> {
    /// Asks on one stream and reads from another one.
    pub fn new(answers: R, questions: W) -> Dialogue<R, W> {
        Dialogue { answers, questions }
    }

    fn line(&mut self, question: &str) -> Result<String> {
        write!(self.questions, "{question}\n> ").and_then(|()| self.questions.flush()).ok();
        let mut text = String::new();
        match (&mut self.answers).take(LINE as u64).read_line(&mut text) {
            Ok(0) => input("the answers have ended; nothing was written"),
            Ok(_) => Ok(text.trim().to_string()),
            Err(e) if e.kind() == std::io::ErrorKind::InvalidData => input("an answer is not text in UTF-8"),
            Err(e) => Err(Error::Failed(format!("standard input: {e}"))),
        }
    }

    /// Asks until the answer is sound beside those of before; false where it is empty.
    fn ask_until_sound(&mut self, args: &mut Args, question: &str, set: Set) -> Result<bool> {
        for _ in 0..PATIENCE {
            let text = self.line(question)?;
            if text.is_empty() {
                return Ok(false);
            }
            let mut tried = args.clone();
            set(&mut tried, text);
            match so_far(&tried) {
                Ok(()) => {
                    *args = tried;
                    return Ok(true);
                }
                Err(e) => writeln!(self.questions, "  {}; once more", printable(&e.to_string())).ok(),
            };
        }
        input(format!("{PATIENCE} answers in a row could not be taken; nothing was written"))
    }

    /// [`Dialogue::ask_until_sound`], where there has to be an answer.
    fn ask_until_given(&mut self, args: &mut Args, question: &str, set: Set) -> Result<()> {
        for _ in 0..PATIENCE {
            if self.ask_until_sound(args, question, set)? {
                return Ok(());
            }
            writeln!(self.questions, "  an answer is needed").ok();
        }
        input("no answer was given; nothing was written")
    }

    /// Fills what is not given.
    ///
    /// # Errors
    /// [`Error::Input`] where the answers end early, or what was given by options is wrong.
    pub fn ask(&mut self, args: &mut Args) -> Result<()> {
        so_far(args)?;
        if args.meaning.is_none() {
            self.ask_until_sound(args, "What does it compute, in a line?", &|args, text| args.meaning = Some(text))?;
        }
        if args.field.is_empty() {
            let question = "What is given? A size as n=1..1000, or a choice as kind=a,b; empty: no more";
            self.ask_until_given(args, question, &|args, text| args.field.push(text))?;
            while self.ask_until_sound(args, question, &|args, text| args.field.push(text))? {}
        }
        if args.parameter.is_empty() {
            let question = "What may be chosen? As tile=8,[16],32 or flags=O2,O3; empty: no more";
            self.ask_until_given(args, question, &|args, text| args.parameter.push(text))?;
            while self.ask_until_sound(args, question, &|args, text| args.parameter.push(text))? {}
        }
        let is_source = |answer: &str| match answer {
            "" | "p" | "program" => Some(false),
            "s" | "source" => Some(true),
            _ => None,
        };
        for _ in 0..PATIENCE {
            let answer =
                self.line("A program that prints a time, or a source in OpenCL C or CUDA C++? (program/source)")?;
            match is_source(answer.trim()) {
                Some(true) => return self.ask_of_source(args),
                Some(false) => return self.ask_of_program(args),
                None => writeln!(self.questions, "  write program or source").ok(),
            };
        }
        input("no answer was given; nothing was written")
    }

    fn ask_of_source(&mut self, args: &mut Args) -> Result<()> {
        self.ask_until_given(args, "Name of the source in the folder?", &|args, text| args.source = Some(text))?;
        let code = source_of(args)?;
        if Signature::find(&code, None).is_err() {
            self.ask_until_given(args, "Which of its kernel functions?", &|args, text| args.entry = Some(text))?;
        }
        for name in unsaid(args, &Signature::find(&code, args.entry.as_deref())?) {
            let question = format!("What is the argument {name}? An expression, as 2 * n");
            self.ask_until_given(args, &question, &|args, text| args.argument.push(format!("{name}={text}")))?;
        }
        let list = |text: String| text.split(';').map(|part| part.trim().to_string()).collect();
        self.ask_until_sound(
            args,
            "Work-items in all? Expressions, `;` between dimensions, as cdiv(n, WG) * WG; empty: the first size",
            &|args, text| args.global = list(text),
        )?;
        self.ask_until_sound(args, "Work-items of a work-group? As WG; empty: the driver chooses", &|args, text| {
            args.local = list(text);
        })?;
        Ok(())
    }

    fn ask_of_program(&mut self, args: &mut Args) -> Result<()> {
        let question = "How is it built? As gcc -O{level} {kernel}/x.c -o {build}/x; empty: not at all";
        self.ask_until_sound(args, question, &|args, text| args.build = Some(text))?;
        let question = "How is it started? As {build}/x {n} {tile}, or python3 {kernel}/bench.py {n}";
        self.ask_until_given(args, question, &|args, text| args.command = Some(text))?;
        let question = "Where is the time? json, wall, or a pattern such as time: ([0-9.]+) ms; empty: json";
        self.ask_until_sound(args, question, &|args, text| args.time = Some(text))?;
        if args.time.as_deref().is_some_and(|time| !["json", "wall"].contains(&time)) {
            let question = "In which unit? s, ms, us or ns; empty: s";
            self.ask_until_sound(args, question, &|args, text| args.unit = Some(text))?;
        }
        let question = "What does its output hold where the result is right? A pattern; empty: it is believed";
        self.ask_until_sound(args, question, &|args, text| args.right = Some(text))?;
        Ok(())
    }
}

/// Numbers among the arguments of a function of which nothing says yet what they are.
fn unsaid(args: &Args, signature: &Signature) -> Vec<String> {
    let is_named =
        |texts: &[String], name: &str| texts.iter().any(|text| text.split('=').next().map(str::trim) == Some(name));
    let open = signature.arguments.iter().filter(|argument| matches!(argument.kind, Kind::Int | Kind::Float));
    let names = open.map(|argument| argument.name.clone());
    names.filter(|name| !is_named(&args.argument, name) && !is_named(&args.field, name)).collect()
}

/// Checks what was answered as a kernel, with something harmless in place of what was not.
fn so_far(args: &Args) -> Result<()> {
    let mut whole = args.clone();
    if whole.field.is_empty() {
        whole.field.push("seqtune_unasked_size=1..2".into());
    }
    if whole.parameter.is_empty() {
        whole.parameter.push("seqtune_unasked_choice=1,2".into());
    }
    match &whole.source {
        Some(_) => {
            let code = source_of(&whole)?;
            // several functions are told apart by the next answer
            let found = match Signature::find(&code, whole.entry.as_deref()) {
                Err(_) if whole.entry.is_none() && Signature::count(&code) > 1 => return Ok(()),
                found => found?,
            };
            let unsaid = unsaid(&whole, &found).into_iter().map(|name| format!("{name}=1"));
            whole.argument.extend(unsaid.collect::<Vec<_>>());
        }
        None => whole.command = whole.command.or_else(|| Some("true".into())),
    }
    draft(&whole).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked for with these answers in a folder, and all that was said.
    fn asked(folder: &std::path::Path, answers: &str) -> (Result<Args>, String) {
        let mut args = Args { folder: folder.join("mine"), ..Args::default() };
        let mut said = Vec::new();
        let done = Dialogue::new(answers.as_bytes(), &mut said).ask(&mut args);
        (done.map(|()| args), String::from_utf8(said).unwrap())
    }

    #[test]
    fn an_answer_that_cannot_be_taken_is_asked_for_again_at_once_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let answers = "a program\nn=1..x\nn=1..9\nn=1..8\nkind=a,b\n\n\ntile\ntile=1,1\nn=1,2\ntile=1,[2]\nm-n=1,2\n\n\
                       program\nmake\n\n./x {q}\n{build}/x {n}\n./x {n} {tile}\ntime: [0-9]+\ntime: (\ntime: ([0-9.]+)\nh\nms\n[z-a]\nOK\n";
        let (args, said) = asked(folder.path(), answers);
        let args = args.unwrap_or_else(|e| panic!("{e}: {said}"));
        assert_eq!(
            (args.field, args.parameter),
            (vec!["n=1..9".to_string(), "kind=a,b".into()], vec!["tile=1,[2]".to_string()])
        );
        assert_eq!((args.command.as_deref(), args.time.as_deref()), (Some("./x {n} {tile}"), Some("time: ([0-9.]+)")));
        assert_eq!((args.unit.as_deref(), args.right.as_deref(), args.build), (Some("ms"), Some("OK"), None));
        let mut rest = said.as_str();
        for reason in [
            "a range of whole numbers",
            "a field twice",
            "an answer is needed",
            "write NAME=",
            "one of its values is there twice",
            "a field and a parameter",
            "`m-n`: is no name",
            "name what it is built from",
            "the name `q` is unknown",
            "there is no `build` command",
            "has no group",
            "is no regular expression",
            "`h`",
            "is no regular expression",
        ] {
            let at = rest.find(reason).unwrap_or_else(|| panic!("{reason} is not in {rest} of {said}"));
            rest = &rest[at + reason.len()..];
        }
        assert!(!folder.path().join("mine").exists(), "nothing is written by asking");
    }

    #[test]
    fn a_source_is_asked_for_its_function_and_for_what_its_numbers_are() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("mine")).unwrap();
        let code = "kernel void a(int n) {}\nkernel void b(int n, int m, global float* x) {}";
        std::fs::write(folder.path().join("mine/k.cl"), code).unwrap();
        let answers = "\nn=1..9\n\nV=1,2\n\nhalve.cl\nsource\ngone.cl\nk.cl\nc\nb\n2 * q\n2 * n\nn; q\nn; 2\nn\n\n";
        let (args, said) = asked(folder.path(), answers);
        let args = args.unwrap_or_else(|e| panic!("{e}: {said}"));
        assert_eq!((args.entry.as_deref(), args.argument), (Some("b"), vec!["m=2 * n".to_string()]));
        assert_eq!((args.global, args.local), (vec!["n".to_string(), "2".into()], Vec::<String>::new()));
        assert!(
            said.contains("write program or source") && said.contains("no such file") && said.contains("no kernel `c`"),
            "{said}"
        );
    }

    #[test]
    fn answers_that_end_or_are_never_sound_end_with_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let end = |answers: &str| asked(folder.path(), answers).0.err().unwrap().to_string();
        assert_eq!(end("a\nn=1..9\n"), "the answers have ended; nothing was written");
        assert!(end(&("a\n".to_string() + &"y\n".repeat(1_000))).contains("100 answers in a row"));
    }
}
