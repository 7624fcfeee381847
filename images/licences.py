"""Prints the licences of the crates that a program is linked from.

First a list of the crates, then each licence text once, with its crates. The output is reproducible: it is sorted,
and it has no paths and no dates.

usage: licences.py PACKAGE TARGET
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

LICENCE_FILE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)\b[^/]*", re.IGNORECASE)
NOT_A_TEXT = {".rs", ".toml", ".py", ".h", ".c"}
# The texts for crates that name a licence but contain no text. MIT and BSD require a copyright line, so it names the
# authors of the crate.
MIT = """Copyright (c) {authors}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""

BSD_3_CLAUSE = """Copyright (c) {authors}

Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following
disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following
disclaimer in the documentation and/or other materials provided with the distribution.

3. Neither the name of the copyright holder nor the names of its contributors may be used to endorse or promote
products derived from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES,
INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL,
SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY,
WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE
OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
"""

# The text of Apache-2.0 has no copyright line. It is also the licence of this project.
APACHE = Path(__file__).parent.parent / "LICENSE"


def read_metadata(target: str) -> dict:
    """Returns cargo's metadata of the workspace and its dependencies on `target`."""
    command = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={target}"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def linked_crates(metadata: dict, package: str) -> list[dict]:
    """Returns the external crates that `package` is linked from, sorted, without those of tests and build scripts."""
    packages = {entry["id"]: entry for entry in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [identity for identity, entry in packages.items() if entry["name"] == package and entry["source"] is None]
    reached = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if normal and dependency["pkg"] not in reached:
                reached.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    crates = [packages[identity] for identity in reached if packages[identity]["source"] is not None]
    return sorted(crates, key=lambda crate: (crate["name"], crate["version"]))


def licence_texts(crate: dict) -> list[str]:
    """Returns all licence texts in the crate, also those of bundled code, such as FAISS in faiss-sys."""
    folder = Path(crate["manifest_path"]).parent
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if LICENCE_FILE.fullmatch(path.name) and path.suffix not in NOT_A_TEXT and path.is_file()
    ]
    texts = [normalise(path.read_text(encoding="utf-8", errors="replace")) for path in files]
    return texts or [text_for(crate)]


def text_for(crate: dict) -> str:
    """Returns the text for a crate that names its licence but contains no text."""
    named = crate["license"] or ""
    if "MIT" not in named and "Apache-2.0" in named:
        return normalise(APACHE.read_text(encoding="utf-8"))
    authors = ", ".join(crate["authors"]) or f"the authors of {crate['name']}"
    for licence, text in [("MIT", MIT), ("BSD-3-Clause", BSD_3_CLAUSE)]:
        if licence in named:
            return normalise(text.format(authors=authors))
    sys.exit(
        f"error: {crate['name']} {crate['version']} has no licence file: "
        f"add the text of its licence, {crate['license']}, to images/licences.py"
    )


def normalise(text: str) -> str:
    """Returns the text without differences between copies: line endings, trailing spaces, empty lines around it."""
    return "\n".join(line.rstrip() for line in text.strip("\ufeff").splitlines()).strip("\n")


def main(package: str, target: str) -> None:
    """Prints the crates and licence texts of `package`."""
    crates = linked_crates(read_metadata(target), package)
    if not crates:
        sys.exit(f"error: the workspace has no package {package} with dependencies")
    users = defaultdict(list)
    for crate in crates:
        for text in dict.fromkeys(licence_texts(crate)):
            users[text].append(f"{crate['name']} {crate['version']}")

    print(f"{package} is linked from these crates of https://crates.io:\n")
    for crate in crates:
        print(f"{crate['name']} {crate['version']}: {crate['license']}")
    for text, names in sorted(users.items(), key=lambda entry: entry[1]):
        print(f"\n{'=' * 80}\n{', '.join(names)}\n{'-' * 80}\n{text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
