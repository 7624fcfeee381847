use std::net::Ipv4Addr;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const MAX: usize = 4;
const MAX_PER_ADDRESS: usize = 2;

fn address(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
}

/// An order, with a clock.
struct TimedOrder {
    order: Order<u64>,
    now: Instant,
}

impl TimedOrder {
    fn new(max: usize) -> Self {
        Self { order: Order::new(max, 0), now: Instant::now() }
    }

    fn later(&mut self) -> Instant {
        self.now += Duration::from_millis(1);
        self.now
    }

    /// Opens a connection, whose handle is its number.
    fn open(&mut self) -> Result<Id, NoPlace> {
        let (now, number) = (self.later(), self.order.next);
        self.order.open(address(1), now, number)
    }

    /// Serves a whole request.
    fn serve(&mut self, id: Id) {
        self.order.begin(id);
        self.order.has_to_send(id);
        let now = self.later();
        self.order.end(id, now);
        self.order.has_sent(id, now);
    }
}

#[test]
fn the_longest_idle_connection_makes_room() {
    let mut timed = TimedOrder::new(3);
    let ids = [(); 3].map(|()| timed.open().unwrap());
    // The first has had a request since then, and the third has one.
    timed.serve(ids[0]);
    timed.order.begin(ids[2]);
    assert_eq!(timed.open(), Err(NoPlace::AtAll));
    assert_eq!(timed.order.make_room(), Some(1));
    // It is closing, so no other connection has to close.
    assert_eq!(timed.order.make_room(), None);
    timed.order.remove(ids[1]);
    let fourth = timed.open().unwrap();
    assert_eq!(timed.order.make_room(), Some(0));
    // It has just started a request, so another one has to close.
    timed.order.begin(ids[0]);
    assert_eq!(timed.order.make_room(), Some(3));
    timed.order.remove(fourth);
    timed.open().unwrap();
    timed.order.make_room();
    assert_eq!(timed.order.make_room(), None, "no connection is idle");
}

#[test]
fn a_request_lasts_until_its_reply_has_been_sent() {
    let mut timed = TimedOrder::new(1);
    let id = timed.open().unwrap();
    timed.order.begin(id);
    let now = timed.now;
    timed.order.has_sent(id, now);
    assert!(timed.order.is_busy(id), "only a part of the reply is sent");
    timed.order.has_to_send(id);
    timed.order.end(id, now);
    assert!(timed.order.is_busy(id), "the end of the reply is not sent");
    timed.order.has_sent(id, now);
    assert!(!timed.order.is_busy(id));
}

#[test]
fn a_request_lasts_until_its_body_is_read() {
    let mut timed = TimedOrder::new(1);
    let (id, now) = (timed.open().unwrap(), timed.now);
    timed.order.begin(id);
    timed.order.has_to_send(id);
    timed.order.has_sent(id, now);
    assert!(timed.order.is_busy(id));
    timed.order.end(id, now);
    assert!(!timed.order.is_busy(id));
}

#[test]
fn an_ipv6_network_counts_as_one_address() {
    let mut order = Order::new(100, 1);
    let mut opens = |address: &str| order.open(address.parse().unwrap(), Instant::now(), ()).is_ok();
    for (address, expected) in [
        ("10.0.0.1", true),
        ("10.0.0.1", false),
        ("::ffff:10.0.0.1", false),
        ("10.0.0.2", true),
        ("fd00:0:0:1::1", true),
        ("fd00:0:0:1:9::2", false),
        ("fd00:0:0:2::1", true),
    ] {
        assert_eq!(opens(address), expected, "{address}");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Open(u8),
    Begin(usize),
    Serve(usize),
    Remove(usize),
    MakeRoom,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0_u8..4).prop_map(Step::Open),
        2 => (0_usize..8).prop_map(Step::Begin),
        2 => (0_usize..8).prop_map(Step::Serve),
        1 => (0_usize..8).prop_map(Step::Remove),
        2 => Just(Step::MakeRoom),
    ]
}

/// A connection in the model.
#[derive(Debug, Clone, Copy)]
struct Modelled {
    id: Id,
    address: u8,
    idle_since: Option<Instant>,
    requests: usize,
    is_closing: bool,
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_behaves_like_a_simple_list(steps in prop::collection::vec(step(), 1..80)) {
        let mut order: Order<u64> = Order::new(MAX, MAX_PER_ADDRESS);
        let mut model: Vec<Modelled> = Vec::new();
        let mut now = Instant::now();
        for step in steps {
            now += Duration::from_millis(1);
            match step {
                Step::Open(last) => {
                    let expected = if model.iter().filter(|known| known.address == last).count() >= MAX_PER_ADDRESS {
                        Err(NoPlace::OfThisAddress)
                    } else if model.len() >= MAX {
                        Err(NoPlace::AtAll)
                    } else {
                        Ok(Id(order.next))
                    };
                    let (number, opened) = (order.next, order.open(address(last), now, order.next));
                    prop_assert_eq!(opened, expected);
                    if opened.is_ok() {
                        model.push(Modelled {
                            id: Id(number), address: last, idle_since: Some(now), requests: 0, is_closing: false,
                        });
                    }
                }
                Step::Begin(at) => {
                    let Some(known) = model.get_mut(at) else { continue };
                    order.begin(known.id);
                    (known.idle_since, known.is_closing) = (None, false);
                    known.requests += 1;
                }
                Step::Serve(at) => {
                    let Some(known) = model.get_mut(at).filter(|known| known.requests > 0) else { continue };
                    order.end(known.id, now);
                    known.requests -= 1;
                    known.idle_since = (known.requests == 0).then_some(now);
                }
                Step::Remove(at) => {
                    if at < model.len() {
                        order.remove(model.remove(at).id);
                    }
                }
                Step::MakeRoom => {
                    let closing = model.iter().filter(|known| known.is_closing).count();
                    let is_wanted = model.len() - closing >= MAX;
                    let longest = model.iter_mut().filter(|known| known.idle_since.is_some() && is_wanted)
                        .min_by_key(|known| known.idle_since);
                    prop_assert_eq!(order.make_room(), longest.as_ref().map(|known| known.id.0));
                    if let Some(known) = longest {
                        (known.idle_since, known.is_closing) = (None, true);
                    }
                }
            }
            prop_assert_eq!(order.is_empty(), model.is_empty());
            for known in &model {
                prop_assert_eq!(order.is_busy(known.id), known.requests > 0);
            }
        }
    }
}
