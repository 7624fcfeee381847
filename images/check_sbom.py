"""Checks the bill of materials of an image against CycloneDX's schema, against cargo's tree and against the image.

Then it checks itself: it must find an error in each of several wrong bills.

usage: check_sbom.py IMAGE TARGET FOLDER: FOLDER is an output folder of images/rootfs.sh

It runs in the Python environment of config/local/requirements-cyclonedx.txt.
"""

import copy
import hashlib
import json
import sys
import tarfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from sbom import ROOT, RUST_ONLY, built_crates, run

# By image: a crate that only the program of the other image is linked from.
FOREIGN = {"ragengine": "kube", "ragengine-operator": "faiss"}


@dataclass
class Facts:
    """The facts that a bill is compared with."""

    image: str
    version: str
    # The sha256 of each file, by path.
    files: dict[str, str]
    # Names and versions of crates. Those of the program when it is built alone:
    least: set[tuple[str, str]]
    # Those of the program when the workspace is built, which enables more features:
    most: set[tuple[str, str]]
    # Those that only the tests of the program use:
    tests_only: set[tuple[str, str]]


def tree(target: str, edges: str, *members: str) -> set[tuple[str, str]]:
    """Returns name and version of the crates in the trees of these members."""
    options = [f"--target={target}", f"--edges={edges}", "--prefix=none", "--format={p}"]
    lines = run("cargo", "tree", "--locked", *members, *options).splitlines()
    return {(name, version.removeprefix("v")) for name, version, *_ in map(str.split, filter(None, lines))}


def files_of(archive: Path) -> dict[str, str]:
    """Returns the sha256 of each file of an image, by path."""
    with tarfile.open(archive) as tar:
        return {
            member.name.removeprefix("."): hashlib.sha256(tar.extractfile(member).read()).hexdigest()
            for member in tar
            if not member.isdir()
        }


def gather(image: str, target: str, folder: str) -> Facts:
    """Collects the facts from cargo and from the image."""
    package = f"--package={image}"
    return Facts(
        image=image,
        version=tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"],
        files=files_of(Path(folder, "context/rootfs.tar")),
        least=tree(target, "normal", package),
        most=set(built_crates(image, target)),
        tests_only=tree(target, "normal,dev", package) - tree(target, "normal", "--workspace"),
    )


def is_crate(what: dict) -> bool:
    """Whether a component is a crate."""
    return what.get("purl", "").startswith("pkg:cargo/")


def problems(bill: dict, facts: Facts) -> Iterator[str]:
    """Yields the errors of a bill, as messages."""
    whole = bill["metadata"]["component"]
    components = [whole, *bill["components"]]
    if (whole["type"], whole["name"], whole["version"]) != ("container", facts.image, facts.version):
        yield f"the bill does not describe the image {facts.image} {facts.version}"
    programs = [what for what in components if what["type"] == "application"]
    if [(what["name"], what["version"]) for what in programs] != [(facts.image, facts.version)]:
        yield f"the bill does not have exactly one program, {facts.image} {facts.version}"
    if [file["name"] for what in programs for file in what.get("components", [])] != [f"/usr/bin/{facts.image}"]:
        yield "the program in the bill does not have exactly its one file"

    for what in components:
        if not what.get("version"):
            yield f"{what['name']} has no version"
        if not [choice for choice in what.get("licenses", []) if choice.get("expression")]:
            yield f"{what['name']} has no licence"

    files = {file["name"]: file["hashes"][0]["content"] for what in components for file in what.get("components", [])}
    for path, _ in sorted(facts.files.items() - files.items()):
        yield f"the file {path} is missing in the bill, or has another hash there"
    for path in sorted(files.keys() - facts.files.keys()):
        yield f"the file {path} is in the bill, but not in the image"

    crates = {(what["name"], what["version"]) for what in components if is_crate(what)}
    for name, version in sorted((facts.least | facts.most) - crates):
        yield f"the crate {name} {version} is missing in the bill"
    for name, version in sorted(crates - facts.most):
        yield f"the crate {name} {version} is in the bill, but the program is not built from it"
    for name, version in sorted(crates & facts.tests_only):
        yield f"the crate {name} {version} is in the bill, but only tests use it"
    if FOREIGN[facts.image] in {name for name, _ in crates}:
        yield f"the crate {FOREIGN[facts.image]} is in the bill, but only the other image uses it"

    yield from wrong_dependencies(bill, {what["bom-ref"]: what for what in components})
    # The schema is checked last because that takes longest.
    if error := JsonStrictValidator(SchemaVersion.V1_5).validate_str(json.dumps(bill)):
        yield f"the bill does not match CycloneDX's schema: {error}"


def wrong_dependencies(bill: dict, components: dict[str, dict]) -> Iterator[str]:
    """Yields the errors of the dependencies in a bill, as messages."""
    dependencies = {entry["ref"]: entry["dependsOn"] for entry in bill["dependencies"]}
    for ref in sorted(dependencies.keys() - components.keys()):
        yield f"{ref} has dependencies, but is not a component of the bill"
    reached, waiting = set(), [bill["metadata"]["component"]["bom-ref"]]
    while waiting:
        ref = waiting.pop()
        if ref not in reached:
            reached.add(ref)
            waiting += dependencies.get(ref, [])
    for ref in sorted(reached - components.keys()):
        yield f"{ref} is a dependency, but not a component of the bill"
    yield from (f"nothing depends on {ref}" for ref in sorted(components.keys() - reached))
    unknown = {"purl": "pkg:cargo/"}
    for ref, what in components.items():
        if what["name"].endswith("-sys") and what["name"] not in RUST_ONLY:
            carried = [needed for needed in dependencies.get(ref, []) if not is_crate(components.get(needed, unknown))]
            if not carried:
                yield f"the bill does not name the library that {what['name']} contains"


def remove(bill: dict, name: str) -> None:
    """Removes the components of this name, and all dependencies on them."""
    refs = {what["bom-ref"] for what in bill["components"] if what["name"] == name}
    bill["components"] = [what for what in bill["components"] if what["bom-ref"] not in refs]
    bill["dependencies"] = [
        {"ref": entry["ref"], "dependsOn": [ref for ref in entry["dependsOn"] if ref not in refs]}
        for entry in bill["dependencies"]
        if entry["ref"] not in refs
    ]


def add_crate(bill: dict, name: str, version: str) -> None:
    """Adds a crate as a dependency of the image."""
    purl = f"pkg:cargo/{name}@{version}"
    crate = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    bill["components"].append({**crate, "licenses": [{"expression": "MIT"}]})
    whole = bill["metadata"]["component"]["bom-ref"]
    next(entry for entry in bill["dependencies"] if entry["ref"] == whole)["dependsOn"].append(purl)


def named(bill: dict, name: str) -> dict:
    """Returns the component of this name."""
    return next(what for what in bill["components"] if what["name"] == name)


def wrong_bills(facts: Facts) -> dict[str, Callable[[dict], object]]:
    """Returns functions that make a bill wrong, each under a description of the error."""
    wrong_hash = {"content": "0" * 64}
    return {
        "lacks a crate": lambda bill: remove(bill, "tokio"),
        "lacks a library that a crate carries": lambda bill: remove(bill, "jemalloc"),
        "lacks a Debian package": lambda bill: remove(bill, "libc6"),
        "lacks the program": lambda bill: remove(bill, facts.image),
        "lacks a licence": lambda bill: named(bill, "tokio").pop("licenses"),
        "lacks a version": lambda bill: named(bill, "tokio").update(version=""),
        "has another version of the program": lambda bill: named(bill, facts.image).update(version="0.0.0"),
        "has another file": lambda bill: named(bill, facts.image)["components"][0]["hashes"][0].update(wrong_hash),
        "has a crate of tests": lambda bill: add_crate(bill, *min(facts.tests_only)),
        "has a crate of the other image": lambda bill: add_crate(bill, FOREIGN[facts.image], "1.0.0"),
        "is not CycloneDX": lambda bill: bill.update(specVersion=1),
    }


def main(image: str, target: str, folder: str) -> None:
    """Checks the bill. Exits with all errors if there are any."""
    facts = gather(image, target, folder)
    if not facts.tests_only:
        sys.exit(f"error: no dependency of {image} is used only by tests, so the check of such crates checks nothing")
    bill = json.loads(Path(folder, f"{image}.cdx.json").read_text(encoding="utf-8"))
    found = list(problems(bill, facts))
    for wrong, make_wrong in wrong_bills(facts).items():
        changed = copy.deepcopy(bill)
        make_wrong(changed)
        if next(problems(changed, facts), None) is None:
            found.append(f"the check finds no error in a bill that {wrong}")
    if found:
        sys.exit("\n".join(f"error: {problem}" for problem in found))


if __name__ == "__main__":
    main(*sys.argv[1:])
