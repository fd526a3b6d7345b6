//! The library's memory: what a thread frees it keeps for itself, so that a call like one before asks the system for none.
//!
//! Blocks are of powers of two, from 16 bytes on, and lie in a list for each size. Larger ones, and what a thread would keep beyond
//! `KEPT`, are the system's. Another thread than the one that asked for a block may free it, and keeps it then.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

/// The smallest block, and the alignment of all.
const SMALLEST: usize = 16;
/// Sizes of blocks that are kept: up to 256 KiB.
const SIZES: usize = 15;
/// Bytes that a thread keeps at most.
const KEPT: usize = 4 << 20;

/// Blocks that a thread has freed: by size the first of a list, whose blocks begin with the address of the next.
struct Lists {
    first: [Cell<*mut u8>; SIZES],
    /// Bytes in the lists.
    kept: Cell<usize>,
    /// How often the thread has asked the system.
    asked: Cell<usize>,
}

thread_local! {
    static LISTS: Lists = const {
        Lists { first: [const { Cell::new(null_mut()) }; SIZES], kept: Cell::new(0), asked: Cell::new(0) }
    };
}

/// Which size a block has, and its layout; `None` where it is the system's.
fn size_of(layout: Layout) -> Option<(usize, Layout)> {
    let size = layout.size().max(SMALLEST).next_power_of_two();
    let at = (size.trailing_zeros() - SMALLEST.trailing_zeros()) as usize;
    let fits = at < SIZES && layout.align() <= SMALLEST;
    Some((at, Layout::from_size_align(size, SMALLEST).ok()?)).filter(|_| fits)
}

impl Lists {
    fn take(&self, size: usize, bytes: usize) -> *mut u8 {
        let block = self.first[size].get();
        if block.is_null() {
            self.asked.set(self.asked.get() + 1);
        } else {
            // SAFETY: a block of a list begins with the address of the next, and is aligned for it
            self.first[size].set(unsafe { block.cast::<*mut u8>().read() });
            self.kept.set(self.kept.get() - bytes);
        }
        block
    }

    /// Whether the block is kept.
    fn keep(&self, block: *mut u8, size: usize, bytes: usize) -> bool {
        let kept = self.kept.get() + bytes;
        if kept <= KEPT {
            // SAFETY: nobody uses the block any more, and it has room for an address
            unsafe { block.cast::<*mut u8>().write(self.first[size].get()) };
            self.first[size].set(block);
            self.kept.set(kept);
        }
        kept <= KEPT
    }
}

impl Drop for Lists {
    fn drop(&mut self) {
        for (size, first) in self.first.iter().enumerate() {
            while !first.get().is_null() {
                let block = first.get();
                let Ok(layout) = Layout::from_size_align(SMALLEST << size, SMALLEST) else { return };
                // SAFETY: as in `take`; the block was asked for with this layout
                unsafe {
                    first.set(block.cast::<*mut u8>().read());
                    System.dealloc(block, layout);
                }
            }
        }
    }
}

/// The allocator of the library, as the head of this file has it.
pub struct Pool;

// SAFETY: blocks come from the system with the layout of their size, which is as large and as aligned as asked for; a block is in one list
// or in use
unsafe impl GlobalAlloc for Pool {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((size, own)) = size_of(layout) else {
            LISTS.try_with(|lists| lists.asked.set(lists.asked.get() + 1)).ok();
            // SAFETY: as the caller promises
            return unsafe { System.alloc(layout) };
        };
        // a thread that ends has no lists any more
        let block = LISTS.try_with(|lists| lists.take(size, own.size())).unwrap_or(null_mut());
        // SAFETY: the size is not 0
        if block.is_null() { unsafe { System.alloc(own) } } else { block }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some((size, own)) = size_of(layout) else {
            // SAFETY: as the caller promises
            return unsafe { System.dealloc(block, layout) };
        };
        if !LISTS.try_with(|lists| lists.keep(block, size, own.size())).unwrap_or(false) {
            // SAFETY: the block was asked for with this layout
            unsafe { System.dealloc(block, own) }
        }
    }
}

/// How often this thread has asked the system for memory.
pub fn allocation_count() -> usize {
    LISTS.try_with(|lists| lists.asked.get()).unwrap_or(0)
}
