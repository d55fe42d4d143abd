//! What the attribute refuses names the field and the remedy.

use crate::expand;
use proc_macro2::TokenStream;

fn refused(arguments: &str, item: &str) -> String {
    let tokens = |text: &str| text.parse::<TokenStream>().unwrap();
    expand(tokens(arguments), tokens(item)).unwrap_err().to_string()
}

#[track_caller]
fn assert_refused(field: &str, words: &[&str]) {
    let said = refused("", &format!("pub struct Walks {{ {field} }}"));
    assert!(words.iter().all(|word| said.contains(word)), "{said}");
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    assert_refused(
        "#[component(rang = 1..=3)] length: u32",
        &["length: a field takes `default`", "`in`"],
    );
    assert_refused(
        "#[component(in = 1..=MOST)] length: u32",
        &["length: write the bound as a number", "`MOST`"],
    );
    assert_refused(
        "#[component(in = 1..)] length: u32",
        &["length: a range needs both ends", "at_least"],
    );
    assert_refused(
        "#[component(at_most = 3)] length: u32",
        &["length: these bounds do not go together"],
    );
    assert_refused("#[component(hint = \"no\")] length: u32", &["length: these bounds"]);
    assert_refused(
        "#[component(required, default = 3)] length: u32",
        &["length: a required field has no default"],
    );
}

#[test]
fn types_that_no_card_can_write_are_refused() {
    assert!(refused("", "struct Pair(u32, u32);").contains("has named fields"));
    assert!(refused("", "struct Walks<T> { length: T }").contains("no generic parameters"));
    assert!(refused("", "enum Walk { To(u32, u32) }").contains("To: name the fields"));
    assert!(refused("", "enum Walk { #[default] A, #[default] B }").contains("a second #[default]"));
    let required = "enum Walk { #[default] To { #[component(required)] length: u32 } }";
    assert!(refused("", required).contains("To cannot be the default"));
    assert!(refused("", "enum Walk { #[component(sets(\"a\"))] A }").contains("write a setting as path=value"));
}

#[test]
fn what_has_a_name_says_what_it_is() {
    assert!(refused("name = \"Walks\"", "struct Walks {}").contains("needs a doc comment or `about"));
    assert!(refused("about = \"walks\"", "struct Walks {}").contains("needs `name"));
    assert!(refused("nam = \"Walks\"", "struct Walks {}").contains("a type takes"));
}
