//! Safe functions over the C++ shim: the only unsafe code of the project.
#![expect(unsafe_code, reason = "FAISS is C++; everything unsafe is in this module")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Once;

use faiss::index::IndexImpl;

use crate::error::Error;
use crate::kind::Kind;
use crate::nearest::Neighbor;

// FAISS reads a bitmap byte by byte. On little-endian machines, byte b of the words has the positions 8b..8b+8.
#[cfg(target_endian = "big")]
compile_error!("PositionSet has FAISS' layout on little-endian machines only");

/// Maximum length of a C++ exception's message. A longer one is truncated.
const MESSAGE_BYTES: usize = 1024;

#[repr(C)]
#[derive(Default)]
struct Shape {
    has_graph: i32,
    m: i32,
    is_quantized: i32,
    lists: u64,
}

// These declarations must match shim/shim.cpp.
unsafe extern "C" {
    fn ragengine_faiss_shape_of(
        native: *const c_void,
        shape: *mut Shape,
        message: *mut c_char,
        capacity: usize,
    ) -> c_int;
    fn ragengine_faiss_search(
        native: *const c_void,
        query: *const f32,
        k: i64,
        effort: usize,
        bitmap: *const u8,
        bitmap_bytes: usize,
        distances: *mut f32,
        labels: *mut i64,
        message: *mut c_char,
        capacity: usize,
    ) -> c_int;
    fn ragengine_faiss_reconstruct(
        native: *const c_void,
        position: i64,
        vector: *mut f32,
        message: *mut c_char,
        capacity: usize,
    ) -> c_int;
    fn ragengine_faiss_distances(
        native: *const c_void,
        query: *const f32,
        positions: *const i64,
        count: usize,
        distances: *mut f32,
        message: *mut c_char,
        capacity: usize,
    ) -> c_int;
    fn ragengine_faiss_serialized_bytes(
        native: *const c_void,
        bytes: *mut u64,
        message: *mut c_char,
        capacity: usize,
    ) -> c_int;
    safe fn ragengine_faiss_use_one_openmp_thread();
    safe fn ragengine_faiss_use_one_openblas_thread();
}

/// Makes FAISS run the calls of this thread on this thread only. Each thread must call this before it searches or adds;
/// further calls cost nothing. Requests are already parallel, and FAISS' own threads, which spin, make concurrent
/// requests 2 to 8 times slower.
pub fn use_one_thread_per_call() {
    // OpenMP's setting applies to the calling thread, OpenBLAS' to the whole process.
    static OPENBLAS: Once = Once::new();
    OPENBLAS.call_once(|| ragengine_faiss_use_one_openblas_thread());
    ragengine_faiss_use_one_openmp_thread();
}

/// Determines the kind of an index, after checking that its parts are consistent.
///
/// # Errors
///
/// A description, when the index is damaged or of an unsupported kind.
pub(crate) fn kind_of(index: &IndexImpl) -> Result<Kind, String> {
    let mut shape = Shape::default();
    with_message(|message, capacity| {
        // SAFETY: `index` owns a live faiss::Index while it is borrowed, `shape` is writable and has the shim's layout,
        // and `message` has room for `capacity` bytes. The shim only reads the index.
        unsafe { ragengine_faiss_shape_of(native(index), &raw mut shape, message, capacity) }
    })?;
    if shape.lists > 0 {
        let lists = u32::try_from(shape.lists).map_err(|_| format!("it has {} lists", shape.lists))?;
        return Ok(Kind::Ivf { lists });
    }
    let m = u16::try_from(shape.m).map_err(|_| format!("its graph has M {}", shape.m))?;
    Ok(match (shape.has_graph != 0, shape.is_quantized != 0) {
        (false, false) => Kind::Flat,
        (false, true) => Kind::Sq8,
        (true, false) => Kind::Hnsw { m },
        (true, true) => Kind::HnswSq8 { m },
    })
}

/// Returns the nearest `k` rows whose bit is set, with ties in any order. `effort` is the number of candidates that a
/// graph search keeps, or the number of nearest lists to compare. The result may have fewer rows. If `effort` is at
/// least the number of lists, all rows are compared. The query must be finite (see `rows`).
pub(crate) fn search(
    index: &IndexImpl,
    query: &[f32],
    k: usize,
    effort: usize,
    filter: Option<&[u64]>,
) -> Result<Vec<Neighbor>, Error> {
    assert_eq!(query.len(), dimensions(index), "the caller checks the query");
    let mut distances = vec![0.0_f32; k];
    let mut labels = vec![-1_i64; k];
    let (bitmap, bitmap_bytes) = bitmap_of(filter);
    with_message(|message, capacity| {
        // SAFETY: `index` owns a live faiss::Index, which is not changed while it is borrowed (FAISS' searches may run
        // concurrently: they share only a counter of statistics, which is never read). `query` has the index's
        // dimensions, as asserted; `bitmap` is null or has `bitmap_bytes` readable bytes; `distances` and `labels` have
        // room for `k` values. The shim keeps none of the pointers.
        unsafe {
            ragengine_faiss_search(
                native(index),
                query.as_ptr(),
                k as i64,
                effort.max(1),
                bitmap,
                bitmap_bytes,
                distances.as_mut_ptr(),
                labels.as_mut_ptr(),
                message,
                capacity,
            )
        }
    })
    .map_err(Error::Faiss)?;
    Ok(neighbors(labels, distances))
}

/// Copies the vector of the row at `position` into `vector`.
pub(crate) fn reconstruct(index: &IndexImpl, position: usize, vector: &mut [f32]) -> Result<(), Error> {
    assert_eq!(vector.len(), dimensions(index), "room for one vector");
    assert!((position as u64) < faiss::Index::ntotal(index), "only rows that exist");
    with_message(|message, capacity| {
        // SAFETY: `index` owns a live faiss::Index that the shim only reads, the row exists, and `vector` has room for
        // it, as asserted.
        unsafe { ragengine_faiss_reconstruct(native(index), position as i64, vector.as_mut_ptr(), message, capacity) }
    })
    .map_err(Error::Faiss)
}

/// Computes the distances from the query to the rows at `positions`, in their order.
pub(crate) fn distances(
    index: &IndexImpl,
    query: &[f32],
    positions: &[i64],
    distances: &mut [f32],
) -> Result<(), Error> {
    let rows = faiss::Index::ntotal(index);
    assert_eq!(query.len(), dimensions(index), "the caller checks the query");
    assert_eq!(positions.len(), distances.len(), "one distance for each position");
    assert!(
        positions.iter().all(|&position| u64::try_from(position).is_ok_and(|position| position < rows)),
        "only rows that exist"
    );
    with_message(|message, capacity| {
        // SAFETY: as in `search`; also, every position is that of a row, and both slices have the same length, as
        // asserted.
        unsafe {
            ragengine_faiss_distances(
                native(index),
                query.as_ptr(),
                positions.as_ptr(),
                positions.len(),
                distances.as_mut_ptr(),
                message,
                capacity,
            )
        }
    })
    .map_err(Error::Faiss)
}

/// The number of bytes that `faiss::write_index` writes for this index.
pub(crate) fn serialized_bytes(index: &IndexImpl) -> Result<u64, Error> {
    let mut bytes = 0;
    with_message(|message, capacity| {
        // SAFETY: `index` owns a live faiss::Index that the shim only reads; `bytes` and `message` are writable.
        unsafe { ragengine_faiss_serialized_bytes(native(index), &raw mut bytes, message, capacity) }
    })
    .map_err(Error::Faiss)?;
    Ok(bytes)
}

/// The pointer and length of a bitmap. Null and 0 if there is no filter.
fn bitmap_of(filter: Option<&[u64]>) -> (*const u8, usize) {
    filter.map_or((std::ptr::null(), 0), |words| (words.as_ptr().cast(), size_of_val(words)))
}

/// Converts FAISS' results. The label is -1 if fewer rows were found.
fn neighbors(labels: Vec<i64>, distances: Vec<f32>) -> Vec<Neighbor> {
    let found = labels.into_iter().zip(distances);
    found.filter_map(|(label, distance)| Some(Neighbor { position: usize::try_from(label).ok()?, distance })).collect()
}

/// FAISS' C API returns a `faiss::Index*` with an opaque type, which the shim casts back.
fn native(index: &IndexImpl) -> *const c_void {
    index.inner_ptr().cast_const().cast()
}

fn dimensions(index: &IndexImpl) -> usize {
    faiss::Index::d(index) as usize
}

/// Calls the shim with a buffer for an exception's message, and returns that message as the error.
fn with_message(call: impl FnOnce(*mut c_char, usize) -> c_int) -> Result<(), String> {
    let mut message = [0_u8; MESSAGE_BYTES];
    if call(message.as_mut_ptr().cast(), message.len()) == 0 {
        return Ok(());
    }
    let text = CStr::from_bytes_until_nul(&message).unwrap_or(c"(no message)");
    Err(text.to_string_lossy().into_owned())
}
