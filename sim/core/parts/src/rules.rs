//! The rules that a value breaks, with where and the way out.

use std::fmt;

/// One rule that a value breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The field's dotted path below the value; empty for the value itself.
    pub path: String,
    /// The rule and the way out: lower case, one line, without a full stop.
    pub rule: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.is_empty() {
            true => f.write_str(&self.rule),
            false => write!(f, "{}: {}", self.path, self.rule),
        }
    }
}

impl Broken {
    /// All of them in one text: each below `prefix`, with `separator` between.
    pub fn list(all: &[Broken], prefix: &str, separator: &str) -> String {
        let lines: Vec<String> = all.iter().map(|broken| format!("{prefix}{broken}")).collect();
        lines.join(separator)
    }
}

/// Collects every rule that a value breaks. Paths are relative to wherever it has descended.
#[derive(Debug, Default)]
pub struct Rules {
    at: String,
    broken: Vec<Broken>,
}

impl Rules {
    /// Notes the rule unless it holds; `field` may be a path, or empty for the value as a whole.
    pub fn require(&mut self, holds: bool, field: &str, rule: impl Into<String>) {
        if !holds {
            let path = self.path(field);
            let rule = rule.into();
            self.broken.push(Broken { path, rule });
        }
    }

    /// Lets `check` note what is below `field`.
    pub fn at(&mut self, field: &str, check: impl FnOnce(&mut Rules)) {
        let outer = enter(&mut self.at, field);
        check(self);
        self.at.truncate(outer);
    }

    /// Whether a rule of `field`, or of one below it, is broken already, so that nothing true can
    /// be said of what follows from it.
    pub fn is_broken(&self, field: &str) -> bool {
        let path = self.path(field);
        let covers = |broken: &Broken| {
            let rest = broken.path.strip_prefix(&path);
            path.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.broken.iter().any(covers)
    }

    /// What has been noted, in the order of the declaration.
    pub fn into_broken(self) -> Vec<Broken> {
        self.broken
    }

    fn path(&self, field: &str) -> String {
        let mut path = self.at.clone();
        enter(&mut path, field);
        path
    }
}

/// Descends from `at` to `field`; either may be empty. Returns the length to cut `at` to on the way
/// back.
pub(crate) fn enter(at: &mut String, field: &str) -> usize {
    let outer = at.len();
    if outer > 0 && !field.is_empty() {
        at.push('.');
    }
    at.push_str(field);
    outer
}

/// The range of a number, as a field declares it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The lower end, and whether it belongs to the range.
    pub least: (f64, bool),
    /// The upper end, and whether it belongs to the range.
    pub most: (f64, bool),
    /// The rule in words: `must lie in 1..=10`.
    pub rule: &'static str,
    /// The range alone: `1..=10`.
    pub text: &'static str,
    /// The way out, where the rule does not say it.
    pub hint: &'static str,
    /// Whether what counts is the value rounded to `f32`.
    pub single: bool,
}

impl Range {
    /// Whether it holds a value; none holds what is no number.
    pub fn holds(&self, value: f64) -> bool {
        let value = if self.single { f64::from(value as f32) } else { value };
        let ((least, has_least), (most, has_most)) = (self.least, self.most);
        (value > least || (has_least && value == least)) && (value < most || (has_most && value == most))
    }

    /// Notes the rule unless the range holds `value`.
    pub fn keep(&self, value: f64, got: impl fmt::Display, rules: &mut Rules) {
        if !self.holds(value) {
            let hint = if self.hint.is_empty() {
                String::new()
            } else {
                format!("; {}", self.hint)
            };
            rules.require(false, "", format!("{}, got {got}{hint}", self.rule));
        }
    }
}
