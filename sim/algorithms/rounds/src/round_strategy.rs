//! What is trained in rounds.

use crate::message::{Extra, Order};
use crate::{COUNTERS, Gathered, Heard, NO_ITEMS, NOT_SAID, Preparation, Read, Rule, Says, Task, Trained, Updates};
use folkmoot_codecs::Shape;
use folkmoot_draws::SimRng;
use folkmoot_engine::prelude::*;
use folkmoot_learning::Layout;
use std::sync::Arc;

/// What is trained in rounds: made of settings and public facts, as any [`Strategy`].
pub trait RoundStrategy: Send + Sync + Sized + 'static {
    /// All that one client holds.
    type Shard<'a>: Copy + Send + Sync;
    /// What the server asks of its clients besides training, sent with the model; `()` if nothing.
    type Order: Order;
    /// What a client sends beside its update, a message of its own; `()` if nothing.
    type Extra: Extra;
    /// What clients and the server tell each other before any training, where it [`exchanges`](Self::exchanges); `()` if nothing.
    type Told: Extra;
    /// What the server keeps of the extras.
    type Collected: State + Sync + Default;
    /// What a client keeps of its training, for the next one or for whoever studies the run; it is never sent. `()` if nothing.
    type Kept: State + Sync + Clone;

    /// Whether training reads what the client has kept. Default: no.
    const READS_KEPT: bool = false;
    /// The counters of its runs: those of rounds, [`COUNTERS`], and its own behind them, which [`Trained::counts`] raises. Default: none of
    /// its own.
    const COUNTERS: &'static [&'static str] = COUNTERS;

    /// The matrices of the model: its length, which of its numbers learn and how it starts follow from it.
    fn layout(&self) -> &Layout;

    /// Numbers of the model, those that do not learn included. Default: those of the layout.
    fn n_parameters(&self) -> usize {
        self.layout().len()
    }

    /// Numbers of an update. Default: as many as the model's that do not come from statistics. One of another length needs a
    /// [`combine`](Self::combine) that makes the model's of them, and neither buffered rounds nor masks.
    fn n_update(&self) -> usize {
        self.n_parameters() - self.n_fixed()
    }

    /// So many of the first numbers learn; the others, such as running statistics, are averaged whatever the server's
    /// optimiser. Default: as the layout says.
    fn n_trainable(&self) -> usize {
        self.layout().n_trainable()
    }

    /// Rows and columns of the matrices that the numbers that learn stand in, one after the other, for codecs that look at matrices. Default: as
    /// the layout says.
    fn shapes(&self) -> Vec<Shape> {
        self.layout().shapes()
    }

    /// The same of an update, whose first numbers these are. Default: as of the model.
    fn update_shapes(&self) -> Vec<Shape> {
        self.shapes()
    }

    /// Where in the model that a client was sent the numbers begin from which those of its update that learn have come; `others` stand behind these in
    /// the update. Default: they are the first.
    fn begins(&self, _others: &[f32]) -> usize {
        0
    }

    /// So many of the last numbers of the model say how clients read what they hold. They come from [`statistics`](Self::statistics) by
    /// [`fixed`](Self::fixed). Default: none, and the first round trains.
    fn n_fixed(&self) -> usize {
        0
    }

    /// What a client tells of its data in the first round; the server learns the sums over clients. Default: nothing.
    fn statistics(&self, _shard: Self::Shard<'_>) -> Vec<f64> {
        Vec::new()
    }

    /// The model's last numbers, from these sums. Default: none.
    fn fixed(&self, _sums: &[f64]) -> Vec<f32> {
        Vec::new()
    }

    /// Whether clients and the server tell each other something before any training, in a first round that trains nothing; `exchange` says how it goes. A
    /// task has this or [`n_fixed`](Self::n_fixed). Default: no.
    fn exchanges(&self) -> bool {
        false
    }

    /// What a client says in the exchange when it hears this, knowing what it has kept. Default: that it needs nothing.
    fn tell(
        &self,
        _shard: Self::Shard<'_>,
        _kept: Option<&Self::Kept>,
        _heard: Heard<Self::Told>,
    ) -> Says<Self::Told, Self::Kept> {
        Says::ready()
    }

    /// Operations that it takes a client to find out what it says on hearing this: its device takes this over its speed, and
    /// [`prepare`](Self::prepare) says it. What it hears meanwhile waits. Default: 0, and [`tell`](Self::tell) says it at once.
    fn effort(&self, _shard: Self::Shard<'_>, _kept: Option<&Self::Kept>, _heard: &Heard<Self::Told>) -> f64 {
        0.0
    }

    /// As [`tell`](Self::tell), where it takes [`effort`](Self::effort). Pure: on any thread, once or more often. Default: that it needs nothing.
    fn prepare(&self, _preparation: Preparation<'_, '_, Self>) -> Says<Self::Told, Self::Kept> {
        Says::ready()
    }

    /// What a client says in a dry run where it takes effort, as [`Strategy::placeholder`]. Default: what it [`prepare`](Self::prepare)s.
    fn prepare_placeholder(&self, preparation: Preparation<'_, '_, Self>) -> Says<Self::Told, Self::Kept> {
        self.prepare(preparation)
    }

    /// What the server answers in the exchange, to whom, once it has heard this of all. Default: nothing.
    ///
    /// # Errors
    ///
    /// Ends the run.
    fn answer(
        &self,
        _collected: &mut Self::Collected,
        _gathered: Gathered<Self::Told>,
    ) -> Result<Vec<(ClientId, Self::Told)>, StrategyError> {
        Ok(Vec::new())
    }

    /// The model before the first round. Default: drawn as the layout says.
    fn initial(&self, rng: &mut SimRng) -> Vec<f32> {
        self.layout().initialise(rng)
    }

    /// How many samples a client learns from. One without any answers with the model as it came, which counts nothing.
    fn n_samples(&self, shard: Self::Shard<'_>) -> u32;

    /// Operations of a client's training in one round: its device takes this over its speed.
    fn cost(&self, shard: Self::Shard<'_>) -> f64;

    /// Passes over its data that a client makes in one round, of the same cost; whoever does part of its work makes some of them
    /// ([`Task::passes`]). Default: the training is one whole, and a card that wants parts of it is refused.
    fn passes(&self) -> u32 {
        1
    }

    /// What the server asks for in `round`, knowing what it has collected.
    fn order(&self, round: Round, collected: &Self::Collected) -> Self::Order;

    /// Whether answers of `round` bring an extra: the round then waits for both. Default: no.
    fn brings_extra(&self, _round: Round) -> bool {
        false
    }

    /// A client's part of a round. Pure: on any thread, once or more often per task.
    fn train(&self, task: Task<'_, '_, Self>) -> Trained<Self::Extra, Self::Kept>;

    /// A client's part of a dry run's round, as [`Strategy::placeholder`]. Default: the model that was sent; a task with an extra or
    /// releases adds its own of the right size.
    fn placeholder(&self, task: Task<'_, '_, Self>) -> Trained<Self::Extra, Self::Kept> {
        Trained::model(task.parameters.to_vec())
    }

    /// Its own messages whose size depends on values, as [`Strategy::sized_by_values`]. Default: none.
    fn sized_by_values(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Puts right what a client is to keep of its training by what the server reads of it, where that is not what was learned: behind a codec, or a
    /// clip. Pure, as training is. Default: nothing.
    fn is_read(&self, _kept: &mut Option<Self::Kept>, _read: Read<'_, Self::Extra>) {}

    /// What a client keeps after it has kept `before`. Default: `now` in its place.
    fn keep(_before: Self::Kept, now: Self::Kept) -> Self::Kept {
        now
    }

    /// What a client keeps once it learns that an extra of its own was lost on the way; where [`RoundStrategy::READS_KEPT`], it is told
    /// so. Default: what it has.
    fn lost(kept: Self::Kept, _extra: Self::Extra) -> Self::Kept {
        kept
    }

    /// Takes an extra in, however late it comes. Default: it is forgotten.
    ///
    /// # Errors
    ///
    /// Ends the run.
    fn collect(
        &self,
        _collected: &mut Self::Collected,
        _client: ClientId,
        _round: Round,
        _extra: Self::Extra,
    ) -> Result<(), StrategyError> {
        Ok(())
    }

    /// Looks at the updates of a round before they are combined, where the server sees them one by one. Default: nothing.
    fn look(&self, _collected: &mut Self::Collected, _updates: &Updates<'_>) {}

    /// The model that the server has for a client, where that is not the one for all. It changes with the round alone. Default: none.
    fn own_model(&self, _collected: &Self::Collected, _client: ClientId) -> Option<Arc<[f32]>> {
        None
    }

    /// What the updates of a round come to, where the server sees them one by one. Default: what the card's rule makes of them.
    fn combine(&self, rule: &dyn Rule, updates: &Updates<'_>) -> Vec<f64> {
        rule.combine(updates)
    }

    /// What the server makes of that, or of a sum of masked updates over their weights, before its optimiser: `weight` is that of all
    /// updates together, `model` the present one. Default: it is taken as it is.
    fn settle(&self, _collected: &mut Self::Collected, _model: &[f32], mean: Vec<f64>, _weight: f64) -> Vec<f64> {
        mean
    }

    /// Whether all that clients tell of what they hold is the change of one model for all, so that a bound of its length bounds all; else what they tell
    /// besides. What a client keeps may go into its change, which is cut all the same. Default: it is not said, and clients cannot be hidden.
    ///
    /// # Errors
    ///
    /// What else they tell, with the way out.
    fn tells_model_alone(&self) -> Result<(), &'static str> {
        Err(NOT_SAID)
    }

    /// Whether training can take the gradient of each item by itself, cut it and hide it in noise, where [`Task::hidden_items`] asks for it; else why
    /// not. Default: it cannot.
    ///
    /// # Errors
    ///
    /// The reason, with the way out.
    fn hides_items(&self) -> Result<(), &'static str> {
        Err(NO_ITEMS)
    }

    /// The mechanisms that [`Task::releases`] numbers; the protocol's own, that weights are sent as they are, comes before.
    fn mechanisms(&self) -> Vec<MechanismInfo> {
        Vec::new()
    }
}
