//! What an eavesdropper infers: the property of a graph from what left its device, and the graph's
//! arcs where nodes left it.
//!
//! Property inference follows section IV-A of the paper: the attacker knows the properties of a
//! shadow set, a share of the training graphs, learns a perceptron from what was sent of them, and
//! guesses those of all graphs that validate and test. What is read is brought to mean 0 and
//! variance 1 over the shadow set first, of which the paper says nothing. The authors' program
//! (`cfg_inf.py`) is another attacker, which `AsReleased` comes close to: its shadow set are all
//! graphs of a tenth of the functions, it reads messages as they are, and it stops where it guesses
//! graphs that validate best. What is left of the difference: it draws new pairs for its shadow set
//! in every epoch, reads both pairs of a graph, and keeps the model's dropout while it learns.
//!
//! That perceptron is one attacker, and who reads more with it may learn less.
//! [`Thorough`](crate::options::Thorough) has several, chosen by what they know.

mod decode;
mod linkage;
mod messages;
mod property;
mod structure;
mod thorough;

pub use structure::reconstruct;
