//! GCFL and GCFL+: clusters of clients that are parted when their updates pull apart.

use super::cut::Cut;
use super::method::{cosine, has_own_models};
use super::{Federated, Learned, Local, Method, Params};
use folkmoot_draws::{Purpose, SimRng};
use folkmoot_engine::prelude::ClientId;
use folkmoot_parts::{Rules, component};
use folkmoot_rounds::{Answers, Personalisation, Travels, Update};
use folkmoot_similarity::dtw::dtw_squared;
use folkmoot_similarity::minimum_cut::minimum_cut;

const SIGNAL: Purpose = Purpose(*b"fd-gcfl ");

/// GCFL: the graph layers are learned in clusters of clients, at first one of all, which are parted
/// where updates are large and cancel out. With `by: Gradients()` it is GCFL+.
///
/// H. Xie, J. Ma, L. Xiong, C. Yang. Federated Graph Classification over Non-IID Graphs. NeurIPS
/// 2021. <https://arxiv.org/abs/2106.13423>
///
/// | exchange | direction | payload                                                                     | bytes                       |
/// |----------|-----------|-----------------------------------------------------------------------------|-----------------------------|
/// | `model`  | downlink  | weights of the cluster's shared layers                                      | 4 × (n_params − n_head)     |
/// | `update` | uplink    | training samples as `u32`, weights of the shared layers, with `Gradients` or `Changes` a norm as `f32` | 4 × (n_params − n_head) + 4, or + 8 |
///
/// As in FedPer each client has a head of its own. After a round a cluster of more than two
/// clients, all of which have answered, is parted if the mean of its clients' changes is shorter
/// than `mean_norm` (ε₁) and the longest change longer than `longest_norm` (ε₂): in two, by the
/// lightest cut (Stoer and Wagner) of the graph of all its clients whose edges say how alike two
/// are. Each part goes on from the mean of its own updates, weighted as the protocol says.
///
/// Deviations from the authors' code: what is sent are the trained weights and not their change,
/// which the server, having sent the start, knows from them; the norm of GCFL+ is that of the
/// gradient of the loss on all training items at the trained model, and not of what the last batch
/// has left behind; all clusters are looked at before the sequences of norms are emptied; and a
/// network has no linear layer before its first graph layer that would stay at the client: with
/// `own_inputs` that graph layer does.
#[component(
    name = "Gcfl",
    about = "GCFL: clustered federated learning that splits clusters with conflicting updates (NeurIPS 2021)"
)]
#[derive(Clone, Copy, Debug)]
pub struct Gcfl {
    /// ε₁: a cluster is split only if the norm of its mean update is below this. With 0 no cluster
    /// is split.
    #[component(default = 0.05, at_least = 0)]
    pub mean_norm: f64,
    /// ε₂: a cluster is split only if its largest update norm is above this.
    #[component(default = 0.1, at_least = 0)]
    pub longest_norm: f64,
    /// Number of initial rounds without splits.
    #[component(default = 20)]
    pub first_rounds: u32,
    /// Similarity of clients in a cluster.
    pub by: Comparison,
    /// Whether the first graph layer is personal, too: for clients with different node features, as
    /// from different data sets.
    pub own_inputs: bool,
}

/// Similarity of clients in a cluster.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Cosine similarity of their updates in this round, plus 1 (GCFL).
    #[default]
    Cosine,
    /// Similarity of gradient-norm sequences (GCFL+): the maximum dynamic-time-warping distance
    /// minus that of the pair. All sequences restart when a cluster is split.
    Gradients {
        /// Length of the sequences in rounds; no cluster is split before all its clients have that
        /// many.
        #[component(default = 5, in = 2..=10_000)]
        rounds: u32,
    },
    /// As `Gradients`, with norms of model updates.
    Changes {
        /// Length of the sequences in rounds.
        #[component(default = 5, in = 2..=10_000)]
        rounds: u32,
    },
}

impl Comparison {
    /// How long sequences are, where there are such.
    fn rounds(self) -> usize {
        match self {
            Comparison::Cosine => 0,
            Comparison::Gradients { rounds } | Comparison::Changes { rounds } => rounds as usize,
        }
    }
}

fn norm(x: &[f32]) -> f64 {
    x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt()
}

/// What the server keeps: how many rounds there have been, and of each client its cluster, how many
/// norms it has told, and the last of these.
struct Known<'a> {
    n_told: usize,
    numbers: &'a mut Vec<f64>,
}

impl<'a> Known<'a> {
    fn new(numbers: &'a mut Vec<f64>, n_clients: u32, by: Comparison) -> Known<'a> {
        let n_told = by.rounds();
        if numbers.is_empty() {
            numbers.resize(1 + n_clients as usize * (2 + n_told), 0.0);
        }
        Known { n_told, numbers }
    }

    fn of(&mut self, client: ClientId) -> &mut [f64] {
        let n = 2 + self.n_told;
        &mut self.numbers[1 + client.0 as usize * n..][..n]
    }

    fn n_clients(&self) -> u32 {
        ((self.numbers.len() - 1) / (2 + self.n_told)) as u32
    }

    /// Clients by their clusters, ascending.
    fn clusters(&mut self) -> Vec<Vec<ClientId>> {
        let mut clusters: Vec<Vec<ClientId>> = Vec::new();
        for client in (0..self.n_clients()).map(ClientId) {
            let cluster = self.of(client)[0] as usize;
            clusters.resize(clusters.len().max(cluster + 1), Vec::new());
            clusters[cluster].push(client);
        }
        clusters
    }

    fn tell(&mut self, client: ClientId, norm: f64) {
        let n = self.n_told;
        let of_client = &mut self.of(client)[1..];
        let at = of_client[0] as usize;
        if at < n {
            of_client[1 + at] = norm;
            of_client[0] += 1.0;
        } else {
            of_client[1..].rotate_left(1);
            of_client[n] = norm;
        }
    }

    /// The last norms of a client, if it has told enough.
    fn sequence(&mut self, client: ClientId) -> Option<Vec<f32>> {
        let n = self.n_told;
        let of_client = &self.of(client)[1..];
        (of_client[0] as usize == n).then(|| of_client[1..].iter().map(|x| *x as f32).collect())
    }

    fn forget(&mut self) {
        (0..self.n_clients()).for_each(|client| self.of(ClientId(client))[1] = 0.0);
    }
}

impl Gcfl {
    /// Whether updates say a norm behind the model.
    fn tells(&self) -> usize {
        usize::from(self.by != Comparison::Cosine)
    }

    /// Which of a cluster's clients leave it, if it is to be parted; `changes` are those of its
    /// clients, in their order.
    fn parted(&self, known: &mut Known<'_>, cluster: &[ClientId], changes: &[&Vec<f32>]) -> Option<Vec<bool>> {
        let n = cluster.len();
        if n <= 2 {
            return None;
        }
        let n_values = changes[0].len();
        let mean_at = |i: usize| (changes.iter().map(|change| f64::from(change[i])).sum::<f64>() / n as f64) as f32;
        let mean: Vec<f32> = (0..n_values).map(mean_at).collect();
        let longest = changes.iter().map(|change| norm(change)).fold(0.0, f64::max);
        if !(norm(&mean) < self.mean_norm && longest > self.longest_norm) {
            return None;
        }
        let pairs = |alike: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            (0..n * n).map(|pair| alike(pair / n, pair % n)).collect()
        };
        let weights = match self.by {
            Comparison::Cosine => pairs(&|i, j| (cosine(changes[i], changes[j]) + 1.0).max(0.0)),
            Comparison::Gradients { .. } | Comparison::Changes { .. } => {
                let told: Vec<Vec<f32>> = cluster
                    .iter()
                    .map(|client| known.sequence(*client))
                    .collect::<Option<_>>()?;
                let apart = pairs(&|i, j| f64::from(dtw_squared(&told[i], &told[j])));
                let greatest = apart.iter().copied().fold(0.0, f64::max);
                apart.iter().map(|distance| greatest - distance).collect()
            }
        };
        minimum_cut(n, &weights).map(|(_, leaves)| leaves)
    }

    /// A row for each client of each cluster of which anybody has answered; the first `n` numbers
    /// of an update are a model.
    fn changed(&self, known: &mut Known<'_>, n: usize, answers: &Answers<'_>) -> Vec<(ClientId, Vec<f64>)> {
        let updates = &answers.updates.all;
        known.numbers[0] += 1.0;
        if self.tells() > 0 {
            updates
                .iter()
                .for_each(|update| known.tell(update.client, f64::from(update.values[n])));
        }
        let changes = updates.iter().map(|update| {
            let sent = answers.sent(update.client);
            update.values[..n]
                .iter()
                .zip(sent)
                .map(|(now, sent)| now - sent)
                .collect()
        });
        let changes: Vec<Vec<f32>> = changes.collect();
        let clusters = known.clusters();
        let mut n_clusters = clusters.len();
        if known.numbers[0] > f64::from(self.first_rounds) {
            let place = |client: &ClientId| updates.binary_search_by_key(client, |update| update.client).ok();
            for cluster in &clusters {
                let places: Option<Vec<usize>> = cluster.iter().map(place).collect();
                let changes = places.map(|places| places.iter().map(|at| &changes[*at]).collect::<Vec<_>>());
                let Some(leaves) = changes.and_then(|changes| self.parted(known, cluster, &changes)) else {
                    continue;
                };
                for (client, _) in cluster.iter().zip(leaves).filter(|(_, leaves)| *leaves) {
                    known.of(*client)[0] = n_clusters as f64;
                }
                n_clusters += 1;
            }
        }
        if n_clusters > clusters.len() {
            known.forget();
        }
        let of_cluster = |cluster: Vec<ClientId>| {
            let weight = |update: &Update<'_>| match cluster.binary_search(&update.client) {
                Ok(_) => update.weight,
                Err(_) => 0.0,
            };
            let row: Vec<f64> = updates.iter().map(weight).collect();
            let has_answers = row.iter().any(|weight| *weight > 0.0);
            cluster
                .into_iter()
                .filter(move |_| has_answers)
                .map(move |client| (client, row.clone()))
        };
        known.clusters().into_iter().flat_map(of_cluster).collect()
    }
}

impl Method for Gcfl {
    fn sends_model_alone(&self) -> Result<(), &'static str> {
        Err("the server of Gcfl parts clients by their updates one by one, and those may come with a norm; use Global")
    }

    /// The gradient of all training items is one more pass.
    fn passes(&self, epochs: f64) -> f64 {
        match self.by {
            Comparison::Gradients { .. } => epochs + 1.0,
            Comparison::Cosine | Comparison::Changes { .. } => epochs,
        }
    }

    fn train(&self, local: &Local<'_>) -> Learned {
        let cut = Cut::between(local.common, self.own_inputs);
        let whole = local.train(&cut.own(local));
        let mut learned = cut.learned(&whole);
        match self.by {
            Comparison::Cosine => {}
            Comparison::Changes { .. } => {
                let change: Vec<f32> = learned
                    .sent
                    .iter()
                    .zip(local.parameters)
                    .map(|(now, sent)| now - sent)
                    .collect();
                learned.sent.push(norm(&change) as f32);
            }
            Comparison::Gradients { .. } => {
                let mut gradient = match local.learns() {
                    true => local
                        .classifier()
                        .loss_gradient(local.shard, &whole, &mut (local.streams)(SIGNAL)),
                    false => Vec::new(),
                };
                // Running statistics have none.
                gradient.resize(whole.len(), 0.0);
                learned.sent.push(norm(&Cut::take(&cut.shared, &gradient)) as f32);
            }
        }
        learned
    }

    fn own(&self, local: &Local<'_>) -> Vec<f32> {
        Cut::between(local.common, self.own_inputs).own(local)
    }

    fn global(&self, _: &[f32]) -> Option<Vec<f32>> {
        None
    }

    fn rules(&self, params: &Params, rules: &mut Rules) {
        has_own_models(params, rules, "Gcfl");
    }
}

impl Personalisation<Federated> for Gcfl {
    fn travels(&self, federated: &Federated) -> Travels {
        let common = &federated.common;
        Cut::between(common, self.own_inputs).travels(common).and(self.tells())
    }

    fn initial(&self, federated: &Federated, rng: &mut SimRng) -> Vec<f32> {
        let common = &federated.common;
        Cut::between(common, self.own_inputs).initial(common, rng)
    }

    fn rows(
        &self,
        federated: &Federated,
        memory: &mut Vec<f64>,
        answers: &Answers<'_>,
    ) -> Option<Vec<(ClientId, Vec<f64>)>> {
        let mut known = Known::new(memory, federated.common.n_clients, self.by);
        let n = self.travels(federated).n_down;
        Some(self.changed(&mut known, n, answers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_rounds::Updates;

    const BY_GRADIENTS: Comparison = Comparison::Gradients { rounds: 2 };

    fn gcfl(by: Comparison) -> Gcfl {
        Gcfl {
            mean_norm: 0.5,
            longest_norm: 0.5,
            first_rounds: 1,
            by,
            own_inputs: false,
        }
    }

    /// Clusters, and the row of each client whose model changes.
    type Outcome = (Vec<Vec<u32>>, Vec<(u32, Vec<f64>)>);

    /// What there is after a round in which each client, from 0 on, has sent these numbers: a model
    /// of two, which was 0, and what it tells.
    fn after(method: &Gcfl, memory: &mut Vec<f64>, sent: &[Option<Vec<f32>>]) -> Outcome {
        let answered = (0..)
            .zip(sent)
            .filter_map(|(client, values)| Some((client, values.as_ref()?)));
        let updates = Updates {
            all: answered
                .map(|(client, values)| Update {
                    client: ClientId(client),
                    weight: f64::from(client + 1),
                    discount: 1.0,
                    values,
                })
                .collect(),
            model: &[0.0, 0.0],
            n_trainable: 2,
        };
        let answers = Answers::to_one_model(&updates);
        let mut known = Known::new(memory, sent.len() as u32, method.by);
        let rows = method.changed(&mut known, 2, &answers);
        let clusters = known.clusters().into_iter();
        let clusters = clusters.map(|cluster| cluster.into_iter().map(|client| client.0).collect());
        (
            clusters.collect(),
            rows.into_iter().map(|(client, row)| (client.0, row)).collect(),
        )
    }

    fn all(sent: &[&[f32]]) -> Vec<Option<Vec<f32>>> {
        sent.iter().map(|values| Some(values.to_vec())).collect()
    }

    #[test]
    fn a_cluster_is_parted_where_changes_are_large_and_cancel_out() {
        let (method, mut memory) = (gcfl(Comparison::Cosine), Vec::new());
        let apart = all(&[&[1.0, 0.1], &[-1.0, 0.0], &[1.0, -0.1], &[-1.0, 0.0]]);
        let mut after = |sent: &[Option<Vec<f32>>]| after(&method, &mut memory, sent);
        let (clusters, rows) = after(&apart);
        assert_eq!(clusters, [[0, 1, 2, 3]], "not in the first round");
        assert!(
            rows.iter().all(|(_, row)| *row == [1.0, 2.0, 3.0, 4.0]),
            "weighted as the protocol says"
        );
        assert_eq!(
            after(&all(&[&[0.1, 0.0], &[-0.1, 0.0], &[0.1, 0.0], &[-0.1, 0.0]]))
                .0
                .len(),
            1,
            "too small"
        );
        assert_eq!(
            after(&all(&[&[1.0, 0.0], &[-1.0, 0.0], &[1.0, 0.0], &[2.0, 0.0]]))
                .0
                .len(),
            1,
            "a common way"
        );
        let away = [&apart[..3], &[None]].concat();
        let (clusters, rows) = after(&away);
        assert_eq!(
            (clusters.len(), rows.len()),
            (1, 4),
            "one is away, and gets what the others learn"
        );
        assert_eq!(rows[3], (3, vec![1.0, 2.0, 3.0]));
        let (clusters, rows) = after(&apart);
        assert_eq!(clusters, [[0, 2], [1, 3]]);
        let of_first = vec![1.0, 0.0, 3.0, 0.0];
        assert_eq!(rows[0], (0, of_first.clone()));
        assert_eq!(rows[1], (2, of_first));
        assert_eq!(rows[2], (1, vec![0.0, 2.0, 0.0, 4.0]));
        assert_eq!(after(&apart).0.len(), 2, "two are not parted");
        // Nobody of the second cluster answers: its model stays.
        let rows = after(&[apart[0].clone(), None, None, None]).1;
        assert_eq!(rows, [(0, vec![1.0]), (2, vec![1.0])]);
    }

    #[test]
    fn those_whose_norms_go_alike_stay_together_and_tell_anew() {
        let (method, mut memory) = (gcfl(BY_GRADIENTS), Vec::new());
        let sent = |told: [f32; 4]| {
            let values = |at: usize| vec![if at.is_multiple_of(2) { 1.0 } else { -1.0 }, 0.0, told[at]];
            (0..4).map(|at| Some(values(at))).collect::<Vec<_>>()
        };
        let mut after = |told| after(&method, &mut memory, &sent(told)).0;
        assert_eq!(after([1.0, 1.0, 5.0, 5.0]).len(), 1);
        assert_eq!(
            after([1.0, 1.1, 5.0, 5.2]),
            [[0, 1], [2, 3]],
            "by what they tell, not by where they go"
        );
        let method = Gcfl {
            first_rounds: 0,
            ..method
        };
        // With all sequences equal the rule of ties cuts the last one off; then three have to tell
        // two norms again.
        let mut memory = Vec::new();
        let mut after = |told| super::tests::after(&method, &mut memory, &sent(told)).0;
        after([1.0; 4]);
        assert_eq!(after([1.0; 4]), [vec![0, 1, 2], vec![3]]);
        assert_eq!(after([1.0; 4]).len(), 2);
    }

    #[test]
    fn a_sequence_has_the_last_norms() {
        let mut numbers = Vec::new();
        let mut known = Known::new(&mut numbers, 2, Comparison::Changes { rounds: 3 });
        for norm in 1..=5 {
            assert_eq!(known.sequence(ClientId(1)).is_some(), norm > 3);
            known.tell(ClientId(1), f64::from(norm));
        }
        assert_eq!(known.sequence(ClientId(1)), Some(vec![3.0, 4.0, 5.0]));
        assert_eq!(known.sequence(ClientId(0)), None);
        known.forget();
        assert_eq!(known.sequence(ClientId(1)), None);
    }
}
