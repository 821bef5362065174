//! A buffer that the threads of a pass write to, each its own part.

use std::cell::UnsafeCell;

/// A slice of plain values, shared by threads that keep out of each other's way.
///
/// Zeros come from the system untouched, so memory is taken only as it is used.
pub(super) struct Shared<T>(Box<[UnsafeCell<T>]>);

// SAFETY: parts are only handed out by the unsafe functions below, whose callers keep them disjoint.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

impl<T: Copy + Default> Shared<T> {
    /// `len` default values.
    pub fn new(len: usize) -> Self {
        Self::filled(T::default(), len)
    }

    /// `len` times `value`.
    pub fn filled(value: T, len: usize) -> Self {
        let values = Box::into_raw(vec![value; len].into_boxed_slice());
        // SAFETY: `UnsafeCell<T>` has the layout of `T`, and the box is not used otherwise.
        Self(unsafe { Box::from_raw(values as *mut [UnsafeCell<T>]) })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The values from `start` on, to write.
    ///
    /// # Safety
    /// Until the next barrier nobody else reads or writes these values.
    #[expect(clippy::mut_from_ref, reason = "disjointness is the caller's promise")]
    pub unsafe fn slice(&self, start: usize, len: usize) -> &mut [T] {
        let cells = &self.0[start..start + len];
        // SAFETY: `UnsafeCell<T>` has the layout of `T`; the caller keeps the parts disjoint.
        unsafe { std::slice::from_raw_parts_mut(cells.as_ptr().cast_mut().cast(), len) }
    }

    /// The values from `start` on, to read.
    ///
    /// # Safety
    /// Until the next barrier nobody writes these values.
    pub unsafe fn read(&self, start: usize, len: usize) -> &[T] {
        let cells = &self.0[start..start + len];
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(cells.as_ptr().cast(), len) }
    }
}
