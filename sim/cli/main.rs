//! The `folkmoot` command with everything that comes with it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// The system allocator. Where memory ends, the program exits with a message instead of aborting.
struct Told;

#[global_allocator]
static ALLOCATOR: Told = Told;

#[allow(
    unsafe_code,
    reason = "an allocator is unsafe; everything is left to that of the system"
)]
// SAFETY: as that of the system, whose answers are handed on; where it has none the program ends.
unsafe impl GlobalAlloc for Told {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        or_end(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        or_end(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as the caller's.
        or_end(unsafe { System.realloc(ptr, layout, new_size) }, new_size)
    }
}

#[inline]
fn or_end(got: *mut u8, size: usize) -> *mut u8 {
    if got.is_null() {
        out_of_memory(size);
    }
    got
}

#[cold]
fn out_of_memory(size: usize) -> ! {
    // What is formatted on the way takes no memory.
    let _ = writeln!(
        std::io::stderr(),
        "error: out of memory: {size} bytes more cannot be had\n\
         help: use fewer clients, a smaller model or less data; `folkmoot resume DIR` goes on from the last saved state, if there is one"
    );
    std::process::exit(2)
}

fn main() -> std::process::ExitCode {
    folkmoot::main(folkmoot::shipped())
}
