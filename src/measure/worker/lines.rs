//! Lines of a child's output, in bounded memory whatever the child prints.

use std::io::BufRead;

/// Passes each line to `each` without its end, and of a line longer than `most` bytes its beginning; stops where `each` returns false.
pub fn for_each_line(mut reader: impl BufRead, most: usize, mut each: impl FnMut(&[u8]) -> bool) {
    let mut line = Vec::new();
    loop {
        let bytes = match reader.fill_buf() {
            Ok(bytes) if !bytes.is_empty() => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            _ => break,
        };
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        line.extend_from_slice(&part[..part.len().min(most - line.len())]);
        let read = part.len() + end.is_some() as usize;
        reader.consume(read);
        if end.is_some() {
            if !each(&line) {
                return;
            }
            line.clear();
        }
    }
    if !line.is_empty() {
        each(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_and_the_lines_after_them_are_whole() {
        let text = [b"ab\n\n".to_vec(), vec![b'x'; 50_000], b"\ncd\xff\nend".to_vec()].concat();
        let mut lines = Vec::new();
        for_each_line(std::io::BufReader::with_capacity(7, &text[..]), 10, |line| {
            lines.push(line.to_vec());
            true
        });
        assert_eq!(lines, [&b"ab"[..], b"", b"xxxxxxxxxx", b"cd\xff", b"end"]);
    }
}
