//! Characters and tokens: white space, comments, words, numbers and the many ways to quote text.
//!
//! Every function moves the cursor forward and never looks further back than the token it reads.

use super::super::quote;
use super::super::tree::{Kind, Span};
use super::{Scanner, SyntaxError, fault};

impl Scanner<'_> {
    pub(super) fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn eat(&mut self, token: &str) -> bool {
        let is_next = self.rest().starts_with(token);
        self.at += if is_next { token.len() } else { 0 };
        is_next
    }

    pub(super) fn eat_while(&mut self, accepts: impl Fn(char) -> bool) {
        self.at += self.rest().find(|c| !accepts(c)).unwrap_or(self.rest().len());
    }

    /// The span of the next character; empty at the end.
    pub(super) fn here(&self) -> Span {
        Span::new(self.at, self.at + self.peek().map_or(0, char::len_utf8))
    }

    /// Skips white space and comments; block comments nest.
    pub(super) fn skip_space(&mut self) -> Result<(), SyntaxError> {
        loop {
            self.eat_while(is_space);
            if self.rest().starts_with("//") {
                self.eat_while(|c| c != '\n');
            } else if self.rest().starts_with("/*") {
                self.skip_block_comment()?;
            } else if self.peek() == Some('/') {
                return Err(fault(
                    self.here(),
                    "a comment starts with // or /*, and text stands in double quotes",
                ));
            } else {
                return Ok(());
            }
        }
    }

    pub(super) fn skip_block_comment(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            self.eat_while(|c| c != '/' && c != '*');
            if self.eat("/*") {
                depth += 1;
            } else if self.eat("*/") {
                depth -= 1;
            } else if self.bump().is_none() {
                return Err(fault(
                    Span::new(start, start + 2),
                    "this comment is never closed; end it with */",
                ));
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

impl Scanner<'_> {
    /// Whether a quoted form with a prefix follows: `r"`, `r#"`, `b"`, `br"`, `b'`.
    pub(super) fn is_quoted(&self) -> bool {
        let rest = self.rest();
        let after_hashes = |prefix: &str| rest.strip_prefix(prefix).map(|rest| rest.trim_start_matches('#'));
        let is_raw = ["r", "br"]
            .iter()
            .any(|prefix| after_hashes(prefix).is_some_and(|rest| rest.starts_with('"')));
        is_raw || rest.starts_with("b\"") || rest.starts_with("b'")
    }

    pub(super) fn word(&mut self) -> Span {
        let start = self.at;
        if self.eat("r#") {
            self.eat_while(|c| is_word(c) || matches!(c, '.' | '+' | '-'));
        } else {
            self.eat_while(is_word);
        }
        Span::new(start, self.at)
    }

    pub(super) fn token(&mut self) -> Result<(Kind, Span), SyntaxError> {
        let start = self.at;
        let kind = match self.peek() {
            Some('"') => {
                self.text_token(start)?;
                Kind::Text
            }
            Some('\'') => {
                self.letter(start)?;
                Kind::Letter
            }
            Some('b' | 'r') if self.is_quoted() => self.prefixed(start)?,
            Some(c) if is_word_start(c) => {
                let word = self.word();
                self.no_bare_text(word)?;
                Kind::Word
            }
            Some(c) if c.is_ascii_digit() || matches!(c, '+' | '-' | '.') => {
                self.number();
                Kind::Number
            }
            Some('“' | '”' | '„' | '«' | '»') => {
                return Err(fault(
                    self.here(),
                    "text stands in straight double quotes, as in \"text\"",
                ));
            }
            Some(c) => {
                return Err(fault(
                    self.here(),
                    format!("unexpected {}", quote(c.encode_utf8(&mut [0; 4]))),
                ));
            }
            None => return Err(fault(self.here(), "the text ends where a value should stand")),
        };
        Ok((kind, Span::new(start, self.at)))
    }

    /// Takes all that could belong to a number or a range; whether it is one, the typed parser
    /// finds out.
    pub(super) fn number(&mut self) {
        loop {
            self.eat_while(|c| is_word(c) || matches!(c, '.' | '+' | '-'));
            if !(self.text[..self.at].ends_with("..") && self.eat("=")) {
                return;
            }
        }
    }

    pub(super) fn text_token(&mut self, start: usize) -> Result<(), SyntaxError> {
        self.at += 1;
        loop {
            self.eat_while(|c| c != '"' && c != '\\');
            match self.bump() {
                Some('"') => return Ok(()),
                Some(_) => {
                    self.bump();
                }
                None => {
                    return Err(fault(
                        Span::new(start, start + 1),
                        "this text is never closed; end it with \"",
                    ));
                }
            }
        }
    }

    pub(super) fn prefixed(&mut self, start: usize) -> Result<Kind, SyntaxError> {
        let is_bytes = self.eat("b");
        if self.peek() == Some('\'') {
            self.letter(start)?;
            // `b'a'` is a way to write a small whole number.
            return Ok(Kind::Number);
        }
        if self.eat("r") {
            let hashes_from = self.at;
            self.eat_while(|c| c == '#');
            let ending = format!("\"{}", &self.text[hashes_from..self.at]);
            self.at += 1;
            let Some(len) = self.rest().find(&ending) else {
                let message = format!("this text is never closed; end it with {}", quote(&ending));
                return Err(fault(Span::new(start, hashes_from), message));
            };
            self.at += len + ending.len();
        } else {
            self.text_token(self.at)?;
        }
        Ok(if is_bytes { Kind::Bytes } else { Kind::Text })
    }

    pub(super) fn letter(&mut self, start: usize) -> Result<(), SyntaxError> {
        self.at += 1;
        if self.bump() == Some('\\') {
            self.bump();
            // The longest escape is \u{10ffff}.
            self.eat_while(|c| c.is_ascii_alphanumeric() || c == '{' || c == '}');
        }
        if self.eat("'") {
            return Ok(());
        }
        Err(fault(
            Span::new(start, start + 1),
            "single quotes hold one character; text stands in double quotes",
        ))
    }
}

/// The white space of RON.
pub(super) fn is_space(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t'..='\r' | '\u{85}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
    )
}

/// As `ron` has it, whose version of Unicode may be newer than the standard library's.
pub(in crate::text) fn is_word_start(c: char) -> bool {
    c == '_' || c.is_alphabetic() || unicode_ident::is_xid_start(c)
}

/// Generous outside ASCII, where only the typed parser knows the exact classes.
fn is_word(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric() || (!c.is_ascii() && !is_space(c))
}
