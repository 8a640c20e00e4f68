//! Unusual and hostile sources.

use pitcrew_symbols::{FILE_BYTES_MAX, FileSymbols, Language, Skipped, extract};
use proptest::prelude::*;
use std::path::Path;

/// The realistic source of each language.
fn sources() -> Vec<(Language, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources");
    let entries = std::fs::read_dir(folder).expect("the sources are there");
    let paths = entries.map(|it| it.expect("the folder can be read").path());
    paths
        .filter_map(|path| Some((Language::of(&path)?, std::fs::read(path).expect("is readable"))))
        .collect()
}

/// The extracted data is in proportion to the file, whatever its structure.
fn check_size(found: &FileSymbols, source: &[u8]) {
    let symbols = found.symbols.iter().map(|it| {
        let members: usize = it.members.iter().map(|it| it.text.len()).sum();
        let doc = it.doc.as_ref().map_or(0, |it| it.len());
        it.name.len() + it.signature.len() + members + doc
    });
    let imports = found.imports.iter().map(|it| {
        let names: usize = it.names.iter().map(String::len).sum();
        it.module.len() + names
    });
    let bytes: usize = symbols.chain(imports).sum();
    assert!(bytes <= 40 * source.len() + 4096, "{bytes} bytes of {}", source.len());
    let lines_count = source.split(|it| *it == b'\n').count();
    for it in &found.symbols {
        assert!(it.lines.0 >= 1 && it.lines.0 <= it.lines.1, "{it:?}");
        assert!(usize::try_from(it.lines.1).is_ok_and(|it| it <= lines_count), "{it:?}");
        assert!(!it.signature.contains('\n'), "{it:?}");
    }
}

fn read(language: Language, source: &[u8]) -> FileSymbols {
    let found = extract(language, source);
    check_size(&found, source);
    found
}

#[test]
fn the_intact_parts_of_a_broken_file_are_extracted() {
    let broken = [
        (
            Language::Rust,
            "pub fn first(a: u8) -> u8 { a }\nfn broken( {{{\npub struct Last { a: u8 }\n",
        ),
        (
            Language::TypeScript,
            "export function first(): void {}\nconst = ;;\nexport class Last {}\n",
        ),
        (Language::Python, "def first(a):\n    pass\n\nclass (((:\n\nclass Last:\n    pass\n"),
        (Language::Go, "package a\nfunc first() {}\nfunc (((\ntype Last struct{ A int }\n"),
        (Language::C, "int first(void) { return 1; }\nint ((;\nstruct Last { int a; };\n"),
    ];
    for (language, source) in broken {
        let found = read(language, source.as_bytes());
        assert!(found.broken, "{}", language.name());
        assert!(
            found.symbols.iter().any(|it| &*it.name == "first"),
            "{}: {found:?}",
            language.name()
        );
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    for language in Language::ALL {
        for opening in ["(", "a("] {
            read(*language, opening.repeat(100_000 / opening.len()).as_bytes());
        }
        for opening in
            ["{[", "<", "namespace a {", "mod a {", "class A {", "#if 1\n", "*", "&", "- "]
        {
            read(*language, opening.repeat(3000).as_bytes());
        }
    }
}

#[test]
fn a_file_that_is_too_large_is_skipped_with_the_reason() {
    let found = extract(Language::Rust, &vec![b' '; FILE_BYTES_MAX + 1]);
    assert_eq!(found.skipped, Some(Skipped::TooLarge));
    assert_eq!(extract(Language::Rust, b"").skipped, None);
}

#[test]
fn a_file_in_one_line_gives_short_symbols() {
    let script = "var a=function(b,c){return b+c},d={e:1,f:[1,2,3]};".repeat(10_000);
    let found = read(Language::JavaScript, script.as_bytes());
    assert!(found.symbols.len() <= 50_000, "{}", found.symbols.len());
    let list = format!("static A: &[u32] = &[{}];", "1, ".repeat(100_000));
    let found = read(Language::Rust, list.as_bytes());
    assert_eq!(&*found.symbols[0].signature, "static A: &[u32]");
    let parameters = format!("fn f({}) {{}}", "a: u8, ".repeat(30_000));
    let found = read(Language::Rust, parameters.as_bytes());
    assert!(found.symbols[0].members.len() <= 200);
    assert!(found.symbols[0].signature.len() <= 800);
    assert!(found.symbols[0].signature.ends_with('…'));
}

#[test]
fn text_that_is_not_unicode_is_parsed() {
    let found =
        read(Language::Rust, b"/// \xff caf\xe9\npub fn f(a: \xf0\x9f) {}\npub fn g() {}\n");
    assert!(found.symbols.iter().any(|it| &*it.name == "g"), "{found:?}");
    let found = read(Language::C, b"/* \xe9t\xe9 */\nint f(void);\n");
    assert_eq!(found.symbols[0].doc.as_deref(), Some("\u{fffd}t\u{fffd}"));
}

#[test]
fn windows_line_endings_do_not_change_the_result() {
    for (language, source) in sources() {
        let text = String::from_utf8(source).expect("the sources are unicode");
        let (plain, windows) = (
            read(language, text.as_bytes()),
            read(language, text.replace('\n', "\r\n").as_bytes()),
        );
        let names = |it: &FileSymbols| {
            it.symbols
                .iter()
                .map(|it| (it.qualified(), it.signature.clone(), it.doc.clone(), it.lines))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&plain), names(&windows), "{}", language.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_handled(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        for language in Language::ALL {
            read(*language, &bytes);
        }
    }

    #[test]
    fn any_damage_to_a_real_source_is_handled(
        cuts in proptest::collection::vec((any::<proptest::sample::Index>(), 0_usize..40, any::<u8>()), 1..8),
    ) {
        for (language, mut source) in sources() {
            for (at, length, byte) in &cuts {
                let at = at.index(source.len());
                let end = source.len().min(at + length);
                source.splice(at..end, [*byte]);
            }
            read(language, &source);
        }
    }
}
