//! The exchange as it goes where nobody is away and nothing is lost, for whoever evaluates a run
//! and sees all data.

use super::exchange::Kept;
use super::{FedGcn, Memory, Neighbours, Words};
use crate::Part;
use folkmoot_classifiers::classifier::Shard;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::{Exchange, Gathered, Heard};
use std::collections::VecDeque;

/// What every client keeps in the end.
pub(super) fn kept(task: &FedGcn, parts: &[Part]) -> Vec<Option<Kept>> {
    let mut kept: Vec<Option<Kept>> = parts.iter().map(|_| None).collect();
    if !task.exchanges() {
        return kept;
    }
    let mut memory = Memory::default();
    let everybody = 0..parts.len() as u32;
    let mut heard: VecDeque<(ClientId, Heard<Words>)> = everybody.map(|id| (ClientId(id), Heard::Opening)).collect();
    let mut sums: Option<Vec<f64>> = task.plan.is_masked().then(Vec::new);
    loop {
        let mut told = Vec::new();
        while let Some((to, what)) = heard.pop_front() {
            let at = to.0 as usize;
            let says = Neighbours.tell(task, &parts[at], kept[at].as_ref(), what);
            kept[at] = says.kept.or(kept[at].take());
            told.extend(says.to_server.map(|words| (to, words)));
            let to_clients = says.to_clients.into_iter();
            heard.extend(to_clients.map(|(client, words)| (client, Heard::Client(to, words))));
        }
        told.sort_by_key(|(client, _)| *client);
        let gathered = match sums.take() {
            Some(mut sums) => {
                for part in parts {
                    let of_part = Neighbours.statistics(task, part);
                    sums.resize(of_part.len(), 0.0);
                    sums.iter_mut().zip(of_part).for_each(|(sum, x)| *sum += x);
                }
                Gathered::Sums(sums)
            }
            None if told.is_empty() => return kept,
            None => Gathered::Each(told),
        };
        let answers = Neighbours.answer(task, &mut memory, gathered).unwrap_or_default();
        heard.extend(
            answers
                .into_iter()
                .map(|(client, words)| (client, Heard::Server(words))),
        );
    }
}

/// What every client trains on then.
pub(super) fn shards(task: &FedGcn, parts: &[Part]) -> Vec<Shard> {
    let all = parts.iter().zip(kept(task, parts));
    all.map(|(part, kept)| task.known(part, kept.as_ref()).clone())
        .collect()
}
