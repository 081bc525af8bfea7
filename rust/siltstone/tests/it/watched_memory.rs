//! An allocator that knows how much the current thread holds, so that a test can say that broken bytes do not make a
//! decoder ask for gigabytes.
#![allow(unsafe_code, reason = "a global allocator cannot be written without; it only counts around the system's")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

struct Watched;

#[global_allocator]
static WATCHED: Watched = Watched;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

fn took(bytes: usize) {
    let held = HELD.get().saturating_add(bytes);
    HELD.set(held);
    PEAK.set(PEAK.get().max(held));
}

fn gave(bytes: usize) {
    HELD.set(HELD.get().saturating_sub(bytes));
}

// SAFETY: every call goes to the system's allocator unchanged; the counters are plain cells of the thread.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        gave(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        took(new_size);
        gave(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// The most bytes that this thread held at once during the call, above what it held before.
pub(crate) fn peak_of(call: impl FnOnce()) -> usize {
    let before = HELD.get();
    PEAK.set(before);
    call();
    PEAK.get().saturating_sub(before)
}

#[test]
fn the_peak_of_a_call_is_what_it_held_at_once() {
    let peak = peak_of(|| {
        drop(vec![0u8; 1 << 20]);
        drop(vec![0u8; 1 << 20]);
    });
    assert!((1 << 20..1 << 21).contains(&peak), "{peak}");
}
