//! Stores the number and the digest of the lines of each file, so that no line can disappear
//! unnoticed.

use std::{
    fs,
    path::{Path, PathBuf},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    lines_count: usize,
    digest: u64,
}

/// Sorted by name, one file a line.
const FILE: &str = "sealed.txt";

impl Seal {
    pub fn of(lines: &str) -> Self {
        Self { lines_count: lines.lines().count(), digest: digest(lines) }
    }

    /// Returns whether the file starts with the sealed lines.
    pub fn fits(self, lines: &str) -> bool {
        let mut ends = lines.match_indices('\n').map(|it| it.0 + 1);
        let end = if self.lines_count == 0 { Some(0) } else { ends.nth(self.lines_count - 1) };
        end.is_some_and(|end| digest(&lines[..end]) == self.digest)
    }

    pub fn read(file: &Path) -> Option<Self> {
        let name = name(file);
        let seals = fs::read_to_string(seals(file)).unwrap_or_default();
        let words = seals.lines().map(|it| it.split(' ').collect::<Vec<_>>());
        let mut found = words.filter_map(|it| match it[..] {
            [it, count, digest] if it == name => {
                let digest = u64::from_str_radix(digest, 16).expect("a digest");
                Some(Self { lines_count: count.parse().expect("a number"), digest })
            }
            _ => None,
        });
        found.next()
    }

    pub fn write(self, file: &Path) {
        // The tests of one program may run this at the same time.
        static WRITING: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _writing = WRITING.lock().expect("no test fails here");
        let name = name(file);
        let seals_file = seals(file);
        let seals = fs::read_to_string(&seals_file).unwrap_or_default();
        let others = seals.lines().filter(|it| !it.starts_with(&format!("{name} ")));
        let own = format!("{name} {} {:016x}", self.lines_count, self.digest);
        let mut lines: Vec<&str> = others.chain([own.as_str()]).collect();
        lines.sort_unstable();
        fs::write(seals_file, lines.join("\n") + "\n").expect("room");
    }
}

fn name(file: &Path) -> &str {
    file.file_name().and_then(|it| it.to_str()).expect("a name")
}

fn seals(file: &Path) -> PathBuf {
    file.with_file_name(FILE)
}

/// FNV-1a: it detects mistakes, not attacks.
fn digest(text: &str) -> u64 {
    let step = |digest: u64, byte: u8| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
