//! The scanner: reads any text once, from left to right, and yields the tree of spans or the first
//! fault of its syntax.
//!
//! It promises to be total: no input makes it panic, recurse or take more than linear time. It
//! knows the shape of RON, not its types; whether a word is a variant, or a number fits its field,
//! is for the typed parser to say. It is stricter than `ron` in one point: the key of a map must be
//! a single word, number or text, so that every value has a path.

mod token;

use super::quote;
use super::tree::{Kind, Node, Span, Tree};
use token::is_space;
pub(super) use token::is_word_start;

/// Brackets may be nested this deep; cards need six.
pub const MAX_DEPTH: usize = 64;

/// The first fault in the syntax of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) span: Span,
    pub(super) message: String,
}

/// Scans a whole card.
pub(super) fn scan(text: &str) -> Result<Tree, SyntaxError> {
    let mut scanner = Scanner {
        text,
        at: 0,
        tree: Tree::default(),
        open: Vec::new(),
    };
    scanner.skip_space()?;
    while scanner.peek() == Some('#') {
        scanner.attribute()?;
        scanner.skip_space()?;
    }
    if scanner.peek().is_none() {
        // A file may end in comments; the start is where something should have been.
        return Err(fault(
            Span::new(0, 0),
            "the text is empty; write its fields as ( name: value, … )",
        ));
    }
    scanner.value(None)?;
    while let Some(&top) = scanner.open.last() {
        scanner.step(top)?;
    }
    scanner.skip_space()?;
    if scanner.peek().is_some() {
        let message = match scanner.peek() {
            Some(c @ (')' | ']' | '}')) => format!("`{c}` closes nothing; the value ended before it"),
            _ => "nothing may follow the value; is a bracket closed too early?".to_owned(),
        };
        return Err(fault(scanner.here(), message));
    }
    Ok(scanner.tree)
}

fn fault(span: Span, message: impl Into<String>) -> SyntaxError {
    SyntaxError {
        span,
        message: message.into(),
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    tree: Tree,
    /// The containers around the cursor; the last is the innermost.
    open: Vec<usize>,
}

impl Scanner<'_> {
    /// `#![enable(a, b)]`, or an attribute that only editors read, such as `#![type = "…"]`.
    fn attribute(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let bad = |end| {
            fault(
                Span::new(start, end),
                "an attribute is written #![enable(implicit_some)]",
            )
        };
        for token in ["#", "!", "["] {
            if !self.eat(token) {
                return Err(bad(start + 1));
            }
            self.skip_space()?;
        }
        let is_enable = self.eat("enable");
        loop {
            self.skip_space()?;
            match self.peek() {
                Some(']') => break,
                Some('"') => self.text_token(self.at)?,
                Some(c) if is_word_start(c) => {
                    let word = self.word();
                    if is_enable {
                        self.tree.extensions.push(word);
                    }
                }
                Some('(' | ')' | ',' | '=') => self.at += 1,
                _ => return Err(bad(start + 1)),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads the next entry of the container `top`, or its closing bracket.
    fn step(&mut self, top: usize) -> Result<(), SyntaxError> {
        self.skip_space()?;
        let closing = closing(self.tree.nodes[top].kind);
        match self.peek() {
            None => return Err(self.never_closed(top, closing)),
            Some(c) if c == closing => {
                self.at += 1;
                self.open.pop();
                self.tree.nodes[top].value.end = self.at;
                return self.after_value(top);
            }
            Some(c @ (')' | ']' | '}')) => {
                let opening = &self.text[self.tree.nodes[top].open..=self.tree.nodes[top].open];
                return Err(fault(
                    self.here(),
                    format!("expected `{closing}` to close `{opening}`, got `{c}`"),
                ));
            }
            Some(',') => return Err(fault(self.here(), "a value is missing before this comma")),
            Some(_) => {}
        }
        if let Some(&last) = self.tree.nodes[top].children.last()
            && !self.tree.nodes[last].has_comma()
        {
            return Err(self.missing_comma(last));
        }
        let key = self.key(top)?;
        self.value(key)
    }

    /// The key of the next entry, with its colon; lists and tuples have none.
    fn key(&mut self, top: usize) -> Result<Option<Span>, SyntaxError> {
        let start = self.at;
        let siblings = &self.tree.nodes[top].children;
        let after_key = siblings.first().map(|&first| self.tree.nodes[first].key.is_some());
        match self.tree.nodes[top].kind {
            Kind::Map => {
                let (_, key) = self.token()?;
                self.colon(key)?;
                Ok(Some(key))
            }
            Kind::Parens if self.peek().is_some_and(is_word_start) && !self.is_quoted() => {
                let key = self.word();
                let word_end = self.at;
                self.skip_space()?;
                match (self.peek(), after_key) {
                    (Some(':'), Some(false)) => Err(fault(
                        key,
                        "the values before this field have no names; name all of them or none",
                    )),
                    (Some(':'), _) => {
                        self.colon(key)?;
                        Ok(Some(key))
                    }
                    (_, Some(true)) => {
                        let message = format!("expected `:` and a value after {}", quote(key.of(self.text)));
                        Err(fault(Span::new(key.start, word_end), message))
                    }
                    _ => {
                        self.at = start;
                        Ok(None)
                    }
                }
            }
            Kind::Parens if after_key == Some(true) => Err(fault(self.here(), "expected a field, as in name: value")),
            _ => Ok(None),
        }
    }

    fn colon(&mut self, key: Span) -> Result<(), SyntaxError> {
        self.skip_space()?;
        if !self.eat(":") {
            let message = format!("expected `:` and a value after {}", quote(key.of(self.text)));
            return Err(fault(key, message));
        }
        self.skip_space()?;
        if matches!(self.peek(), Some(',' | ')' | ']' | '}') | None) {
            let message = format!("{} has no value", quote(key.of(self.text)));
            return Err(fault(key, message));
        }
        Ok(())
    }

    /// Reads a scalar whole, or opens a container.
    fn value(&mut self, key: Option<Span>) -> Result<(), SyntaxError> {
        let start = self.at;
        let mut name = None;
        if self.peek().is_some_and(is_word_start) && !self.is_quoted() {
            let word = self.word();
            self.skip_space()?;
            if self.peek() != Some('(') {
                self.at = word.end;
                self.no_bare_text(word)?;
                let kind = if matches!(word.of(self.text), "inf" | "NaN") {
                    Kind::Number
                } else {
                    Kind::Word
                };
                return self.scalar(kind, word, key);
            }
            name = Some(word);
        }
        let kind = match self.peek() {
            Some('(') => Kind::Parens,
            Some('[') => Kind::List,
            Some('{') => Kind::Map,
            _ => {
                let (kind, span) = self.token()?;
                return self.scalar(kind, span, key);
            }
        };
        if self.open.len() == MAX_DEPTH {
            return Err(fault(
                self.here(),
                format!("brackets are nested more than {MAX_DEPTH} deep"),
            ));
        }
        let open = self.at;
        self.at += 1;
        let id = self.push(Node {
            parent: self.open.last().copied(),
            key,
            kind,
            name,
            value: Span::new(start, self.at),
            open,
            end: self.at,
            children: Vec::new(),
        });
        self.open.push(id);
        Ok(())
    }

    fn scalar(&mut self, kind: Kind, value: Span, key: Option<Span>) -> Result<(), SyntaxError> {
        let parent = self.open.last().copied();
        let id = self.push(Node {
            parent,
            key,
            kind,
            name: None,
            value,
            open: value.start,
            end: value.end,
            children: vec![],
        });
        self.after_value(id)
    }

    fn push(&mut self, node: Node) -> usize {
        let id = self.tree.nodes.len();
        if let Some(parent) = node.parent {
            self.tree.nodes[parent].children.push(id);
        }
        self.tree.nodes.push(node);
        id
    }

    /// Takes the comma after a value, if there is one; the root has none.
    fn after_value(&mut self, id: usize) -> Result<(), SyntaxError> {
        self.tree.nodes[id].end = self.tree.nodes[id].value.end;
        if self.tree.nodes[id].parent.is_some() {
            self.skip_space()?;
            if self.eat(",") {
                self.tree.nodes[id].end = self.at;
            }
        }
        Ok(())
    }

    fn never_closed(&self, top: usize, closing: char) -> SyntaxError {
        let node = &self.tree.nodes[top];
        let opening = &self.text[node.open..=node.open];
        fault(node.head(), format!("`{opening}` is never closed; add `{closing}`"))
    }

    /// The fault lies where the comma should be, not at the innocent value that follows.
    fn missing_comma(&self, last: usize) -> SyntaxError {
        let node = &self.tree.nodes[last];
        let of = node
            .key
            .map_or(String::new(), |key| format!(" of {}", quote(key.of(self.text))));
        fault(
            Span::new(node.value.end, node.value.end),
            format!("expected a comma after the value{of}"),
        )
    }

    /// Catches `name-with-dashes` and `dir/file` where text is meant.
    fn no_bare_text(&self, word: Span) -> Result<(), SyntaxError> {
        match self.peek() {
            Some('-' | '.' | '+' | '"' | '\'') => {
                let len = self
                    .rest()
                    .find(|c| is_space(c) || ",()[]{}:\"".contains(c))
                    .unwrap_or(self.rest().len());
                let whole = Span::new(word.start, self.at + len);
                let message = format!("{} must stand in double quotes", quote(whole.of(self.text)));
                Err(fault(whole, message))
            }
            _ => Ok(()),
        }
    }
}

fn closing(kind: Kind) -> char {
    match kind {
        Kind::List => ']',
        Kind::Map => '}',
        _ => ')',
    }
}
