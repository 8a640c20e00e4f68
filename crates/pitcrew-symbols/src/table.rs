//! Maps a name to its symbols.
//!
//! Postings are sorted by the hash of the name, in a large part and a small part for additions.
//! Entries of removed files stay until the parts are merged; a lookup skips them.

use crate::{
    Kind, Language, Visibility,
    digest::{Shape, of_name},
    pack::Packed,
};

/// The number of a file in the index.
pub type Slot = u32;

/// One symbol, reduced to the data for choosing among many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Posting {
    pub name: u32,
    /// Smaller is better: visibility, definition before declaration, depth of the path.
    pub rank: u8,
    /// The length of the path in bytes, clamped. A shorter path is better.
    pub path_length: u8,
    pub file: Slot,
    pub symbol: u16,
    /// The hash of the last name of its container, or 0 if there is none.
    pub owner: u32,
    pub shape: Shape,
}

#[derive(Debug, Default)]
pub struct Table {
    base: Vec<Posting>,
    /// The shape of each name in `base` and the position of its first symbol.
    shapes: Vec<(Shape, u32)>,
    fresh: Vec<Posting>,
    dead_count: usize,
}

/// The small part is merged when it is larger than this and than a fraction of the large part.
const FRESH_MIN: usize = 16_384;
const FRESH_SHARE: usize = 4;

impl Table {
    pub fn len(&self) -> usize {
        self.base.len() + self.fresh.len() - self.dead_count
    }

    pub fn bytes(&self) -> usize {
        (self.base.capacity() + self.fresh.capacity()) * size_of::<Posting>()
            + self.shapes.capacity() * size_of::<(Shape, u32)>()
    }

    /// Adds the symbols of a file. Call `finish` afterwards.
    pub fn add(&mut self, file: Slot, path: &str, language: Language, packed: &Packed) {
        let path_length = u8::try_from(path.len()).unwrap_or(u8::MAX);
        let depth = u8::try_from(path.matches('/').count().min(31)).expect("it is limited");
        let container = |index| packed.container(index).map(|it| of_name(last_name(it, language)));
        let containers: Vec<Option<u32>> = (0..packed.containers_count()).map(container).collect();
        for index in 0..packed.symbols_count() {
            let Some(head) = packed.head(index) else { continue };
            let number = packed.container_of(index).map_or(0, usize::from);
            let owner =
                number.checked_sub(1).and_then(|it| *containers.get(it)?).unwrap_or_default();
            let visibility = match head.visibility {
                Visibility::Public => 0,
                Visibility::Restricted => 1,
                Visibility::Private => 2,
            };
            let declared = u8::from(is_declaration(path, head.kind));
            self.fresh.push(Posting {
                name: of_name(head.name),
                rank: visibility << 6 | declared << 5 | depth,
                file,
                symbol: u16::try_from(index).expect("a file is limited"),
                path_length,
                owner,
                shape: Shape::of(head.name),
            });
        }
    }

    /// Marks the symbols of a file as removed.
    pub fn remove(&mut self, packed: &Packed) {
        self.dead_count += packed.symbols_count();
    }

    /// Makes added symbols findable. Returns whether all removed symbols were dropped.
    pub fn finish(&mut self, is_live: impl Fn(Slot) -> bool) -> bool {
        let limit = FRESH_MIN.max(self.base.len() / FRESH_SHARE);
        if self.fresh.len() <= limit && self.dead_count <= limit {
            // Appending to a sorted list leaves two runs, which are merged quickly.
            self.fresh.sort();
            return false;
        }
        let mut all = std::mem::take(&mut self.base);
        all.append(&mut self.fresh);
        if self.dead_count > 0 {
            all.retain(|it| is_live(it.file));
            self.dead_count = 0;
        }
        all.sort();
        self.shapes = shapes(&all);
        self.base = all;
        self.fresh = Vec::new();
        true
    }

    /// All symbols whose name may be this one, in two parts, each ordered by rank and length of the
    /// path.
    pub fn named(&self, name: &str) -> [&[Posting]; 2] {
        let hash = of_name(name);
        [run(&self.base, hash), run(&self.fresh, hash)]
    }

    /// Whether there are symbols of removed files.
    pub fn has_dead(&self) -> bool {
        self.dead_count > 0
    }

    /// The symbols of each name with a matching shape. A name may occur twice.
    pub fn names(&self, is_like: impl Fn(Shape) -> bool) -> impl Iterator<Item = &[Posting]> {
        let fresh = self.fresh.chunk_by(is_one_name).map(|it| (it[0].shape, it));
        let base = self.shapes.iter().map(|it| (it.0, &self.base[it.1 as usize..]));
        let alike = base.chain(fresh).filter(move |it| is_like(it.0));
        alike.filter_map(|(_, rest)| rest.chunk_by(is_one_name).next())
    }
}

fn is_one_name(a: &Posting, b: &Posting) -> bool {
    a.name == b.name
}

/// Indexes the shapes of all names, so that a search for similar names reads few of the postings.
fn shapes(postings: &[Posting]) -> Vec<(Shape, u32)> {
    let mut shapes = Vec::new();
    let mut at = 0;
    for run in postings.chunk_by(is_one_name) {
        shapes.push((run[0].shape, u32::try_from(at).expect("symbols are limited")));
        at += run.len();
    }
    shapes.shrink_to_fit();
    shapes
}

fn run(postings: &[Posting], name: u32) -> &[Posting] {
    let start = postings.partition_point(|it| it.name < name);
    let rest = &postings[start..];
    &rest[..rest.partition_point(|it| it.name == name)]
}

/// The last part of a qualified name.
pub fn last_name(qualified: &str, language: Language) -> &str {
    qualified.rsplit(language.separator()).next().unwrap_or(qualified)
}

/// Whether a file only declares what another file defines.
fn is_declaration(path: &str, kind: Kind) -> bool {
    let ends = |any: &[&str]| any.iter().any(|it| path.ends_with(it));
    match kind {
        Kind::Function | Kind::Method | Kind::Variable | Kind::Constant => {
            ends(&[".h", ".hh", ".hpp", ".hxx", ".d.ts", ".pyi"])
        }
        Kind::Module
        | Kind::Class
        | Kind::Struct
        | Kind::Union
        | Kind::Enum
        | Kind::Trait
        | Kind::Interface
        | Kind::Field
        | Kind::Variant
        | Kind::Parameter
        | Kind::TypeAlias
        | Kind::Macro => ends(&[".d.ts", ".pyi"]),
    }
}
