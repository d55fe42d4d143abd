//! The way to `folkmoot_parts` in a crate that depends on `folkmoot` alone.

use proc_macro2::{Group, Ident, Literal, TokenStream, TokenTree};
use quote::quote;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Whether the crate that is compiled depends on `folkmoot-parts` by name, or is it. Cargo tells a
/// macro no dependencies, so its manifest is read; `proc-macro-crate` would do that by a parser of
/// TOML, which everything would wait for in a build.
pub(crate) fn names_parts() -> bool {
    static NAMES: OnceLock<bool> = OnceLock::new();
    *NAMES.get_or_init(|| {
        let dir = std::env::var_os("CARGO_MANIFEST_DIR")
            .map(PathBuf::from)
            .unwrap_or_default();
        let manifest = std::fs::read_to_string(dir.join("Cargo.toml")).unwrap_or_default();
        let of_package = std::env::var("CARGO_PKG_NAME").is_ok_and(|name| name == "folkmoot-parts");
        of_package
            || manifest
                .lines()
                .any(|line| line.trim_start().starts_with("folkmoot-parts"))
    })
}

/// The same code with `folkmoot::parts` for `folkmoot_parts`.
pub(crate) fn through(code: TokenStream) -> TokenStream {
    code.into_iter()
        .flat_map(|token| match token {
            TokenTree::Ident(name) if name == "folkmoot_parts" => {
                let [facade, parts] = ["folkmoot", "parts"].map(|part| Ident::new(part, name.span()));
                quote! { #facade::#parts }
            }
            TokenTree::Literal(literal) if literal.to_string() == "\"folkmoot_parts::serde\"" => {
                let mut path = Literal::string("folkmoot::parts::serde");
                path.set_span(literal.span());
                TokenTree::Literal(path).into()
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), through(group.stream()));
                inner.set_span(group.span());
                TokenTree::Group(inner).into()
            }
            other => other.into(),
        })
        .collect()
}
