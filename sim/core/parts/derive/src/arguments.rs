//! What may stand in `#[component(…)]`, on a type, a variant or a field.

use proc_macro2::Span;
use quote::ToTokens;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, ExprRange, ExprUnary, Lit, LitStr, RangeLimits, UnOp};

/// What stands on a type.
#[derive(Default)]
pub(crate) struct Declared {
    /// The name in cards, of a component that is looked up by it.
    pub(crate) name: Option<LitStr>,
    /// An earlier name, which cards may still use.
    pub(crate) alias: Option<LitStr>,
    /// What lists say of it, if that is not its doc comment.
    pub(crate) about: Option<LitStr>,
    /// Whether there is a method `rules` for what ties several fields.
    pub(crate) rules: bool,
    /// Whether there is a method `settle` for fields that stand for others.
    pub(crate) settle: bool,
}

impl Parse for Declared {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut declared = Declared::default();
        let parser = syn::meta::parser(|meta| {
            match () {
                () if meta.path.is_ident("name") => declared.name = Some(meta.value()?.parse()?),
                () if meta.path.is_ident("alias") => declared.alias = Some(meta.value()?.parse()?),
                () if meta.path.is_ident("about") => declared.about = Some(meta.value()?.parse()?),
                () if meta.path.is_ident("rules") => declared.rules = true,
                () if meta.path.is_ident("settle") => declared.settle = true,
                () => {
                    return Err(meta
                        .error("a type takes `name = \"…\"`, `alias = \"…\"`, `about = \"…\"`, `rules` and `settle`"));
                }
            }
            Ok(())
        });
        syn::parse::Parser::parse2(parser, input.parse()?)?;
        match (&declared.name, &declared.about) {
            (None, Some(about)) => Err(syn::Error::new(
                about.span(),
                "`about` needs `name = \"…\"`; what has no name has a doc comment",
            )),
            _ => Ok(declared),
        }
    }
}

/// What stands on a variant.
#[derive(Default)]
pub(crate) struct Chosen {
    /// Whether it is the default.
    pub(crate) is_default: bool,
    /// An earlier name, which cards may still use.
    pub(crate) alias: Option<LitStr>,
    /// Settings that it lays under those of the card, as `--set` takes them.
    pub(crate) sets: Vec<LitStr>,
}

impl Chosen {
    /// Takes what it means out of a variant's attributes.
    pub(crate) fn take(attributes: &mut Vec<Attribute>) -> syn::Result<Self> {
        let mut chosen = Chosen::default();
        each(attributes, "default", |_| {
            chosen.is_default = true;
            Ok(())
        })?;
        each(attributes, "component", |attribute| {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("alias") {
                    chosen.alias = Some(meta.value()?.parse()?);
                    return Ok(());
                }
                if !meta.path.is_ident("sets") {
                    return Err(meta.error(
                        "a variant takes `sets(\"path=value\", …)` and `alias = \"…\"`, and `#[default]` beside it",
                    ));
                }
                let list;
                syn::parenthesized!(list in meta.input);
                for setting in list.parse_terminated(|input| input.parse::<LitStr>(), syn::Token![,])? {
                    if !setting.value().contains('=') {
                        return Err(syn::Error::new(setting.span(), "write a setting as path=value"));
                    }
                    chosen.sets.push(setting);
                }
                Ok(())
            })
        })?;
        Ok(chosen)
    }
}

/// What stands on a field.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) default: Option<Expr>,
    pub(crate) required: bool,
    pub(crate) unit: Option<LitStr>,
    /// An earlier name, which cards may still use.
    pub(crate) alias: Option<LitStr>,
    pub(crate) bounds: Bounds,
}

/// The range of a field, in literals, so that its text is known when it is compiled.
#[derive(Default)]
pub(crate) struct Bounds {
    /// `in = …`, and whether its end belongs to it.
    inside: Option<(Number, Number, bool)>,
    above: Option<Number>,
    at_least: Option<Number>,
    below: Option<Number>,
    at_most: Option<Number>,
    /// Whether what counts is the value rounded to `f32`.
    pub(crate) single: bool,
    /// The way out, behind the rule.
    pub(crate) hint: Option<LitStr>,
}

/// A number as it is written: its value and its text without underscores, suffix and idle `.0`.
#[derive(Clone)]
struct Number(f64, String);

impl Said {
    /// Takes what it means out of a field's attributes.
    pub(crate) fn take(attributes: &mut Vec<Attribute>, name: &str, is_float: bool) -> syn::Result<Self> {
        let mut said = Said::default();
        let mut span = None;
        each(attributes, "component", |attribute| {
            span = Some(attribute.span());
            attribute.parse_nested_meta(|meta| said.say(&meta, name))
        })?;
        let refuse = |why: &str| {
            Err(syn::Error::new(
                span.unwrap_or_else(Span::call_site),
                format!("{name}: {why}"),
            ))
        };
        if said.required && said.default.is_some() {
            return refuse("a required field has no default; leave out one of the two");
        }
        let bounds = &said.bounds;
        if bounds.text(is_float).is_none() && (bounds.is_any() || bounds.single || bounds.hint.is_some()) {
            return refuse(
                "these bounds do not go together; write `in = a..=b`, `in = a..b`, `above = a`, `at_least = a`, or `above = a` with one of \
                 `at_most`, `below` and `in`",
            );
        }
        Ok(said)
    }

    fn say(&mut self, meta: &ParseNestedMeta<'_>, name: &str) -> syn::Result<()> {
        let number = || number(&meta.value()?.parse()?, name);
        let bounds = &mut self.bounds;
        match () {
            () if meta.path.is_ident("default") => self.default = Some(meta.value()?.parse()?),
            () if meta.path.is_ident("required") => self.required = true,
            () if meta.path.is_ident("unit") => self.unit = Some(meta.value()?.parse()?),
            () if meta.path.is_ident("alias") => self.alias = Some(meta.value()?.parse()?),
            () if meta.path.is_ident("above") => bounds.above = Some(number()?),
            () if meta.path.is_ident("at_least") => bounds.at_least = Some(number()?),
            () if meta.path.is_ident("below") => bounds.below = Some(number()?),
            () if meta.path.is_ident("at_most") => bounds.at_most = Some(number()?),
            () if meta.path.is_ident("f32") => bounds.single = true,
            () if meta.path.is_ident("hint") => bounds.hint = Some(meta.value()?.parse()?),
            () if meta.path.is_ident("in") => {
                let range: ExprRange = meta.value()?.parse()?;
                let (Some(start), Some(end)) = (&range.start, &range.end) else {
                    let why =
                        format!("{name}: a range needs both ends, as in 1..=10; else write `at_least` or `above`");
                    return Err(syn::Error::new(range.span(), why));
                };
                let is_closed = matches!(range.limits, RangeLimits::Closed(_));
                bounds.inside = Some((self::number(start, name)?, self::number(end, name)?, is_closed));
            }
            () => {
                let why = "a field takes `default`, `required`, `alias`, `in`, `above`, `at_least`, `below`, `at_most`, `f32`, \
                    `hint` and `unit`";
                return Err(meta.error(format!("{name}: {why}")));
            }
        }
        Ok(())
    }
}

impl Bounds {
    fn is_any(&self) -> bool {
        let single = [&self.above, &self.at_least, &self.below, &self.at_most];
        self.inside.is_some() || single.iter().any(|bound| bound.is_some())
    }

    /// The rule in words and the range alone; `None` if there is no bound, or bounds that do not go
    /// together.
    pub(crate) fn text(&self, is_float: bool) -> Option<(String, String)> {
        let text = |number: &Number| number.1.clone();
        let inside = self.inside.as_ref().map(|(least, most, is_closed)| {
            let dots = if *is_closed { "..=" } else { ".." };
            format!("{}{dots}{}", least.1, most.1)
        });
        let single = |bound: &Option<Number>| bound.as_ref().map(text);
        let bounds = (
            inside,
            single(&self.above),
            single(&self.at_least),
            single(&self.below),
            single(&self.at_most),
        );
        let (rule, range) = match bounds {
            (Some(range), None, None, None, None) => (format!("must lie in {range}"), range),
            (Some(range), Some(a), None, None, None) => (format!("must be greater than {a}, within {range}"), range),
            (None, Some(a), None, None, Some(b)) => (
                format!("must be greater than {a} and at most {b}"),
                format!("above {a}, at most {b}"),
            ),
            (None, Some(a), None, Some(b), None) => (
                format!("must be greater than {a} and less than {b}"),
                format!("above {a}, below {b}"),
            ),
            (None, Some(a), None, None, None) => {
                let finite = if is_float { "finite and " } else { "" };
                (format!("must be {finite}greater than {a}"), format!("above {a}"))
            }
            (None, None, Some(a), None, None) => {
                let finite = if is_float { "finite and " } else { "" };
                (format!("must be {finite}at least {a}"), format!("at least {a}"))
            }
            _ => return None,
        };
        let single = if self.single { " as an f32" } else { "" };
        Some((format!("{rule}{single}"), range))
    }

    /// The least and the greatest value, and whether each belongs to the range.
    pub(crate) fn ends(&self) -> [(f64, bool); 2] {
        let mut ends = [(f64::NEG_INFINITY, false), (f64::INFINITY, false)];
        if let Some((least, most, is_closed)) = &self.inside {
            ends = [(least.0, true), (most.0, *is_closed)];
        }
        let singles = [
            (&self.above, 0, false),
            (&self.at_least, 0, true),
            (&self.below, 1, false),
            (&self.at_most, 1, true),
        ];
        for (bound, end, is_closed) in singles {
            if let (Some(Number(value, _)), None) = (bound, &self.inside) {
                ends[end] = (*value, is_closed);
            }
        }
        ends
    }
}

/// Calls `read` for every attribute called `name` and removes them.
fn each(
    attributes: &mut Vec<Attribute>,
    name: &str,
    mut read: impl FnMut(&Attribute) -> syn::Result<()>,
) -> syn::Result<()> {
    let (ours, others): (Vec<Attribute>, Vec<Attribute>) = std::mem::take(attributes)
        .into_iter()
        .partition(|attribute| attribute.path().is_ident(name));
    *attributes = others;
    ours.iter().try_for_each(&mut read)
}

fn number(written: &Expr, name: &str) -> syn::Result<Number> {
    let literal = |lit: &Lit| match lit {
        Lit::Int(int) => Some((int.base10_parse().ok()?, int.base10_digits().to_owned())),
        Lit::Float(float) => {
            let text = float.base10_digits();
            Some((
                float.base10_parse().ok()?,
                text.strip_suffix(".0").unwrap_or(text).to_owned(),
            ))
        }
        _ => None,
    };
    let found = match written {
        Expr::Lit(ExprLit { lit, .. }) => literal(lit),
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(_), expr, ..
        }) => match &**expr {
            Expr::Lit(ExprLit { lit, .. }) => {
                literal(lit).map(|(value, text): (f64, String)| (-value, format!("-{text}")))
            }
            _ => None,
        },
        _ => None,
    };
    let why = || {
        format!(
            "{name}: write the bound as a number, not as `{}`: its text goes into messages",
            written.to_token_stream()
        )
    };
    found
        .map(|(value, text)| Number(value, text))
        .ok_or_else(|| syn::Error::new(written.span(), why()))
}
