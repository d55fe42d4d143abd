//! Releases of private values: the one way to a mechanism's noise, and the one way to a charge.
//!
//! A handler releases with [`ClientContext::release`](crate::ClientContext::release): the noise is
//! drawn, the ledger charged and the noisy value returned, all or nothing. A job cannot charge,
//! since it may run more than once and its result may never be sent; its [`Releases`] end in a
//! [`Receipt`], which the handler settles when what was made of them leaves the client.

use crate::job::JobContext;
use folkmoot_draws::{Purpose, SimRng};
use folkmoot_privacy::{Law, Mechanism, ReleaseError};
use serde::{Deserialize, Serialize};

/// What a release counts as, and where its noise comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The place in [`Strategy::mechanisms`](crate::Strategy::mechanisms).
    pub(crate) mechanism: usize,
    pub(crate) purpose: Purpose,
    /// Drawn from the item's own stream, so the same whenever it is drawn.
    pub(crate) is_kept: bool,
}

impl Channel {
    /// Releases by the strategy's mechanism number `mechanism`, with noise from the stream for
    /// `purpose`.
    pub const fn new(mechanism: usize, purpose: Purpose) -> Channel {
        Channel {
            mechanism,
            purpose,
            is_kept: false,
        }
    }

    /// Releases that are made once for each item and used ever after: their noise is that of the
    /// item's own stream, and they are charged when a client first makes them.
    pub const fn kept(mechanism: usize, purpose: Purpose) -> Channel {
        Channel {
            mechanism,
            purpose,
            is_kept: true,
        }
    }
}

/// Releases in a job, each about one item of the client's shard. Items share nothing, so that
/// releases about different ones cost no more than one of them (parallel composition; McSherry
/// 2009, theorem 4).
pub struct Releases<'a> {
    cx: &'a JobContext,
    first_mechanism: usize,
    streams: Vec<(Purpose, SimRng)>,
    /// (channel, law, item), as they came.
    notes: Vec<(Channel, Law, u32)>,
}

impl JobContext {
    /// Releases of this job, by the strategy's mechanisms from number `first_mechanism` on.
    pub fn releases(&self, first_mechanism: usize) -> Releases<'_> {
        Releases::new(self, first_mechanism)
    }
}

impl<'a> Releases<'a> {
    pub(crate) fn new(cx: &'a JobContext, first_mechanism: usize) -> Self {
        Releases {
            cx,
            first_mechanism,
            streams: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Releases what `mechanism` makes of `input`, about `item`.
    ///
    /// # Errors
    ///
    /// When the input lies outside the mechanism's domain; nothing is spent then.
    pub fn release<M: Mechanism + ?Sized>(
        &mut self,
        channel: Channel,
        item: u32,
        mechanism: &M,
        input: &M::Input,
    ) -> Result<M::Release, ReleaseError> {
        let form = self.cx.noise_form();
        let release = match channel.is_kept {
            true => mechanism.release_in(form, input, &mut self.cx.item_rng(channel.purpose, item)),
            false => mechanism.release_in(form, input, self.stream(channel.purpose)),
        }?;
        self.note(channel, item, mechanism);
        Ok(release)
    }

    /// The same into memory that is there already.
    ///
    /// # Errors
    ///
    /// As [`Releases::release`].
    pub fn release_into<M: Mechanism + ?Sized>(
        &mut self,
        channel: Channel,
        item: u32,
        mechanism: &M,
        input: &M::Input,
        out: &mut M::Release,
    ) -> Result<(), ReleaseError> {
        let form = self.cx.noise_form();
        match channel.is_kept {
            true => mechanism.release_into(form, input, &mut self.cx.item_rng(channel.purpose, item), out),
            false => mechanism.release_into(form, input, self.stream(channel.purpose), out),
        }?;
        self.note(channel, item, mechanism);
        Ok(())
    }

    /// Charges for what goes out about `item` by a law, and is made elsewhere: [`Law::UNPROTECTED`]
    /// for what goes out as it is.
    pub fn charge(&mut self, channel: Channel, item: u32, law: Law) {
        self.notes.push((channel, law, item));
    }

    fn note(&mut self, channel: Channel, item: u32, mechanism: &(impl Mechanism + ?Sized)) {
        self.notes.push((channel, mechanism.law(), item));
    }

    /// The stream of this round for a purpose, which goes on from release to release.
    fn stream(&mut self, purpose: Purpose) -> &mut SimRng {
        let at = self.streams.iter().position(|(known, _)| *known == purpose);
        let at = at.unwrap_or_else(|| {
            self.streams.push((purpose, self.cx.round_rng(purpose)));
            self.streams.len() - 1
        });
        &mut self.streams[at].1
    }

    /// What all of it costs, with each release counted.
    pub fn receipt(self) -> Receipt {
        // One group for each mechanism and law, in the order in which they came first.
        let mut groups: Vec<(Charge, Vec<(u32, Purpose)>)> = Vec::new();
        for (channel, law, item) in self.notes {
            let charge = Charge {
                mechanism: self.first_mechanism + channel.mechanism,
                n: 0,
                law,
                once: channel.is_kept,
            };
            let at = groups.iter().position(|(known, _)| *known == charge);
            let at = at.unwrap_or_else(|| {
                groups.push((charge, Vec::new()));
                groups.len() - 1
            });
            groups[at].1.push((item, channel.purpose));
        }
        // Pass k of a group is the k-th release about each item that has so many: in parallel, so
        // as dear as one. Passes over all items come before those over some.
        let (mut whole, mut parts) = (Vec::new(), Vec::new());
        for (charge, mut items) in groups {
            items.sort_unstable_by_key(|(item, purpose)| (*item, purpose.0));
            if charge.once {
                items.dedup();
            }
            let mut passes: Vec<u64> = Vec::new();
            for same in items.chunk_by(|a, b| a.0 == b.0) {
                passes.resize(passes.len().max(same.len()), 0);
                passes[..same.len()].iter_mut().for_each(|n| *n += 1);
            }
            for n in &passes {
                let to = if *n == passes[0] { &mut whole } else { &mut parts };
                to.push(Charge { n: *n, ..charge });
            }
        }
        whole.append(&mut parts);
        Receipt(whole)
    }

    /// What all of it costs where it is one release, made of items that share nothing: as much as
    /// the dearest of them.
    pub fn receipt_as_one(self) -> Receipt {
        let mut charges: Vec<Charge> = Vec::new();
        for (channel, law, _) in self.notes {
            let mechanism = self.first_mechanism + channel.mechanism;
            match charges.iter_mut().find(|charge| charge.mechanism == mechanism) {
                Some(charge) if charge.law.epsilon() < law.epsilon() => charge.law = law,
                Some(_) => {}
                None => charges.push(Charge {
                    mechanism,
                    n: 1,
                    law,
                    once: channel.is_kept,
                }),
            }
        }
        Receipt(charges)
    }
}

/// What releases by one mechanism cost together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Charge {
    pub(crate) mechanism: usize,
    /// How many, each of something else.
    pub(crate) n: u64,
    /// What is known of each.
    pub(crate) law: Law,
    /// Charged when the client first makes such releases and no more.
    pub(crate) once: bool,
}

/// What a job's releases cost, to be settled when what was made of them leaves the client. Only
/// [`Releases`] make one.
#[must_use = "what is released and sent has to be settled"]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Receipt(pub(crate) Vec<Charge>);

impl Receipt {
    /// The charges: the mechanism's place, how many releases, each of something else, and what each
    /// costs.
    pub fn charges(&self) -> impl Iterator<Item = (usize, u64, f64)> + '_ {
        self.0
            .iter()
            .map(|charge| (charge.mechanism, charge.n, charge.law.epsilon()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_metrics::{ClientId, Round};
    use folkmoot_privacy::NoisyCounts;

    fn context() -> JobContext {
        JobContext::of_test(1, ClientId(3), Round(2))
    }

    fn counts(epsilon: f64) -> NoisyCounts {
        NoisyCounts::new(epsilon, 1.0, "one edge").unwrap()
    }

    /// Two passes over three items and one over two of them: 8 releases, of which an item bears
    /// three.
    #[test]
    fn releases_about_different_items_are_in_parallel() {
        const VIEW: Channel = Channel::new(1, Purpose(*b"testview"));
        let cx = context();
        let mut releases = Releases::new(&cx, 1);
        for items in [&[4, 9][..], &[4, 7, 9], &[9, 7, 4]] {
            for item in items {
                releases.release(VIEW, *item, &counts(0.5), &[1.0]).unwrap();
            }
        }
        assert!(
            releases.release(VIEW, 4, &counts(0.5), &[f64::NAN]).is_err(),
            "nothing is spent"
        );
        let Receipt(charges) = releases.receipt();
        let charge = |n| Charge {
            mechanism: 2,
            n,
            law: Law::Laplace { epsilon: 0.5 },
            once: false,
        };
        assert_eq!(charges, [3, 3, 2].map(charge));
    }

    #[test]
    fn what_is_kept_is_the_same_again_and_charged_once() {
        const KEPT: Channel = Channel::kept(0, Purpose(*b"testkept"));
        let cx = context();
        let mut releases = Releases::new(&cx, 0);
        let first = releases.release(KEPT, 4, &counts(1.0), &[1.0]).unwrap();
        let again = releases.release(KEPT, 4, &counts(1.0), &[1.0]).unwrap();
        let other = releases.release(KEPT, 5, &counts(1.0), &[1.0]).unwrap();
        assert_eq!(first, again);
        assert_ne!(first, other);
        let Receipt(charges) = releases.receipt();
        assert_eq!((charges.len(), charges[0].n, charges[0].once), (1, 2, true));
    }

    #[test]
    fn one_release_of_many_items_costs_what_the_dearest_does() {
        const ALL: Channel = Channel::new(1, Purpose(*b"test-all"));
        let cx = context();
        let mut releases = Releases::new(&cx, 2);
        for (item, epsilon) in [(0, 0.25), (1, 0.5), (2, 0.125)] {
            releases.release(ALL, item, &counts(epsilon), &[1.0]).unwrap();
        }
        let Receipt(charges) = releases.receipt_as_one();
        let [charge] = charges[..] else {
            panic!("it is one release")
        };
        assert_eq!((charge.mechanism, charge.n, charge.law.epsilon()), (3, 1, 0.5));
        assert_eq!(Releases::new(&cx, 0).receipt_as_one(), Receipt::default());
    }
}
