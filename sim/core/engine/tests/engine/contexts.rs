//! What the two contexts and a job's context give, and what a run's outcome says of it: cohorts,
//! waits, streams of releases, receipts.

use super::*;
use folkmoot_engine::run::Observer;
use folkmoot_engine::world::ClientSelection;
use folkmoot_metrics::{MessageRow, RoundRow};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// In three rounds a server asks for two releases in a handler and three in a job, and is told what
/// they came to.
struct Notary;

messages! {
    /// To the server.
    enum Told {
        /// Two releases from one stream and one from another, in the order 1, 2, 1; then the round
        /// that the job saw.
        1, "notary", "told" => Told(released: Arc<[u32]>, round: u32),
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Book {
    wait: Gather,
    waits: Vec<TimerId>,
    draws: Vec<u32>,
    sizes: Vec<(u32, u32, usize)>,
    told: Vec<(u32, Vec<u32>, u32)>,
}

const FIRST: Channel = Channel::new(0, Purpose(*b"first   "));
const SECOND: Channel = Channel::new(0, Purpose(*b"second  "));
/// In a job: what each round makes anew, and what is made once.
const ANEW: Channel = Channel::new(0, Purpose(*b"anew    "));
const AGAIN: Channel = Channel::new(3, Purpose(*b"again   "));
const KEPT: Channel = Channel::kept(1, Purpose(*b"kept    "));
const LATER: Channel = Channel::kept(2, Purpose(*b"later   "));

impl Strategy for Notary {
    type Down = Down;
    type Up = Told;
    type Peer = Never;
    type Shard<'a> = ();
    type Work = ();
    type Done = (Receipt, u32);
    type Server = Book;
    type Client = ();
    type Sight = ();

    const COUNTERS: &'static [&'static str] = &["told"];

    fn server(&self, _: &Setup<'_>) -> Result<Book, StrategyError> {
        Ok(Book::default())
    }

    fn client(&self, (): (), _: &Setup<'_>) -> Result<(), StrategyError> {
        Ok(())
    }

    fn on_server(
        &self,
        book: &mut Book,
        event: ServerEvent<Self>,
        cx: &mut ServerContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        let begins = matches!(event, ServerEvent::Start);
        book.draws.push(index(&mut cx.rng(HOP), 1 << 30) as u32);
        let is_over = match event {
            ServerEvent::Message {
                from,
                message: Told::Told(released, round),
            } => {
                book.told.push((from.0, released.to_vec(), round));
                if cx.event_round() != cx.round() {
                    cx.late(cx.event_round());
                    return Ok(());
                }
                book.wait.answered(1)
            }
            ServerEvent::Timer(id) => id == book.wait.timer(),
            _ => false,
        };
        if is_over {
            let (cohort, completed) = (book.wait.asked(), book.wait.came());
            cx.round_done(RoundReport {
                cohort,
                completed,
                dropped: cohort - completed,
                staleness_mean: 0.0,
            });
        } else if !begins {
            return Ok(());
        }
        if cx.round().0 == 3 {
            cx.finish();
            return Ok(());
        }
        book.sizes.push((cx.asked(), cx.needed(), cx.cohort()?.len()));
        book.wait.begin(cx.asked().into(), cx.needed().into(), cx);
        book.waits.push(book.wait.timer());
        cx.cohort()?.into_iter().for_each(|id| cx.send(id, Down::Begin));
        Ok(())
    }

    fn on_client(
        &self,
        (): (),
        (): &mut (),
        event: ClientEvent<Self>,
        cx: &mut ClientContext<'_, Self>,
    ) -> Result<(), StrategyError> {
        match event {
            ClientEvent::Message(Down::Begin) => cx.compute((), 1.0),
            ClientEvent::Done((receipt, round)) => {
                let mut released = [0; 3];
                for (to, channel) in released.iter_mut().zip([FIRST, SECOND, FIRST]) {
                    *to = cx.release(channel, &Toy, &0)?;
                }
                cx.settle(receipt);
                cx.count(0, 2);
                cx.send(Told::Told(Arc::new(released), round));
            }
            _ => {}
        }
        Ok(())
    }

    fn perform(&self, _: Option<()>, (): &(), cx: &JobContext) -> (Receipt, u32) {
        let mut releases = cx.releases(0);
        let mut again = 0;
        releases.release_into(AGAIN, 5, &Toy, &1, &mut again).unwrap();
        let mut rng = cx.round_rng(Purpose(*b"again   "));
        let expected = [(); 2].map(|()| 1 ^ index(&mut rng, 1 << 20) as u32);
        assert_eq!([again, releases.release(AGAIN, 5, &Toy, &1).unwrap()], expected);
        let mut release = |channel| releases.release(channel, 5, &Toy, &1).unwrap();
        release(ANEW);
        release(KEPT);
        if cx.round().0 > 0 {
            release(LATER);
        }
        (releases.receipt(), cx.round().0)
    }

    fn mechanisms(&self) -> Vec<MechanismInfo> {
        ["anew", "kept", "later", "again"]
            .map(|name| MechanismInfo {
                mechanism: name.to_owned(),
                unit: "hop".to_owned(),
                claimed: None,
            })
            .into()
    }
}

/// What the server was told.
struct Reads(Mutex<Book>);

impl Evaluator<Notary> for Reads {
    fn at_end(&self, end: &End<'_, Notary>, _: &mut Sheet) {
        let Book { sizes, told, .. } = end.server;
        // Each wait has a timer of its own, and each event of the server a stream of its own.
        let waits: BTreeSet<TimerId> = end.server.waits.iter().copied().collect();
        let draws: BTreeSet<u32> = end.server.draws.iter().copied().collect();
        assert_eq!(
            (waits.len(), draws.len()),
            (end.server.waits.len(), end.server.draws.len())
        );
        assert_eq!((end.clients.len(), end.clients.is_empty()), (6, false));
        *self.0.lock().unwrap() = Book {
            sizes: sizes.clone(),
            told: told.clone(),
            ..Book::default()
        };
    }
}

fn notarise(cohort: impl ClientSelection + 'static) -> (Book, Outcome) {
    notarise_in(&World {
        cohort: Box::new(cohort),
        ..World::ideal()
    })
}

fn notarise_in(world: &World) -> (Book, Outcome) {
    let reads = Reads(Mutex::default());
    let system = System {
        strategy: &Notary,
        shards: &NoData(6),
        evaluator: &reads,
    };
    let outcome = run(system, world, 9, Options::default(), &mut Unobserved).unwrap();
    (reads.0.into_inner().unwrap(), outcome)
}

/// One stream for each purpose of an event: the second release of a purpose goes on where its first
/// one stopped.
#[test]
fn the_releases_of_an_event_go_on_in_the_stream_of_their_purpose() {
    let (book, _) = notarise(cohort::All {});
    let rounds: Vec<u32> = book.told.iter().map(|(.., round)| *round).collect();
    assert_eq!(rounds, [[0; 6], [1; 6], [2; 6]].concat());
    for (client, released, round) in &book.told {
        // A round brings each client two events, of which this is the second one.
        let handled = 1 + 2 * u64::from(*round);
        let stream = |channel: &[u8; 8]| {
            Streams::new(9).counted(
                Purpose(*channel),
                Party::Client(ClientId(*client)),
                Round(*round),
                handled,
            )
        };
        let (mut first, mut second) = (stream(b"first   "), stream(b"second  "));
        let draw = |rng: &mut SimRng| index(rng, 1 << 20) as u32;
        let expected = [draw(&mut first), draw(&mut second), draw(&mut first)];
        assert_eq!(released[..], expected, "client {client} in round {round}");
    }
}

#[test]
fn what_is_kept_is_charged_once_by_each_client_and_mechanism() {
    let (_, outcome) = notarise(cohort::All {});
    let releases: Vec<(u64, f64)> = outcome
        .tables
        .privacy
        .iter()
        .map(|row| (row.releases, row.epsilon_max_client))
        .collect();
    // Six clients: in each of three rounds three releases of a handler and one of a job; the kept
    // ones but once.
    assert_eq!(releases, [(6 * 3 * 4, 6.0), (6, 0.5), (6, 0.5), (6 * 3 * 2, 3.0)]);
    let readings = outcome
        .tables
        .readings
        .iter()
        .map(|row| (row.metric.as_str(), row.round, row.value, row.n));
    let readings: Vec<(&str, u32, f64, u64)> = readings.collect();
    let by_round = |metric, all: [(f64, u64); 3]| [0, 1, 2].map(|at| (metric, at as u32, all[at].0, all[at].1));
    let expected = [
        &by_round("epsilon_mean_anew", [(2.0, 24), (4.0, 48), (6.0, 72)])[..],
        &by_round("epsilon_mean_kept", [(0.5, 6), (0.5, 6), (0.5, 6)]),
        &by_round("epsilon_mean_later", [(0.0, 0), (0.5, 6), (0.5, 6)])[1..],
        &by_round("epsilon_mean_again", [(1.0, 12), (2.0, 24), (3.0, 36)]),
    ];
    assert_eq!(readings, expected.concat());
    assert_eq!(outcome.counters, [("told", vec![12, 12, 12, 0])]);
    // The start, and 18 requests, results and answers.
    assert_eq!(outcome.handled, 1 + 3 * 18);
    let sent: Vec<(u32, u64, bool)> = outcome
        .tables
        .messages
        .iter()
        .map(|row| (row.round, row.sent, row.materialised))
        .collect();
    assert_eq!(sent, [0, 1, 2, 0, 1, 2].map(|round| (round, 6, true)));
}

/// The share online where rounds end is that of the availability model; where everybody always is,
/// nothing is said.
#[test]
fn absence_is_told_by_round() {
    let attendance = availability::Bernoulli { online_prob: 0.5 };
    let world = World {
        availability: Box::new(attendance),
        deadline: Some(SimSpan::from_millis(50.0)),
        ..World::ideal()
    };
    let (_, outcome) = notarise_in(&world);
    let (mut some_away, mut before) = (false, 0.0);
    let shares = outcome
        .tables
        .readings
        .iter()
        .filter(|row| row.metric == "online_share");
    for (row, ended) in shares.clone().zip(&outcome.tables.rounds) {
        let at = SimTime::ZERO + SimSpan::from_secs(ended.virtual_s);
        let is_online = |client: &u32| {
            let (client, round) = (ClientId(*client), Round(row.round));
            let presence = attendance.presence(client, round, at, &mut PresenceCursor::default(), Streams::new(9));
            presence == Presence::Online
        };
        let online = (0..6).filter(is_online).count();
        some_away |= online < 6;
        assert_eq!((row.value, row.n, row.round), (online as f64 / 6.0, 6, ended.round));
        // Whoever is away does not answer, and the deadline ends the wait.
        assert_eq!((ended.cohort, ended.completed), (6, online as u64));
        assert!(
            online == 6 || (ended.virtual_s - before - 0.05).abs() < 1e-6,
            "{ended:?}"
        );
        before = ended.virtual_s;
    }
    assert!(some_away && shares.count() == 3);
}

#[test]
fn a_server_asks_more_clients_than_it_needs() {
    let spec = cohort::Size { n: 3, over_select: 1.5 };
    let (book, outcome) = notarise(spec);
    assert_eq!(book.sizes, [(5, 3, 5); 3]);
    assert_eq!(outcome.ledger.total().sent, 2 * 15);
    let rows = outcome
        .tables
        .rounds
        .iter()
        .map(|row| (row.cohort, row.completed, row.dropped, row.late));
    // The last round's other two come after the end.
    assert_eq!(rows.collect::<Vec<_>>(), [(5, 3, 0, 2), (5, 3, 0, 2), (5, 3, 2, 0)]);
}

/// How many rounds and rows of messages there are whenever rounds have ended, and which stages
/// have.
#[derive(Default)]
struct Watches(Vec<(usize, usize)>, Vec<String>);

impl Observer for Watches {
    fn rounds_done(
        &mut self,
        rounds: &[RoundRow],
        messages: &mut dyn FnMut() -> Vec<MessageRow>,
    ) -> Result<(), String> {
        self.0.push((rounds.len(), messages().len()));
        Ok(())
    }

    fn stage_done(&mut self, stage: &str) {
        self.1.push(stage.to_owned());
    }
}

#[test]
fn whoever_watches_hears_of_each_round_once_with_its_messages() {
    let system = System {
        strategy: &Notary,
        shards: &NoData(6),
        evaluator: &NoEvaluator,
    };
    let mut watches = Watches::default();
    run(system, &World::ideal(), 9, Options::default(), &mut watches).unwrap();
    // Requests and answers of the rounds so far, and the requests of the next one.
    assert_eq!(watches.0, [(1, 3), (2, 5), (3, 6)]);
    assert_eq!(watches.1, ["clients", "first window", "simulate"]);
}
