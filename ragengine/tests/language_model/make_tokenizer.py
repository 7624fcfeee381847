"""Writes tokenizer.json and tokenizer_config.json, in the format of the `tokenizers` library, for the vocabulary of a
GGUF file.

    make_tokenizer.py MODEL.gguf FOLDER

llama.cpp's tokenizer for such vocabularies (SentencePiece BPE) merges the neighbouring tokens whose merged token has
the best score. The `tokenizers` library needs a list of merges, the best first: every split of a token into two tokens,
in the order of the scores of the whole tokens.
"""

import json
import sys
from pathlib import Path
from typing import Any

from gguf_metadata import read_metadata

# https://github.com/ggml-org/llama.cpp/blob/master/include/llama.h, llama_token_type
NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4
# The character that stands for a space in this vocabulary.
SPACE = "\u2581"


def main(model: Path, folder: Path) -> None:
    metadata = read_metadata(model)
    if metadata["tokenizer.ggml.model"] != "llama" or metadata["tokenizer.ggml.add_space_prefix"]:
        raise ValueError(f"{model}: this kind of tokenizer is not supported")
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "tokenizer.json", tokenizer(metadata))
    template = Path(__file__).with_name("chat_template.jinja").read_text()
    write(folder / "tokenizer_config.json", configuration(metadata, template))


def tokenizer(metadata: dict[str, Any]) -> dict[str, Any]:
    tokens, types = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    return {
        "version": "1.0",
        "added_tokens": [
            added_token(number, token, kind)
            for number, (token, kind) in enumerate(zip(tokens, types))
            if kind in (UNKNOWN, CONTROL, USER_DEFINED)
        ],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
        "model": {
            "type": "BPE",
            "unk_token": tokens[metadata["tokenizer.ggml.unknown_token_id"]],
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": merges(tokens, types, metadata["tokenizer.ggml.scores"]),
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
            ],
        },
    }


def added_token(number: int, token: str, kind: int) -> dict[str, Any]:
    """A token that is matched in the text before the text is split into other tokens."""
    exactly = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": number, "content": token, "special": kind != USER_DEFINED} | exactly


def merges(tokens: list[str], types: list[int], scores: list[float]) -> list[list[str]]:
    vocabulary = set(tokens)
    normal = [number for number, kind in enumerate(types) if kind == NORMAL]
    return [
        [token[:cut], token[cut:]]
        for token in (tokens[number] for number in sorted(normal, key=lambda number: -scores[number]))
        for cut in range(1, len(token))
        if token[:cut] in vocabulary and token[cut:] in vocabulary
    ]


def configuration(metadata: dict[str, Any], chat_template: str) -> dict[str, Any]:
    tokens = metadata["tokenizer.ggml.tokens"]
    special = {name: tokens[metadata[f"tokenizer.ggml.{name}_token_id"]] for name in ("bos", "eos")}
    return {f"{name}_token": token for name, token in special.items()} | {"chat_template": chat_template}


def write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
