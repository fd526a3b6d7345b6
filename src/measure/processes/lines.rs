//! Lines of a child's output, in bounded memory whatever the child prints.

use std::io::{BufRead, Read};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes of an output that are kept: its end.
const KEPT: usize = 4 << 20;

/// Time in which the output of a process that has ended is read to its end.
const REST: Duration = Duration::from_secs(2);

/// The end of a child's output, read beside it.
pub struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    done: Receiver<()>,
}

impl Tail {
    /// Reads a stream until it ends; nothing where there is none.
    pub fn listen(stream: Option<impl Read + Send + 'static>) -> Tail {
        let (kept, (sender, done)) = (Arc::new(Mutex::new(Vec::new())), channel());
        let filled = kept.clone();
        std::thread::spawn(move || {
            let (Some(mut stream), mut part) = (stream, vec![0; 1 << 16]) else { return };
            while let Ok(read @ 1..) = stream.read(&mut part) {
                let mut kept = filled.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&part[..read]);
                if kept.len() > 2 * KEPT {
                    let begin = kept.len() - KEPT;
                    kept.drain(..begin);
                }
            }
            let _ = sender.send(());
        });
        Tail { kept, done }
    }

    /// What was read so far.
    pub fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.kept.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// What was read until the end of the stream.
    pub fn text(&self) -> String {
        // who holds the stream open after the end of the process is not waited for
        let _ = self.done.recv_timeout(REST);
        self.so_far()
    }
}

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
