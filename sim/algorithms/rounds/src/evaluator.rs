//! What rounds come to, seen from above.

use super::message::{Extra, NOTHING, Order};
use super::secure::RANGE;
use super::{COUNTERS, Client, Exchange, Memory, NoiseAt, Rounds, Secure, Seen, SidePayload, Trainer, WEIGHTS};
use super::{EMPTY, REFUSED};
use folkmoot_engine::prelude::*;
use folkmoot_metrics::PrivacyRow;
use folkmoot_metrics::artifacts::{ArtifactTable, FLOAT, WHOLE};
use folkmoot_metrics::table::column;

/// Updates that the server refused.
pub(crate) const REFUSED_UPDATES: ArtifactTable = ArtifactTable {
    file: "refused_updates.csv",
    columns: &[
        column("client", WHOLE, "The client whose update it was."),
        column("round", WHOLE, "The round that it was for."),
        column(
            "index",
            WHOLE,
            "Position, from 0, of its first number that is not finite, or that is beyond the fixed-point range of secure aggregation: 2^23 divided by the weight of the client.",
        ),
        column("value", FLOAT, "That number."),
    ],
};

/// What watches the training of `R`.
pub trait RoundEvaluator<R: Trainer, P: SidePayload<R> = (), X: Exchange<R> = ()>: Send + Sync {
    /// What the model is worth after a round that [`Protocol`](super::Protocol) has evaluated. No
    /// message is sent for it.
    fn after_round(&self, task: &R, round: Round, parameters: &[f32], sheet: &mut Sheet);

    /// Whether [`at_end`](Self::at_end) or [`scores`](Self::scores) looks at what clients have
    /// kept, as [`Evaluator::reads_clients`]. Default: yes.
    fn reads_clients(&self, _task: &R) -> bool {
        true
    }

    /// The scores of controls that need no training, as [`Evaluator::controls`]. Default: none.
    fn controls(&self, _task: &R, _sheet: &mut Sheet) {}

    /// The run has ended: counts, as [`Evaluator::at_end`]. Default: nothing more is written down.
    fn at_end(&self, _end: &RoundEnd<'_, R, P, X>, _sheet: &mut Sheet) {}

    /// The run has ended: scores, as [`Evaluator::scores`]. Default: nothing more is written down.
    fn scores(&self, _end: &RoundEnd<'_, R, P, X>, _sheet: &mut Sheet) {}
}

pub struct RoundEnd<'a, R: Trainer, P: SidePayload<R> = (), X: Exchange<R> = ()> {
    pub trainer: &'a R,
    pub parameters: &'a [f32],
    /// What the server kept of the extras.
    pub collected: &'a P::ServerState,
    /// State of the server for personalised models.
    pub memory: &'a Memory,
    /// The run, down to the messages.
    pub run: &'a End<'a, Rounds<R, P, X>>,
}

impl<'a, R: Trainer, P: SidePayload<R>, X: Exchange<R>> RoundEnd<'a, R, P, X> {
    /// That of a run.
    pub fn of(run: &'a End<'a, Rounds<R, P, X>>) -> Self {
        RoundEnd {
            trainer: run.strategy.trainer(),
            parameters: run.server.parameters(),
            collected: run.server.collected(),
            memory: run.server.memory(),
            run,
        }
    }

    /// What travels with models.
    pub fn payload(&self) -> &'a P {
        self.run.strategy.payload()
    }

    /// What the server was sent in the last rounds, the oldest first: of as many as
    /// [`Rounds::keeping`] says, if there were so many.
    pub fn seen(&self) -> &'a [Seen] {
        self.run.server.seen()
    }
}

impl<R: Trainer, P: SidePayload<R>, X: Exchange<R>> RoundEnd<'_, R, P, X> {
    /// What a client has kept of its trainings, if anything.
    pub fn kept(&self, client: ClientId) -> Option<&R::ClientState> {
        self.run.clients.get(client).and_then(Client::kept)
    }

    /// What codecs have left out of a client's updates so far, as many numbers as learn; nothing
    /// where that is not kept.
    pub fn left_out(&self, client: ClientId) -> &[f32] {
        self.run.clients.get(client).map_or(&[], Client::left_out)
    }

    /// What the trainer keeps at the server: as [`Opening::state`](crate::Opening::state).
    pub fn state(&self) -> &'_ [u8] {
        self.run.server.state()
    }

    /// The model before the first round.
    pub fn first_model(&self) -> Vec<f32> {
        self.run.strategy.initial(&self.run.setup)
    }

    /// What the task's own releases have cost, a row for each of [`Rounds::with_mechanisms`].
    pub fn privacy(&self) -> &[PrivacyRow] {
        &self.run.privacy[WEIGHTS + 1..][..self.run.strategy.mechanisms.len()]
    }

    /// How many rounds there were.
    pub fn n_rounds(&self) -> u32 {
        self.run.rounds.len() as u32
    }
}

/// Why updates were refused, of which so many had a finite number, of this size at most, that fixed
/// point cannot hold.
fn why_refused(refused: u64, (beyond, largest): (usize, f32)) -> String {
    if beyond == 0 {
        return "a number in them is not finite".to_owned();
    }
    let others = match refused - beyond as u64 {
        0 => String::new(),
        others => format!("; in {others} of them a number is not finite"),
    };
    format!(
        "secure aggregation sums in fixed point, which holds numbers up to {RANGE} divided by the weight of the \
         client (its training samples, or 1 with weighting: Uniform), and the largest in them is {largest}{others}; \
         help: lower training.learning_rate, clip gradients or updates, set weighting: Uniform, or secure: Off"
    )
}

/// Says what became of updates that should have moved the model, and did not.
fn warn(counters: &[u64], beyond: (usize, f32), n_rounds: usize, sheet: &mut Sheet) {
    let (refused, empty) = (counters[REFUSED], counters[EMPTY]);
    if refused > 0 {
        let why = why_refused(refused, beyond);
        sheet.warn(format!(
            "{refused} updates were refused, since {why} (artifacts/refused_updates.csv)"
        ));
    }
    if empty > 0 {
        sheet.warn(format!(
            "in {empty} of {n_rounds} rounds the model was not moved by any update"
        ));
    }
}

/// How many times larger messages of what is learned would be as they are, where a codec packs
/// them.
fn compression<R: Trainer, P: SidePayload<R>, X: Exchange<R>>(end: &End<'_, Rounds<R, P, X>>, sheet: &mut Sheet) {
    let (rounds, protocol) = (end.strategy, end.strategy.protocol());
    let (n_down, n_up) = (4 * rounds.travels.n_down as u64, 4 * rounds.n_update() as u64 + 4);
    let order = if P::Order::IS_NUMBERS { n_down } else { 0 };
    let up = match protocol.secure {
        Secure::Off => ("packed_update", n_up),
        Secure::Pairwise { .. } => ("masked_update", 2 * n_up),
    };
    // A packed extra has as many numbers as a model.
    for (name, kinds, codec) in [
        (
            "compression_down",
            &[("packed_model", n_down + order)][..],
            &protocol.downlink_codec,
        ),
        (
            "compression_up",
            &[up, (P::Extra::PACKED, n_down)],
            &protocol.uplink_codec,
        ),
    ] {
        let (mut plain, mut packed) = (0, 0);
        for (row, round, _, cell) in end.ledger.rows() {
            let kind = kinds.iter().find(|(kind, _)| row.name == *kind);
            if let (Some((_, size)), false) = (kind, rounds.is_opening(round)) {
                plain += cell.sent * size;
                packed += cell.payload_bytes;
            }
        }
        if !codec.is_plain() && packed > 0 {
            sheet.number(name, plain as f64 / packed as f64);
        }
    }
}

/// What noise in training has cost.
fn private<R: Trainer, P: SidePayload<R>, X: Exchange<R>>(end: &End<'_, Rounds<R, P, X>>, sheet: &mut Sheet) {
    let row = match end.strategy.protocol().private.noise_at() {
        None => return,
        Some(NoiseAt::Server) => end.privacy.last(),
        Some(NoiseAt::Clients) => end.privacy.get(WEIGHTS),
    };
    if let Some(epsilon) = row.and_then(|row| row.epsilon_renyi) {
        sheet.number("epsilon_training", epsilon);
    }
}

/// After so many rounds without an update but refused ones nothing good is to be expected of a
/// training.
const BARREN: u32 = 10;

/// Whether a round is one after which the model is scored.
pub fn is_evaluated<R: Trainer, P: SidePayload<R>, X: Exchange<R>>(ended: &Ended<'_, Rounds<R, P, X>>) -> bool {
    let protocol = ended.strategy.protocol();
    let n_rounds = ended.round.0 + 1;
    n_rounds >= protocol.rounds || n_rounds.is_multiple_of(protocol.evaluate_every)
}

/// An evaluator of a training, as one of its rounds.
pub struct Watched<T>(pub T);

impl<R: Trainer, P: SidePayload<R>, X: Exchange<R>, T: RoundEvaluator<R, P, X>> Evaluator<Rounds<R, P, X>>
    for Watched<T>
{
    fn after_round(&self, ended: &Ended<'_, Rounds<R, P, X>>, sheet: &mut Sheet) {
        let n_rounds = ended.server.rounds_without_accepted_update();
        if n_rounds >= BARREN {
            let beyond = ended.server.beyond_range();
            let refused = match beyond.0 {
                0 => 1,
                n => n as u64,
            };
            let why = why_refused(refused, beyond);
            sheet.diverged(format!(
                "in {n_rounds} rounds no update could be taken: each was refused, since {why}"
            ));
        }
        if is_evaluated(ended) {
            self.0
                .after_round(ended.strategy.trainer(), ended.round, ended.server.parameters(), sheet);
        }
    }

    fn reads_clients(&self, rounds: &Rounds<R, P, X>) -> bool {
        self.0.reads_clients(rounds.trainer())
    }

    fn controls(&self, rounds: &Rounds<R, P, X>, sheet: &mut Sheet) {
        self.0.controls(rounds.trainer(), sheet);
    }

    fn at_end(&self, end: &End<'_, Rounds<R, P, X>>, sheet: &mut Sheet) {
        self.0.at_end(&RoundEnd::of(end), sheet);
        for (name, count) in COUNTERS.iter().zip(&end.counters) {
            sheet.number(*name, *count as f64);
        }
        compression(end, sheet);
        private(end, sheet);
        if end.strategy.protocol().aggregator.accuses() {
            end.server.detection().write(sheet);
        }
        warn(&end.counters, end.server.beyond_range(), end.rounds.len(), sheet);
        if let Some(table) = end.server.refusals() {
            sheet.artifact(REFUSED_UPDATES.file, table.into_bytes());
        }
    }

    fn scores(&self, end: &End<'_, Rounds<R, P, X>>, sheet: &mut Sheet) {
        self.0.scores(&RoundEnd::of(end), sheet);
    }

    /// In synchronous rounds, so many as are asked on average, if nobody is away; unknown where the
    /// trainer selects clients.
    fn expected_messages(
        &self,
        rounds: &Rounds<R, P, X>,
        setup: &Setup<'_>,
        kind: Kind,
        round: Round,
        _: Direction,
    ) -> Option<f64> {
        let asked = setup.selection().mean_asked(setup.n_clients);
        let is_secure = rounds.protocol().secure != Secure::Off;
        let is_opening = rounds.is_opening(round);
        let reports = !setup.selection().metrics().is_empty();
        let trains = !is_opening && !is_secure;
        let is_plain = rounds.protocol().uplink_codec.is_plain();
        let packs_extra = P::Extra::PACKED != NOTHING && !is_plain;
        let expected = match kind.name {
            "model" => !is_opening && rounds.protocol().downlink_codec.is_plain(),
            "packed_model" => !is_opening && !rounds.protocol().downlink_codec.is_plain(),
            "opening" | "ready" if rounds.is_exchange(round) => return Some(f64::from(setup.n_clients)),
            "opening" => is_opening,
            "ready" => false,
            "statistics" => is_opening && !is_secure,
            name if name == X::Message::NAME && rounds.is_exchange(round) => return None,
            "update" => trains && is_plain && !reports,
            "packed_update" => trains && !is_plain && !reports,
            "reported_update" => trains && is_plain && reports,
            "reported_packed_update" => trains && !is_plain && reports,
            "withdrawal" => false,
            "keys" | "roster" | "shares" | "masked_update" | "survivors" | "unmasking" => is_secure,
            name if name == P::Extra::NAME => rounds.brings_extra(round) && !packs_extra,
            _ => rounds.brings_extra(round) && packs_extra,
        };
        let is_known = !rounds.is_buffered() && rounds.added.selection.is_none();
        (expected && is_known).then_some(asked)
    }
}
