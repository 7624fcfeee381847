use ragengine_settings::VectorIndexKind;

use super::*;

fn model(fingerprint: &str) -> Model {
    Model { name: fingerprint.into(), fingerprint: fingerprint.into(), dimensions: 2, max_passage_tokens: 256 }
}

fn record(fingerprint: &str, max_tokens: u32) -> IndexRecord {
    IndexRecord {
        model: fingerprint.into(),
        embedding_fingerprint: fingerprint.into(),
        dimensions: 2,
        max_tokens,
        overlap_tokens: 10,
        vector_index: VectorIndexKind::Flat,
    }
}

fn plan(target: IndexRecord, phase: Phase) -> Plan {
    Plan { target, phase, started_at: String::new() }
}

const BUILDING: Phase = Phase::Building { folder: 7 };

#[test]
fn a_start_builds_only_what_the_model_requires() {
    let serving = record("old", 100);
    let large = record("old", 400);
    for (what, serving, plan, model, expected) in [
        ("the same", &serving, None, model("old"), Decision::Nothing),
        (
            "the same model under another name",
            &serving,
            None,
            Model { name: "moved".into(), ..model("old") },
            Decision::Nothing,
        ),
        ("a lower limit of the same model", &large, None, model("old"), Decision::Nothing),
        ("another model", &serving, None, model("new"), Decision::Begin(record("new", 100))),
        (
            "another width",
            &serving,
            None,
            Model { dimensions: 3, ..model("old") },
            Decision::Begin(IndexRecord { dimensions: 3, ..serving.clone() }),
        ),
        ("a model with a lower limit", &large, None, model("new"), Decision::Begin(record("new", 256))),
        ("half-built", &serving, Some(plan(record("new", 100), BUILDING)), model("new"), Decision::Resume),
        ("half-built otherwise cut", &serving, Some(plan(record("old", 50), BUILDING)), model("old"), Decision::Resume),
        (
            "half-built, and yet another model",
            &serving,
            Some(plan(record("new", 50), BUILDING)),
            model("third"),
            Decision::Begin(record("third", 50)),
        ),
        (
            "half-built, and the old model again",
            &serving,
            Some(plan(record("new", 100), BUILDING)),
            model("old"),
            Decision::Drop,
        ),
        ("given up", &serving, Some(plan(record("new", 100), Phase::Abandoned)), model("new"), Decision::Nothing),
        (
            "given up, and another model",
            &serving,
            Some(plan(record("new", 100), Phase::Abandoned)),
            model("third"),
            Decision::Begin(record("third", 100)),
        ),
        (
            "given up, and the old model again",
            &serving,
            Some(plan(record("new", 100), Phase::Abandoned)),
            model("old"),
            Decision::Drop,
        ),
    ] {
        assert_eq!(decide_at_start(serving, plan.as_ref(), &model), expected, "{what}");
    }
}

#[test]
fn an_abandoned_generation_is_resumed_on_request() {
    let serving = record("old", 100);
    let given_up = |target| plan(target, Phase::Abandoned);
    for (what, plan, model, expected) in [
        ("nothing", None, model("old"), Decision::Nothing),
        ("it is being built", Some(plan(record("old", 50), BUILDING)), model("old"), Decision::Nothing),
        ("what a user wanted", Some(given_up(record("old", 50))), model("old"), Decision::Begin(record("old", 50))),
        ("and another model", Some(given_up(record("new", 50))), model("new"), Decision::Begin(record("new", 50))),
        ("of a model that is gone", Some(given_up(record("third", 50))), model("old"), Decision::Nothing),
        ("what the model needs", None, model("new"), Decision::Begin(record("new", 100))),
    ] {
        assert_eq!(decide_on_resume(&serving, plan.as_ref(), &model), expected, "{what}");
    }
    // A restart does not resume it.
    for (target, with) in [(record("old", 50), "old"), (record("new", 50), "new")] {
        assert_eq!(decide_at_start(&serving, Some(&given_up(target)), &model(with)), Decision::Nothing);
    }
}

#[test]
fn only_requested_settings_change() {
    let serving = record("old", 100);
    let longest = |max_tokens| RequestedSettings { max_tokens: Some(max_tokens), ..RequestedSettings::default() };
    let sq8 = RequestedSettings { vector_index: Some(VectorIndexKind::Sq8), ..RequestedSettings::default() };
    let with_sq8 = |record: IndexRecord| IndexRecord { vector_index: VectorIndexKind::Sq8, ..record };
    let (building, abandoned) = (plan(record("old", 50), BUILDING), plan(record("new", 100), Phase::Abandoned));
    for (what, plan, model, wanted, expected) in [
        ("nothing", None, model("old"), RequestedSettings::default(), Decision::Nothing),
        ("what is", None, model("old"), longest(100), Decision::Nothing),
        ("other chunks", None, model("old"), longest(50), Decision::Begin(record("old", 50))),
        ("more than the model accepts", None, model("old"), longest(1000), Decision::Begin(record("old", 256))),
        (
            "less than the overlap",
            None,
            model("old"),
            longest(16),
            Decision::Begin(IndexRecord { overlap_tokens: 8, ..record("old", 16) }),
        ),
        ("another kind", None, model("old"), sq8, Decision::Begin(with_sq8(record("old", 100)))),
        ("what is being built", Some(&building), model("old"), longest(50), Decision::Nothing),
        ("nothing while it is built", Some(&building), model("old"), RequestedSettings::default(), Decision::Nothing),
        ("more than is being built", Some(&building), model("old"), sq8, Decision::Begin(with_sq8(record("old", 50)))),
        ("what serves", Some(&building), model("old"), longest(100), Decision::Drop),
        ("what serves, the model given up", Some(&abandoned), model("new"), longest(100), Decision::Nothing),
        (
            "other chunks, the model given up",
            Some(&abandoned),
            model("new"),
            longest(50),
            Decision::Begin(record("new", 50)),
        ),
    ] {
        assert_eq!(decide_on_request(&serving, plan, &model, wanted), expected, "{what}");
    }
}

#[test]
fn sizes_above_the_limit_of_the_model_mean_the_same() {
    // The model accepts 256.
    let (serving, abandoned) = (record("old", 400), plan(record("new", 256), Phase::Abandoned));
    let begin = |name, max_tokens| Decision::Begin(record(name, max_tokens));
    for (plan, model, max_tokens, expected) in [
        (Some(&abandoned), "new", None, Decision::Nothing),
        (Some(&abandoned), "new", Some(400), Decision::Nothing),
        (Some(&abandoned), "new", Some(1000), Decision::Nothing),
        (Some(&abandoned), "new", Some(256), begin("new", 256)),
        (Some(&abandoned), "new", Some(50), begin("new", 50)),
        (None, "old", None, Decision::Nothing),
        (None, "old", Some(400), Decision::Nothing),
        (None, "old", Some(256), begin("old", 256)),
    ] {
        let wanted = RequestedSettings { max_tokens, ..RequestedSettings::default() };
        let decided = decide_on_request(&serving, plan, &self::model(model), wanted);
        assert_eq!(decided, expected, "{plan:?} {model} {max_tokens:?}");
    }
}

#[test]
fn a_generation_has_one_builder() {
    let building = Building::new(0);
    assert_eq!([building.begin(), building.begin()], [true, false]);
}
