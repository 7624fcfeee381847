use regex_syntax::hir::{Capture, Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, LookSet, Repetition};

/// A pattern without look-around that matches whatever `hir` matches. If `hir` looks at the next character anywhere, it
/// has an optional character at its end: the match is in progress until that character is known.
pub(super) fn relaxed(hir: &Hir) -> Hir {
    let relaxed = without_look(hir);
    if looks_ahead(hir.properties().look_set()) { Hir::concat(vec![relaxed, optional_character()]) } else { relaxed }
}

fn without_look(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Look(_) | HirKind::Empty => Hir::empty(),
        HirKind::Literal(_) | HirKind::Class(_) => hir.clone(),
        HirKind::Capture(Capture { sub, .. }) => without_look(sub),
        HirKind::Repetition(repetition) => {
            Hir::repetition(Repetition { sub: Box::new(without_look(&repetition.sub)), ..repetition.clone() })
        }
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(without_look).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(without_look).collect()),
    }
}

/// Whether an assertion among `looks` depends on what follows it.
fn looks_ahead(looks: LookSet) -> bool {
    looks.iter().any(|look| {
        !matches!(look, Look::Start | Look::StartLF | Look::WordStartHalfAscii | Look::WordStartHalfUnicode)
    })
}

fn optional_character() -> Hir {
    let any = ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)]);
    Hir::repetition(Repetition { min: 0, max: Some(1), greedy: true, sub: Box::new(Hir::class(Class::Unicode(any))) })
}
