"""Put all packages below ``selfrag`` in a wheel, so that they cannot clash with a project's own ``app`` or ``models``.

An editable installation leaves them where they are, and `selfrag` finds them there.
"""

import re
import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
FOLDERS = "app core evaluation graph grounding models nodes prompts retrieval run".split()
NAMES = "|".join(FOLDERS)
IMPORTED = re.compile(rf"^(\s*(?:from|import) )(?=(?:{NAMES})\b)", re.MULTILINE)
QUOTED = re.compile(rf'(?<=")((?:{NAMES})(?:\.\w+)*)(?=[":])')
PINNED = re.compile(r"==(\d+\.\d+)([.\d]*)")
EXTRA = re.compile(r"pip install -r requirements-(\w+)\.txt")
RENAMED = "editable_wheel" not in sys.argv


def renamed(text: str) -> str:
    """Return a module's source with packages, extras and the command named as they are after installation."""
    text = IMPORTED.sub(r"\1selfrag.", text).replace("python -m app", "self-rag")
    text = EXTRA.sub(r"pip install 'self-rag[\1]'", text)
    return QUOTED.sub(lambda found: f"selfrag.{found[1]}" if is_module(found[1]) else found[1], text)


def is_module(name: str) -> bool:
    """True if a dotted name names a module, and not only a folder."""
    return "." in name and (ROOT / f"{name.replace('.', '/')}.py").is_file()


def required(file: str) -> list[str]:
    """Return the packages that a requirements file lists itself, from the tested version up to the next major one.

    Exact versions would seldom fit beside another project's packages.
    """
    lines = (ROOT / file).read_text("utf-8").splitlines()
    return [PINNED.sub(r"~=\1,>=\1\2", line) for line in lines if line and not line.startswith(("#", "-"))]


class BuildRenamed(build_py):
    """Copies modules, and renames what they import."""

    def build_module(self, module: str, module_file: str, package: str) -> object:
        """Copy one module."""
        built = super().build_module(module, module_file, package)
        if RENAMED:
            path = Path(self.get_module_outfile(self.build_lib, package.split("."), module))
            path.write_text(renamed(path.read_text("utf-8")), "utf-8")
        return built


found = find_packages(include=[*FOLDERS, *(f"{name}.*" for name in FOLDERS)])
prefix = "selfrag." if RENAMED else ""
setup(
    packages=["selfrag", f"{prefix}app.sample", *(prefix + name for name in found)],
    package_dir={f"{prefix}app.sample": "data/library"} | {prefix + name: name.replace(".", "/") for name in found},
    package_data={
        "selfrag": ["py.typed"],
        f"{prefix}app": ["server/static/*"],
        f"{prefix}app.sample": ["*"],
        f"{prefix}models": ["*.json", "adapters/*"],
    },
    include_package_data=False,
    install_requires=required("requirements.txt"),
    extras_require={name: required(f"requirements-{name}.txt") for name in ("charts", "postgres", "otel")},
    cmdclass={"build_py": BuildRenamed},
)
