//! `#define`, `#undef`, `#include`, `#ifdef` and `#pragma`: a file's tokens into the schema's.
//!
//! Macros are object-like. Every token keeps a place that somebody can look at: what a macro
//! writes is placed where the macro was used. Steps, depth, files and bytes are bounded, so that
//! no input takes long: a chain of macros that doubles at each link ends with an error.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::diagnostic::Reporter;
use crate::lexer::{Kind, Token, shortened, tokenize};
use crate::name_check::nearest;
use crate::source::{File, Resolver, Source, Span};

/// The most bytes of all files of a run.
const BYTES_MAX: usize = 64 << 20;
/// The most files of a run.
const FILES_MAX: usize = 1_000;
/// How deep files may include files, and macros stand for macros.
const DEPTH_MAX: usize = 64;
/// The most tokens that macros may take part in.
const STEPS_MAX: usize = 8_000_000;

const DIRECTIVES: [&str; 8] =
    ["define", "undef", "include", "ifdef", "ifndef", "else", "endif", "pragma"];

/// What is left of the files.
#[derive(Debug, Default)]
pub(crate) struct Preprocessed {
    /// The last one is [`Kind::End`].
    pub(crate) tokens: Vec<Token>,
    /// Macros that stand for whole numbers, in the order of their definition.
    pub(crate) constants: Vec<(Rc<str>, i128, Span)>,
    /// Whether `#pragma remanent char_bytes` was read.
    pub(crate) char_bytes: bool,
}

/// Runs the preprocessor on a file and all that it includes.
pub(crate) fn preprocess(
    source: &Source,
    resolver: &mut dyn Resolver,
    reporter: &mut Reporter,
) -> Preprocessed {
    let mut run = Preprocessor {
        resolver,
        reporter,
        macros: HashMap::new(),
        order: Vec::new(),
        open: Vec::new(),
        bytes: 0,
        steps: 0,
        is_stopped: false,
        output: Preprocessed::default(),
    };
    run.file(source, None);
    let end = run.output.tokens.last().map_or(Span::default(), |token| token.span.behind());
    run.output.tokens.push(Token { kind: Kind::End, span: end, starts_line: true });
    run.collect_constants();
    run.output
}

struct Preprocessor<'p> {
    resolver: &'p mut dyn Resolver,
    reporter: &'p mut Reporter,
    macros: HashMap<Rc<str>, Macro>,
    /// Names in the order of their definition; some may be undefined by now.
    order: Vec<Rc<str>>,
    /// The files that are being read, outermost first.
    open: Vec<String>,
    bytes: usize,
    steps: usize,
    is_stopped: bool,
    output: Preprocessed,
}

struct Macro {
    body: Rc<[Token]>,
    span: Span,
}

/// An `#ifdef` that is not closed yet.
struct Condition {
    span: Span,
    /// Whether the text around it is read.
    is_live: bool,
    is_taken: bool,
    is_else_seen: bool,
}

/// Whether text under these conditions is read.
fn is_live(conditions: &[Condition]) -> bool {
    conditions.last().is_none_or(|last| last.is_live && last.is_taken)
}

impl Preprocessor<'_> {
    fn file(&mut self, source: &Source, asked_at: Option<Span>) {
        let number = self.reporter.files.len();
        let here = asked_at.unwrap_or(Span { file: number as u32, start: 0, end: 0 });
        self.bytes = self.bytes.saturating_add(source.bytes.len());
        let text = match self.bytes > BYTES_MAX || number >= FILES_MAX {
            true => String::new(),
            false => String::from_utf8_lossy(&source.bytes).into_owned(),
        };
        let is_binary = source.bytes.contains(&0);
        self.reporter.files.push(File::new(source.name.clone(), text));
        if self.bytes > BYTES_MAX || number >= FILES_MAX {
            let hint = format!("a schema has at most {FILES_MAX} files and {} MB", BYTES_MAX >> 20);
            return self.stop(here, "the schema is too large", &hint);
        }
        if is_binary {
            let message = format!("`{}` is not a text file", shortened(&source.name));
            return self.stop(here, &message, "give a schema: text that somebody wrote");
        }
        let tokens = tokenize(&self.reporter.files[number].text, number as u32);
        self.open.push(source.name.clone());
        self.tokens(&tokens);
        self.open.pop();
    }

    fn tokens(&mut self, tokens: &[Token]) {
        let mut conditions: Vec<Condition> = Vec::new();
        let mut at = 0;
        while at < tokens.len() && !self.is_stopped && !self.reporter.is_full() {
            let token = &tokens[at];
            at += 1;
            if token.starts_line && token.kind == Kind::Mark('#') {
                let len = tokens[at..].iter().take_while(|token| !token.starts_line).count();
                let line = &tokens[at..at + len];
                let line = match line.last() {
                    Some(Token { kind: Kind::End, .. }) => &line[..len - 1],
                    _ => line,
                };
                self.directive(token.span, line, &mut conditions);
                at += len;
            } else if is_live(&conditions) && token.kind != Kind::End {
                self.expand(token, token, &mut Vec::new());
            }
        }
        if let (Some(open), false) = (conditions.last(), self.is_stopped) {
            let message = "this condition is never closed";
            self.reporter.error(open.span, message, "write `#endif` where it ends");
        }
    }

    /// Writes a token, or what the macro of this name stands for. `site` is where it is used.
    fn expand(&mut self, token: &Token, site: &Token, active: &mut Vec<Rc<str>>) {
        self.steps += usize::from(!active.is_empty());
        if self.steps > STEPS_MAX {
            let hint = "define fewer macros in terms of other macros";
            return self.stop(site.span, "macros write more than a schema can hold", hint);
        }
        let known = match &token.kind {
            Kind::Word(word) if !active.contains(word) => self.macros.get(word).map(|m| (word, m)),
            Kind::Bad(why) => return self.reporter.error(site.span, *why, ""),
            _ => None,
        };
        let Some((word, found)) = known else {
            let starts_line = token.starts_line && active.is_empty();
            let token = Token { span: site.span, starts_line, ..token.clone() };
            return self.output.tokens.push(token);
        };
        if active.len() >= DEPTH_MAX {
            let hint = format!("macros stand for macros at most {DEPTH_MAX} levels deep");
            return self.stop(site.span, "this macro stands for too many others", &hint);
        }
        let body = Rc::clone(&found.body);
        active.push(Rc::clone(word));
        for inner in body.iter() {
            if self.is_stopped {
                break;
            }
            self.expand(inner, site, active);
        }
        active.pop();
    }

    fn directive(&mut self, mark: Span, line: &[Token], conditions: &mut Vec<Condition>) {
        let Some((first, rest)) = line.split_first() else { return };
        let span = mark.to(first.span);
        let Kind::Word(name) = &first.kind else {
            let hint = format!("the lines known are #{}", DIRECTIVES.join(", #"));
            return self.reporter.error(first.span, "a name belongs behind `#`", hint);
        };
        if self.condition(name, span, rest, conditions) || !is_live(conditions) {
            return;
        }
        match &**name {
            "define" => self.define(span, rest),
            "undef" => {
                if let Some(name) = self.macro_name(span, rest) {
                    self.macros.remove(&name);
                }
            }
            "include" => self.include(span, rest),
            "pragma" => self.pragma(span, rest),
            "if" | "elif" => {
                let hint = "write `#ifdef NAME` or `#ifndef NAME`";
                self.reporter.error(span, format!("`#{name}` is not known in schemas"), hint);
            }
            "error" => {
                let words: Vec<String> = rest.iter().map(|token| token.kind.describe()).collect();
                let hint = "the schema itself refuses to be compiled like this";
                self.reporter.error(span, format!("#error {}", words.join(" ")), hint);
            }
            other => {
                let hint = match nearest(other, DIRECTIVES) {
                    Some(known) => format!("write `#{known}`"),
                    None => format!("the lines known are #{}", DIRECTIVES.join(", #")),
                };
                let message = format!("`#{}` is not known in schemas", shortened(other));
                self.reporter.error(span, message, hint);
            }
        }
    }

    /// Whether the line was one of `#ifdef`, `#ifndef`, `#else`, `#endif`.
    fn condition(
        &mut self,
        name: &str,
        span: Span,
        rest: &[Token],
        conditions: &mut Vec<Condition>,
    ) -> bool {
        let is_live = is_live(conditions);
        match name {
            "ifdef" | "ifndef" => {
                let defined = self.macro_name(span, rest).map(|n| self.macros.contains_key(&n));
                let is_taken = defined.is_some_and(|defined| defined == (name == "ifdef"));
                conditions.push(Condition { span, is_live, is_taken, is_else_seen: false });
            }
            // Within text that is left out, a condition that is not known is left out as well.
            "if" if !is_live => {
                let (is_taken, is_else_seen) = (false, false);
                conditions.push(Condition { span, is_live, is_taken, is_else_seen });
            }
            "else" => match conditions.last_mut() {
                Some(last) if !last.is_else_seen => {
                    last.is_taken = !last.is_taken;
                    last.is_else_seen = true;
                }
                _ => self.reporter.error(span, "`#else` without `#ifdef`", "remove it"),
            },
            "endif" => {
                if conditions.pop().is_none() {
                    self.reporter.error(span, "`#endif` without `#ifdef`", "remove it");
                }
            }
            _ => return false,
        }
        true
    }

    fn macro_name(&mut self, span: Span, rest: &[Token]) -> Option<Rc<str>> {
        match rest.first() {
            Some(Token { kind: Kind::Word(name), .. }) => Some(Rc::clone(name)),
            other => {
                let at = other.map_or(span.behind(), |token| token.span);
                self.reporter.error(at, "a macro's name is missing here", "write a name");
                None
            }
        }
    }

    fn define(&mut self, span: Span, rest: &[Token]) {
        let Some(name) = self.macro_name(span, rest) else { return };
        let body = &rest[1..];
        if let Some(first) = body.first()
            && first.kind == Kind::Mark('(')
            && first.span.start == rest[0].span.end
        {
            let message = format!("the macro `{}` has parameters", shortened(&name));
            let hint = "only macros without parameters are known: write out what it stands for";
            return self.reporter.error(rest[0].span.to(first.span), message, hint);
        }
        let is_same = |old: &Macro| {
            old.body.len() == body.len()
                && old.body.iter().zip(body).all(|(old, new)| old.kind == new.kind)
        };
        match self.macros.get(&name) {
            Some(old) if !is_same(old) => {
                let message = format!("the macro `{}` gets a second meaning", shortened(&name));
                self.reporter.warn(rest[0].span, message, "write `#undef` before it");
            }
            Some(_) => {}
            None => self.order.push(Rc::clone(&name)),
        }
        self.macros.insert(name, Macro { body: body.into(), span: rest[0].span });
    }

    fn include(&mut self, span: Span, rest: &[Token]) {
        let (name, at) = match rest.first() {
            Some(Token { kind: Kind::Text(name), span, .. }) => (Rc::clone(name), *span),
            Some(Token { kind: Kind::Mark('<'), span: at, .. }) => {
                let message = "a file of the C compiler is left out";
                let hint = "its types are known without it; include your own files as \"name.h\"";
                return self.reporter.warn(*at, message, hint);
            }
            other => {
                let at = other.map_or(span.behind(), |token| token.span);
                let hint = "write `#include \"name.h\"`";
                return self.reporter.error(at, "a file's name is missing here", hint);
            }
        };
        let including = self.open.last().cloned().unwrap_or_default();
        let source = match self.resolver.resolve(&name, &including) {
            Ok(source) => source,
            Err(why) => {
                let message = format!("`{}` cannot be included", shortened(&name));
                return self.reporter.error(at, message, why);
            }
        };
        if self.open.contains(&source.name) || self.open.len() >= DEPTH_MAX {
            let message = format!("`{}` includes itself", shortened(&name));
            let hint = "put what both files need into a third one";
            return self.reporter.error(at, message, hint);
        }
        self.file(&source, Some(at));
    }

    fn pragma(&mut self, span: Span, rest: &[Token]) {
        let words: Vec<String> =
            rest.iter().map(|token| token.kind.describe().replace('`', "")).collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["remanent", "char_bytes"] => self.output.char_bytes = true,
            ["once"] => {}
            ["remanent", ..] => {
                let message = "this pragma is not known";
                self.reporter.error(span, message, "write `#pragma remanent char_bytes`");
            }
            _ => self.reporter.warn(span, "this pragma is not known and left out", ""),
        }
    }

    /// Macros that stand for one whole number are passed on to generated code.
    fn collect_constants(&mut self) {
        let mut seen = HashSet::new();
        for name in std::mem::take(&mut self.order) {
            let Some(found) = self.macros.get(&name) else { continue };
            if let (Some(value), true) = (self.number_of(&found.body, 0), seen.insert(name.clone()))
            {
                self.output.constants.push((name, value, found.span));
            }
        }
    }

    fn number_of(&self, body: &[Token], depth: usize) -> Option<i128> {
        match body {
            [Token { kind: Kind::Int(number), .. }] => Some(i128::from(*number)),
            [Token { kind: Kind::Mark('-'), .. }, rest @ ..] if depth < DEPTH_MAX => {
                self.number_of(rest, depth + 1).filter(|number| *number >= 0).map(|n| -n)
            }
            [
                Token { kind: Kind::Mark('('), .. },
                inner @ ..,
                Token { kind: Kind::Mark(')'), .. },
            ] if depth < DEPTH_MAX => self.number_of(inner, depth + 1),
            [Token { kind: Kind::Word(word), .. }] if depth < DEPTH_MAX => {
                self.number_of(&self.macros.get(word)?.body, depth + 1)
            }
            _ => None,
        }
    }

    fn stop(&mut self, span: Span, message: &str, hint: &str) {
        if !self.is_stopped {
            self.reporter.error(span, message, hint);
        }
        self.is_stopped = true;
    }
}

#[cfg(test)]
mod tests;
