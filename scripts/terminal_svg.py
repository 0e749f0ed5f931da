"""Draws the output of `make demo` as a picture for the README: `make terminal`.

It runs the demo once and draws the sections that show what is special.
"""

import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from localcluster.demo.table import style_of

REPOSITORY: Final = Path(__file__).resolve().parents[1]
RECORDED: Final = REPOSITORY / "docs" / "terminal" / "demo.txt"
PICTURE: Final = REPOSITORY / "docs" / "terminal" / "demo.svg"
COMMAND: Final = "make demo ONCE=1"
# The beginnings of headings, and how many lines of each section are kept.
SECTIONS: Final = {
    "# a PyTorchJob whose second worker fails first": 6,
    "# a PyTorchJob that asks for one GPU more": 4,
    "# Why does it wait?": 12,
    "# Which worker broke": 7,
}
_WIDTH: Final = 130


def excerpt(output: str) -> str:
    """Return the kept sections of the demo's output, each once, after the command's own line."""
    kept = [f"$ {COMMAND}"]
    left = dict(SECTIONS)
    lines = output.splitlines()
    for at, line in enumerate(lines):
        heading = next((each for each in left if line.startswith(each)), None)
        if heading is not None:
            section = lines[at : at + left.pop(heading)]
            kept += ["", *(each.rstrip() for each in section)]
    if left:
        raise ValueError(f"the demo prints no section {next(iter(left))!r}")
    return "\n".join(kept).rstrip() + "\n"


def picture(text: str) -> str:
    """Return the terminal as SVG, in the demo's own styles."""
    console = Console(record=True, width=_WIDTH, file=StringIO(), force_terminal=True)
    for line in text.splitlines():
        console.print(Text(line, style_of(line)), no_wrap=True, overflow="ellipsis")
    svg = console.export_svg(title=COMMAND, unique_id="demo")
    # rich's own format loads a font from the internet; a browser's monospace one will do.
    return re.sub(r"@font-face {.*?}|<!--.*?-->", "", svg, flags=re.DOTALL)


def main() -> int:
    """Return the exit code; the demo's own if it fails."""
    ended = subprocess.run(("make", *COMMAND.split()[1:]), cwd=REPOSITORY, stdout=subprocess.PIPE)
    if ended.returncode != 0:
        return ended.returncode
    text = excerpt(ended.stdout.decode())
    RECORDED.write_text(text, encoding="utf-8")
    PICTURE.write_text(picture(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
