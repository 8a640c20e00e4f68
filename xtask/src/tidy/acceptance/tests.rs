//! Ids are written with another letter here, so that the rule does not find its own samples.

use super::{
    super::tests::{files, shown},
    *,
};

const TWO: &[Series] = &[Series { number: 1, ids_count: 4 }];

const TABLE: &str = "\
# Acceptance

<!-- sums -->
4 of 4 rows have a test.

| topic | ids | rows with a test |
|---|---|---|
| [Start and end](#start-and-end) | R1-001..R1-002 | 2 of 2 |
| [On the way](#on-the-way) | R1-003..R1-004 | 2 of 2 |
<!-- end sums -->

## Start and end

| id | what you can rely on | tests |
|---|---|---|
| R1-001 | It starts. | [it_starts](../crates/a/tests/a.rs) |
| R1-002 | It ends. | [it_ends](../crates/a/tests/a.rs) |

### On the way

| id | what you can rely on | tests |
|---|---|---|
| R1-003 | It goes on. | [it_ends](../crates/a/tests/a.rs) |
| R1-004 | It says `why`. | [it_ends](../crates/a/tests/a.rs) |
";

const TESTS: &str = "\
/// R1-001: at once.
#[test]
fn it_starts() {}

/// R1-002..R1-003: when it should.
#[tokio::test(flavor = \"multi_thread\")]
#[expect(
    clippy::panic,
    reason = \"it is a test\"
)]
async fn it_ends() {
    // R1-004: and why.
    assert!(true);
}
";

fn ours(text: &str) -> String {
    text.replace("R1-", "S1-")
}

fn check_texts(page: &str, tests: &str) -> Vec<String> {
    let (page, tests) = (ours(page), ours(tests));
    let files = files(&[("crates/a/tests/a.rs", &tests), (PAGE, &page)]);
    shown(&check(TWO, &files)).iter().map(|it| it.replace("S1-", "R1-")).collect()
}

fn rewritten(page: &str, tests: &str) -> String {
    let (page, tests) = (ours(page), ours(tests));
    let files = files(&[("crates/a/tests/a.rs", &tests), (PAGE, &page)]);
    written(&files).expect("there is a page").replace("S1-", "R1-")
}

#[test]
fn an_up_to_date_page_passes() {
    assert_eq!(check_texts(TABLE, TESTS), Vec::<String>::new());
    assert_eq!(rewritten(TABLE, TESTS), TABLE);
}

#[test]
fn an_id_without_a_row_fails_where_a_test_names_it() {
    let tests = TESTS.replace("R1-001", "R1-001, R1-007");
    assert_eq!(
        check_texts(TABLE, &tests),
        ["crates/a/tests/a.rs:1: R1-007 has no row in docs/acceptance.md"]
    );
}

#[test]
fn a_stale_column_and_stale_sums_fail_and_are_rewritten() {
    let tests = TESTS.replace("R1-002..R1-003", "R1-003");
    assert_eq!(
        check_texts(TABLE, &tests),
        ["docs/acceptance.md:4: out of date from here: run `cargo xtask tidy --write`"]
    );
    let page = rewritten(TABLE, &tests);
    assert!(page.contains("3 of 4 rows have a test."), "{page}");
    assert!(page.contains("| R1-001..R1-002 | 1 of 2 |"), "{page}");
    assert!(page.contains("| R1-002 | It ends. | open |"), "{page}");
    assert_eq!(check_texts(&page, &tests), Vec::<String>::new());
}

#[test]
fn a_renamed_test_is_a_stale_page() {
    let tests = TESTS.replace("it_starts", "it_begins");
    assert_eq!(
        check_texts(TABLE, &tests),
        ["docs/acceptance.md:16: out of date from here: run `cargo xtask tidy --write`"]
    );
}

#[test]
fn a_second_row_of_an_id_fails() {
    let page = format!("{TABLE}| R1-002 | It ends. | open |\n");
    let findings = check_texts(&rewritten(&page, TESTS), TESTS);
    assert_eq!(findings, ["docs/acceptance.md:25: R1-002 already has a row"]);
}

#[test]
fn ids_without_a_row_fail_as_ranges() {
    let keep = |it: &&str| !["R1-002 |", "R1-003 |"].iter().any(|id| it.contains(id));
    let page: Vec<&str> = TABLE.lines().filter(keep).collect();
    let findings = check_texts(&page.join("\n"), "");
    assert!(findings.contains(&"docs/acceptance.md: R1-002..R1-003 has no row".to_owned()));
}

#[test]
fn a_row_beyond_its_series_fails() {
    let page = rewritten(&format!("{TABLE}| R1-005 | It is new. | |\n"), TESTS);
    let message = "R1-005 is beyond its series: raise the number in SERIES";
    assert_eq!(check_texts(&page, TESTS), [format!("docs/acceptance.md:25: {message}")]);
}

#[test]
fn a_row_without_a_sentence_or_with_a_cell_too_many_fails() {
    for row in ["| R1-001 | | open |", "| R1-001 | It starts. |", "| R1-001 | a | b | open |"] {
        let page =
            TABLE.replace("| R1-001 | It starts. | [it_starts](../crates/a/tests/a.rs) |", row);
        let findings = check_texts(&page, TESTS);
        let message = "docs/acceptance.md:16: a row is `| id | sentence | tests |`";
        assert!(findings.contains(&message.to_owned()), "{row}: {findings:?}");
    }
}

#[test]
fn an_id_at_no_test_fails() {
    let elsewhere = [
        "/// R1-001: a helper.\nfn helper() {}\n",
        "/// R1-001: a constant.\nconst LIMIT: u8 = 1;\n",
        "/// R1-001: tests.\n#[cfg(test)]\nmod tests {}\n",
        "#[test]\nfn before() {\n}\n// R1-001\n",
    ];
    for text in elsewhere {
        let findings = check_texts(TABLE, &format!("{TESTS}{text}"));
        let message = "R1-001 is not at a test: move it to a test that proves it";
        assert!(findings.iter().any(|it| it.ends_with(message)), "{text}: {findings:?}");
    }
}

#[test]
fn an_invalid_range_fails() {
    let tests = TESTS.replace("R1-002..R1-003", "R1-003..R1-002");
    let findings = check_texts(TABLE, &tests);
    assert_eq!(findings[0], "crates/a/tests/a.rs:5: R1-003..R1-002 is not a range of one series");
}

#[test]
fn a_row_shows_only_the_first_tests() {
    let more: Vec<String> =
        (0..5).map(|it| format!("/// R1-001\n#[test]\nfn more_{it}() {{}}\n")).collect();
    let more = more.concat();
    let page = rewritten(TABLE, &format!("{TESTS}{more}"));
    let link = |it: &str| format!("[{it}](../crates/a/tests/a.rs)");
    let cell = [link("it_starts"), link("more_0"), link("more_1"), "3 more".to_owned()].join(", ");
    assert!(page.contains(&format!("| R1-001 | It starts. | {cell} |")), "{page}");
}
