//! What an expression names, and the program that is evaluated in its place.
//!
//! The program is the expression with three changes, each made on tokens:
//!
//! - Every literal path becomes one flat variable, `v0`, `v1`, …, so that an evaluation is given exactly the values it
//!   names, and a path is missing as a whole: `variables.a.b | default(0)` works where `variables.a` is missing too.
//! - The operands of `*` pass through [`NUMBER`], which refuses texts and lists: the library would repeat them, and a
//!   few bytes of template could ask for a hundred megabytes.
//! - The operands of `~` pass through [`TEXT`], so that they become text exactly as expressions inside a text do.
//!
//! What cannot be bounded, can panic, or would not be the same on every machine is refused: calls, unpacked arguments,
//! `**`, and slices with a step. So is an `if` without `else`, whose missing value would be silent, and a word that
//! the library would take for a variable.

use super::error::StringProblem;
use super::filters::{NUMBER, TEXT};
use super::limits::{JOINS_MAX, PATHS_MAX};
use super::token::{Token, TokenKind};
use crate::expression::scope::Path;

/// The roots whose values are known only when an attempt starts, and are never stored.
pub const LATE_ROOTS: [&str; 2] = ["secrets", "attempt"];

/// Whether `path` is late-bound.
pub(super) fn is_late(path: &Path) -> bool {
    path.root().is_some_and(|root| LATE_ROOTS.contains(&root))
}

/// What an expression turned out to be.
#[derive(Debug)]
pub(super) struct Analysis {
    /// The paths it names, each once, in the order of their variables.
    pub(super) paths: Vec<Path>,
    /// The filters it applies, with their offsets.
    pub(super) filters: Vec<(String, usize)>,
    /// The tests it applies, with their offsets.
    pub(super) tests: Vec<(String, usize)>,
    /// Where each path stands in the source: its offset, its length, and its place in `paths`.
    pub(super) places: Vec<(usize, usize, usize)>,
    /// What to evaluate; `None` where the expression is nothing but a path.
    pub(super) program: Option<String>,
}

/// Reads the tokens of one expression.
pub(super) fn analyze(source: &str, tokens: &[Token<'_>]) -> Result<Analysis, StringProblem> {
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else {
        return Err(StringProblem::new(
            0,
            "an expression is empty; for braces as text write `{{ \"{{\" }}`",
        ));
    };
    let mut reader = Analyzer::new(tokens);
    while let Some(token) = reader.peek(0) {
        reader.read(token)?;
    }
    reader.end_group()?;
    let Analyzer {
        paths,
        filters,
        tests,
        edits,
        places,
        ..
    } = reader;
    let is_path = matches!(edits.as_slice(), [only] if only.at == first.start && only.skip == last.end() - first.start);
    let program = (!is_path).then(|| rewrite(source, edits));
    Ok(Analysis {
        paths,
        filters,
        tests,
        places,
        program,
    })
}

/// One change to the source. Those at one offset apply in the order of their ranks.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edit {
    at: usize,
    rank: Rank,
    skip: usize,
    text: String,
}

/// At one offset an operand is checked before its text is taken, and a bracket is opened before what it holds.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Number,
    Text,
    Open,
    Variable,
}

fn rewrite(source: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_unstable();
    edits.dedup();
    let mut program = String::with_capacity(source.len() * 2);
    let mut at = 0;
    for edit in &edits {
        program.push_str(source.get(at..edit.at).unwrap_or_default());
        program.push_str(&edit.text);
        at = edit.at + edit.skip;
    }
    program.push_str(source.get(at..).unwrap_or_default());
    program
}

/// What the tokens so far have led to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A value must follow.
    Operator,
    /// A value has ended; a parenthesis would be a call.
    Value,
    /// The word `is`, or `is not`; the name of a test must follow.
    Is,
    /// The name of a filter; a parenthesis holds its arguments.
    Filter,
    /// The name of a test; whatever can begin a value is its argument, a minus included.
    Test,
}

/// The inside of a bracket, or the whole expression.
#[derive(Default)]
struct Group {
    ifs: usize,
    elses: usize,
    colons: usize,
    /// Where the operand that `~` would apply to begins.
    operand: Option<usize>,
    /// Whether a `~` stands before that operand.
    joined: bool,
}

struct Analyzer<'s, 't> {
    tokens: &'t [Token<'s>],
    at: usize,
    role: Role,
    group: Group,
    outer: Vec<Group>,
    joins: usize,
    paths: Vec<Path>,
    filters: Vec<(String, usize)>,
    tests: Vec<(String, usize)>,
    edits: Vec<Edit>,
    places: Vec<(usize, usize, usize)>,
}

impl<'s, 't> Analyzer<'s, 't> {
    fn new(tokens: &'t [Token<'s>]) -> Self {
        Self {
            tokens,
            at: 0,
            role: Role::Operator,
            group: Group::default(),
            outer: Vec::new(),
            joins: 0,
            paths: Vec::new(),
            filters: Vec::new(),
            tests: Vec::new(),
            edits: Vec::new(),
            places: Vec::new(),
        }
    }

    /// The token `ahead` of the current one.
    fn peek(&self, ahead: usize) -> Option<Token<'s>> {
        self.tokens.get(self.at + ahead).copied()
    }

    /// The token before the current one.
    fn last(&self) -> Option<Token<'s>> {
        self.tokens.get(self.at.checked_sub(1)?).copied()
    }

    fn insert(&mut self, at: usize, rank: Rank, text: String) {
        self.edits.push(Edit {
            at,
            rank,
            skip: 0,
            text,
        });
    }

    fn read(&mut self, token: Token<'s>) -> Result<(), StringProblem> {
        match token.kind {
            TokenKind::Name => return self.name(token),
            TokenKind::Number | TokenKind::Text => self.value(token),
            TokenKind::Symbol => self.symbol(token)?,
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, token: Token<'s>) {
        self.group.operand.get_or_insert(token.start);
        self.role = Role::Value;
    }

    fn name(&mut self, token: Token<'s>) -> Result<(), StringProblem> {
        let after = |symbol: &str| self.last().is_some_and(|last| last.is_symbol(symbol));
        if after("|") {
            return self.callable(token, Role::Filter);
        }
        if after(".") {
            self.role = Role::Value;
            self.at += 1;
            return Ok(());
        }
        match token.text {
            "not" if self.role == Role::Is && self.last().is_some_and(|last| last.is_name("is")) => {}
            _ if self.role == Role::Is => return self.callable(token, Role::Test),
            "not" => return self.not(token),
            "and" | "or" | "in" | "is" | "if" | "else" => return self.keyword(token),
            "true" | "True" | "false" | "False" | "none" | "None" => self.value(token),
            _ if self.peek(1).is_some_and(|next| next.is_symbol("=")) => {}
            _ => return self.path(token),
        }
        self.at += 1;
        Ok(())
    }

    /// A word that joins the expression on its left to what follows. The library would take it for a variable where
    /// nothing stands on its left.
    fn keyword(&mut self, token: Token<'s>) -> Result<(), StringProblem> {
        if self.role == Role::Operator {
            return Err(StringProblem::new(
                token.start,
                format!("`{}` has nothing on its left", token.text),
            ));
        }
        self.refuse_as_argument(token)?;
        match token.text {
            "is" => self.role = Role::Is,
            word => {
                self.group.ifs += usize::from(word == "if");
                self.group.elses += usize::from(word == "else");
                self.boundary();
            }
        }
        self.at += 1;
        Ok(())
    }

    /// After the name of a test the library takes these words for its argument.
    fn refuse_as_argument(&self, token: Token<'s>) -> Result<(), StringProblem> {
        if self.role == Role::Test && matches!(token.text, "in" | "if" | "not") {
            return Err(StringProblem::new(
                token.start,
                format!("put the test before `{}` in parentheses", token.text),
            ));
        }
        Ok(())
    }

    /// `not` before a condition, or the first word of `not in`.
    fn not(&mut self, token: Token<'s>) -> Result<(), StringProblem> {
        self.refuse_as_argument(token)?;
        let words = if self.role == Role::Operator {
            usize::from(self.last().is_none_or(|last| begins_condition(&last)))
        } else {
            2 * usize::from(self.peek(1).is_some_and(|next| next.is_name("in")))
        };
        if words == 0 {
            return Err(StringProblem::new(
                token.start,
                "put `not` and what it negates in parentheses here",
            ));
        }
        self.boundary();
        self.at += words;
        Ok(())
    }

    fn callable(&mut self, token: Token<'s>, role: Role) -> Result<(), StringProblem> {
        if self.peek(1).is_some_and(|next| next.is_symbol(".")) {
            return Err(StringProblem::new(
                token.start,
                format!("the name `{}` is followed by a dot", token.text),
            ));
        }
        let names = if role == Role::Filter {
            &mut self.filters
        } else {
            &mut self.tests
        };
        names.push((token.text.to_owned(), token.start));
        self.role = role;
        self.at += 1;
        Ok(())
    }

    /// Takes a path as far as it is literal; what follows is left to the evaluation.
    fn path(&mut self, first: Token<'s>) -> Result<(), StringProblem> {
        self.value(first);
        let mut text = first.text.to_owned();
        let mut end = first.end();
        self.at += 1;
        while let Some((segment, length)) = self.segment() {
            text.push('.');
            text.push_str(&segment);
            self.at += length;
            end = self.last().map_or(end, |token| token.end());
        }
        let path = Path::parse(&text);
        if is_late(&path) && path.segments().len() < 2 {
            let detail = format!("`{text}` is late-bound; name the one value you need: `{text}.<name>`");
            return Err(StringProblem::new(first.start, detail));
        }
        let variable = self.variable(path).ok_or_else(|| {
            StringProblem::new(
                first.start,
                format!("an expression names at most `{PATHS_MAX}` different paths"),
            )
        })?;
        let (at, skip) = (first.start, end - first.start);
        self.places.push((at, skip, variable));
        self.edits.push(Edit {
            at,
            rank: Rank::Variable,
            skip,
            text: format!("v{variable}"),
        });
        Ok(())
    }

    /// The next literal segment of a path and its length in tokens: `.name`, `.0`, `["name"]` or `[0]`.
    fn segment(&self) -> Option<(String, usize)> {
        let (open, inside) = (self.peek(0)?, self.peek(1)?);
        if open.is_symbol(".") {
            return match inside.kind {
                TokenKind::Name => Some((inside.text.to_owned(), 2)),
                TokenKind::Number => Some((position(inside.text)?, 2)),
                TokenKind::Text | TokenKind::Symbol => None,
            };
        }
        if !open.is_symbol("[") || !self.peek(2)?.is_symbol("]") {
            return None;
        }
        match inside.kind {
            TokenKind::Number => Some((position(inside.text)?, 3)),
            TokenKind::Text => Some((member(inside.text)?, 3)),
            TokenKind::Name | TokenKind::Symbol => None,
        }
    }

    fn variable(&mut self, path: Path) -> Option<usize> {
        let known = self.paths.iter().position(|other| *other == path);
        known.or_else(|| {
            self.paths.push(path);
            (self.paths.len() <= PATHS_MAX).then(|| self.paths.len() - 1)
        })
    }

    fn symbol(&mut self, token: Token<'s>) -> Result<(), StringProblem> {
        let after_value = matches!(self.role, Role::Value | Role::Filter);
        match token.text {
            "(" if self.role == Role::Value => {
                return Err(StringProblem::new(
                    token.start,
                    "nothing can be called; use a filter: `value | filter(…)`",
                ));
            }
            "(" | "[" | "{" => self.open(token),
            ")" | "]" | "}" => {
                self.end_group()?;
                self.group = self.outer.pop().unwrap_or_default();
                self.role = Role::Value;
            }
            "**" => {
                return Err(StringProblem::new(
                    token.start,
                    "`**` is not available; write the product out",
                ));
            }
            "*" => self.product(token)?,
            "~" => self.join(token)?,
            "+" | "-" if after_value => {
                self.count_join(token)?;
                self.boundary();
            }
            "-" => {
                self.group.operand.get_or_insert(token.start);
            }
            ":" => {
                self.group.colons += 1;
                self.boundary();
            }
            "==" | "!=" | "<" | "<=" | ">" | ">=" | "," | "=" => self.boundary(),
            "/" | "//" | "%" => self.role = Role::Operator,
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, token: Token<'s>) {
        self.group.operand.get_or_insert(token.start);
        self.outer.push(std::mem::take(&mut self.group));
        self.role = Role::Operator;
    }

    /// Ends the inside of a bracket, or the whole expression.
    fn end_group(&mut self) -> Result<(), StringProblem> {
        let end = self.last().map_or(0, |token| token.end());
        self.boundary();
        if self.group.ifs != self.group.elses {
            return Err(StringProblem::new(
                end,
                "`if` needs an `else`, as in `a if condition else b`",
            ));
        }
        // The colons of an object are not those of a slice.
        let in_subscript = self.peek(0).is_some_and(|token| token.is_symbol("]"));
        if in_subscript && self.group.colons > 1 {
            return Err(StringProblem::new(
                end,
                "a slice has no step; use `| reverse` to turn a list round",
            ));
        }
        Ok(())
    }

    /// An operator weaker than `~`: the expression before it is complete.
    fn boundary(&mut self) {
        if self.group.joined {
            self.take_text();
        }
        self.group.operand = None;
        self.group.joined = false;
        self.role = Role::Operator;
    }

    fn join(&mut self, token: Token<'s>) -> Result<(), StringProblem> {
        self.count_join(token)?;
        self.take_text();
        self.group.joined = true;
        self.role = Role::Operator;
        Ok(())
    }

    /// Makes the operand that has just ended a text.
    fn take_text(&mut self) {
        if let (Some(start), Some(last)) = (self.group.operand.take(), self.last()) {
            self.insert(start, Rank::Open, "(".into());
            self.insert(last.end(), Rank::Text, format!(")|{TEXT}"));
        }
    }

    fn count_join(&mut self, token: Token<'s>) -> Result<(), StringProblem> {
        if token.text != "-" {
            self.joins += 1;
        }
        if self.joins > JOINS_MAX {
            return Err(StringProblem::new(
                token.start,
                format!("an expression has at most `{JOINS_MAX}` of `+` and `~`"),
            ));
        }
        Ok(())
    }

    fn product(&mut self, token: Token<'s>) -> Result<(), StringProblem> {
        let left = self.last().filter(|_| self.role != Role::Operator);
        let (Some(left), Some(_)) = (left, self.peek(1)) else {
            return Err(StringProblem::new(token.start, "`*` stands between two numbers"));
        };
        let right = self.operand_end(self.at + 1)?;
        for at in [left.end(), right] {
            self.insert(at, Rank::Number, format!("|{NUMBER}"));
        }
        self.role = Role::Operator;
        Ok(())
    }

    /// Where the operand ends that begins with the token at `index`, its filters included.
    fn operand_end(&self, mut index: usize) -> Result<usize, StringProblem> {
        let symbol = |index: usize, text: &str| self.tokens.get(index).is_some_and(|token| token.is_symbol(text));
        while symbol(index, "-") {
            index += 1;
        }
        index = self.skip(index);
        while self
            .tokens
            .get(index)
            .is_some_and(|token| token.kind == TokenKind::Text)
        {
            index += 1;
        }
        loop {
            index = if symbol(index, "[") {
                self.skip(index)
            } else if symbol(index, ".") {
                index + 2
            } else if symbol(index, "|") {
                if symbol(index + 2, "(") {
                    self.skip(index + 2)
                } else {
                    index + 2
                }
            } else {
                break;
            };
        }
        match self.tokens.get(index) {
            Some(token) if token.is_name("is") => Err(StringProblem::new(
                token.start,
                "put the test beside `*` in parentheses",
            )),
            _ => Ok(self.tokens.get(index.min(self.tokens.len()) - 1).map_or(0, Token::end)),
        }
    }

    /// The index after the token at `index`, or after the bracket that it opens.
    fn skip(&self, index: usize) -> usize {
        let mut depth = 0_usize;
        for (ahead, token) in self.tokens.iter().enumerate().skip(index) {
            depth += usize::from(token.opens());
            depth = depth.saturating_sub(usize::from(token.closes()));
            if depth == 0 {
                return ahead + 1;
            }
        }
        self.tokens.len()
    }
}

/// Whether a condition may follow `token`, which ended no value.
fn begins_condition(token: &Token<'_>) -> bool {
    match token.kind {
        TokenKind::Symbol => matches!(token.text, "(" | "[" | "{" | "," | ":" | "="),
        TokenKind::Name => matches!(token.text, "and" | "or" | "not" | "if" | "else"),
        TokenKind::Number | TokenKind::Text => false,
    }
}

/// A position in a list, in the form a path has it.
fn position(number: &str) -> Option<String> {
    Some(number.parse::<usize>().ok()?.to_string())
}

/// The member that a quoted subscript names, where a path can express it.
fn member(quoted: &str) -> Option<String> {
    let name = quoted.get(1..quoted.len() - 1)?;
    (!name.is_empty() && !name.contains(['\\', '.'])).then(|| name.to_owned())
}
