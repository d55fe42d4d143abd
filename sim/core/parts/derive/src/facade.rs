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
        of_package || depends_on_parts(&manifest)
    })
}

/// Whether a manifest has `folkmoot-parts` among its dependencies: as a line of their table, or, as
/// `cargo package` writes it, as a table.
fn depends_on_parts(manifest: &str) -> bool {
    let names = |line: &str| line.starts_with("folkmoot-parts") || line.ends_with("dependencies.folkmoot-parts]");
    manifest.lines().map(str::trim).any(names)
}

#[cfg(test)]
#[test]
fn dependencies_are_found_as_people_and_as_cargo_write_them() {
    assert!(depends_on_parts("[dependencies]\nfolkmoot-parts.workspace = true\n"));
    assert!(depends_on_parts("[dependencies.folkmoot-parts]\nversion = \"0.1.0\"\n"));
    assert!(!depends_on_parts("[dependencies]\nfolkmoot = { path = \"..\" }\n"));
    assert!(!depends_on_parts("[package]\nname = \"folkmoot-parts-derive\"\n"));
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
