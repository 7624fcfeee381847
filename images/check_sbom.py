"""Checks the bill of materials of an image: that CycloneDX's schema takes it, and that it has what cargo and the image say, no more and no less.

Then it checks itself: with bills that are wrong it has to find something.

usage: check_sbom.py IMAGE TARGET FOLDER, in the environment of config/local/requirements-cyclonedx.txt; FOLDER is one that images/rootfs.sh made
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

# What only the program of the other image is linked from.
FOREIGN = {"ragengine": "kube", "ragengine-operator": "faiss"}


@dataclass
class Facts:
    """What a bill is compared with."""

    image: str
    version: str
    # By path, the sha256.
    files: dict[str, str]
    # By name and version: those that the program alone is built from, those that it is built from in the workspace, those that only its tests are.
    least: set[tuple[str, str]]
    most: set[tuple[str, str]]
    tests_only: set[tuple[str, str]]


def tree(target: str, edges: str, *members: str) -> set[tuple[str, str]]:
    """The crates of these members' trees, by name and version."""
    lines = run("cargo", "tree", "--locked", *members, f"--target={target}", f"--edges={edges}", "--prefix=none", "--format={p}").splitlines()
    return {(name, version.removeprefix("v")) for name, version, *_ in map(str.split, filter(None, lines))}


def files_of(archive: Path) -> dict[str, str]:
    """The files of an image, each with its sha256."""
    with tarfile.open(archive) as tar:
        return {
            member.name.removeprefix("."): hashlib.sha256(tar.extractfile(member).read()).hexdigest()
            for member in tar
            if not member.isdir()
        }


def gather(image: str, target: str, folder: str) -> Facts:
    """Asks cargo, and reads the image."""
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
    """Whether a component is one of cargo's."""
    return what.get("purl", "").startswith("pkg:cargo/")


def problems(bill: dict, facts: Facts) -> Iterator[str]:
    """What is wrong with a bill."""
    whole = bill["metadata"]["component"]
    components = [whole, *bill["components"]]
    if (whole["type"], whole["name"], whole["version"]) != ("container", facts.image, facts.version):
        yield f"it is not about the image {facts.image} {facts.version}"
    programs = [what for what in components if what["type"] == "application"]
    if [(what["name"], what["version"]) for what in programs] != [(facts.image, facts.version)]:
        yield f"it does not name the program {facts.image} {facts.version}"
    if [file["name"] for what in programs for file in what.get("components", [])] != [f"/usr/bin/{facts.image}"]:
        yield "it does not name the program's file"

    for what in components:
        if not what.get("version"):
            yield f"{what['name']} has no version"
        if not [choice for choice in what.get("licenses", []) if choice.get("expression")]:
            yield f"{what['name']} has no licence"

    files = {file["name"]: file["hashes"][0]["content"] for what in components for file in what.get("components", [])}
    yield from (f"the file {path} is not in it, or another one is" for path, _ in sorted(facts.files.items() - files.items()))
    yield from (f"its file {path} is not in the image" for path in sorted(files.keys() - facts.files.keys()))

    crates = {(what["name"], what["version"]) for what in components if is_crate(what)}
    yield from (f"the crate {name} {version} is not in it" for name, version in sorted((facts.least | facts.most) - crates))
    yield from (f"its crate {name} {version} is not built into the program" for name, version in sorted(crates - facts.most))
    yield from (f"its crate {name} {version} is one of tests" for name, version in sorted(crates & facts.tests_only))
    if FOREIGN[facts.image] in {name for name, _ in crates}:
        yield f"{FOREIGN[facts.image]} is in it, which the other image has"

    yield from wrong_dependencies(bill, {what["bom-ref"]: what for what in components})
    # Last: it takes longest.
    if error := JsonStrictValidator(SchemaVersion.V1_5).validate_str(json.dumps(bill)):
        yield f"CycloneDX's schema does not take it: {error}"


def wrong_dependencies(bill: dict, components: dict[str, dict]) -> Iterator[str]:
    """What is wrong with who depends on whom."""
    dependencies = {entry["ref"]: entry["dependsOn"] for entry in bill["dependencies"]}
    yield from (f"{ref} depends on something and is not in it" for ref in sorted(dependencies.keys() - components.keys()))
    reached, waiting = set(), [bill["metadata"]["component"]["bom-ref"]]
    while waiting:
        ref = waiting.pop()
        if ref not in reached:
            reached.add(ref)
            waiting += dependencies.get(ref, [])
    yield from (f"{ref} is depended on and is not in it" for ref in sorted(reached - components.keys()))
    yield from (f"nothing depends on {ref}" for ref in sorted(components.keys() - reached))
    for ref, what in components.items():
        if what["name"].endswith("-sys") and what["name"] not in RUST_ONLY:
            carried = [needed for needed in dependencies.get(ref, []) if not is_crate(components.get(needed, {"purl": "pkg:cargo/"}))]
            if not carried:
                yield f"it does not say what {what['name']} carries"


def remove(bill: dict, name: str) -> None:
    """Takes the components of this name out, and all word of them."""
    refs = {what["bom-ref"] for what in bill["components"] if what["name"] == name}
    bill["components"] = [what for what in bill["components"] if what["bom-ref"] not in refs]
    bill["dependencies"] = [
        {"ref": entry["ref"], "dependsOn": [ref for ref in entry["dependsOn"] if ref not in refs]}
        for entry in bill["dependencies"]
        if entry["ref"] not in refs
    ]


def add_crate(bill: dict, name: str, version: str) -> None:
    """Puts a crate in, below the image."""
    purl = f"pkg:cargo/{name}@{version}"
    licences = [{"expression": "MIT"}]
    bill["components"].append({"type": "library", "bom-ref": purl, "name": name, "version": version, "licenses": licences, "purl": purl})
    whole = bill["metadata"]["component"]["bom-ref"]
    next(entry for entry in bill["dependencies"] if entry["ref"] == whole)["dependsOn"].append(purl)


def named(bill: dict, name: str) -> dict:
    """The component of this name."""
    return next(what for what in bill["components"] if what["name"] == name)


def wrong_bills(facts: Facts) -> dict[str, Callable[[dict], object]]:
    """How a bill is made wrong, by what is wrong with it then."""
    return {
        "lacks a crate": lambda bill: remove(bill, "tokio"),
        "lacks a library that a crate carries": lambda bill: remove(bill, "jemalloc"),
        "lacks a Debian package": lambda bill: remove(bill, "libc6"),
        "lacks the program": lambda bill: remove(bill, facts.image),
        "lacks a licence": lambda bill: named(bill, "tokio").pop("licenses"),
        "lacks a version": lambda bill: named(bill, "tokio").update(version=""),
        "has another version of the program": lambda bill: named(bill, facts.image).update(version="0.0.0"),
        "has another file": lambda bill: named(bill, facts.image)["components"][0]["hashes"][0].update(content="0" * 64),
        "has a crate of tests": lambda bill: add_crate(bill, *min(facts.tests_only)),
        "has a crate of the other image": lambda bill: add_crate(bill, FOREIGN[facts.image], "1.0.0"),
        "is not CycloneDX": lambda bill: bill.update(specVersion=1),
    }


def main(image: str, target: str, folder: str) -> None:
    """Prints what is wrong, and fails when anything is."""
    facts = gather(image, target, folder)
    if not facts.tests_only:
        sys.exit(f"error: {image} has no dependency that only its tests have: nothing shows that such a one stays out")
    bill = json.loads(Path(folder, f"{image}.cdx.json").read_text(encoding="utf-8"))
    found = list(problems(bill, facts))
    for wrong, make_wrong in wrong_bills(facts).items():
        changed = copy.deepcopy(bill)
        make_wrong(changed)
        if next(problems(changed, facts), None) is None:
            found.append(f"nothing is found wrong with a bill that {wrong}")
    if found:
        sys.exit("\n".join(f"error: {problem}" for problem in found))


if __name__ == "__main__":
    main(*sys.argv[1:])
