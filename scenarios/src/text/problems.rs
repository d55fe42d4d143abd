//! Problems of a card: where each one is, what rule it breaks, and the list of all of them.

use std::error::Error;
use std::fmt;

use super::source::Source;
use super::tree::{Span, join_path};
use super::{MAX_MESSAGE, clip};

/// No more problems than these are kept; the rest are counted.
pub const MAX_ITEMS: usize = 50;

/// Where the text that causes a problem stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In the card; a span of [`Source::card`].
    Card(Span),
    /// Nowhere: the field has its default, or the problem is one of the whole card.
    Unwritten,
    /// In a setting or a point of a sweep, by its label, as in `--set seed`.
    Setting(String),
}

/// One rule that a card breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where the cause stands.
    pub place: Place,
    /// The dotted path of the field; empty if the whole card is meant.
    pub path: String,
    /// The rule and the way out: lower case, one line, without a full stop.
    pub message: String,
}

/// Everything wrong with one card, in the order of its text.
///
/// `Display` lists one problem a line; [`Problems::report`] adds the lines of the card.
#[derive(Clone, Debug)]
pub struct Problems {
    /// Boxed, because results that carry problems are returned by value.
    source: Box<Source>,
    items: Vec<Problem>,
    n_hidden: usize,
    /// Paths whose value could not be read, so that a recovered card holds a default there.
    doubtful: Vec<String>,
}

impl Problems {
    /// No problems yet; paths and positions will be those of `source`.
    #[must_use]
    pub fn new(source: &Source) -> Self {
        Self {
            source: Box::new(source.clone()),
            items: Vec::new(),
            n_hidden: 0,
            doubtful: Vec::new(),
        }
    }

    /// Adds a problem of the card as a whole.
    pub fn push(&mut self, message: impl AsRef<str>) {
        let path = self.source.path().to_owned();
        self.add(Problem {
            place: Place::Unwritten,
            path,
            message: message.as_ref().to_owned(),
        });
    }

    /// Adds a problem of the field at a dotted `path`, relative to the source this list was made
    /// for.
    ///
    /// The position is that of the value, or none if the field is not written. A path that
    /// [`Problems::is_doubtful`] is passed over: its value is a stand-in, and what is wrong with it
    /// has been said.
    pub fn push_at(&mut self, path: &str, message: impl AsRef<str>) {
        if self.is_doubtful(path) {
            return;
        }
        let node = self
            .source
            .node(path)
            .and_then(|id| Some(self.source.tree().ok()?.nodes[id].head()));
        let place = node.map_or(Place::Unwritten, |span| self.source.place(span));
        let path = join_path(self.source.path(), path);
        self.add(Problem {
            place,
            path,
            message: message.as_ref().to_owned(),
        });
    }

    /// Adds a problem at a span of the source's text.
    pub(super) fn push_span(&mut self, span: Span, path: &str, message: &str) {
        let place = self.source.place(span);
        let path = join_path(self.source.path(), path);
        self.add(Problem {
            place,
            path,
            message: message.to_owned(),
        });
    }

    /// Adds a problem of a setting, by its label.
    pub(super) fn push_setting(&mut self, label: &str, message: &str) {
        let place = Place::Setting(label.to_owned());
        self.add(Problem {
            place,
            path: String::new(),
            message: message.to_owned(),
        });
    }

    fn add(&mut self, mut problem: Problem) {
        problem.message = clip(&problem.message, MAX_MESSAGE);
        problem.path = clip(&problem.path, MAX_MESSAGE);
        if self.items.contains(&problem) {
            return;
        }
        if self.items.len() < MAX_ITEMS {
            self.items.push(problem);
        } else {
            self.n_hidden += 1;
        }
    }

    /// Marks the value at `path` (in the source's own terms) as one that could not be read.
    pub(crate) fn doubt(&mut self, path: &str) {
        self.doubtful.push(join_path(self.source.path(), path));
    }

    /// Whether the value at `path` could not be read, so that a recovered card holds a default in
    /// its place.
    ///
    /// A check that compares two fields should ask for both: a rule broken by a stand-in is not the
    /// user's mistake.
    #[must_use]
    pub fn is_doubtful(&self, path: &str) -> bool {
        let path = join_path(self.source.path(), path);
        let covers = |outer: &String| {
            path.strip_prefix(outer.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.doubtful.iter().any(covers)
    }

    /// Takes over the problems of another list for the same card, such as those of a strategy's
    /// body.
    pub fn append(&mut self, other: Self) {
        self.n_hidden += other.n_hidden;
        self.doubtful.extend(other.doubtful);
        for problem in other.items {
            self.add(problem);
        }
    }

    /// The problems in the order of the card; those without a position next, those of settings
    /// last.
    #[must_use]
    pub fn items(&self) -> Vec<&Problem> {
        let mut items: Vec<&Problem> = self.items.iter().collect();
        items.sort_by(|a, b| a.place.cmp(&b.place));
        items
    }

    /// How many problems there are, those not kept included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len() + self.n_hidden
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The source that paths and positions refer to.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// `value` if there are no problems.
    ///
    /// # Errors
    /// These problems, if there are any.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }

    /// `error: small.ron has 2 problems`.
    pub(super) fn headline(&self) -> String {
        let plural = if self.len() == 1 { "" } else { "s" };
        format!(
            "error: {} has {} problem{plural}",
            clip(self.source.name(), MAX_MESSAGE),
            self.len()
        )
    }

    /// A line for each problem.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.items().into_iter().map(|problem| self.line(problem)).collect()
    }

    /// One problem without the indent.
    pub(super) fn line(&self, problem: &Problem) -> String {
        let Problem { place, path, message } = problem;
        let mut parts = Vec::new();
        let mut position = String::new();
        match place {
            Place::Card(span) => position = format!("{} ", self.source.position(span.start)),
            Place::Unwritten => {}
            Place::Setting(label) => parts.push(clip(label, MAX_MESSAGE)),
        }
        // The label of a setting usually holds the very path.
        let is_said = parts
            .first()
            .is_some_and(|label| label.split(' ').any(|word| word == path));
        if !path.is_empty() && !is_said {
            parts.push(path.clone());
        }
        parts.push(message.clone());
        format!("{position}{}", parts.join(": "))
    }

    /// How many problems were left out, as a last line.
    pub(super) fn remainder(&self) -> Option<String> {
        (self.n_hidden > 0).then(|| format!("… and {} more", self.n_hidden))
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())?;
        for problem in self.items() {
            write!(f, "\n  {}", self.line(problem))?;
        }
        self.remainder().map_or(Ok(()), |more| write!(f, "\n  {more}"))
    }
}

impl Error for Problems {}
