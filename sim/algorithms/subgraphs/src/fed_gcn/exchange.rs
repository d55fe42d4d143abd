//! Who says what in the exchange.

use super::FedGcn;
use super::data::{of_features, of_sums};
use super::settings::{Between, Carries, Upload};
use super::words::Words;
use crate::Part;
use folkmoot_classifiers::classifier::Shard;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::{Gathered, Heard, Says};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// What a client keeps of the exchange.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Kept {
    /// What others told of the sums of its nodes, or of their nodes, by who they are.
    shares: BTreeMap<u32, Words>,
    /// What they told of the sums that it borders on.
    border: BTreeMap<u32, Words>,
    /// It has asked the server for the sums that it wants.
    has_asked: bool,
    told: Option<Told>,
    #[serde(skip)]
    known: Known,
}

/// All that a client was told.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Told {
    /// Sums of its nodes, then of its border if it has those, with the degrees there.
    Sums(Vec<f32>, Vec<u32>),
    /// Neighbours of others' nodes and the bits of their features.
    Features(BTreeMap<u32, (Vec<u32>, Vec<u32>)>),
}

/// What it trains on, made when it is first asked for; no result depends on when.
#[derive(Clone, Default)]
struct Known(OnceLock<Arc<Shard>>);

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Known")
    }
}

/// What the server keeps while it exchanges: under secure aggregation the sums.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    sums: Vec<f64>,
}

impl Kept {
    /// Whether it was told all.
    pub(super) fn is_told(&self) -> bool {
        self.told.is_some()
    }

    /// What its client trains on, if it was told all.
    pub(super) fn known(&self, task: &FedGcn, part: &Part) -> Option<&Shard> {
        let told = self.told.as_ref()?;
        let make = || match told {
            Told::Sums(sums, degrees) => of_sums(task, part, sums, degrees),
            Told::Features(others) => of_features(task, part, others),
        };
        Some(self.known.0.get_or_init(|| Arc::new(make())))
    }
}

impl FedGcn {
    fn row(&self, part: &Part, node: u32) -> Vec<f64> {
        part.share(node, self.plan.weights, self.plan.n_features)
    }

    /// The degree of a row that a client sends of a node, where rows have one: 0 where it does not
    /// know it.
    fn degree(&self, part: &Part, node: u32) -> Option<u32> {
        let own = part.place(node).map_or(0, |place| part.degree(place));
        self.plan.has_degrees().then_some(own)
    }

    fn push_share(&self, words: &mut Words, part: &Part, node: u32) {
        let row = self.row(part, node);
        words.push(node, self.degree(part, node), row.into_iter().map(|x| x as f32));
    }

    /// The nodes whose sums a client wants, ascending.
    pub(super) fn wanted(&self, part: &Part) -> Vec<u32> {
        let mut wanted = part.nodes().to_vec();
        if self.plan.hops == 2 {
            wanted.extend(part.foreign());
            wanted.sort_unstable();
        }
        wanted
    }

    /// What a client tells the server of its share of the sums.
    fn upload(&self, part: &Part) -> Words {
        let mut words = Words::default();
        match self.plan.upload {
            Upload::Dense => {
                words.0 = self.wanted(part);
                for node in 0..self.cut.owners().len() as u32 {
                    let row = self.row(part, node);
                    words.0.extend(row.into_iter().map(|x| (x as f32).to_bits()));
                }
                let degrees = 0..self.cut.owners().len() as u32;
                words.0.extend(degrees.filter_map(|node| self.degree(part, node)));
            }
            Upload::Rows | Upload::Border => {
                let is_sent = |place: &usize| match self.plan.upload {
                    Upload::Border => self.plan.hops == 2 && part.is_at_border(*place),
                    _ => true,
                };
                let own = (0..part.nodes().len()).filter(is_sent).map(|place| part.nodes()[place]);
                let mut nodes: Vec<u32> = own.chain(part.foreign().iter().copied()).collect();
                nodes.sort_unstable();
                nodes
                    .into_iter()
                    .for_each(|node| self.push_share(&mut words, part, node));
            }
        }
        words
    }

    /// What a client has of the sums without the others: its own shares.
    fn own_sums(&self, part: &Part) -> Vec<Vec<f64>> {
        part.nodes().iter().map(|node| self.row(part, *node)).collect()
    }

    /// A client's nodes that others come to, at `hops` steps at most, with what there is to know of
    /// them.
    fn nodes_near_others(&self, part: &Part) -> Words {
        let at_border = |place: usize| part.is_at_border(place);
        let near = |place: usize| {
            let mut own = part.neighbours(place).iter().filter_map(|node| part.place(*node));
            at_border(place) || self.plan.hops == 2 && own.any(at_border)
        };
        let mut words = Words::default();
        for place in (0..part.nodes().len()).filter(|place| near(*place)) {
            self.push_node(&mut words, part, place);
        }
        words
    }

    fn push_node(&self, words: &mut Words, part: &Part, place: usize) {
        let features = part.features(place, self.plan.n_features);
        words.push_node(part.nodes()[place], part.neighbours(place), features.iter().copied());
    }
}

/// A client's share of the sum of every node, and with degrees those of its own: what is masked.
pub(super) fn shares(task: &FedGcn, part: &Part) -> Vec<f64> {
    if !task.plan.is_masked() {
        return Vec::new();
    }
    let n = task.cut.owners().len() as u32;
    let mut all: Vec<f64> = (0..n).flat_map(|node| task.row(part, node)).collect();
    all.extend((0..n).filter_map(|node| task.degree(part, node)).map(f64::from));
    all
}

pub(super) fn tell(task: &FedGcn, part: &Part, kept: Option<&Kept>, heard: Heard<Words>) -> Says<Words, Kept> {
    let kept = kept.cloned().unwrap_or_default();
    match (task.plan.between, heard) {
        (Between::Server, Heard::Opening) => Says {
            to_server: match task.plan.carries {
                _ if task.plan.is_masked() => None,
                Carries::Sums => Some(task.upload(part)),
                Carries::Features => Some(task.nodes_near_others(part)),
            },
            ..Says::nothing()
        },
        (Between::Server, Heard::Server(_)) if task.plan.is_masked() && !kept.has_asked => Says {
            kept: Some(Kept {
                has_asked: true,
                ..kept
            }),
            to_server: Some(Words(task.wanted(part))),
            ..Says::nothing()
        },
        (Between::Server, Heard::Server(words)) => Says {
            kept: Some(Kept {
                told: Some(read_answer(task, part, &words)),
                ..kept
            }),
            ..Says::ready()
        },
        (Between::Peers, Heard::Opening) => begin_among_peers(task, part, kept),
        (Between::Peers, Heard::Client(from, words)) => hear_peer(task, part, kept, (from, words)),
        // Nobody says such.
        (Between::Server, Heard::Client(..)) | (Between::Peers, Heard::Server(_)) => Says::nothing(),
    }
}

/// What the server answered, as the client keeps it.
fn read_answer(task: &FedGcn, part: &Part, words: &Words) -> Told {
    let plan = &task.plan;
    let d = plan.n_features;
    if plan.carries == Carries::Features {
        let nodes = words.nodes(d);
        return Told::Features(
            nodes
                .map(|(node, to, bits)| (node, (to.to_vec(), bits.to_vec())))
                .collect(),
        );
    }
    let n_own = part.nodes().len();
    let n_border = if plan.hops == 2 { part.foreign().len() } else { 0 };
    let (mut sums, mut degrees) = (vec![0.0; (n_own + n_border) * d], vec![0; n_border]);
    let keeps_own = plan.upload == Upload::Border && !plan.is_masked();
    if keeps_own {
        for (to, row) in sums.chunks_exact_mut(d.max(1)).zip(task.own_sums(part)) {
            to.iter_mut().zip(row).for_each(|(to, x)| *to = x as f32);
        }
    }
    let adds = keeps_own && plan.hops == 1;
    let mut read = |node: u32, degree: u32, values: &mut dyn Iterator<Item = f32>| {
        let Some(place) = part.place_among_all(node).filter(|place| *place < n_own + n_border) else {
            return;
        };
        let to = sums[place * d..][..d].iter_mut();
        to.zip(values).for_each(|(to, x)| *to = if adds { *to + x } else { x });
        if place >= n_own {
            degrees[place - n_own] = degree;
        }
    };
    match plan.is_masked() || plan.upload == Upload::Dense {
        false => words
            .rows(d, plan.has_degrees())
            .for_each(|row| read(row.node, row.degree, &mut row.values())),
        true => {
            let head = usize::from(plan.has_degrees());
            for (node, words) in task
                .wanted(part)
                .into_iter()
                .zip(words.0.chunks_exact((head + d).max(1)))
            {
                let degree = if head == 1 { words[0] } else { 0 };
                read(
                    node,
                    degree,
                    &mut words[head..].iter().map(|bits| f32::from_bits(*bits)),
                );
            }
        }
    }
    Told::Sums(sums, degrees)
}

fn begin_among_peers(task: &FedGcn, part: &Part, kept: Kept) -> Says<Words, Kept> {
    let of_client = |client: u32| {
        let mut words = Words::default();
        match task.plan.carries {
            Carries::Sums => {
                let theirs = part
                    .foreign()
                    .iter()
                    .zip(part.owners())
                    .filter(|(_, owner)| **owner == client);
                for (node, _) in theirs {
                    let row = task.row(part, *node);
                    words.push(*node, None, row.into_iter().map(|x| x as f32));
                }
            }
            Carries::Features => {
                let places = (0..part.nodes().len()).filter(|place| borders(part, *place, client));
                places.for_each(|place| task.push_node(&mut words, part, place));
            }
        }
        (ClientId(client), words)
    };
    let to_clients: Vec<(ClientId, Words)> = part.borders_on().into_iter().map(of_client).collect();
    match to_clients.is_empty() {
        false => Says {
            to_clients,
            ..Says::nothing()
        },
        true => Says {
            kept: Some(settled(task, part, kept)),
            ..Says::ready()
        },
    }
}

/// Whether a client's node at this place has a neighbour at another.
fn borders(part: &Part, place: usize, client: u32) -> bool {
    let foreign = |node: &u32| part.foreign().binary_search(node).ok();
    let mut owners = part
        .neighbours(place)
        .iter()
        .filter_map(foreign)
        .map(|at| part.owners()[at]);
    owners.any(|owner| owner == client)
}

fn hear_peer(task: &FedGcn, part: &Part, mut kept: Kept, (from, words): (ClientId, Words)) -> Says<Words, Kept> {
    let plan = &task.plan;
    let is_share = plan.carries == Carries::Features || words.0.first().is_none_or(|node| part.place(*node).is_some());
    match is_share {
        true => kept.shares.insert(from.0, words),
        false => kept.border.insert(from.0, words),
    };
    let n = part.borders_on().len();
    let mut to_clients = Vec::new();
    // Once every share has come, sums are whole, and those who border on them hear them.
    if is_share && kept.shares.len() == n && plan.hops == 2 {
        let sums = whole_sums(task, part, &kept);
        let of_client = |client: u32| {
            let mut words = Words::default();
            for place in (0..part.nodes().len()).filter(|place| borders(part, *place, client)) {
                let degree = plan.has_degrees().then(|| part.degree(place));
                let row = sums[place].iter().map(|x| *x as f32);
                words.push(part.nodes()[place], degree, row);
            }
            (ClientId(client), words)
        };
        to_clients = part.borders_on().into_iter().map(of_client).collect();
    }
    let is_ready = kept.shares.len() == n && (plan.hops < 2 || kept.border.len() == n);
    Says {
        kept: Some(match is_ready {
            true => settled(task, part, kept),
            false => kept,
        }),
        to_clients,
        is_ready,
        ..Says::nothing()
    }
}

/// A client's sums with what its peers added, in their ascending order.
fn whole_sums(task: &FedGcn, part: &Part, kept: &Kept) -> Vec<Vec<f64>> {
    let mut sums = task.own_sums(part);
    for words in kept.shares.values() {
        for row in words.rows(task.plan.n_features, false) {
            if let Some(place) = part.place(row.node) {
                let to = sums[place].iter_mut();
                to.zip(row.values()).for_each(|(sum, x)| *sum += f64::from(x));
            }
        }
    }
    sums
}

/// What is kept once all peers have spoken.
fn settled(task: &FedGcn, part: &Part, kept: Kept) -> Kept {
    let plan = &task.plan;
    let d = plan.n_features;
    let told = match plan.carries {
        Carries::Features => {
            let nodes = kept.shares.values().flat_map(|words| words.nodes(d));
            Told::Features(
                nodes
                    .map(|(node, to, bits)| (node, (to.to_vec(), bits.to_vec())))
                    .collect(),
            )
        }
        Carries::Sums => {
            let own = whole_sums(task, part, &kept);
            let mut sums: Vec<f32> = own.into_iter().flatten().map(|x| x as f32).collect();
            let n_border = if plan.hops == 2 { part.foreign().len() } else { 0 };
            let mut degrees = vec![0; n_border];
            let n_own = part.nodes().len();
            sums.resize((n_own + n_border) * d, 0.0);
            for row in kept.border.values().flat_map(|words| words.rows(d, plan.has_degrees())) {
                if let Ok(behind) = part.foreign().binary_search(&row.node) {
                    let to = sums[(n_own + behind) * d..][..d].iter_mut();
                    to.zip(row.values()).for_each(|(to, x)| *to = x);
                    degrees[behind] = row.degree;
                }
            }
            Told::Sums(sums, degrees)
        }
    };
    Kept {
        told: Some(told),
        ..Kept::default()
    }
}

pub(super) fn answer(
    task: &FedGcn,
    memory: &mut Memory,
    gathered: Gathered<Words>,
) -> Result<Vec<(ClientId, Words)>, StrategyError> {
    let told = match gathered {
        Gathered::Sums(_) if !task.plan.is_masked() => return Ok(Vec::new()),
        Gathered::Sums(sums) => {
            memory.sums = sums;
            // That sums can be had.
            let everybody = (0..task.n_clients).map(|client| (ClientId(client), Words::default()));
            return Ok(everybody.collect());
        }
        Gathered::Each(told) => told,
    };
    Ok(match task.plan {
        plan if plan.is_masked() => {
            let answers = told
                .iter()
                .map(|(client, asked)| (*client, masked(task, memory, asked)))
                .collect();
            memory.sums = Vec::new();
            answers
        }
        plan if plan.carries == Carries::Features => near(task, &told),
        plan if plan.upload == Upload::Dense => dense(task, &told),
        _ => sparse(task, &told),
    })
}

/// The sums that a client asked for, from those of all nodes.
fn masked(task: &FedGcn, memory: &Memory, asked: &Words) -> Words {
    let (n, d) = (task.cut.owners().len(), task.plan.n_features);
    let mut words = Vec::new();
    for node in asked.0.iter().map(|node| *node as usize).filter(|node| *node < n) {
        if task.plan.has_degrees() {
            words.push(memory.sums[n * d + node].round() as u32);
        }
        words.extend(memory.sums[node * d..][..d].iter().map(|x| (*x as f32).to_bits()));
    }
    Words(words)
}

/// A sum as it grows.
struct Sum {
    degree: u32,
    values: Vec<f64>,
}

fn sparse(task: &FedGcn, told: &[(ClientId, Words)]) -> Vec<(ClientId, Words)> {
    let plan = &task.plan;
    let d = plan.n_features;
    let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
    for row in told.iter().flat_map(|(_, words)| words.rows(d, plan.has_degrees())) {
        let sum = sums.entry(row.node).or_insert_with(|| Sum {
            degree: 0,
            values: vec![0.0; d],
        });
        sum.degree = sum.degree.max(row.degree);
        sum.values
            .iter_mut()
            .zip(row.values())
            .for_each(|(sum, x)| *sum += f64::from(x));
    }
    let owners = task.cut.owners();
    let answer = |(client, words): &(ClientId, Words)| {
        let asked: Vec<u32> = match plan.hops {
            // What it has a part in is what it wants.
            2 => words.rows(d, plan.has_degrees()).map(|row| row.node).collect(),
            _ => sums
                .keys()
                .copied()
                .filter(|node| owners.get(*node as usize) == Some(&client.0))
                .collect(),
        };
        let mut answer = Words::default();
        for (node, sum) in asked.iter().filter_map(|node| Some((*node, sums.get(node)?))) {
            let degree = plan.has_degrees().then_some(sum.degree);
            answer.push(node, degree, sum.values.iter().map(|x| *x as f32));
        }
        (*client, answer)
    };
    told.iter().map(answer).collect()
}

fn dense(task: &FedGcn, told: &[(ClientId, Words)]) -> Vec<(ClientId, Words)> {
    let (n, d) = (task.cut.owners().len(), task.plan.n_features);
    let (n_values, n_degrees) = (n * d, if task.plan.has_degrees() { n } else { 0 });
    let mut memory = Memory {
        sums: vec![0.0; n_values + n_degrees],
    };
    let mut asked = Vec::new();
    for (client, words) in told {
        let (numbers, rest) = words.0.split_at(words.0.len().saturating_sub(n_values + n_degrees));
        let (values, degrees) = rest.split_at(n_values.min(rest.len()));
        let values = values.iter().map(|bits| f64::from(f32::from_bits(*bits)));
        let all = values.chain(degrees.iter().map(|degree| f64::from(*degree)));
        memory.sums.iter_mut().zip(all).for_each(|(sum, x)| *sum += x);
        asked.push((*client, Words(numbers.to_vec())));
    }
    let answer = |(client, asked): (ClientId, Words)| (client, masked(task, &memory, &asked));
    asked.into_iter().map(answer).collect()
}

/// To each client all nodes of others within `hops` steps of its own, of which it was told.
fn near(task: &FedGcn, told: &[(ClientId, Words)]) -> Vec<(ClientId, Words)> {
    let d = task.plan.n_features;
    let all: BTreeMap<u32, (&[u32], &[u32])> = told
        .iter()
        .flat_map(|(_, words)| words.nodes(d))
        .map(|(node, neighbours, bits)| (node, (neighbours, bits)))
        .collect();
    let owners = task.cut.owners();
    let answer = |(client, words): &(ClientId, Words)| {
        let is_others = |node: &&u32| owners.get(**node as usize).is_some_and(|owner| *owner != client.0);
        let mut reached: BTreeSet<u32> = words
            .nodes(d)
            .flat_map(|(_, neighbours, _)| neighbours.iter().filter(is_others))
            .copied()
            .collect();
        if task.plan.hops == 2 {
            let further = reached.iter().filter_map(|node| all.get(node));
            let further: Vec<u32> = further
                .flat_map(|(neighbours, _)| neighbours.iter().filter(is_others))
                .copied()
                .collect();
            reached.extend(further);
        }
        let mut answer = Words::default();
        for (node, (neighbours, bits)) in reached.iter().filter_map(|node| Some((*node, all.get(node)?))) {
            answer.push_node(node, neighbours, bits.iter().map(|bits| f32::from_bits(*bits)));
        }
        (*client, answer)
    };
    told.iter().map(answer).collect()
}
