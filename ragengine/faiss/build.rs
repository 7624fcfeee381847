//! Compiles `shim/shim.cpp` against the headers of the FAISS that `faiss-sys` builds and links.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=shim");
    // `DEP_FAISS_C_ROOT`: the install prefix that `faiss-sys` (`links = "faiss_c"`) tells its direct dependants.
    // A prebuilt FAISS, named under `[target.<triple>.faiss_c]` in the cargo configuration, has to tell it too (`root = …`).
    println!("cargo::rerun-if-env-changed=DEP_FAISS_C_ROOT");
    let root = env::var_os("DEP_FAISS_C_ROOT").map(PathBuf::from).unwrap_or_else(|| {
        panic!("DEP_FAISS_C_ROOT is not set: build faiss-sys with its feature `static`, or give `root` beside `rustc-link-lib` for faiss_c")
    });
    let include = root.join("include");
    let header = include.join("faiss/IndexHNSW.h");
    assert!(header.is_file(), "FAISS' headers are missing: {} is not a file", header.display());

    // CXXFLAGS comes from the environment (.cargo/config.toml), as for FAISS itself: FAISS' headers must mean the same in both.
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .flag("-fopenmp")
        .include(include)
        .file("shim/shim.cpp")
        .compile("ragengine_faiss_shim");
    // FAISS itself links `blas`, which does not export openblas_set_num_threads.
    println!("cargo::rustc-link-lib=openblas");
}
