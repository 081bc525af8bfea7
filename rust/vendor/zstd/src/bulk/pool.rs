//! Contexts that are used again: making one takes longer than to compress a small block.
//!
//! A context that nobody uses any more is reset, so that it knows no dictionary and no parameter, and kept where few are and it
//! is small. Nobody waits for the lock: who does not get it makes a context, or frees it. So a child of a fork gets along as well.

use std::mem;
use std::sync::Mutex;

use zstd_safe::{CCtx, DCtx, ResetDirective};

/// Contexts of each kind that are kept.
const MOST: usize = 64;
/// Bytes of a context that is kept.
const LARGEST: usize = 256 << 10;

static COMPRESSING: Mutex<Vec<CCtx<'static>>> = Mutex::new(Vec::new());
static DECOMPRESSING: Mutex<Vec<DCtx<'static>>> = Mutex::new(Vec::new());

fn taken<T>(kept: &Mutex<Vec<T>>) -> Option<T> {
    kept.try_lock().ok()?.pop()
}

fn kept<T>(kept: &Mutex<Vec<T>>, context: T) {
    if let Ok(mut kept) = kept.try_lock() {
        if kept.len() < MOST {
            kept.push(context);
        }
    }
}

pub(super) fn compressing<'a>() -> CCtx<'a> {
    taken(&COMPRESSING).unwrap_or_default()
}

pub(super) fn give_back_compressing(mut context: CCtx<'_>) {
    if context.sizeof() <= LARGEST && context.reset(ResetDirective::SessionAndParameters).is_ok() {
        // SAFETY: the lifetime is that of a dictionary, and a context that was reset refers to none
        kept(&COMPRESSING, unsafe { mem::transmute::<CCtx<'_>, CCtx<'static>>(context) });
    }
}

pub(super) fn decompressing<'a>() -> DCtx<'a> {
    taken(&DECOMPRESSING).unwrap_or_default()
}

pub(super) fn give_back_decompressing(mut context: DCtx<'_>) {
    if context.sizeof() <= LARGEST && context.reset(ResetDirective::SessionAndParameters).is_ok() {
        // SAFETY: the lifetime is that of a dictionary, and a context that was reset refers to none
        kept(&DECOMPRESSING, unsafe { mem::transmute::<DCtx<'_>, DCtx<'static>>(context) });
    }
}
