//! What cards can say: settings whose fields are declared once, and everything that follows from a
//! declaration.
//!
//! [`component`] makes a struct or an enum readable from cards. A field states its default, its
//! range and its unit where it stands; its doc comment says what it means. From that come serde's
//! derives, `Default`, the checks ([`Value::check`], which fills a list of [`Rules`] broken), the
//! description that `folkmoot explain`, `list` and completions print ([`Value::shape`]), and the
//! end of the field's doc. What ties several fields is a method `rules` of one's own. A type with a
//! name is a [`Component`]: something that a card chooses by that name. One that settings choose in
//! turn is a field of type [`Chosen`], of a [`ComponentType`] that any crate may add parts to.
//!
//! ```
//! use folkmoot_parts::{Rules, Value, component};
//!
//! /// How walks go.
//! #[component(name = "Walks", about = "random walks", rules)]
//! #[derive(Clone, Debug, PartialEq)]
//! pub struct Walks {
//!     /// Entries of a finished walk.
//!     #[component(default = 40, in = 1..=10_000)]
//!     pub length: u32,
//!     /// How long a client waits.
//!     #[component(default = 50.0, above = 0, unit = "ms")]
//!     pub timeout_ms: f64,
//!     /// Where it ends.
//!     pub end: End,
//! }
//!
//! /// Where a walk ends.
//! #[component]
//! #[derive(Clone, Debug, PartialEq)]
//! pub enum End {
//!     /// Where it likes.
//!     #[default]
//!     Anywhere,
//!     /// At home.
//!     Home {
//!         /// So often it may try.
//!         #[component(default = 3, in = 1..=9)]
//!         tries: u8,
//!     },
//! }
//!
//! impl Walks {
//!     fn rules(&self, rules: &mut Rules) {
//!         let fits = self.length > 1 || self.end == End::Anywhere;
//!         rules.require(fits, "length", "must be at least 2 for a way home");
//!     }
//! }
//!
//! assert_eq!(Walks::default().length, 40);
//! let walks = Walks { length: 0, timeout_ms: f64::NAN, end: End::Home { tries: 10 } };
//! let broken: Vec<String> = walks.broken().iter().map(|broken| broken.to_string()).collect();
//! assert_eq!(
//!     broken,
//!     [
//!         "length: must lie in 1..=10000, got 0",
//!         "timeout_ms: must be finite and greater than 0, got NaN",
//!         "end.tries: must lie in 1..=9, got 10",
//!         "length: must be at least 2 for a way home",
//!     ]
//! );
//! ```
//!
//! What the attribute cannot read does not compile, and says how to write it:
//!
//! ```compile_fail
//! #[folkmoot_parts::component]
//! pub struct Walks {
//!     /// A bound that is no number.
//!     #[component(default = 40, in = 1..=MOST)]
//!     pub length: u32,
//! }
//! const MOST: u32 = 3;
//! ```

mod chosen;
mod free;
mod rules;
mod shape;
mod text;
mod value;

pub use chosen::{Choosing, Chosen, ComponentType, Holds};
pub use folkmoot_parts_derive::component;
pub use free::Free;
pub use rules::{Broken, Range, Rules};
#[doc(hidden)]
pub use serde;
pub use shape::{Body, Field, Shape, Variant, plural, with_article};
pub use text::{lines_of, named_lines_of, text_of};
pub use value::{Bounded, Component, Value};
