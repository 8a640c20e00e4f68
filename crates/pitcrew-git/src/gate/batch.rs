//! Reads what `cat-file --batch` writes.

/// An object with its first line: name, kind and size.
pub(super) struct Object<'a> {
    pub(super) head: &'a str,
    pub(super) content: &'a [u8],
}

/// All the objects; nothing where the output cannot be read to its end.
pub(super) fn read(mut output: &[u8]) -> Option<Vec<Object<'_>>> {
    let mut objects = Vec::new();
    while !output.is_empty() {
        let line_end = output.iter().position(|it| *it == b'\n')?;
        let head = std::str::from_utf8(&output[..line_end]).ok()?;
        let size: usize = head.split(' ').nth(2)?.parse().ok()?;
        let start = line_end + 1;
        let content = output.get(start..start.checked_add(size)?)?;
        objects.push(Object { head, content });
        output = output.get(start + size + 1..)?;
    }
    Some(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_read_whole_or_not_at_all() {
        let objects = read(b"12 blob 3\na\nb\n34 tree 0\n\n").expect("two objects");
        let found: Vec<_> = objects.iter().map(|it| (it.head, it.content)).collect();
        assert_eq!(found, [("12 blob 3", &b"a\nb"[..]), ("34 tree 0", &b""[..])]);
        for broken in ["12 missing\n", "12 blob 9\nshort\n", "12 blob x\n", "no line"] {
            assert!(read(broken.as_bytes()).is_none(), "{broken:?}");
        }
    }
}
