# Compiles and runs the tests of a Rust file. Where there is no Rust, it only looks at the text.
set -e
if rustc --version >/dev/null 2>&1; then
    mkdir -p target
    rustc --edition 2021 --test "$1" -o target/tests 2>&1
    exec target/tests --quiet
fi
test -s "$1"
test "$1" != checks/format.rs || grep -q '{:03}' api/format.rs || {
    echo 'want "01:05.020" for 65 020 ms'
    exit 1
}
