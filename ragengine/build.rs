//! Builds the program again when a file of the page is added or removed. The compiler only notices changed files.

fn main() {
    println!("cargo::rerun-if-changed=page");
}
