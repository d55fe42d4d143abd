//! The code that a declaration becomes.

use crate::arguments::{Chosen, Declared, Said};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Expr, ExprLit, Field, Fields, Lit, LitStr, Meta, Type, Variant};

/// The declaration again, with everything that follows from it.
pub(crate) fn emit(declared: &Declared, mut item: DeriveInput) -> syn::Result<TokenStream> {
    if let Some(parameter) = item.generics.params.first() {
        return Err(syn::Error::new(
            parameter.span(),
            "a component of cards has no generic parameters",
        ));
    }
    let name = item.ident.clone();
    let body = match &mut item.data {
        Data::Struct(data) => of_struct(&name, &mut data.fields)?,
        Data::Enum(data) => of_enum(&name, data.variants.iter_mut().collect())?,
        Data::Union(_) => {
            return Err(syn::Error::new(
                name.span(),
                "a union is no component; write a struct or an enum",
            ));
        }
    };
    let Body {
        shape,
        check,
        choose,
        default,
        helpers,
        container,
    } = body;
    let own = declared.rules.then(|| quote! { self.rules(rules); });
    let default = default.map(|value| {
        quote! {
            impl ::core::default::Default for #name {
                fn default() -> Self {
                    #value
                }
            }
        }
    });
    let settle = declared.settle.then(|| {
        quote! {
            fn settle(&mut self, is_written: &dyn Fn(&str) -> bool) {
                self.settle(is_written)
            }
        }
    });
    let alias = declared.alias.iter().map(|alias| {
        quote! {
            const ALIAS: ::core::option::Option<&'static str> = ::core::option::Option::Some(#alias);
        }
    });
    let alias = quote! { #(#alias)* };
    let about = declared.about.as_ref().map_or_else(|| docs(&item.attrs), LitStr::value);
    if let Some(part) = declared.name.as_ref().filter(|_| about.is_empty()) {
        return Err(syn::Error::new(
            part.span(),
            "a component with a name needs a doc comment or `about = \"…\"`",
        ));
    }
    let part = declared.name.iter().map(|part| {
        quote! {
            impl ::folkmoot_parts::Component for #name {
                const NAME: &'static str = #part;
                const ABOUT: &'static str = #about;
                const SOURCE: &'static str = concat!(module_path!(), "::", stringify!(#name));
                #alias
                #settle
            }
        }
    });
    // The reader of cards accepts it before the parentheses and names it in errors.
    let renamed = declared.name.iter().map(|part| quote! { , rename = #part });
    Ok(quote! {
        #[derive(::folkmoot_parts::serde::Serialize, ::folkmoot_parts::serde::Deserialize)]
        #[serde(crate = "folkmoot_parts::serde", deny_unknown_fields #(#renamed)* #container)]
        #item

        #default

        #helpers

        impl ::folkmoot_parts::Value for #name {
            fn shape() -> ::folkmoot_parts::Shape {
                #shape
            }

            fn check(&self, rules: &mut ::folkmoot_parts::Rules) {
                #check
                #own
            }

            fn choose(&mut self, choosing: &mut ::folkmoot_parts::Choosing<'_>) {
                let _ = &choosing;
                #choose
            }
        }

        #(#part)*
    })
}

/// What differs between structs and enums.
struct Body {
    shape: TokenStream,
    check: TokenStream,
    choose: TokenStream,
    /// The default value, if there is one.
    default: Option<TokenStream>,
    /// Functions with the defaults of single fields.
    helpers: TokenStream,
    container: TokenStream,
}

struct Known {
    /// Its name, or what stands for it where it has none.
    name: Ident,
    ty: Type,
    about: String,
    said: Said,
    is_float: bool,
}

impl Known {
    fn read(field: &mut Field, name: Ident) -> syn::Result<Self> {
        let ty = field.ty.clone();
        let written = ty.to_token_stream().to_string();
        let is_float = ["f32", "f64"]
            .iter()
            .any(|float| written.split_whitespace().any(|word| word == *float));
        let about = docs(&field.attrs);
        let said = Said::take(&mut field.attrs, &name.to_string(), is_float)?;
        let known = Known {
            name,
            ty,
            about,
            said,
            is_float,
        };
        if let Some(tail) = known.tail() {
            field.attrs.push(syn::parse_quote!(#[doc = #tail]));
        }
        Ok(known)
    }

    /// What the doc of the field ends with.
    fn tail(&self) -> Option<String> {
        let mut parts = Vec::new();
        parts.extend(self.said.unit.as_ref().map(|unit| format!("In {}.", unit.value())));
        parts.extend(
            self.said
                .bounds
                .text(self.is_float)
                .map(|(_, range)| format!("Range: {range}.")),
        );
        parts.extend(
            self.said
                .default
                .as_ref()
                .map(|default| format!("Default: `{}`.", compact(default))),
        );
        (!parts.is_empty()).then(|| format!(" {}", parts.join(" ")))
    }

    /// The default as an expression of the field's type; `None` if the field must be given.
    fn default(&self) -> Option<TokenStream> {
        let ty = &self.ty;
        match &self.said.default {
            _ if self.said.required => None,
            None => Some(quote! { <#ty as ::core::default::Default>::default() }),
            Some(Expr::Lit(ExprLit {
                lit: Lit::Str(text), ..
            })) => Some(quote! { ::std::string::String::from(#text) }),
            Some(default) => Some(quote! { #default }),
        }
    }

    /// The constant that holds its range, or `None`.
    fn range(&self) -> Option<TokenStream> {
        let bounds = &self.said.bounds;
        let (rule, text) = bounds.text(self.is_float)?;
        let [(least, has_least), (most, has_most)] = bounds.ends();
        let (single, hint) = (bounds.single, bounds.hint.as_ref().map_or(String::new(), LitStr::value));
        let bound = |value: f64| match value.is_finite() {
            true => quote! { #value },
            false if value > 0.0 => quote! { f64::INFINITY },
            false => quote! { f64::NEG_INFINITY },
        };
        let (least, most) = (bound(least), bound(most));
        Some(quote! {
            ::folkmoot_parts::Range {
                least: (#least, #has_least),
                most: (#most, #has_most),
                rule: #rule,
                text: #text,
                hint: #hint,
                single: #single,
            }
        })
    }

    /// The check of `value`, an expression that refers to it; below its name where it has one.
    fn check(&self, value: &TokenStream, is_named: bool) -> TokenStream {
        let span = self.ty.span();
        let keep = self.range().map(|range| {
            quote_spanned! { span =>
                const RANGE: ::folkmoot_parts::Range = #range;
                ::folkmoot_parts::Bounded::keep(#value, &RANGE, rules);
            }
        });
        let check = quote_spanned! { span => ::folkmoot_parts::Value::check(#value, rules); };
        let name = bare(&self.name);
        match is_named {
            true => quote! { rules.at(#name, |rules| { #keep #check }); },
            false => quote! { { #keep #check } },
        }
    }

    /// The look-up of parts in `value`, an expression that refers to it; below its name where it
    /// has one.
    fn choose(&self, value: &TokenStream, is_named: bool) -> TokenStream {
        let choose = quote_spanned! { self.ty.span() => ::folkmoot_parts::Value::choose(#value, choosing); };
        let name = bare(&self.name);
        match is_named {
            true => quote! { choosing.at(#name, |choosing| { #choose }); },
            false => quote! { { #choose } },
        }
    }

    /// Its description, with `default` as an expression that refers to its default value.
    fn describe(&self, default: Option<TokenStream>) -> TokenStream {
        let (ty, name, about) = (&self.ty, bare(&self.name), &self.about);
        let default = match default {
            Some(value) => quote! { ::core::option::Option::Some(#value) },
            None => quote! { ::core::option::Option::None },
        };
        let range = optional(self.said.bounds.text(self.is_float).map(|(_, range)| range));
        let unit = optional(self.said.unit.as_ref().map(LitStr::value));
        let alias = optional(self.said.alias.as_ref().map(LitStr::value));
        quote_spanned! { self.ty.span() =>
            ::folkmoot_parts::Field::new::<#ty>(#name, #about, #default, #range, #unit).formerly(#alias)
        }
    }
}

fn optional(text: Option<String>) -> TokenStream {
    match text {
        Some(text) => quote! { ::core::option::Option::Some(#text) },
        None => quote! { ::core::option::Option::None },
    }
}

fn of_struct(name: &Ident, fields: &mut Fields) -> syn::Result<Body> {
    let why = "a struct of cards has named fields; for choices write an enum";
    let fields = match fields {
        Fields::Named(named) => &mut named.named,
        Fields::Unit => {
            return Err(syn::Error::new(
                name.span(),
                "write `{}` for a component without fields",
            ));
        }
        Fields::Unnamed(unnamed) => return Err(syn::Error::new(unnamed.span(), why)),
    };
    let mut known = Vec::new();
    for field in fields.iter_mut() {
        let ident = field.ident.clone().expect("named fields have names");
        known.push(Known::read(field, ident)?);
    }
    let is_whole = known.iter().all(|field| !field.said.required);
    let mut helpers = TokenStream::new();
    if !is_whole {
        for (field, known) in fields.iter_mut().zip(&known) {
            helpers.extend(default_of(name, "", field, known));
        }
    }
    let names: Vec<&Ident> = known.iter().map(|field| &field.name).collect();
    let values: Vec<Option<TokenStream>> = known.iter().map(Known::default).collect();
    let default = is_whole.then(|| {
        let values = values.iter().flatten();
        quote! { #name { #(#names: #values),* } }
    });
    let described = known.iter().zip(&values).map(|(field, value)| {
        let ident = &field.name;
        field.describe(match is_whole {
            true => Some(quote! { &default.#ident }),
            false => value.as_ref().map(|value| quote! { &#value }),
        })
    });
    let whole = (is_whole && !known.is_empty())
        .then(|| quote! { let default = <#name as ::core::default::Default>::default(); });
    let checks = known.iter().map(|field| {
        let ident = &field.name;
        field.check(&quote! { &self.#ident }, true)
    });
    let check = match known.is_empty() {
        true => quote! { let _ = rules; },
        false => quote! { #(#checks)* },
    };
    let chosen = known.iter().map(|field| {
        let ident = &field.name;
        field.choose(&quote! { &mut self.#ident }, true)
    });
    Ok(Body {
        choose: quote! { #(#chosen)* },
        shape: quote! {
            #whole
            ::folkmoot_parts::Shape::Fields(::std::vec![#(#described),*])
        },
        check,
        default,
        helpers,
        container: if is_whole {
            quote! { , default }
        } else {
            TokenStream::new()
        },
    })
}

fn of_enum(name: &Ident, variants: Vec<&mut Variant>) -> syn::Result<Body> {
    let (mut helpers, mut described) = (TokenStream::new(), Vec::new());
    let (mut arms, mut choosing) = (Vec::new(), Vec::new());
    let mut default = None;
    for variant in variants {
        let about = docs(&variant.attrs);
        let chosen = Chosen::take(&mut variant.attrs)?;
        let (ident, sets) = (variant.ident.clone(), &chosen.sets);
        let whole = of_variant(name, &ident, &mut variant.fields, &mut helpers)?;
        if chosen.is_default {
            if default.is_some() {
                return Err(syn::Error::new(
                    ident.span(),
                    "a second #[default]; one variant is the default",
                ));
            }
            let why = format!("{ident} cannot be the default: one of its fields has none");
            default = Some(whole.default.ok_or_else(|| syn::Error::new(ident.span(), why))?);
        }
        let text = renamed(&variant.attrs)?.unwrap_or_else(|| bare(&ident));
        let (body, is_default) = (whole.body, chosen.is_default);
        let alias = optional(chosen.alias.as_ref().map(LitStr::value));
        described.push(quote! {
            ::folkmoot_parts::Variant {
                name: #text,
                alias: #alias,
                about: #about,
                body: #body,
                sets: &[#(#sets),*],
                is_default: #is_default,
            }
        });
        arms.push(whole.arm);
        choosing.push(whole.choosing);
    }
    Ok(Body {
        shape: quote! { ::folkmoot_parts::Shape::Choice(::std::vec![#(#described),*]) },
        check: quote! {
            let _ = &rules;
            match self { #(#arms)* }
        },
        choose: quote! { match self { #(#choosing)* } },
        default,
        helpers,
        container: TokenStream::new(),
    })
}

struct Whole {
    body: TokenStream,
    arm: TokenStream,
    /// The arm that looks parts up.
    choosing: TokenStream,
    default: Option<TokenStream>,
}

fn of_variant(name: &Ident, variant: &Ident, fields: &mut Fields, helpers: &mut TokenStream) -> syn::Result<Whole> {
    match fields {
        Fields::Unit => Ok(Whole {
            body: quote! { ::folkmoot_parts::Body::Nothing },
            arm: quote! { #name::#variant => {} },
            choosing: quote! { #name::#variant => {} },
            default: Some(quote! { #name::#variant }),
        }),
        Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1 => {
            let known = Known::read(&mut unnamed.unnamed[0], variant.clone())?;
            let check = known.check(&quote! { value }, false);
            let choose = known.choose(&quote! { value }, false);
            let described = known.describe(None);
            let value = known.default();
            Ok(Whole {
                body: quote! { ::folkmoot_parts::Body::One(::std::boxed::Box::new(#described)) },
                arm: quote! { #name::#variant(value) => #check },
                choosing: quote! { #name::#variant(value) => #choose },
                default: value.map(|value| quote! { #name::#variant(#value) }),
            })
        }
        Fields::Unnamed(unnamed) => {
            let why = format!("{variant}: name the fields, or hold one value alone; cards have no tuples of settings");
            Err(syn::Error::new(unnamed.span(), why))
        }
        Fields::Named(named) => {
            let (mut described, mut bound) = (Vec::new(), Vec::new());
            let (mut checks, mut choosing) = (Vec::new(), Vec::new());
            let mut defaults = Some(Vec::new());
            for field in &mut named.named {
                let ident = field.ident.clone().expect("named fields have names");
                let known = Known::read(field, ident.clone())?;
                helpers.extend(default_of(name, &format!("{variant}_"), field, &known));
                let value = known.default();
                described.push(known.describe(value.as_ref().map(|value| quote! { &#value })));
                checks.push(known.check(&quote! { #ident }, true));
                choosing.push(known.choose(&quote! { #ident }, true));
                defaults = defaults.zip(value).map(|(mut all, value)| {
                    all.push(quote! { #ident: #value });
                    all
                });
                bound.push(ident);
            }
            Ok(Whole {
                body: quote! { ::folkmoot_parts::Body::Fields(::std::vec![#(#described),*]) },
                arm: quote! { #name::#variant { #(#bound),* } => { #(#checks)* } },
                choosing: quote! { #name::#variant { #(#bound),* } => { #(#choosing)* } },
                default: defaults.map(|all| quote! { #name::#variant { #(#all),* } }),
            })
        }
    }
}

/// Tells serde the default of a field, by a function where it is not the type's own.
fn default_of(name: &Ident, prefix: &str, field: &mut Field, known: &Known) -> TokenStream {
    if known.said.required {
        return TokenStream::new();
    }
    let Some(value) = known.said.default.as_ref().and_then(|_| known.default()) else {
        field.attrs.push(syn::parse_quote!(#[serde(default)]));
        return TokenStream::new();
    };
    let function = format_ident!("default_{}{}", prefix, bare(&known.name));
    let (path, ty) = (format!("{name}::{function}"), &known.ty);
    field.attrs.push(syn::parse_quote!(#[serde(default = #path)]));
    quote! {
        #[allow(non_snake_case)]
        impl #name {
            #[doc(hidden)]
            fn #function() -> #ty {
                #value
            }
        }
    }
}

/// The name that serde was told to give a variant.
fn renamed(attributes: &[Attribute]) -> syn::Result<Option<String>> {
    let mut name = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("rename") {
                return Err(meta
                    .error("of serde's attributes only `rename` goes with #[component], which says the rest itself"));
            }
            name = Some(meta.value()?.parse::<LitStr>()?.value());
            Ok(())
        })?;
    }
    Ok(name)
}

/// A name as cards write it.
fn bare(name: &Ident) -> String {
    let text = name.to_string();
    text.strip_prefix("r#").map_or_else(|| text.clone(), str::to_owned)
}

/// The doc comment on one line, without brackets of links.
fn docs(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text), ..
            }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    let mut joined = lines.collect::<Vec<String>>().join(" ");
    while let Some(at) = joined.find("`](") {
        let end = joined[at..].find(')').map_or(joined.len(), |end| at + end + 1);
        joined.replace_range(at + 1..end, "");
    }
    joined.replace("[`", "`").replace("`]", "`").trim().to_owned()
}

/// An expression without the spaces that tokens are printed with.
fn compact(expression: &Expr) -> String {
    let mut text = expression.to_token_stream().to_string();
    for (from, to) in [
        (" :: ", "::"),
        (" . ", "."),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" ,", ","),
        (" !", "!"),
        (" :", ":"),
    ] {
        text = text.replace(from, to);
    }
    text
}
