"""Write wheels again with zopfli, which compresses a twentieth better than zlib within the same format.

python tools/repack.py WHEEL ...
"""

import sys
import zipfile
from pathlib import Path

import zopfli

if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        with zipfile.ZipFile(path) as wheel:
            files = [(info, wheel.read(info)) for info in wheel.infolist()]
        with zopfli.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for info, data in files:
                packed.writestr(info, data)
