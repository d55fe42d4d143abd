//! The attribute `#[component]`, which makes a declaration something that cards can say.
//! `folkmoot_parts` documents it and gives it on.
//!
//! From one declaration it writes serde's derives, `Default`, the checks of ranges, the description
//! that `folkmoot explain` prints, and the end of each field's doc. What it cannot read it refuses
//! with the field's name and the remedy.

mod arguments;
mod emit;
mod facade;
#[cfg(test)]
mod tests;

use arguments::Declared;
use proc_macro2::TokenStream;
use syn::DeriveInput;

/// See `folkmoot_parts`.
#[proc_macro_attribute]
pub fn component(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let expanded = expand(arguments.into(), item.into());
    let expanded = expanded.unwrap_or_else(syn::Error::into_compile_error);
    match facade::names_parts() {
        true => expanded.into(),
        false => facade::through(expanded).into(),
    }
}

fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let declared: Declared = syn::parse2(arguments)?;
    let item: DeriveInput = syn::parse2(item)?;
    emit::emit(&declared, item)
}
