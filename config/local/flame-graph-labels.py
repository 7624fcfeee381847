"""Writes the names into a flame graph without a script: reads it from stdin, and prints it."""

import html
import re
import sys

# Pixels of the frames, and of a character.
WIDTH, CHARACTER = 1180, 7.1

FRAME = re.compile(r"<title>([^<]*)</title>(<rect [^>]*width=\"([0-9.]+)%\"[^>]*/>)(<text [^>]*>)</text>")


def with_label(frame: re.Match[str]) -> str:
    title, rectangle, percent, text = frame.groups()
    name = html.unescape(title).rsplit(" (", 1)[0]
    room = int(float(percent) / 100 * WIDTH / CHARACTER)
    label = name if len(name) <= room else name[: room - 2] + ".." if room > 4 else ""
    return f"<title>{title}</title>{rectangle}{text}{html.escape(label)}</text>"


graph = re.sub(r"<script.*?</script>", "", sys.stdin.read(), flags=re.DOTALL)
graph = re.sub(r'<text id="(unzoom|search|matched)"[^>]*>[^<]*</text>', "", graph).replace(' onload="init(evt)"', "")
print(FRAME.sub(with_label, graph))
