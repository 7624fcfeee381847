use super::*;

fn heard(what: &str) -> Heard {
    Heard { what: what.to_owned(), ..Heard::default() }
}

fn health(signs: Vec<Sign>) -> Health {
    let health = Health::default();
    for sign in signs {
        health.sees(sign);
    }
    health
}

/// The final state: `unknown`, `up`, or the description of the failure.
fn after(signs: Vec<Sign>) -> String {
    match health(signs).state() {
        State::Unknown => "unknown".to_owned(),
        State::Up => "up".to_owned(),
        State::Down { heard, .. } => heard.to_string(),
    }
}

fn silent() -> Sign {
    Sign::Silent(heard("silent"))
}

fn list_refused() -> Sign {
    Sign::ListRefused(heard("list refused"))
}

fn unauthorized() -> Sign {
    Sign::ChatUnauthorized(heard("unauthorized"))
}

fn forbidden() -> Sign {
    Sign::ChatForbidden(heard("forbidden"))
}

#[test]
fn the_list_decides() {
    assert_eq!(after(vec![]), "unknown");
    assert_eq!(after(vec![Sign::Listed]), "up");
    assert_eq!(after(vec![silent()]), "silent");
    assert_eq!(after(vec![list_refused()]), "list refused");
    assert_eq!(after(vec![silent(), Sign::Listed]), "up");
    assert_eq!(after(vec![list_refused(), Sign::Listed]), "up");
    assert_eq!(after(vec![Sign::Listed, silent(), list_refused()]), "list refused");
}

#[test]
fn no_list_says_nothing_but_that_there_is_an_answer() {
    assert_eq!(after(vec![Sign::NoList]), "unknown");
    assert_eq!(after(vec![silent(), Sign::NoList]), "unknown");
    assert_eq!(after(vec![list_refused(), Sign::NoList]), "unknown");
    assert_eq!(after(vec![unauthorized(), Sign::NoList]), "unauthorized");
    assert_eq!(after(vec![forbidden(), Sign::NoList]), "forbidden");
    assert_eq!(after(vec![Sign::ChatAnswered, Sign::NoList]), "up");
}

#[test]
fn chats_that_fail_decide_nothing_but_a_refused_key_does() {
    assert_eq!(after(vec![Sign::Listed, Sign::ChatFailed, Sign::ChatFailed]), "up");
    assert_eq!(after(vec![Sign::ChatFailed]), "unknown");
    assert_eq!(after(vec![Sign::Listed, unauthorized()]), "unauthorized");
    assert_eq!(after(vec![Sign::Listed, forbidden()]), "forbidden");
    for refused in [unauthorized(), forbidden(), silent(), list_refused()] {
        assert_eq!(after(vec![refused, Sign::ChatAnswered]), "up");
    }
}

#[test]
fn a_list_for_everybody_does_not_make_a_key_good() {
    assert_eq!(after(vec![unauthorized(), Sign::Listed]), "unauthorized");
    // A list that also requires the key is reliable.
    assert_eq!(after(vec![unauthorized(), list_refused(), Sign::Listed]), "up");
    // The 403 may have concerned only that one chat.
    assert_eq!(after(vec![forbidden(), Sign::Listed]), "up");
}

#[test]
fn a_list_that_is_hidden_while_chats_are_answered_is_no_witness() {
    for hidden in [silent(), list_refused()] {
        let answered = [hidden.clone(), Sign::ChatAnswered];
        let and = |more: Vec<Sign>| after(answered.iter().cloned().chain(more).collect());
        assert_eq!(and(vec![hidden.clone()]), "up");
        // The list is trusted again after a chat fails or the list has been read.
        assert_ne!(and(vec![Sign::ChatFailed, hidden.clone()]), "up");
        assert_ne!(and(vec![Sign::Listed, hidden.clone()]), "up");
        assert_ne!(and(vec![unauthorized()]), "up");
    }
}

#[test]
fn the_first_words_of_a_refusal_stay() {
    let again = Sign::ChatUnauthorized(heard("again"));
    assert_eq!(after(vec![unauthorized(), again.clone()]), "unauthorized");
    assert_eq!(after(vec![list_refused(), again]), "list refused");
    assert_eq!(after(vec![silent(), Sign::Silent(heard("otherwise"))]), "otherwise");
}

#[test]
fn only_changes_are_told() {
    let health = Health::default();
    assert_eq!(health.sees(Sign::Listed), None);
    assert_eq!(health.sees(silent()), Some(Change::WentDown(Cause::Silent)));
    assert_eq!(health.sees(silent()), None);
    assert_eq!(health.sees(list_refused()), Some(Change::WentDown(Cause::ListRefused)));
    assert_eq!(health.sees(Sign::Listed), Some(Change::CameBack));
    assert_eq!(health.sees(Sign::ChatAnswered), None);
    assert_eq!(health.sees(unauthorized()), Some(Change::WentDown(Cause::ChatUnauthorized)));
    assert_eq!(health.sees(Sign::ChatAnswered), Some(Change::CameBack));
}
