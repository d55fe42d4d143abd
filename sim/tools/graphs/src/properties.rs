//! Properties of graphs or nodes in addition to their class, such as the compiler of a binary or
//! the client that holds a node. Inference attacks try to read them off a representation.
//!
//! A property is a combination of facets, such as the compiler and the optimisation level of a
//! binary. Classes are the joint combinations, as the published evaluation of PPGM attacks them;
//! [`Properties::facet`] gives the classes of one facet alone.

use std::collections::BTreeSet;

/// The property of a node or graph that names its client.
pub(crate) const CLIENT: &str = "client";

/// The property of each item, graph or node: one value of each facet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties {
    /// What the facets are, such as `["compiler", "level"]`.
    facets: Vec<String>,
    /// The values of the facets, by joint class.
    values: Vec<Vec<String>>,
    /// The joint class of each item.
    classes: Vec<u32>,
}

impl Properties {
    /// Properties of items; `values[c]` are the values of class `c`, one per facet, and `classes`
    /// the class of each item.
    ///
    /// Returns `None` if a row of `values` is not as long as `facets`, occurs twice, or a class is
    /// not below `values.len()`.
    pub fn new(facets: &[&str], values: Vec<Vec<String>>, classes: Vec<u32>) -> Option<Properties> {
        let whole = values.iter().all(|row| row.len() == facets.len());
        let distinct = values.iter().collect::<BTreeSet<_>>().len() == values.len();
        let named = classes.iter().all(|&class| (class as usize) < values.len());
        (whole && distinct && named).then(|| Properties {
            facets: facets.iter().map(|facet| (*facet).to_string()).collect(),
            values,
            classes,
        })
    }

    /// The joint class of each item, shape `(n_items,)`, each below
    /// [`n_classes`](Self::n_classes).
    pub fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// How many joint classes there are. With fewer than 2 there is nothing to infer, and no AUC.
    pub fn n_classes(&self) -> usize {
        self.values.len()
    }

    /// What the facets are.
    pub fn facets(&self) -> impl ExactSizeIterator<Item = &str> {
        self.facets.iter().map(String::as_str)
    }

    /// The values of a joint class in one text, such as `gcc O2`.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn name(&self, class: u32) -> String {
        self.values[class as usize].join(" ")
    }

    /// One facet alone, its values numbered by first appearance among the joint classes; `None` if
    /// there is no such facet.
    pub fn facet(&self, name: &str) -> Option<Properties> {
        let at = self.facets.iter().position(|facet| facet == name)?;
        let mut values: Vec<Vec<String>> = Vec::new();
        let mut class_of = Vec::with_capacity(self.values.len());
        for row in &self.values {
            let value = vec![row[at].clone()];
            let known = values.iter().position(|known| *known == value);
            class_of.push(known.unwrap_or(values.len()) as u32);
            if known.is_none() {
                values.push(value);
            }
        }
        Some(Properties {
            facets: vec![name.to_string()],
            values,
            classes: self.classes.iter().map(|&class| class_of[class as usize]).collect(),
        })
    }

    /// The number of joint classes and the facets, such as `24 (compiler × level)`.
    pub(crate) fn described(&self) -> String {
        let facets: Vec<&str> = self.facets().collect();
        format!("{} ({})", self.n_classes(), facets.join(" × "))
    }

    /// The properties of some items; row `i` of the result is `items[i]`. The joint classes stay.
    ///
    /// # Panics
    /// If an item does not exist.
    pub fn select(&self, items: &[u32]) -> Properties {
        Properties {
            classes: items.iter().map(|&item| self.classes[item as usize]).collect(),
            ..self.clone()
        }
    }

    /// The names of all joint classes in order, for hashing.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &[String]> {
        self.values.iter().map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Properties {
        let row = |compiler: &str, level: &str| vec![compiler.to_string(), level.to_string()];
        let values = vec![row("clang", "O1"), row("clang", "O2"), row("gcc", "O1")];
        Properties::new(&["compiler", "level"], values, vec![0, 2, 1, 2]).unwrap()
    }

    #[test]
    fn one_facet_merges_the_classes_that_differ_in_the_others() {
        let compiler = example().facet("compiler").unwrap();
        assert_eq!(
            (compiler.classes(), compiler.n_classes()),
            (&[0, 1, 0, 1][..], 2),
            "clang, gcc, clang, gcc"
        );
        assert_eq!(compiler.name(1), "gcc");
        assert_eq!(example().facet("level").unwrap().classes(), [0, 0, 1, 0]);
        assert_eq!(example().name(1), "clang O2");
        assert!(example().facet("linker").is_none());
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let row = |value: &str| vec![value.to_string()];
        assert!(Properties::new(&["level"], vec![row("O1"), row("O2")], vec![1, 2]).is_none());
        assert!(Properties::new(&["level"], vec![row("O1"), row("O1")], vec![0]).is_none());
        assert!(Properties::new(&["level", "compiler"], vec![row("O1")], vec![0]).is_none());
    }
}
