"""A Python wheel of a build: the tools, what programs are built with, and the package of python/.

    python3 docs/wheel.py BUILD OUT     dopt-VERSION-py3-none-linux_MACHINE.whl in the folder OUT

What `cmake --install` installs is the wheel's data, which pip puts into the environment as it is: bin/, lib/, include/
and share/, where the tools find each other. The libraries of the tools that are not part of every system are in lib/.
With SOURCE_DATE_EPOCH, or without, two wheels of one build have the same bytes. See packaging.md.
"""
import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

BUNDLED = ("libtalloc", "libsqlite3")
EPOCH = 315532800  # 1980, the first year that a zip file can have


def install(build, root):
    subprocess.run(["cmake", "--install", build, "--prefix", root, "--strip"], check=True, stdout=subprocess.DEVNULL)
    library = next(root.glob("**/libdopt.so.*"))
    needs = subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout
    for name, path in re.findall(r"(\S+) => (\S+)", needs):
        if name.startswith(BUNDLED):
            shutil.copy(path, library.parent / name)
    return re.search(r"^Version: (\S+)", next(root.glob("**/dopt.pc")).read_text(), flags=re.M)[1]


def members(root, name):
    """(name in the wheel, path): a link is a copy, as a wheel has no links."""
    for folder, prefix in ((pathlib.Path(__file__).parent / "python", ""), (root, name + ".data/data/")):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.name.endswith(".pyc"):
                yield prefix + str(path.relative_to(folder)), path


def write(build, out):
    date = time.gmtime(max(EPOCH, int(os.environ.get("SOURCE_DATE_EPOCH", EPOCH))))[:6]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        version = install(build, root)
        name, tag = "dopt-" + version, "py3-none-linux_" + platform.machine()
        info = name + ".dist-info/"
        texts = {
            info + "METADATA": "Metadata-Version: 2.1\nName: dopt\nVersion: %s\n"
                               "Summary: A compiler for training steps on many devices\n" % version,
            info + "WHEEL": "Wheel-Version: 1.0\nGenerator: docs/wheel.py\nRoot-Is-Purelib: false\nTag: %s\n" % tag,
        }
        path, record = pathlib.Path(out) / ("%s-%s.whl" % (name, tag)), []
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
            def add(member, content, mode):
                entry = zipfile.ZipInfo(member, date)
                entry.external_attr = (0o100000 | mode) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                wheel.writestr(entry, content)
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                record.append("%s,sha256=%s,%d" % (member, digest, len(content)))
            for member, file in members(root, name):
                add(member, file.read_bytes(), 0o755 if os.access(file, os.X_OK) else 0o644)
            for member, text in texts.items():
                add(member, text.encode(), 0o644)
            add(info + "RECORD", "\n".join(record + [info + "RECORD,,"]).encode() + b"\n", 0o644)
    print(path)


if __name__ == "__main__":
    write(*sys.argv[1:])
