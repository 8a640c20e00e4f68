//! Import lines as quoted in questions.

use pitcrew_symbols::{Import, Language};

fn import(language: Language, line: &str) -> Import {
    let found = language.import_of(line);
    found.unwrap_or_else(|| panic!("{} does not understand {line:?}", language.name()))
}

/// `module: names`, as parsed from the line.
fn check(language: Language, line: &str, expected: &str) {
    let found = import(language, line);
    assert_eq!(format!("{}: {}", found.module, found.names.join(" ")), expected, "{line}");
}

#[test]
fn a_quoted_import_is_parsed() {
    check(Language::Rust, "use crate::core::AuthValidator;", "crate::core: AuthValidator");
    check(Language::Rust, "use crate::core::AuthValidator", "crate::core: AuthValidator");
    check(Language::Rust, "  pub use core::{A, B as C};  ", "core: A B");
    check(Language::TypeScript, "import { A as B } from '../core/auth'", "../core/auth: A");
    check(Language::TypeScript, "import type { A } from \"core\";", "core: A");
    check(Language::Tsx, "import A from './A'", "./A: A");
    check(Language::JavaScript, "const { a, b } = require('./core')", "./core: a b");
    check(Language::Python, "from core.auth import AuthValidator", "core.auth: AuthValidator");
    check(Language::Python, "import core.auth as auth", "core.auth: ");
    check(Language::Go, "import \"example.com/core/auth\"", "example.com/core/auth: ");
    check(
        Language::Java,
        "import com.example.core.AuthValidator;",
        "com.example.core: AuthValidator",
    );
    check(Language::C, "#include \"core/auth.h\"", "core/auth.h: ");
    check(Language::Cpp, "#include <core/auth.hpp>", "core/auth.hpp: ");
    check(Language::Cpp, "using core::AuthValidator;", "core: AuthValidator");
    check(Language::CSharp, "using Example.Core;", "Example.Core: *");
    check(Language::Ruby, "require_relative '../core/auth'", "../core/auth: ");
    check(Language::Php, "use App\\Core\\AuthValidator;", "App\\Core: AuthValidator");
    check(Language::Bash, "source ./lib.sh", "./lib.sh: ");
    check(Language::Kotlin, "import com.example.core.Auth as A", "com.example.core: Auth");
    check(Language::Lua, "local auth = require('core.auth')", "core.auth: ");
    check(Language::Swift, "import Core", "Core: *");
    check(Language::Scala, "import com.example.core.{Auth => A}", "com.example.core: Auth");
    check(Language::Zig, "const auth = @import(\"core/auth.zig\");", "core/auth.zig: ");
}

#[test]
fn other_lines_are_not_imports() {
    for language in Language::ALL {
        for line in ["", "AuthValidator", "what does it do?", "x = 1"] {
            assert_eq!(language.import_of(line), None, "{} {line:?}", language.name());
        }
    }
}

#[test]
fn an_alias_resolves_to_the_original_name() {
    let found = import(Language::TypeScript, "import { A as B, C } from '../core/auth'");
    assert_eq!(found.original("B"), Some("A"));
    assert_eq!(found.original("C"), Some("C"));
    assert_eq!(found.original("D"), None);
}
