//! Checks of the images that were built on this machine. `images/check.sh` implements them. `make test-cluster` builds
//! the images.

use std::path::Path;
use std::process::Command;

use ragengine_e2e::skip;

/// Set if the images were built with Docker on this machine.
const BUILT_HERE: &str = "RAGENGINE_CHECK_IMAGES";

macro_rules! images {
    ($($image:ident: $name:literal [$($check:ident: $argument:literal),+ $(,)?];)+) => {
        $(mod $image {
            $(#[test]
            fn $check() {
                super::check($name, $argument);
            })+
        })+
    };
}

images! {
    server: "ragengine" [
        two_assemblies_are_the_same: "assembly",
        there_is_one_program: "programs",
        certificates_and_licences_are_there: "certificates",
        the_bill_of_materials_names_all_that_is_in_it: "bill-of-materials",
        user_command_and_volume_are_set: "user",
        labels_are_set: "labels",
        it_is_small: "size",
        it_works_without_a_network: "offline",
    ];
    operator: "ragengine-operator" [
        two_assemblies_are_the_same: "assembly",
        there_is_one_program: "programs",
        certificates_and_licences_are_there: "certificates",
        the_bill_of_materials_names_all_that_is_in_it: "bill-of-materials",
        user_command_and_volume_are_set: "user",
        labels_are_set: "labels",
        it_is_small: "size",
        its_program_starts: "start",
    ];
}

fn check(image: &str, check: &str) {
    if std::env::var_os(BUILT_HERE).is_none() {
        skip::skip(&format!("{image} {check}"), "no image was built here");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(root.join("images/check.sh")).args([image, "dev", check]).current_dir(&root).output();
    let output = output.unwrap_or_else(|error| panic!("images/check.sh cannot be started: {error}"));
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
}
