//! What a user holds, in wrappers that it leaves by a release alone: a part that says how users
//! report cannot forget the charge.

use folkmoot_engine::prelude::*;
use folkmoot_privacy::{Law, Mechanism, NoiseForm, PrivacyCost, ReleaseError};
use std::any::Any;

pub(crate) const FEATURES: Channel = Channel::new(0, Purpose(*b"us-featu"));
pub(crate) const LABELS: Channel = Channel::new(1, Purpose(*b"us-label"));
pub(crate) const EDGES: Channel = Channel::new(2, Purpose(*b"us-edges"));
pub(crate) const DEGREES: Channel = Channel::new(3, Purpose(*b"us-degre"));

/// A user's context as releases use it, independent of the strategy.
pub(crate) trait Releasing {
    /// The random stream for `purpose`.
    fn rng(&self, purpose: Purpose) -> SimRng;

    /// Draws a release and charges the user for it.
    fn release_any(&mut self, channel: Channel, mechanism: &AnyMechanism<'_>) -> Result<Box<dyn Any>, StrategyError>;

    /// Charges the user without limit.
    fn charge_unprotected(&mut self, channel: Channel);
}

/// A mechanism bound to its input; the type of its release is erased.
type AnyMechanism<'m> = dyn Mechanism<Input = (), Release = Box<dyn Any>> + 'm;

impl<S: Strategy> Releasing for ClientContext<'_, S> {
    fn rng(&self, purpose: Purpose) -> SimRng {
        ClientContext::rng(self, purpose)
    }

    fn release_any(&mut self, channel: Channel, mechanism: &AnyMechanism<'_>) -> Result<Box<dyn Any>, StrategyError> {
        self.release(channel, mechanism, &())
    }

    fn charge_unprotected(&mut self, channel: Channel) {
        self.unprotected(channel, ());
    }
}

impl dyn Releasing + '_ {
    fn release<I: Sync + ?Sized, R: 'static>(
        &mut self,
        channel: Channel,
        mechanism: &dyn Mechanism<Input = I, Release = R>,
        input: &I,
    ) -> Result<R, StrategyError> {
        let release = self.release_any(channel, &Bound(mechanism, input))?;
        Ok(*release.downcast().expect("a release has the type of its mechanism"))
    }
}

/// A mechanism bound to its input.
struct Bound<'m, I: ?Sized, R>(&'m dyn Mechanism<Input = I, Release = R>, &'m I);

impl<I: Sync + ?Sized, R: 'static> Mechanism for Bound<'_, I, R> {
    type Input = ();
    type Release = Box<dyn Any>;

    fn release_in(&self, form: NoiseForm, (): &(), rng: &mut SimRng) -> Result<Box<dyn Any>, ReleaseError> {
        Ok(Box::new(self.0.release_in(form, self.1, rng)?))
    }

    fn cost(&self) -> PrivacyCost {
        self.0.cost()
    }

    fn law(&self) -> Law {
        self.0.law()
    }
}

/// A user's features, each in the public range.
pub struct OwnFeatures<'a> {
    values: &'a [f64],
    range: (f64, f64),
    cx: &'a mut dyn Releasing,
}

impl<'a> OwnFeatures<'a> {
    pub(crate) fn new(values: &'a [f64], range: (f64, f64), cx: &'a mut dyn Releasing) -> Self {
        OwnFeatures { values, range, cx }
    }

    /// How many there are, which everybody knows.
    pub fn n_features(&self) -> usize {
        self.values.len()
    }

    /// The public range of each.
    pub fn range(&self) -> (f64, f64) {
        self.range
    }

    /// What `mechanism` makes of them.
    ///
    /// # Errors
    ///
    /// When they lie outside its domain.
    pub fn release<R: 'static>(
        self,
        mechanism: &dyn Mechanism<Input = [f64], Release = R>,
    ) -> Result<R, StrategyError> {
        self.cx.release(FEATURES, mechanism, self.values)
    }

    /// As they are, which is charged without limit.
    pub fn unprotected(self) -> Vec<f64> {
        self.cx.charge_unprotected(FEATURES);
        self.values.to_vec()
    }
}

pub struct OwnLabel<'a> {
    class: u32,
    n_classes: u32,
    cx: &'a mut dyn Releasing,
}

impl<'a> OwnLabel<'a> {
    pub(crate) fn new(class: u32, n_classes: u32, cx: &'a mut dyn Releasing) -> Self {
        OwnLabel { class, n_classes, cx }
    }

    /// How many classes there are.
    pub fn n_classes(&self) -> u32 {
        self.n_classes
    }

    /// What `mechanism` makes of it.
    ///
    /// # Errors
    ///
    /// When it lies outside its domain.
    pub fn release<R: 'static>(self, mechanism: &dyn Mechanism<Input = u32, Release = R>) -> Result<R, StrategyError> {
        self.cx.release(LABELS, mechanism, &self.class)
    }

    /// As it is, which is charged without limit.
    pub fn unprotected(self) -> u32 {
        self.cx.charge_unprotected(LABELS);
        self.class
    }
}

/// A user's neighbours: one bit for each other user, of which few are set.
pub struct OwnEdges<'a> {
    me: u32,
    neighbours: &'a [u32],
    n_users: u32,
    cx: &'a mut dyn Releasing,
}

impl<'a> OwnEdges<'a> {
    pub(crate) fn new(me: u32, neighbours: &'a [u32], n_users: u32, cx: &'a mut dyn Releasing) -> Self {
        OwnEdges {
            me,
            neighbours,
            n_users,
            cx,
        }
    }

    pub fn me(&self) -> u32 {
        self.me
    }

    /// How many users there are.
    pub fn n_users(&self) -> u32 {
        self.n_users
    }

    /// The bits of all others, `n_users − 1` places: whom they name after `mechanism`, ascending.
    ///
    /// # Errors
    ///
    /// When they lie outside its domain.
    pub fn all_bits(
        &mut self,
        mechanism: &dyn Mechanism<Input = [u32], Release = Vec<u32>>,
    ) -> Result<Vec<u32>, StrategyError> {
        let me = self.me();
        let places: Vec<u32> = self.neighbours.iter().map(|&v| place_of(me, v)).collect();
        let told = self.cx.release(EDGES, mechanism, &places)?;
        Ok(told.into_iter().map(|place| user_at(me, place)).collect())
    }

    /// The bits of those after it, `n_users − 1 − me` places: whom they name after `mechanism`,
    /// ascending.
    ///
    /// # Errors
    ///
    /// When they lie outside its domain.
    pub fn later_bits(
        &mut self,
        mechanism: &dyn Mechanism<Input = [u32], Release = Vec<u32>>,
    ) -> Result<Vec<u32>, StrategyError> {
        let first = self.me() + 1;
        let places: Vec<u32> = self.neighbours.iter().filter_map(|&v| v.checked_sub(first)).collect();
        let told = self.cx.release(EDGES, mechanism, &places)?;
        Ok(told.into_iter().map(|place| first + place).collect())
    }

    /// The bits of all others as numbers, 1 or 0, after `mechanism`, in ascending order of the
    /// others.
    ///
    /// # Errors
    ///
    /// When they lie outside its domain.
    pub fn real_bits(
        &mut self,
        mechanism: &dyn Mechanism<Input = [f64], Release = Vec<f64>>,
    ) -> Result<Vec<f64>, StrategyError> {
        let me = self.me();
        let mut bits = vec![0.0; self.n_users.saturating_sub(1) as usize];
        self.neighbours
            .iter()
            .for_each(|&v| bits[place_of(me, v) as usize] = 1.0);
        self.cx.release(EDGES, mechanism, &bits)
    }

    /// How many neighbours there are, after `mechanism`, on a channel of its own.
    ///
    /// # Errors
    ///
    /// When the number lies outside its domain.
    pub fn degree(
        &mut self,
        mechanism: &dyn Mechanism<Input = [f64], Release = Vec<f64>>,
    ) -> Result<f64, StrategyError> {
        let degree = [self.neighbours.len() as f64];
        let told = self.cx.release(DEGREES, mechanism, &degree)?;
        Ok(told.first().copied().unwrap_or(0.0))
    }

    /// A stream for what is done to a release afterwards, which costs nothing.
    pub fn rng(&self, purpose: Purpose) -> SimRng {
        self.cx.rng(purpose)
    }
}

/// The place of user `other` among those who are not `me`.
pub(crate) fn place_of(me: u32, other: u32) -> u32 {
    if other > me { other - 1 } else { other }
}

/// The user at a place among those who are not `me`.
pub(crate) fn user_at(me: u32, place: u32) -> u32 {
    if place >= me { place + 1 } else { place }
}

/// The error of a mechanism's parameters.
pub(crate) fn refused(error: impl std::fmt::Display) -> StrategyError {
    StrategyError(error.to_string())
}
