//! Compiles `shim` against the headers of the FAISS that `faiss-sys` builds and links.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=shim");
    // `DEP_FAISS_C_ROOT` is the install prefix, which `faiss-sys` (`links = "faiss_c"`) reports to its direct
    // dependants. For a prebuilt FAISS, set `root` under `[target.<triple>.faiss_c]` in the cargo configuration.
    println!("cargo::rerun-if-env-changed=DEP_FAISS_C_ROOT");
    let root = env::var_os("DEP_FAISS_C_ROOT").map(PathBuf::from).unwrap_or_else(|| {
        panic!(
            "DEP_FAISS_C_ROOT is not set: build faiss-sys with its feature `static`, \
             or set `root` beside `rustc-link-lib` for faiss_c"
        )
    });
    let include = root.join("include");
    let header = include.join("faiss/IndexHNSW.h");
    assert!(header.is_file(), "FAISS' headers are missing: {} is not a file", header.display());

    // CXXFLAGS comes from the environment (.cargo/config.toml), as for FAISS itself, because its headers must be
    // compiled with the same flags.
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .flag("-fopenmp")
        .include(include)
        .files(["shim/shim.cpp", "shim/soundness.cpp"])
        .compile("ragengine_faiss_shim");
    // FAISS links `blas`, which does not export openblas_set_num_threads.
    println!("cargo::rustc-link-lib=openblas");
}
