use std::collections::HashMap;
use std::sync::Arc;

use ragengine_access::{Access, Dependency, Identity, Principal, Refused, RuleTexts, Rules};

use super::unauthorized::Missing;
use super::*;

fn ann() -> Identity {
    Identity::of(Principal::user("ann").unwrap())
}

fn known(read: &[&str], write: &[&str]) -> Caller {
    let texts = |rules: &[&str]| rules.iter().map(ToString::to_string).collect();
    let rules = Rules::parse(&RuleTexts { read: texts(read), write: texts(write) }).unwrap();
    let access = Access { indexes: HashMap::from([("docs".to_owned(), rules)]), ..Access::default() };
    Caller::known(ann(), Some(Arc::new(access)))
}

#[test]
fn callers_without_a_name_have_the_same_owner() {
    let caller = Caller::known(ann(), None);
    assert_eq!((caller.owner(), caller.is_known(), caller.logged()), ("user:ann", true, Some("user:ann")));
    for (caller, logged) in [(Caller::anonymous(None), None), (Caller::writer(), Some("writeToken"))] {
        assert_eq!((caller.owner(), caller.is_known(), caller.logged()), ("-", false, logged));
    }
}

#[test]
fn reads_need_no_token_and_writes_need_one_if_it_is_set() {
    let missing = Unauthorized { missing: Missing::Everything, source: None };
    let (without_token, no_token_needed) = (Caller::anonymous(Some(missing.clone())), Caller::anonymous(None));
    let denied = || Err(Denied::from(missing.clone()));
    for (caller, action, expected) in [
        (&without_token, Action::Read, Ok(())),
        (&without_token, Action::Write, denied()),
        (&without_token, Action::Copy, denied()),
        (&no_token_needed, Action::Write, Ok(())),
        (&no_token_needed, Action::Copy, Ok(())),
        (&Caller::writer(), Action::Read, Ok(())),
        (&Caller::writer(), Action::Write, Ok(())),
        (&Caller::writer(), Action::Copy, Ok(())),
    ] {
        for index in [None, Some("docs")] {
            assert_eq!(may(caller, action, index), expected, "{caller:?} {action:?}");
        }
        assert_eq!(may_on_some_index(caller, action), expected, "{caller:?} {action:?}");
    }
}

#[test]
fn a_known_caller_may_do_what_the_rules_of_the_index_say() {
    let forbidden = |action, index: &str| Err(Denied::Index { action, index: index.to_owned() });
    let (reader, writer, neither) = (known(&["user:ann"], &[]), known(&[], &["*"]), known(&["user:bob"], &[]));
    for (caller, action, index, expected) in [
        (&reader, Action::Read, Some("docs"), Ok(())),
        (&reader, Action::Write, Some("docs"), forbidden(IndexAction::Write, "docs")),
        (&writer, Action::Read, Some("docs"), Ok(())),
        (&writer, Action::Write, Some("docs"), Ok(())),
        (&neither, Action::Read, Some("docs"), forbidden(IndexAction::Read, "docs")),
        (&reader, Action::Read, Some("other"), forbidden(IndexAction::Read, "other")),
        (&neither, Action::Read, None, Ok(())),
        (&writer, Action::Write, None, Err(Denied::AllIndexes)),
        (&writer, Action::Copy, Some("docs"), Err(Denied::Copy)),
        (&writer, Action::Copy, None, Err(Denied::Copy)),
    ] {
        assert_eq!(may(caller, action, index), expected, "{caller:?} {action:?} {index:?}");
    }
    assert_eq!((sees(&reader, "docs"), sees(&reader, "other")), (true, false));
    assert_eq!(may_on_some_index(&reader, Action::Write), Ok(()), "the index is not known yet");
    assert_eq!(may_on_some_index(&writer, Action::Copy), Err(Denied::Copy));
    let words = Denied::Index { action: IndexAction::Write, index: "n".to_owned() }.to_string();
    assert_eq!(words, "You may not write index 'n'.");
}

#[test]
fn an_unknown_caller_gets_no_further_than_the_open_paths() {
    let refused = Caller::refused(Refused::Unavailable { which: Dependency::Rules });
    for path in ["/", "/docs", "/page/chat.js", "/livez", "/readyz", "/health", "/status", "/metrics", "/openapi.json"]
    {
        assert_eq!(may_enter(&refused, path), Ok(()), "{path}");
    }
    for path in ["/indexes", "/chat", "/v1/models", "/docs/x", "/page", "/metrics/"] {
        assert!(may_enter(&refused, path).is_err(), "{path}");
        assert_eq!(may_enter(&known(&[], &[]), path), Ok(()), "{path}");
    }
    for action in [Action::Read, Action::Write, Action::Copy] {
        assert!(may(&refused, action, None).is_err());
    }
}

#[test]
fn the_audit_log_gets_the_index_that_a_request_names() {
    let audited = Arc::new(Audited::default());
    let caller = known(&["*"], &[]).audited(&audited);
    assert!(sees(&caller, "docs"));
    assert_eq!(audited.index(), None, "a list names no index");
    may(&caller, Action::Read, Some("docs")).unwrap();
    assert_eq!(audited.index().as_deref(), Some("docs"));
}
