//! Parses the output of `cat-file --batch-command`.

use crate::known::Known;
use pitcrew_model::CommitId;
use std::collections::BTreeMap;

/// An object with its header line: name, kind and size.
pub(super) struct Object<'a> {
    pub(super) head: &'a str,
    pub(super) content: &'a [u8],
}

impl Object<'_> {
    pub(super) fn name(&self) -> &str {
        self.head.split(' ').next().unwrap_or_default()
    }

    pub(super) fn is(&self, kind: &str) -> bool {
        self.head.split(' ').nth(1) == Some(kind)
    }

    /// The tree and parents, if the object is a commit.
    pub(super) fn known(&self) -> Option<Known> {
        let line = self.content.split(|it| *it == b'\n').next()?;
        let tree = str::from_utf8(line.strip_prefix(b"tree ")?).ok()?.to_owned();
        let parents = self.parents().into_iter().map(|it| CommitId(it.to_owned())).collect();
        self.is("commit").then_some(Known { tree, parents })
    }

    /// The parents of a commit, which are the lines after the tree.
    pub(super) fn parents(&self) -> Vec<&str> {
        let lines = self.content.split(|it| *it == b'\n').skip(1);
        lines.map_while(|it| str::from_utf8(it.strip_prefix(b"parent ")?).ok()).collect()
    }
}

/// The requested contents of objects, and the sizes of other objects by name.
pub(super) struct Found<'a> {
    pub(super) objects: Vec<Object<'a>>,
    pub(super) sizes: BTreeMap<String, u64>,
}

/// Parses the contents and then the sizes. `None` unless all of the output can be parsed. Missing
/// objects have no size.
pub(super) fn read(mut output: &[u8], contents_count: usize) -> Option<Found<'_>> {
    let mut objects = Vec::new();
    for _ in 0..contents_count {
        let line_end = output.iter().position(|it| *it == b'\n')?;
        let head = str::from_utf8(&output[..line_end]).ok()?;
        let size: usize = head.split(' ').nth(2)?.parse().ok()?;
        let start = line_end + 1;
        let content = output.get(start..start.checked_add(size)?)?;
        objects.push(Object { head, content });
        output = output.get(start + size + 1..)?;
    }
    let mut sizes = BTreeMap::new();
    for line in str::from_utf8(output).ok()?.lines() {
        let mut words = line.split(' ');
        let (name, kind) = (words.next()?, words.next()?);
        if let Some(size) = words.next() {
            sizes.insert(name.to_owned(), size.parse().ok()?);
        } else if kind != "missing" {
            return None;
        }
    }
    Some(Found { objects, sizes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_parsed_completely_or_rejected() {
        let found = read(b"12 blob 3\na\nb\n34 tree 0\n\n", 2).expect("two objects");
        let objects: Vec<_> = found.objects.iter().map(|it| (it.head, it.content)).collect();
        assert_eq!(objects, [("12 blob 3", &b"a\nb"[..]), ("34 tree 0", &b""[..])]);
        assert!(found.objects[1].is("tree") && found.objects[1].name() == "34");
        for broken in ["12 missing\n", "12 blob 9\nshort\n", "12 blob x\n", "no line", ""] {
            assert!(read(broken.as_bytes(), 1).is_none(), "{broken:?}");
        }
    }

    #[test]
    fn sizes_follow_the_contents() {
        let found = read(b"12 blob 1\na\n34 blob 7\n56 missing\n78 blob 0\n", 1).expect("sizes");
        let sizes: Vec<_> = found.sizes.iter().map(|it| (it.0.as_str(), *it.1)).collect();
        assert_eq!((found.objects.len(), sizes), (1, vec![("34", 7), ("78", 0)]));
        for broken in ["12 blob x\n", "12\n", "12 odd\n"] {
            assert!(read(broken.as_bytes(), 0).is_none(), "{broken:?}");
        }
    }

    #[test]
    fn parents_are_read_only_from_the_commit_header() {
        let parents = |content: &'static str| {
            let object = Object { head: "1 commit 2", content: content.as_bytes() };
            object.parents().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(parents("tree 1\nparent 2\nparent 3\nauthor x\n\nparent 4\n"), ["2", "3"]);
        assert_eq!(parents("tree 1\nauthor x\nparent 2\n"), [""; 0]);
    }
}
