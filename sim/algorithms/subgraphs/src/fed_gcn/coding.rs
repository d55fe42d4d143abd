//! Rows as a codec packs them on their way: sums and features by the codec, numbers of nodes,
//! neighbours and degrees as they are.
//!
//! What is packed is, in words of four bytes, how many words stay as they are, how many bytes the
//! codec has written, these words, and these bytes, filled up with zeros. Words without any number
//! that a codec could pack, such as what a client asks for, travel as they are.

use super::FedGcn;
use super::exchange::{self, Kept, Memory};
use super::settings::{Between, Carries, Upload};
use super::words::Words;
use crate::Part;
use crate::codec::no_draws;
use folkmoot_codecs::Damaged;
use folkmoot_engine::prelude::*;
use folkmoot_rounds::{Gathered, Heard, Says};

/// Where among words the numbers stand.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// In rows, behind so many words.
    Rows(usize),
    /// Behind a node, how many neighbours it has, and these.
    Nodes,
    /// In one matrix of so many numbers, with so many words behind it.
    Dense(usize, usize),
}

impl Form {
    /// Words that stay as they are, and numbers.
    fn split(self, words: &Words, d: usize) -> (Vec<u32>, Vec<f32>) {
        let (mut heads, mut bits) = (Vec::new(), Vec::new());
        match self {
            Form::Rows(head) => {
                for row in words.0.chunks_exact((head + d).max(1)) {
                    heads.extend(&row[..head]);
                    bits.extend(&row[head..]);
                }
            }
            Form::Nodes => {
                for (node, neighbours, features) in words.nodes(d) {
                    heads.extend([node, neighbours.len() as u32]);
                    heads.extend(neighbours);
                    bits.extend(features);
                }
            }
            Form::Dense(n_values, n_behind) => {
                let at = words.0.len().saturating_sub(n_values + n_behind);
                let (before, rest) = words.0.split_at(at);
                let (values, behind) = rest.split_at(n_values.min(rest.len()));
                heads.extend(before.iter().chain(behind));
                bits.extend(values);
            }
        }
        // Sums of many great numbers may be beyond all.
        let finite = |bits: u32| f32::from_bits(bits).clamp(f32::MIN, f32::MAX);
        (heads, bits.into_iter().map(finite).collect())
    }

    /// How many numbers stand among the words that stay; where they have none before them, in
    /// `n_rows` rows.
    fn n_values(self, heads: &[u32], n_rows: usize, d: usize) -> usize {
        match self {
            Form::Rows(0) => n_rows * d,
            Form::Rows(head) => heads.len() / head * d,
            Form::Nodes => nodes(heads).count() * d,
            Form::Dense(n_values, _) => n_values,
        }
    }

    /// The words of which these are the parts.
    fn join(self, heads: &[u32], values: &[f32], d: usize) -> Words {
        let mut bits = values.iter().map(|x| x.to_bits());
        let mut words = Vec::with_capacity(heads.len() + values.len());
        match self {
            Form::Rows(0) => words.extend(bits),
            Form::Rows(head) => {
                for head in heads.chunks_exact(head) {
                    words.extend(head);
                    words.extend(bits.by_ref().take(d));
                }
            }
            Form::Nodes => {
                for node in nodes(heads) {
                    words.extend(node);
                    words.extend(bits.by_ref().take(d));
                }
            }
            Form::Dense(_, n_behind) => {
                let (before, behind) = heads.split_at(heads.len().saturating_sub(n_behind));
                words.extend(before);
                words.extend(bits);
                words.extend(behind);
            }
        }
        Words(words)
    }
}

/// What there is to know of each node, but for its features.
fn nodes(mut heads: &[u32]) -> impl Iterator<Item = &[u32]> {
    std::iter::from_fn(move || {
        let n_neighbours = *heads.get(1)? as usize;
        let (node, behind) = heads.split_at_checked(2 + n_neighbours)?;
        heads = behind;
        Some(node)
    })
}

impl FedGcn {
    fn pack(&self, words: Words, form: Form) -> Words {
        let d = self.plan.n_features;
        let (heads, values) = form.split(&words, d);
        if values.is_empty() {
            return words;
        }
        let mut bytes = Vec::new();
        self.codec
            .encode(&values, &[[values.len() / d, d]], &mut no_draws(), &mut bytes);
        let mut packed = vec![heads.len() as u32, bytes.len() as u32];
        packed.extend(heads);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        packed.extend(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)));
        Words(packed)
    }

    /// What was packed, as far as the codec has kept it; of the numbers there are `n_rows` rows,
    /// where nothing else tells.
    fn open(&self, words: Words, form: Form, n_rows: usize) -> Result<Words, Damaged> {
        let d = self.plan.n_features;
        if words.0.is_empty() || d == 0 {
            return Ok(words);
        }
        let (sizes, rest) = words.0.split_at_checked(2).ok_or(Damaged::TooShort)?;
        let (heads, packed) = rest.split_at_checked(sizes[0] as usize).ok_or(Damaged::TooShort)?;
        let bytes: Vec<u8> = packed.iter().flat_map(|word| word.to_le_bytes()).collect();
        let bytes = bytes.get(..sizes[1] as usize).ok_or(Damaged::TooShort)?;
        let n_rows = form.n_values(heads, n_rows, d) / d.max(1);
        let values = self.codec.decode(bytes, &[[n_rows, d]])?;
        Ok(form.join(heads, &values, d))
    }

    fn form_up(&self) -> Form {
        let plan = &self.plan;
        let n = self.cut.owners().len();
        let degree = usize::from(plan.has_degrees());
        match (plan.carries, plan.upload) {
            (Carries::Features, _) => Form::Nodes,
            (Carries::Sums, Upload::Dense) => Form::Dense(n * plan.n_features, n * degree),
            (Carries::Sums, Upload::Rows | Upload::Border) => Form::Rows(1 + degree),
        }
    }

    fn form_down(&self) -> Form {
        let plan = &self.plan;
        let degree = usize::from(plan.has_degrees());
        match plan.carries {
            Carries::Features => Form::Nodes,
            Carries::Sums if plan.is_masked() || plan.upload == Upload::Dense => Form::Rows(degree),
            Carries::Sums => Form::Rows(1 + degree),
        }
    }

    /// Of a share of sums, or of whole ones, which come with degrees.
    fn form_across(&self, is_share: bool) -> Form {
        match self.plan.carries {
            Carries::Features => Form::Nodes,
            Carries::Sums => Form::Rows(1 + usize::from(self.plan.has_degrees() && !is_share)),
        }
    }
}

/// As [`exchange::tell`], with what is told and heard packed.
pub(super) fn tell(task: &FedGcn, part: &Part, kept: Option<&Kept>, heard: Heard<Words>) -> Says<Words, Kept> {
    if task.codec.is_plain() {
        return exchange::tell(task, part, kept, heard);
    }
    let is_own = |node: Option<&u32>| node.is_some_and(|node| part.place(*node).is_some());
    // What cannot be read tells nothing.
    let heard = match heard {
        Heard::Opening => Heard::Opening,
        Heard::Server(words) => {
            let n_wanted = task.wanted(part).len();
            Heard::Server(task.open(words, task.form_down(), n_wanted).unwrap_or_default())
        }
        Heard::Client(from, words) => {
            let form = task.form_across(is_own(words.0.get(2)));
            Heard::Client(from, task.open(words, form, 0).unwrap_or_default())
        }
    };
    let mut says = exchange::tell(task, part, kept, heard);
    if task.plan.between == Between::Server && !task.plan.is_masked() {
        says.to_server = says.to_server.map(|words| task.pack(words, task.form_up()));
    }
    for (_, words) in &mut says.to_clients {
        let form = task.form_across(!is_own(words.0.first()));
        *words = task.pack(std::mem::take(words), form);
    }
    says
}

/// As [`exchange::answer`], with what is told and answered packed.
pub(super) fn answer(
    task: &FedGcn,
    memory: &mut Memory,
    gathered: Gathered<Words>,
) -> Result<Vec<(ClientId, Words)>, StrategyError> {
    if task.codec.is_plain() {
        return exchange::answer(task, memory, gathered);
    }
    let open = |(client, words): (ClientId, Words)| match task.open(words, task.form_up(), 0) {
        Ok(words) => Ok((client, words)),
        Err(damaged) => Err(StrategyError(format!("rows of client {}: {damaged}", client.0))),
    };
    let gathered = match gathered {
        Gathered::Each(told) if !task.plan.is_masked() => {
            Gathered::Each(told.into_iter().map(open).collect::<Result<_, _>>()?)
        }
        gathered => gathered,
    };
    let answers = exchange::answer(task, memory, gathered)?.into_iter();
    Ok(answers
        .map(|(client, words)| (client, task.pack(words, task.form_down())))
        .collect())
}
