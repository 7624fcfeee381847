use proptest::prelude::*;

use super::*;

fn message(id: u64, bytes: usize) -> Message {
    Message { name: "query_submitted", routing_key: "a", id: id.to_string(), headers: vec![], body: vec![b'x'; bytes] }
}

fn buffer(events: u64) -> Buffer {
    let mut buffer = Buffer::default();
    for id in 0..events {
        assert_eq!(buffer.push(message(id, 1)), []);
    }
    buffer
}

fn ids(messages: &[Arc<Message>]) -> Vec<u64> {
    messages.iter().map(|message| message.id.parse().unwrap()).collect()
}

/// The ids of all that may be sent now.
fn send(buffer: &mut Buffer) -> Vec<u64> {
    let sent: Vec<Arc<Message>> = std::iter::from_fn(|| buffer.send_next().map(|(_, message)| message)).collect();
    ids(&sent)
}

#[test]
fn events_leave_when_they_are_confirmed() {
    let mut buffer = buffer(3);
    assert_eq!((send(&mut buffer), buffer.len()), (vec![0, 1, 2], 3));
    assert_eq!(buffer.confirm(1).unwrap().id, "1");
    assert_eq!((buffer.confirm(1), buffer.len()), (None, 2));
    assert_eq!(ids(&buffer.send_again()), [0, 2]);
    assert_eq!(send(&mut buffer), [0, 2]);
    assert_eq!(ids(&buffer.drain()), [0, 2]);
    assert_eq!((buffer.len(), buffer.bytes), (0, 0));
}

#[test]
fn the_oldest_are_dropped_when_there_are_too_many() {
    let most = MOST_EVENTS as u64;
    let mut buffer = buffer(most);
    assert_eq!(buffer.send_next().unwrap().0, 0);
    assert_eq!(ids(&buffer.push(message(most, 1))), [0], "also those that are sent");
    assert_eq!(buffer.confirm(0), None);
    assert_eq!(buffer.len(), MOST_EVENTS);
}

#[test]
fn the_oldest_are_dropped_when_they_are_too_large() {
    let mut buffer = Buffer::default();
    let large = LARGEST_BYTES - 1_000;
    for id in 0..4 {
        assert_eq!(buffer.push(message(id, large)), []);
    }
    assert_eq!(ids(&buffer.push(message(4, large))), [0]);
    assert_eq!(ids(&buffer.push(message(5, LARGEST_BYTES))), [5], "too large on its own");
    assert_eq!(buffer.len(), 4);
}

#[test]
fn a_refused_event_is_sent_alone_until_it_is_given_up() {
    let mut buffer = buffer(3);
    assert_eq!(send(&mut buffer), [0, 1, 2]);
    assert_eq!(ids(&buffer.refuse(1).again), [1]);
    assert_eq!(send(&mut buffer), [0_u64; 0], "others are on their way");
    drop((buffer.confirm(0), buffer.confirm(2)));
    buffer.push(message(3, 1));
    for _ in 2..MOST_NEGATIVES {
        assert_eq!(send(&mut buffer), [1]);
        assert_eq!(ids(&buffer.refuse(1).again), [1]);
    }
    assert_eq!(send(&mut buffer), [1]);
    assert_eq!(ids(&buffer.refuse(1).given_up), [1]);
    assert_eq!(send(&mut buffer), [3]);
    assert_eq!(buffer.refuse(1), Refused::default());
}

#[test]
fn one_event_that_ends_connections_does_not_take_others_with_it() {
    let mut buffer = buffer(4);
    let mut arrived = Vec::new();
    for _ in 0..100 {
        let sent = send(&mut buffer);
        if sent.contains(&2) {
            // The server closes the connection. The others have not been confirmed yet.
            assert!(sent == [0, 1, 2, 3] || sent == [2], "{sent:?}");
            for message in buffer.refuse_sent().given_up {
                assert_eq!(message.id, "2");
            }
        } else {
            arrived.extend(sent.iter().copied().inspect(|number| drop(buffer.confirm(*number))));
        }
    }
    assert_eq!((arrived, buffer.len()), (vec![0, 1, 3], 0));
}

proptest! {
    /// No event is lost or confirmed twice, and the bytes are those of the events.
    #[test]
    fn every_event_has_one_end(steps in prop::collection::vec((0_u8..6, 0_u64..20), 0..200)) {
        let mut buffer = Buffer::default();
        let (mut pushed, mut ended) = (0, 0);
        for (step, number) in steps {
            match step {
                0 => {
                    ended += buffer.push(message(pushed, 1)).len();
                    pushed += 1;
                }
                1 => drop(buffer.send_next()),
                2 => ended += usize::from(buffer.confirm(number).is_some()),
                3 => ended += buffer.refuse(number).given_up.len(),
                4 => ended += buffer.refuse_sent().given_up.len(),
                _ => drop(buffer.send_again()),
            }
            prop_assert_eq!(usize::try_from(pushed).unwrap(), ended + buffer.len());
            let bytes: usize = buffer.waiting.values().map(|waiting| waiting.message.bytes()).sum();
            prop_assert_eq!(buffer.bytes, bytes);
        }
    }
}
