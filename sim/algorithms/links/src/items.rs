//! A generated graph of users and items with known structure.

use crate::data::SIDE;
use folkmoot_draws::{SimRng, bernoulli};
use folkmoot_graphs::{DataDirs, DataError, DataSource, Dataset, Features, Graph, Labels, Properties, SparseRows};
use folkmoot_parts::{Rules, component};

/// Users and items, each with one taste. Edges join users and items independently: with one
/// probability for equal tastes, with another for different ones. The node property `side` is `user`
/// or `item`, and the class of a node is its taste. The features of an item are its one-hot id,
/// those of a user a constant, so that a user is known by its items alone.
#[component(
    name = "ItemsAndUsers",
    about = "bipartite graph of users and items whose edges depend on their tastes",
    rules
)]
#[derive(Clone, Copy, Debug)]
pub struct ItemsAndUsers {
    /// Number of users; nodes 0 to `users` − 1, with tastes in turn.
    #[component(default = 200, in = 1..=1_000_000)]
    pub users: u32,
    /// Number of items, with tastes in turn.
    #[component(default = 80, in = 1..=1_000_000)]
    pub items: u32,
    /// Number of tastes; at most `items`.
    #[component(default = 4, in = 2..=1_000)]
    pub tastes: u32,
    /// Expected number of items of a user.
    #[component(default = 12.0, above = 0)]
    pub mean_items: f64,
    /// Expected fraction of a user's items that have its taste.
    #[component(default = 0.75, in = 0..=1)]
    pub loyalty: f64,
}

impl ItemsAndUsers {
    fn rules(&self, rules: &mut Rules) {
        let rule = format!("must be at most items ({}), got {}", self.items, self.tastes);
        rules.require(self.tastes <= self.items, "tastes", rule);
        if self.tastes > self.items {
            return;
        }
        let of_taste = |taste| [true, false].map(|is_equal| self.probability(taste, is_equal));
        let most = (0..self.tastes).flat_map(of_taste).fold(0.0, f64::max);
        let rule = "is more than there are items of a taste: an edge would have a probability above 1; lower it, or raise items";
        rules.require(most <= 1.0, "mean_items", rule);
    }

    /// The probability of an edge between a user with this taste and an item with an equal or
    /// another one.
    fn probability(&self, taste: u32, is_equal: bool) -> f64 {
        let n = f64::from((self.items + self.tastes - 1 - taste) / self.tastes);
        match is_equal {
            true => self.mean_items * self.loyalty / n,
            false => self.mean_items * (1.0 - self.loyalty) / (f64::from(self.items) - n).max(1.0),
        }
    }
}

impl DataSource for ItemsAndUsers {
    fn name(&self) -> String {
        format!("{} users and {} items", self.users, self.items)
    }

    fn is_generated(&self) -> bool {
        true
    }

    fn n_generated(&self) -> Option<u64> {
        Some(u64::from(self.users) + u64::from(self.items))
    }

    fn load(&self, _: &DataDirs, rng: &mut SimRng) -> Result<Dataset, DataError> {
        let (users, n) = (self.users, self.users + self.items);
        let taste = |node: u32| match node < users {
            true => node % self.tastes,
            false => (node - users) % self.tastes,
        };
        let mut edges = Vec::new();
        for user in 0..users {
            let chances = [false, true].map(|is_equal| self.probability(taste(user), is_equal));
            for item in users..n {
                if bernoulli(rng, chances[usize::from(taste(user) == taste(item))]) {
                    edges.push((user, item));
                }
            }
        }
        let graph = Graph::from_edges(n, &edges, false).expect("all ends are nodes");
        let classes: Vec<Option<u32>> = (0..n).map(|node| Some(taste(node))).collect();
        let rows: Vec<[(u32, f32); 1]> = (0..n).map(|node| [(node.max(users - 1) - (users - 1), 1.0)]).collect();
        let sides = (0..n).map(|node| u32::from(node >= users)).collect();
        let named = ["user", "item"].map(|side| vec![side.to_owned()]).to_vec();
        Ok(Dataset {
            features: Some(Features::Sparse(
                SparseRows::from_rows(self.items + 1, &rows).expect("columns exist"),
            )),
            node_labels: Some(Labels::from_single(self.tastes, &classes).expect("tastes are classes")),
            n_classes: self.tastes as usize,
            node_properties: Some(Properties::new(&[SIDE], named, sides).expect("there are two sides")),
            ..Dataset::of_graph("users and items", graph)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_draws::SeedableRng;
    use folkmoot_parts::Value;

    #[test]
    fn users_have_as_many_items_of_their_taste_as_was_asked_for() {
        let spec = ItemsAndUsers {
            users: 600,
            ..ItemsAndUsers::default()
        };
        let dataset = spec.load(&DataDirs::new(), &mut SimRng::seed_from_u64(1)).unwrap();
        let graph = dataset.graph();
        let labels = dataset.node_labels.as_ref().unwrap();
        let sides = crate::data::sides(&dataset);
        assert!(graph.edges().all(|(u, v)| sides[u as usize] != sides[v as usize]));
        // Four standard deviations of 600 sums of 80 draws, and of 7 200 edges.
        let mean = graph.n_edges() as f64 / 600.0;
        assert!((mean - 12.0).abs() < 0.6, "{mean}");
        let same = graph
            .edges()
            .filter(|(u, v)| labels.single(*u) == labels.single(*v))
            .count();
        let share = same as f64 / graph.n_edges() as f64;
        assert!((share - 0.75).abs() < 0.02, "{share}");
        let mut row = vec![0.0; 81];
        dataset.features.as_ref().unwrap().write_row(600, &mut row);
        assert_eq!(row.iter().position(|x| *x == 1.0), Some(1));
        dataset.features.as_ref().unwrap().write_row(599, &mut row);
        assert_eq!(row.iter().position(|x| *x == 1.0), Some(0));
    }

    #[test]
    fn probabilities_above_one_are_refused() {
        let broken = |mean_items, tastes| {
            let spec = ItemsAndUsers {
                mean_items,
                tastes,
                ..ItemsAndUsers::default()
            };
            spec.broken().into_iter().map(|broken| broken.path).collect::<Vec<_>>()
        };
        assert!(broken(26.0, 4).is_empty());
        assert_eq!(broken(27.0, 4), ["mean_items"]);
        assert_eq!(broken(1.0, 81), ["tastes"]);
    }
}
