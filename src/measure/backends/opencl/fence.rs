//! Memory of buffers between protected pages: a kernel that reads or writes beyond a buffer ends its process, which says where.

use crate::executor::Side;
use std::ffi::c_void;
use std::io::{Error, Result};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that the place of a buffer is a multiple of: OpenCL promises kernels so much (`CL_DEVICE_MEM_BASE_ADDR_ALIGN`).
const ALIGNMENT: usize = 128;

/// Byte between a buffer and the page behind it: no number or index of a right program is made of it.
const FILL: u8 = 0xff;

/// Bytes of a name that are kept.
const NAME: usize = 64;

/// Fences that a fault is looked up in; of more, a fault is told without its buffer.
const MOST: usize = 128;

/// Places of fences: first byte of the mapping, of the buffer, and behind the buffer and the mapping. Zeros where there is none.
static PLACES: [[AtomicUsize; 4]; MOST] = [const { [const { AtomicUsize::new(0) }; 4] }; MOST];

/// What a fault meant before.
static BEFORE: OnceLock<Before> = OnceLock::new();

struct Before(libc::sigaction);

// SAFETY: numbers, and the address of a function
unsafe impl Send for Before {}
// SAFETY: as above; it is only read
unsafe impl Sync for Before {}

/// Memory between two protected pages. Before them stands a page with the buffer's name, for last words.
pub struct Fence {
    mapping: usize,
    mapped: usize,
    data: usize,
}

impl Fence {
    /// Maps memory for `bytes` bytes, of which one side touches a protected page; at its end as nearly as [`ALIGNMENT`] allows.
    ///
    /// # Errors
    /// The error of the system where there is no memory.
    pub fn new(bytes: usize, side: Side, name: &str) -> Result<Fence> {
        let page = page();
        let room = bytes.next_multiple_of(page);
        let mapped = room + 3 * page;
        let (both, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory
        let mapping = unsafe { libc::mmap(null_mut(), mapped, both, private, -1, 0) };
        if mapping == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        let first = mapping as usize + 2 * page;
        let data = if side == Side::Begin { first } else { first + (room - bytes) / ALIGNMENT * ALIGNMENT };
        let fence = Fence { mapping: mapping as usize, mapped, data };
        for protected in [first - page, first + room] {
            // SAFETY: a page of the mapping
            if unsafe { libc::mprotect(protected as *mut c_void, page, libc::PROT_NONE) } != 0 {
                return Err(Error::last_os_error());
            }
        }
        let kept = &name.as_bytes()[..name.len().min(NAME - 1)];
        // SAFETY: the first page is larger than a name, and what lies behind the buffer belongs to the mapping up to the protected page
        unsafe {
            std::ptr::copy_nonoverlapping(kept.as_ptr(), mapping.cast::<u8>(), kept.len());
            let behind = data + bytes;
            std::ptr::write_bytes(behind as *mut u8, FILL, first + room - behind);
        }
        fence.announce(bytes);
        Ok(fence)
    }

    /// Where the buffer begins.
    pub fn data(&self) -> *mut c_void {
        self.data as *mut c_void
    }

    fn announce(&self, bytes: usize) {
        listen();
        let free = |place: &&[AtomicUsize; 4]| {
            place[0].compare_exchange(0, self.mapping, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        let Some(place) = PLACES.iter().find(free) else { return };
        let values = [self.data, self.data + bytes, self.mapping + self.mapped];
        place[1..].iter().zip(values).for_each(|(place, value)| place.store(value, Ordering::Relaxed));
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        if let Some(place) = PLACES.iter().find(|place| place[0].load(Ordering::Relaxed) == self.mapping) {
            place.iter().rev().for_each(|value| value.store(0, Ordering::Relaxed));
        }
        // SAFETY: the mapping is this one's, and no buffer uses it any more
        unsafe { libc::munmap(self.mapping as *mut c_void, self.mapped) };
    }
}

fn page() -> usize {
    // SAFETY: a question to the system
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4_096) as usize
}

/// Has faults told, once.
fn listen() {
    BEFORE.get_or_init(|| {
        // SAFETY: a structure of numbers
        let (mut own, mut before): (libc::sigaction, libc::sigaction) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        own.sa_sigaction = tell as *const () as usize;
        own.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: both live through the call, and the function does only what signals allow
        unsafe { libc::sigaction(libc::SIGSEGV, &own, &mut before) };
        Before(before)
    });
}

/// Says which buffer a fault is beyond, and lets the fault come again as it would have come.
extern "C" fn tell(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the system gives it
    let address = unsafe { (*info).si_addr() } as usize;
    let found = PLACES.iter().find_map(|place| {
        let [mapping, data, end, behind] = std::array::from_fn(|at| place[at].load(Ordering::Relaxed));
        (mapping != 0 && (mapping..behind).contains(&address)).then_some((mapping, data, end))
    });
    if let Some((mapping, data, end)) = found {
        let (far, what): (usize, &[u8]) = match address < data {
            true => (data.saturating_sub(address), b" bytes before the beginning of argument `"),
            false => (address.saturating_sub(end), b" bytes behind the end of argument `"),
        };
        let mut digits = [0; 20];
        say(b"it accesses memory ");
        say(decimal(far, &mut digits));
        say(what);
        // SAFETY: a page that can be read, with zeros behind the name
        let name = unsafe { std::slice::from_raw_parts(mapping as *const u8, NAME) };
        say(name.split(|byte| *byte == 0).next().unwrap_or_default());
        say(b"`\n");
    }
    if let Some(Before(before)) = BEFORE.get() {
        // SAFETY: what was set before
        unsafe { libc::sigaction(libc::SIGSEGV, before, null_mut()) };
    }
}

fn say(text: &[u8]) {
    // SAFETY: bytes that live through the call
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

/// A number in digits, without asking for memory.
fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_touches_a_protected_page_and_lies_where_kernels_expect_it() {
        for bytes in [4, 127, 128, 4_096, 5_000, 1 << 20] {
            let begin = Fence::new(bytes, Side::Begin, "x").unwrap();
            assert_eq!(begin.data % page(), 0);
            let end = Fence::new(bytes, Side::End, "y").unwrap();
            let (place, slack) = (end.data, bytes.next_multiple_of(ALIGNMENT) - bytes);
            assert_eq!((place % ALIGNMENT, (place + bytes + slack) % page()), (0, 0), "{bytes}");
            // SAFETY: the buffer, and what is filled behind it
            let all = unsafe { std::slice::from_raw_parts_mut(end.data().cast::<u8>(), bytes + slack) };
            assert!(all[..bytes].iter().all(|byte| *byte == 0) && all[bytes..].iter().all(|byte| *byte == FILL));
            all[..bytes].fill(7);
        }
    }

    #[test]
    fn numbers_are_written_in_digits() {
        let mut digits = [0; 20];
        assert_eq!(decimal(0, &mut digits), b"0");
        assert_eq!(decimal(usize::MAX, &mut digits), b"18446744073709551615");
    }
}
