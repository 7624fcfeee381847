use ragengine_guardrails::Outcome;

use crate::support::{one, policy};

#[test]
fn two_choices_do_not_see_each_other() {
    let policy = policy(&one("type: ban_substrings, substrings: [bad], match_type: str, action: block"));
    let [mut first, mut second] = [policy.stream(), policy.stream()];
    let mut shown = [String::new(), String::new()];
    shown[0].push_str(&first.push("ba"));
    shown[1].push_str(&second.push("d"));
    shown[0].push_str(&first.finish());
    shown[1].push_str(&second.finish());
    assert_eq!(shown, ["ba", "d"]);
    assert_eq!((first.outcome(), second.outcome()), (Outcome::Passed, Outcome::Passed));
}

#[test]
fn a_block_of_one_choice_leaves_the_other() {
    let policy = policy(&one("type: ban_substrings, substrings: [bad], match_type: str, action: block"));
    let [mut first, mut second] = [policy.stream(), policy.stream()];
    assert_eq!(first.push("bad. "), "<stop>");
    assert_eq!(second.push("good "), "good ");
    assert_eq!((first.outcome(), second.outcome()), (Outcome::Blocked, Outcome::Passed));
}

#[test]
fn a_stream_outlives_its_policy_and_moves_between_threads() {
    let mut stream = policy(&one("type: ban_substrings, substrings: [bad]")).stream();
    let shown = std::thread::spawn(move || stream.push("bad idea ") + &stream.finish()).join().unwrap();
    assert_eq!(shown, "[REDACTED] idea ");
}

#[test]
fn many_streams_at_once() {
    let policy = policy(&one("type: secrets"));
    let mut streams: Vec<_> = (0..50).map(|_| policy.stream()).collect();
    for piece in ["key AKIA1234", "567890AB", "CDEF. Or"] {
        for stream in &mut streams {
            assert!(!stream.push(piece).contains("AKIA"));
        }
    }
    assert!(streams.iter().all(|stream| stream.outcome() == Outcome::Redacted));
}
