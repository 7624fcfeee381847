use super::*;

mod linear;
mod properties;

/// Five sources. The second and the third are one page of one document, the fourth has no page.
const SOURCES: [CitedSource<'_>; 5] = [
    CitedSource { title: "General Regulations", page: Some(Page::Number(15)) },
    CitedSource { title: "Assessment Regulations", page: Some(Page::Number(8)) },
    CitedSource { title: "Assessment Regulations", page: Some(Page::Number(8)) },
    CitedSource { title: "Assessment Regulations", page: None },
    CitedSource { title: "General Regulations", page: Some(Page::Number(16)) },
];

fn cited(answer: &str) -> (String, Vec<usize>) {
    let Cited { text, citations, .. } = cite(answer, &SOURCES, &CitationRules::default());
    (text, citations)
}

/// The text of an answer after a sentence that cites the first source.
fn after_first(answer: &str) -> String {
    let (text, _) = cited(&format!("So [1]. {answer}"));
    text.strip_prefix("So [1]. ").unwrap_or(&text).to_owned()
}

#[test]
fn an_answer_that_cites_its_sources_in_order_is_unchanged() {
    let answer = "According to the MARP General Regulations [1], students must complete examinations as scheduled. If \
        illness occurs during exams, contact your department immediately [2].";
    let expected = Cited { text: answer.to_owned(), citations: vec![0, 1], outcome: Outcome::Cited };
    assert_eq!(cite(answer, &SOURCES, &CitationRules::default()), expected);
    // The same answer from the last two sources.
    let written = answer.replace("[2]", "[4]").replace("[1]", "[5]");
    assert_eq!(cite(&written, &SOURCES, &CitationRules::default()), Cited { citations: vec![4, 3], ..expected });
}

#[test]
fn numbers_follow_appearance_and_unused_sources_are_dropped() {
    for (answer, text, citations) in [
        ("A [5]. B [1]. C [5].", "A [1]. B [2]. C [1].", vec![4, 0]),
        ("A [4, 1].", "A [1, 2].", vec![3, 0]),
        ("A [4][1].", "A [1][2].", vec![3, 0]),
        ("A [ 4 ,1 ]; B [4,\n1].", "A [1, 2]; B [1, 2].", vec![3, 0]),
        // The first in the answer stands for all with its title and page.
        ("A [3]. B [2].", "A [1]. B [1].", vec![2]),
        ("A [2]. B [3]. C [1].", "A [1]. B [1]. C [2].", vec![1, 0]),
        // No number twice in a marker, nor in markers side by side.
        ("A [2, 3, 1, 2].", "A [1, 2].", vec![1, 0]),
        ("A [2][3] [1][2].", "A [1] [2].", vec![1, 0]),
        ("A [2], [3].", "A [1], [1].", vec![1]),
        // Full-width brackets, commas and digits.
        ("A\u{3010}5\u{3011}. B \u{ff3b}1\u{ff0c}\u{ff15}\u{ff3d}.", "A[1]. B [2, 1].", vec![4, 0]),
        ("\u{96e8}\u{3067}\u{3059}[5]\u{3002}", "\u{96e8}\u{3067}\u{3059}[1]\u{3002}", vec![4]),
    ] {
        assert_eq!(cited(answer), (text.to_owned(), citations), "{answer:?}");
    }
}

#[test]
fn other_brackets_are_not_markers() {
    for text in [
        // Code.
        "`[5]` and ``a ` [5]`` and `` [5]\n[3] ``.",
        "\n\n```\nx [5]\n``\n[3]\n````\n",
        "\n\n> ~~~ a`b\n> x [5]\n> ~~~\n",
        "\n\n1. ```sh\n   x [5]\n   ```\n",
        "\n\n```\nx [5]",
        // Indices in code.
        "row_values[5], m_n[0][3], _a_b_[5], values[5] = 3, values[5].name, values[5]._x, values[0].",
        // Numbers of no source directly after a word, a bracket or markup.
        "values[9], f(x)[9], a_[9], in full[9], 2020[9].",
        // Links and their definitions with numbers of no source, also if there are brackets in the address.
        "[9](https://e/h), [9](<a b>), [9]( /a \"b\"), [9](), [9](/a_(b)_c).",
        "[9](/(b)/[5]), [9](     /[5]), ![9](/[5])",
        "[9](<a [5]>), [9](<a> 'title'), [9]( <>).",
        "\n\n[9]: https://e/h\n  [8]: /h 'title'\n[9]: /[5]\r\n[9]: <a [5]>\n",
        "\n\n[9]: https://e/h",
        "\n\n[9]: <a b>",
        "[text][9] and [a](b)[9].",
        // Ranges and lists of numbers that are not all sources, or no ranges.
        "[1-9], [0-3], [5; 9], [9 & 5], [5-3], [1-2-3], [-5], [5-], [1-99999999999999999999999].",
        // Escaped, empty, and other text.
        "\\[5], \\\u{3010}5\u{3011}, [], [ ], [x], [5, x], [5,], [,5], [^5], [5, [x], [5\u{3011}.",
        "[5,\n\n3], \u{ff3b}x\u{ff3d}.",
    ] {
        assert_eq!(after_first(text), text, "{text:?}");
    }
}

#[test]
fn markers_are_found_beside_what_they_are_not() {
    for (answer, text) in [
        ("\\\\[5]", "\\\\[2]"),
        ("**Free**[5] \"x\"[5]", "**Free**[2] \"x\"[2]"),
        // Directly after a word, a bracket or markup.
        ("Due in May[5]. In 2020[5], A380[5]; gr\u{fc}n[5]", "Due in May[2]. In 2020[2], A380[2]; gr\u{fc}n[2]"),
        ("_in full_[5] (free)[5] values[5]= x", "_in full_[2] (free)[2] values[2]= x"),
        ("[text][5] and [a](b)[5].", "[text][2] and [a](b)[2]."),
        ("a_b[5, 3]", "a_b[2, 3]"),
        // Ranges and other lists.
        ("[4-5] [4 \u{2013} 5].", "[2, 3]."),
        ("May[4-5]. [5; 4] [4 & 5]", "May[2, 3]. [3, 2]"),
        ("[3-5, 1]", "[2, 3, 4, 1]"),
        // A link and its definition have the new number, also if the same number is before it.
        ("[5](https://e/h), [5](<a b>), [5]( /a \"b\")", "[2](https://e/h), [2](<a b>), [2]( /a \"b\")"),
        ("[5] [5](/(b)/[5]) ![5](/[5])", "[2] [2](/(b)/[5]) ![2](/[5])"),
        ("See [5].\n\n[5]: https://e/h\n  [5]: <a [5]>\n", "See [2].\n\n[2]: https://e/h\n  [2]: <a [5]>\n"),
        ("`code`[5] `code` [5]", "`code`[2] `code` [2]"),
        ("[5] (see there), [5](see there)", "[2] (see there), [2](see there)"),
        ("[5]: see there", "[2]: see there"),
        ("A:\n[5]: see there", "A:\n[2]: see there"),
        // Only at the beginning of a line, a colon makes a definition, and only square brackets make a link.
        ("A:\nSee [5]: /u", "A:\nSee [2]: /u"),
        ("A:\n[1] [5]: /u", "A:\n[1] [2]: /u"),
        ("A:\n\u{3010}5\u{3011}: /u", "A:\n[2]: /u"),
        ("\u{3010}5\u{3011}(/u)", "[2](/u)"),
        ("[5](/`) [5] `", "[2](/`) [2] `"),
        ("[5](<see> there), [5](<a\n>), [5](<a<b>)", "[2](<see> there), [2](<a\n>), [2](<a<b>)"),
        ("A:\n[5]:\nSee", "A:\n[2]:\nSee"),
        ("A:\n[5]: <a> b", "A:\n[2]: <a> b"),
        ("[5](/u", "[2](/u"),
        ("[5](<u", "[2](<u"),
        ("[x [5]](/u) ![5]", "[x [2]](/u) ![2]"),
        // Backticks that are not closed in the paragraph begin no code.
        ("it`s [5]\n\nit`s", "it`s [2]\n\nit`s"),
        ("- it`s [5]\n- it`s", "- it`s [2]\n- it`s"),
        ("it``s `[5]", "it``s `[2]"),
        ("\\`[5]`", "\\`[2]`"),
        ("\n``` a`\n[5]", "\n``` a`\n[2]"),
        // A block of code ends at its fence.
        ("\n```\nx\n``` \n[5]", "\n```\nx\n``` \n[2]"),
        ("\n~~~\n```\n~~~\n[5]", "\n~~~\n```\n~~~\n[2]"),
    ] {
        assert_eq!(after_first(answer), text, "{answer:?}");
    }
}

#[test]
fn an_address_is_one_without_its_end_if_it_is_long() {
    for (bytes, is_link) in [(256, false), (257, true)] {
        let answer = format!("[9](/{}", "a".repeat(bytes - "(/".len()));
        assert_eq!(after_first(&answer).starts_with("[9]"), is_link, "{bytes}");
    }
    let long = "a".repeat(600);
    assert_eq!(after_first(&format!("[5](/{long}) [5]")), format!("[2](/{long}) [2]"));
    let mut stream = CitationStream::new(&SOURCES, CitationRules::default());
    assert_eq!(stream.push("A [1]. B"), "A [1]. B");
    assert_eq!(stream.push(&format!(" [5](/{}", &long[..300])), "");
    assert_eq!(stream.push(")"), format!(" [2](/{})", &long[..300]));
}

#[test]
fn dangling_numbers_vanish_with_their_gaps() {
    for (answer, text) in [
        ("It is free [9].", "It is free."),
        ("It is free [0, 9] now.", "It is free now."),
        ("It is free [9]now.", "It is free now."),
        ("It is free. [9] Now.", "It is free. Now."),
        ("It is free.[9] Now.", "It is free. Now."),
        ("It is free  [9]  now.", "It is free now."),
        ("It is [9] , so [9] [8][7] , free", "It is, so, free"),
        ("It is [9] [1].", "It is [1]."),
        ("It is [9][1, 9].", "It is [1]."),
        ("values [99999999999999999999999] x", "values x"),
        ("It is free [9]\n[9] Now\n  [9] x", "It is free\nNow\n  x"),
        ("- [9] Title", "- Title"),
        ("It is free (see [9]).", "It is free (see)."),
        ("It is free ([9]) now ( [9] ). ([9]) ([1])", "It is free now. ([1])"),
        ("It is free ([9] x) ([9][1])", "It is free (x) ([1])"),
        ("f([9]) ([9], x)", "f() (, x)"),
        ("It is free.[9]Now.", "It is free.Now."),
        ("The end [9]", "The end"),
        ("The end ([9]", "The end ("),
        ("The end ( ", "The end ( "),
        ("a  b , c", "a  b , c"),
    ] {
        assert_eq!(after_first(answer), text, "{answer:?}");
    }
}

#[test]
fn an_answer_without_citations_is_rejected() {
    let rules = CitationRules { fallback: "None.".to_owned(), ..CitationRules::default() };
    for answer in ["", "It is free.", "It is free [9].", "`[1]`", "row_values[1]", "[9](/u)", &" ".repeat(5000)] {
        let rejected = Cited { text: "None.".to_owned(), citations: vec![], outcome: Outcome::Rejected };
        assert_eq!(cite(answer, &SOURCES, &rules), rejected, "{answer:?}");
    }
    assert_eq!(cite("It is free [1].", &[], &rules).outcome, Outcome::Rejected);
    let late = |bytes: usize| cite(&("a".repeat(bytes) + " [1]"), &SOURCES, &rules).outcome;
    assert_eq!(late(MAX_UNCITED_BYTES), Outcome::Cited);
    assert_eq!(late(MAX_UNCITED_BYTES + 1), Outcome::Rejected);
}

#[test]
fn the_first_sentence_tells_that_the_sources_do_not_suffice() {
    for (answer, text) in [
        ("The documents do not say.", "The documents do not say."),
        ("The documents do not say this [1]. It is [2].", "The documents do not say this. It is."),
        ("The documents do not say this.[1] See [2, 9] too", "The documents do not say this. See too"),
        ("The handbook [1] DOES  NOT\tsay it ([9]).\n\n- a [1]", "The handbook DOES  NOT\tsay it.\n\n- a"),
        ("\n\nThere is **not enough information**.", "\n\nThere is **not enough information**."),
        ("They do not [1] say", "They do not say"),
    ] {
        let expected = Cited { text: text.to_owned(), citations: vec![], outcome: Outcome::Insufficient };
        assert_eq!(cite(answer, &SOURCES, &CitationRules::default()), expected, "{answer:?}");
    }
    for answer in [
        "It is free [1]. The rest they do not say.",
        "It is free [1]\nThey do not say more.",
        "They undo not say [1].",
        "They do not saying [1].",
        "They do [1] not, say.",
    ] {
        assert_eq!(cite(answer, &SOURCES, &CitationRules::default()).outcome, Outcome::Cited, "{answer:?}");
    }
    // Markers count as eight bytes for each number, of the 1024 bytes that are looked at.
    for (markers, outcome) in [(120, Outcome::Insufficient), (128, Outcome::Cited)] {
        let answer = format!("They {} do not say.", "[1]".repeat(markers));
        assert_eq!(cite(&answer, &SOURCES, &CitationRules::default()).outcome, outcome, "{markers}");
    }
    let rules =
        CitationRules { insufficient_phrases: vec!["doesn't  Know".to_owned(), " ".to_owned()], ..Default::default() };
    assert_eq!(cite("It doesn\u{2019}t know [1].", &SOURCES, &rules).outcome, Outcome::Insufficient);
    assert_eq!(cite("It does not say [1].", &SOURCES, &rules).outcome, Outcome::Cited);
}

#[test]
fn text_is_sent_as_soon_as_it_is_certain() {
    for pieces in [
        // Nothing before the first valid marker, and the end of the first sentence.
        vec![("It is ", ""), ("free [9]", ""), (" [1", ""), ("].", ""), (" A", "It is free [1]. A")],
        // A marker is held back until it is whole, and not a link.
        vec![
            ("A [1]. B", "A [1]. B"),
            (" c", " c"),
            (" ", ""),
            ("[", ""),
            ("2", ""),
            ("]", ""),
            (".", " [2]."),
            ("[9]", ""),
            (" d", " d"),
            (" [2](", ""),
            ("/u", ""),
            (")", " [2](/u)"),
        ],
        // One directly after a word is held back until it is not an index in code.
        vec![("A [1]. May", "A [1]. May"), ("[2]", ""), (".", ""), (" B", "[2]. B")],
        vec![("A [1]. X", "A [1]. X"), ("[2]", ""), (" ", ""), ("=", ""), (" 3", "[2] = 3")],
        vec![("A [1]. X", "A [1]. X"), ("[2]", ""), (" =", ""), ("3", "[2] =3")],
        vec![("A [1]. B", "A [1]. B"), (" \u{3010}2\u{3011}", " [2]")],
        vec![("A [1]. B\n", "A [1]. B\n"), ("[2]:", ""), ("\n", "[2]:\n")],
        vec![("A [1]. B\n", "A [1]. B\n"), ("[2]: /u", ""), (" and", "[2]: /u and")],
        vec![("A [1]. B\n", "A [1]. B\n"), ("[2](/u", ""), ("\nC", "[2](/u\nC")],
        vec![("A [1]. B\n", "A [1]. B\n"), ("1", ""), ("2", ""), ("a", "12a")],
        vec![("A [1]. B \\", "A [1]. B"), ("[5]", " \\[5]")],
        // The letter that decides whether the first sentence has ended is at most 16 characters away.
        vec![("A [1]. 12345 12345 123", ""), ("4", "A [1]. 12345 12345 1234")],
        // Code is held back only from what may be a marker in it.
        vec![
            ("A [1]. B `", "A [1]. B"),
            ("ls -l", " `ls -l"),
            (" [", ""),
            ("2] c", ""),
            ("`", ""),
            (" d", " [2] c` d"),
        ],
        vec![("A [1]. B\n", "A [1]. B\n"), ("``", ""), ("`sh", ""), ("\n[2]", "```sh\n[2]"), ("x\n", "x\n"), ("`", "")],
        // Insufficient.
        vec![("They do not say", ""), (". ", ""), ("B", "They do not say. B"), ("[1]", ""), (" [1] d", " d")],
    ] {
        let mut stream = CitationStream::new(&SOURCES, CitationRules::default());
        for (piece, sent) in pieces {
            assert_eq!(stream.push(piece), sent, "{piece:?}");
        }
    }
}

#[test]
fn each_number_has_its_sentences() {
    let text = "According to [1], it is free. It opens at 9.[2] It closes late. [1][2]\n\n- **Dogs** [3, 1] may enter\n\
        [2] says so. Nothing.\n[3]\n\nrow_values[1] values[4] `[1]`";
    assert_eq!(
        cited_sentences(text, 3),
        [
            vec!["According to, it is free.", "It closes late.", "Dogs** may enter"],
            vec!["It opens at 9.", "It closes late.", "says so."],
            vec!["Dogs** may enter", "Nothing."],
        ]
    );
    assert_eq!(cited_sentences("A [1]. B [1] [1]. [4] [0]", 2), [vec!["A.", "B."], vec![]]);
    assert_eq!(cited_sentences("", 1), [Vec::<String>::new()]);
}
